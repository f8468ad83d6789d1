//! Tokens of texts for other ends than counting: all terms of a text, and the places of the query's.

use std::ops::Range;

use super::collected::Collected;
use super::{EMPTY, Filter, Hits, Key, Terms};

/// Use of the tokens that a reading of a text meets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Those that are terms of the query are counted.
    #[default]
    Count,
    /// The hashes of all their terms are collected.
    Collect,
    /// The same, and those that are terms of the query are counted.
    CountAndCollect,
    /// Those that are terms of the query are counted, and their places noted.
    Locate,
}

/// A token that is a term of the query.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    /// Its first place in the text, and the place after its last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) term: u32,
}

/// Places that are kept of the texts that are counted; the texts beyond are read again where theirs are asked
/// for.
const KEPT_PLACES: usize = 1 << 14;

/// Places of terms, in room that is kept from text to text: filling it again costs more than most texts add.
#[derive(Debug, Default)]
pub(super) struct Places {
    room: Vec<Located>,
    count: usize,
}

impl Places {
    fn clear(&mut self) {
        self.count = 0;
    }

    /// Room for so many more. Those that are written to it count from [`Places::add`] on.
    #[inline]
    pub(super) fn room(&mut self, more: usize) -> &mut [Located] {
        let needed = self.count + more;
        if self.room.len() < needed {
            self.room.resize(2 * needed, Located::default());
        }
        &mut self.room[self.count..needed]
    }

    /// Adds the first of those that were written to the room after them.
    #[inline]
    pub(super) fn add(&mut self, count: usize) {
        self.count += count;
    }

    fn all(&self) -> &[Located] {
        &self.room[..self.count]
    }
}

/// The terms of one text, as their use wants them: hashes or places.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) purpose: Use,
    pub(super) collected: Collected,
    pub(super) places: Places,
    /// True if the places of terms will be asked for once the texts are counted.
    keeps: bool,
    /// The places in the texts that were counted, text after text.
    kept: Places,
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
        self.collected.begin();
        self.places.clear();
    }

    /// Begins a request. `keeps`: places will be asked for once the texts are counted.
    pub(crate) fn begin_request(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.places.clear();
        self.texts.clear();
    }

    /// Begins a text of ASCII that is counted; true if its places are kept.
    #[inline]
    pub(crate) fn begin_counted(&mut self) -> bool {
        let keeps = self.keeps && self.places.count < KEPT_PLACES;
        if keeps {
            self.purpose = Use::Locate;
        }
        keeps
    }

    /// Ends a text that was counted. `keeps`: as it was when it began.
    #[inline]
    pub(crate) fn end_counted(&mut self, keeps: bool) {
        if keeps {
            let start = self.texts.last().map_or(0, |&(_, end)| end);
            self.texts.push((start, self.places.count as u32));
            self.purpose = Use::Count;
        } else if self.keeps {
            let end = self.places.count as u32;
            self.texts.push((UNKNOWN, end));
        }
    }

    /// Ends the texts that are counted.
    pub(crate) fn end_request(&mut self) {
        self.keeps = false;
        std::mem::swap(&mut self.kept, &mut self.places);
    }

    /// Collects the hash of a term, unless it was among the last of this text.
    #[inline]
    pub(crate) fn collect(&mut self, hash: u64) {
        self.collected.add(hash);
    }

    /// The hashes of the terms of a text, of which some may come twice.
    pub(crate) fn hashes(&self) -> &[u64] {
        self.collected.all()
    }

    /// Notes the place of a term.
    #[inline]
    pub(crate) fn note(&mut self, one: Located) {
        self.places.room(1)[0] = one;
        self.places.add(1);
    }

    /// The places in the text that was read last.
    pub(crate) fn located(&self) -> &[Located] {
        self.places.all()
    }

    /// The places in the text of that number among those that were counted, where they are known.
    pub(crate) fn kept(&self, text: usize) -> Option<&[Located]> {
        let &(start, end) = self.texts.get(text)?;
        self.kept.all().get(start as usize..end as usize)
    }

    /// Bytes of room held.
    pub(crate) fn room(&self) -> usize {
        let located = self.places.room.capacity() + self.kept.room.capacity();
        self.collected.room_held() + located * size_of::<Located>()
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
        let places = (starts, ends);
        match hits.met.purpose {
            Use::Collect if self.forms.leaves_ascii() => {
                self.collect_ascii::<false>(text, places, sifted, hits);
            }
            Use::CountAndCollect if self.forms.leaves_ascii() && self.short.usable() => {
                let unsure = self.collect_ascii::<true>(text, places, sifted, hits);
                for &number in &sifted[..unsure] {
                    let place = place(number as usize);
                    self.count_ascii(text, place.start, place.len(), hits);
                }
            }
            Use::Locate if self.short.usable() => self.locate(text, places, sifted, hits),
            _ => (0..starts.len()).for_each(|number| self.meet_ascii(text, place(number), hits)),
        }
    }

    /// Meets the token of ASCII letters and digits at a place of a text, in whatever case.
    pub(crate) fn meet_ascii(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) {
        let (at, length) = (place.start, place.len());
        match hits.met.purpose {
            Use::Count => self.count_ascii_form(text, at, length, hits),
            Use::Collect => self.meet_collected(text, place, hits),
            Use::CountAndCollect => {
                if self.forms.leaves_ascii() {
                    self.count_ascii(text, at, length, hits);
                } else {
                    self.count_ascii_form(text, at, length, hits);
                }
                self.meet_collected(text, place, hits);
            }
            Use::Locate => {
                let term = self.term_of_ascii(text, place.clone(), hits);
                if term != EMPTY {
                    let (start, end) = (place.start as u32, place.end as u32);
                    hits.met.note(Located { start, end, term });
                    hits.add(term, 1);
                }
            }
        }
    }

    /// The term of the token of ASCII letters and digits at a place, in whatever case, or [`EMPTY`].
    #[inline]
    fn term_of_ascii(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) -> u32 {
        let (at, length) = (place.start, place.len());
        if self.forms.leaves_ascii() {
            self.term_as_it_is(text, at, length)
        } else if length <= 16 {
            let key = Key::of_short(text, at, length);
            self.term_of(key, &mut hits.memo, || self.form_of_ascii(&text[place.clone()]))
        } else {
            self.term_of_long(text, at, length)
        }
    }
}
