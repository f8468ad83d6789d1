//! Tokens of texts for other ends than counting: all terms of a text, and the places of the query's.

use std::ops::Range;

use super::memo::Remembered;
use super::{EMPTY, Filter, Form, Hits, Key, LOWER, Terms};
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
    /// The same, and they are counted as well.
    CountAndLocate,
}

/// A token that is a term of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    /// Its first place in the text, and the place after its last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) term: u32,
}

/// Places that are kept of the texts that are counted; the texts beyond are read again where theirs are asked
/// for.
const KEPT_PLACES: usize = 1 << 14;

/// The terms of one text, as their use wants them: hashes or places.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) purpose: Use,
    pub(crate) hashes: Vec<u64>,
    pub(crate) located: Vec<Located>,
    /// True if the places of terms will be asked for once the texts are counted.
    pub(crate) keeps: bool,
    /// The places in the texts that were counted, text after text.
    kept: Vec<Located>,
    /// Where those of each text begin and end; [`UNKNOWN`] and the end of those before it where they are not
    /// known.
    texts: Vec<(u32, u32)>,
}

/// Beginning of the places of a text where they are not known.
const UNKNOWN: u32 = u32::MAX;

impl Met {
    /// Begins a text.
    pub(crate) fn begin(&mut self, purpose: Use) {
        self.purpose = purpose;
        self.hashes.clear();
        self.located.clear();
    }

    /// Begins a request. `keeps`: places will be asked for once the texts are counted.
    pub(crate) fn begin_request(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.located.clear();
        self.texts.clear();
    }

    /// Begins a text of ASCII that is counted; true if its places are kept.
    #[inline]
    pub(crate) fn begin_counted(&mut self) -> bool {
        let keeps = self.keeps && self.located.len() < KEPT_PLACES;
        if keeps {
            self.purpose = Use::CountAndLocate;
        }
        keeps
    }

    /// Ends a text that was counted. `keeps`: as it was when it began.
    #[inline]
    pub(crate) fn end_counted(&mut self, keeps: bool) {
        if keeps {
            let start = self.texts.last().map_or(0, |&(_, end)| end);
            self.texts.push((start, self.located.len() as u32));
            self.purpose = Use::Count;
        } else if self.keeps {
            let end = self.located.len() as u32;
            self.texts.push((UNKNOWN, end));
        }
    }

    /// Ends the texts that are counted.
    pub(crate) fn end_request(&mut self) {
        self.keeps = false;
        std::mem::swap(&mut self.kept, &mut self.located);
    }

    /// The places in the text of that number among those that were counted, where they are known.
    pub(crate) fn kept(&self, text: usize) -> Option<&[Located]> {
        let &(start, end) = self.texts.get(text)?;
        self.kept.get(start as usize..end as usize)
    }

    /// Bytes of room held.
    pub(crate) fn room(&self) -> usize {
        let located = self.located.capacity() + self.kept.capacity();
        self.hashes.capacity() * size_of::<u64>() + located * size_of::<Located>()
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
    /// count, which are slower where this stands within them. `sifted`: room for the tokens' numbers.
    #[inline(never)]
    pub(crate) fn meet_all(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        sifted: &mut [u32],
        hits: &mut Hits,
    ) {
        let place = |number: usize| starts[number] as usize..ends[number] as usize;
        if hits.met.purpose == Use::Collect {
            if self.forms.leaves_ascii() {
                let tokens = starts.iter().zip(ends);
                let hashes = tokens.map(|(&start, &end)| self.hash_ascii(text, start as usize..end as usize));
                hits.met.hashes.extend(hashes);
            } else {
                (0..starts.len()).for_each(|number| self.meet_ascii(text, place(number), hits));
            }
            return;
        }
        match self.sift(text, (starts, ends), sifted) {
            Some(found) => {
                let counts = hits.met.purpose == Use::CountAndLocate;
                for &number in &sifted[..found] {
                    let place = place(number as usize);
                    let term = if self.short.usable() && place.len() <= 8 {
                        self.short.term(text, place.start, place.len())
                    } else {
                        self.term_of_ascii(text, place.clone(), hits)
                    };
                    self.note(place, term, counts, hits);
                }
            }
            None => (0..starts.len()).for_each(|number| self.meet_ascii(text, place(number), hits)),
        }
    }

    /// Hash of a token of ASCII letters and digits, in whatever case, that is its own form.
    #[inline]
    fn hash_ascii(&self, text: &[u8], place: Range<usize>) -> u64 {
        let (at, length) = (place.start, place.len());
        self.hash(if length <= 16 {
            Key::of_short(text, at, length)
        } else {
            Key::of(text, at, length, LOWER)
        })
    }

    /// Meets the token of ASCII letters and digits at a place of a text, in whatever case.
    pub(crate) fn meet_ascii(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) {
        let (at, length) = (place.start, place.len());
        match hits.met.purpose {
            Use::Count => self.count_ascii_form(text, at, length, hits),
            Use::Collect => {
                let hash = if self.forms.leaves_ascii() || length > LONGEST_STEMMED {
                    Some(self.hash_ascii(text, place))
                } else {
                    let mut room = [0; LONGEST_STEMMED];
                    let lower = &mut room[..length];
                    lower.copy_from_slice(&text[place]);
                    lower.make_ascii_lowercase();
                    self.form_hash(lower, hits)
                };
                hits.met.hashes.extend(hash);
            }
            purpose @ (Use::Locate | Use::CountAndLocate) => {
                let term = self.term_of_ascii(text, place.clone(), hits);
                self.note(place, term, purpose == Use::CountAndLocate, hits);
            }
        }
    }

    /// The term of the token of ASCII letters and digits at a place, in whatever case, or [`EMPTY`].
    #[inline]
    fn term_of_ascii(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) -> u32 {
        let (at, length) = (place.start, place.len());
        if self.forms.leaves_ascii() {
            let key = Key::of(text, at, length, LOWER);
            let same = |term: u32| text[place.clone()].eq_ignore_ascii_case(self.stored(term));
            self.slots[self.slot(key, same)].term
        } else if length <= 16 {
            let key = Key::of_short(text, at, length);
            self.term_of(key, &mut hits.memo, || self.form_of_ascii(&text[place.clone()]))
        } else {
            self.term_of_long(text, at, length)
        }
    }

    /// Notes the place of a term, and counts it where it `counts`.
    #[inline]
    fn note(&self, place: Range<usize>, term: u32, counts: bool, hits: &mut Hits) {
        if term == EMPTY {
            return;
        }
        let (start, end) = (place.start as u32, place.end as u32);
        hits.met.located.push(Located { start, end, term });
        if counts {
            hits.add(term, 1);
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
