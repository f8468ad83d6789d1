//! Tokens of texts for other ends than counting: all terms of a text, and the places of the query's.

use std::ops::Range;

use super::{EMPTY, Filter, Form, Hits, Key, LOWER, Remembered, Terms};
use crate::analyzer::LONGEST_STEMMED;

/// Use of the tokens that a reading of a text meets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Those that are terms of the query are counted.
    #[default]
    Count,
    /// The hashes of all their terms are collected.
    Collect,
    /// The places of those that are terms of the query are noted.
    Locate,
}

/// A token that is a term of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    /// Its first place in the text, and the place after its last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) term: u32,
}

/// The terms of one text, as their use wants them: hashes or places.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) purpose: Use,
    pub(crate) hashes: Vec<u64>,
    pub(crate) located: Vec<Located>,
}

impl Met {
    /// Begins a text.
    pub(crate) fn begin(&mut self, purpose: Use) {
        self.purpose = purpose;
        self.hashes.clear();
        self.located.clear();
    }

    /// Bytes of room held.
    pub(crate) fn room(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>() + self.located.capacity() * size_of::<Located>()
    }
}

impl Terms {
    /// Lets every token of ASCII through to [`Terms::meet_ascii`]; gives what [`Terms::admit`] puts back.
    pub(crate) fn admit_all(&mut self) -> Filter {
        std::mem::replace(&mut self.filter, Filter::ALL)
    }

    /// Puts the filter of the query's terms back.
    pub(crate) fn admit(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Meets the tokens of ASCII letters and digits at these places of a text. Apart from the loops that
    /// count, which are slower where this stands within them.
    #[inline(never)]
    pub(crate) fn meet_all(&self, text: &[u8], (starts, ends): (&[u32], &[u32]), hits: &mut Hits) {
        for (&start, &end) in starts.iter().zip(ends) {
            self.meet_ascii(text, start as usize..end as usize, hits);
        }
    }

    /// Meets the token of ASCII letters and digits at a place of a text, in whatever case.
    pub(crate) fn meet_ascii(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) {
        let (at, length) = (place.start, place.len());
        match hits.met.purpose {
            Use::Count => self.count_ascii_form(text, at, length, hits),
            Use::Collect => {
                let hash = if self.forms.leaves_ascii() && length <= 16 {
                    Some(self.hash(Key::of_short(text, at, length)))
                } else if self.forms.leaves_ascii() || length > LONGEST_STEMMED {
                    Some(self.hash(Key::of(text, at, length, LOWER)))
                } else {
                    let mut room = [0; LONGEST_STEMMED];
                    let lower = &mut room[..length];
                    lower.copy_from_slice(&text[place]);
                    lower.make_ascii_lowercase();
                    self.form_hash(lower, hits)
                };
                hits.met.hashes.extend(hash);
            }
            Use::Locate => {
                let term = if self.forms.leaves_ascii() {
                    let key = Key::of(text, at, length, LOWER);
                    let same = |term: u32| text[place.clone()].eq_ignore_ascii_case(self.stored(term));
                    self.slots[self.slot(key, same)].term
                } else if length <= 16 {
                    let key = Key::of_short(text, at, length);
                    self.term_of(key, &mut hits.memo, || self.form_of_ascii(&text[place.clone()]))
                } else {
                    self.term_of_long(text, at, length)
                };
                if term != EMPTY {
                    let (start, end) = (place.start as u32, place.end as u32);
                    hits.met.located.push(Located { start, end, term });
                }
            }
        }
    }

    /// Collects the term of a folded token.
    pub(crate) fn collect(&self, token: &[u8], hits: &mut Hits) {
        let hash = self.form_hash(token, hits);
        hits.met.hashes.extend(hash);
    }

    /// Hash of the form of a folded token; none where it has none.
    fn form_hash(&self, token: &[u8], hits: &mut Hits) -> Option<u64> {
        let key = Key::of(token, 0, token.len(), 0);
        let tag = Remembered::tag(key, self.forms_number, hits.memo.round);
        let slot = (key.length <= 16).then(|| hits.memo.slot(self.hash(key)));
        if let Some(slot) = slot.as_ref().filter(|slot| slot.is(key, tag)) {
            return Some(self.hash(slot.form()));
        }
        // Tokens are made of whole characters.
        let form = self.forms.of(std::str::from_utf8(token).unwrap_or_default());
        if let (Some(slot), Form::Short(_)) = (slot, self.form(&form)) {
            self.learn(slot, key, tag, || self.form(&form));
        }
        let bytes = form.as_bytes();
        (!bytes.is_empty()).then(|| self.hash(Key::of(bytes, 0, bytes.len(), 0)))
    }
}
