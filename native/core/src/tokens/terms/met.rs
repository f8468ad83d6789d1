//! Records of a text's tokens for purposes other than counting: the hashes of all terms, and the places of
//! the query's terms.

use super::batch::{Found, ROOM};
use super::collected::Collected;

/// Purpose for which a text's tokens are read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The query's terms are counted.
    #[default]
    Count,
    /// The hashes of all terms are collected.
    Collect,
    /// Both of these.
    CountAndCollect,
    /// The query's terms are counted, and their places noted.
    Locate,
}

/// Once this many places of counted texts are kept, later texts keep none: they are read again if needed.
const KEPT_PLACES: usize = 1 << 14;
/// Zeros before the first place, since a search reads several places back at a time.
pub(crate) const SLACK: usize = 48;
/// Bases stay below this, so that no number overflows.
const MOST_BASE: u32 = 1 << 31;

/// Places of the query's terms in texts, in order. Starts and ends are raised by their text's base, so that
/// a text's starts are greater than those of all texts before it; before the first are zeros. The buffer is
/// retained from text to text: filling it again costs more than most texts add.
///
/// Three lists in one buffer: the starts, the ends, the terms.
#[derive(Debug)]
pub(crate) struct Places {
    room: Vec<u32>,
    /// Distance from the start of a list to that of the next.
    stride: usize,
    count: usize,
}

const LISTS: usize = 3;
/// The stride is a multiple of this, a page of numbers, plus [`APART`].
const PAGE: usize = 1024;
/// Puts the three numbers of a match into different sets of the processor's cache.
const APART: usize = PAGE / LISTS + 16;

impl Default for Places {
    fn default() -> Self {
        Places {
            room: vec![0; LISTS * SLACK],
            stride: SLACK,
            count: SLACK,
        }
    }
}

impl Places {
    fn clear(&mut self) {
        self.count = SLACK;
    }

    fn list(&self, number: usize) -> &[u32] {
        &self.room[number * self.stride..][..self.count]
    }

    /// First code point of each, raised.
    pub(crate) fn starts(&self) -> &[u32] {
        self.list(0)
    }

    /// The code point after each, raised.
    pub(crate) fn ends(&self) -> &[u32] {
        self.list(1)
    }

    /// The query's terms.
    pub(crate) fn terms(&self) -> &[u32] {
        self.list(2)
    }

    /// Adds the first `count` of `found`, with starts and ends raised by `base`.
    #[inline]
    fn extend(&mut self, found: &Found, count: usize, base: u32) {
        let count = count.min(ROOM);
        if self.count + count > self.stride {
            self.grow();
        }
        let lists = [(&found.starts, base), (&found.ends, base), (&found.terms, 0)];
        for (number, (list, base)) in lists.into_iter().enumerate() {
            let room = &mut self.room[number * self.stride + self.count..][..count];
            for (own, value) in room.iter_mut().zip(list) {
                *own = base + value;
            }
        }
        self.count += count;
    }

    /// Adds one.
    #[inline]
    fn push(&mut self, start: u32, end: u32, term: u32) {
        if self.count == self.stride {
            self.grow();
        }
        for (number, value) in [start, end, term].into_iter().enumerate() {
            self.room[number * self.stride + self.count] = value;
        }
        self.count += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let stride = (2 * (self.count + ROOM)).next_multiple_of(PAGE) + APART;
        let mut room = vec![0; LISTS * stride];
        for number in 0..LISTS {
            room[number * stride..][..self.count].copy_from_slice(self.list(number));
        }
        (self.room, self.stride) = (room, stride);
    }

    /// The start of the last place; 0 if there is none.
    fn last(&self) -> u32 {
        self.room[self.count - 1]
    }

    fn held(&self) -> usize {
        size_of::<u32>() * self.room.capacity()
    }
}

/// The places in one text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'a> {
    /// Places of all texts.
    pub(crate) places: &'a Places,
    /// This text's first place, and the one after its last.
    pub(crate) first: usize,
    pub(crate) after: usize,
    /// Added to the starts and ends of its places.
    base: u32,
}

impl Located<'_> {
    /// First code point of a place.
    #[inline]
    pub(crate) fn start(&self, at: usize) -> u32 {
        self.places.starts()[at] - self.base
    }

    /// Code point after a place.
    #[inline]
    pub(crate) fn end(&self, at: usize) -> u32 {
        self.places.ends()[at] - self.base
    }

    /// Start and end of the places `first..after`.
    #[inline]
    pub(crate) fn among(self, first: usize, after: usize) -> impl Iterator<Item = (u32, u32)> {
        let starts = self.places.starts()[first..after].iter();
        let both = starts.zip(&self.places.ends()[first..after]);
        both.map(move |(start, end)| (start - self.base, end - self.base))
    }
}

/// The terms of one text: their hashes or their places, by purpose.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) purpose: Use,
    pub(super) collected: Collected,
    pub(super) places: Places,
    /// Added to starts and ends of the current text.
    pub(super) base: u32,
    /// True if places are needed after the texts are counted.
    keeps: bool,
    /// The places in the texts that were counted, text after text.
    kept: Places,
    /// Start and end of each text's places in `kept`, and its base; [`UNKNOWN`] and the end of those before
    /// if they are not known.
    texts: Vec<(u32, u32, u32)>,
}

/// Start of a text's places if they are not known.
const UNKNOWN: u32 = u32::MAX;

impl Met {
    /// Begins a text.
    pub(crate) fn begin(&mut self, purpose: Use) {
        self.purpose = purpose;
        self.collected.begin();
        self.raise_base();
        if self.base >= MOST_BASE {
            self.begin_places();
        }
        self.places.clear();
    }

    /// Raises the base above the last start.
    #[inline]
    fn raise_base(&mut self) {
        self.base = self.base.max(self.places.last()) + 1;
    }

    /// Resets places and base.
    pub(crate) fn begin_places(&mut self) {
        self.places.clear();
        self.base = 1;
    }

    /// Begins a request. `keeps`: places are needed after the texts are counted.
    pub(crate) fn begin_request(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.begin_places();
        self.texts.clear();
    }

    /// Begins a text of ASCII that is counted; true if its places are kept.
    #[inline]
    pub(crate) fn begin_counted(&mut self) -> bool {
        if !self.keeps {
            return false;
        }
        self.raise_base();
        let keeps = self.places.count < KEPT_PLACES && self.base < MOST_BASE;
        if keeps {
            self.purpose = Use::Locate;
        }
        keeps
    }

    /// Ends a text that was counted. `keeps`: its places are kept.
    #[inline]
    pub(crate) fn end_counted(&mut self, keeps: bool) {
        if self.keeps {
            let start = self.texts.last().map_or(SLACK as u32, |&(_, end, _)| end);
            let end = self.places.count as u32;
            self.texts
                .push((if keeps { start } else { UNKNOWN }, end, self.base));
        }
        if keeps {
            self.purpose = Use::Count;
        }
    }

    /// Ends the texts that are counted.
    pub(crate) fn end_request(&mut self) {
        self.keeps = false;
        std::mem::swap(&mut self.kept, &mut self.places);
    }

    /// Collects the hash of a term, unless this text had it recently.
    #[inline]
    pub(crate) fn collect(&mut self, hash: u64) {
        self.collected.add(hash);
    }

    /// The hashes of a text's terms; some may occur repeatedly.
    pub(crate) fn hashes(&self) -> &[u64] {
        self.collected.all()
    }

    /// Notes the place of a term.
    #[inline]
    pub(crate) fn note(&mut self, start: u32, end: u32, term: u32) {
        let (start, end) = (self.base + start, self.base + end);
        self.places.push(start, end, term);
    }

    /// Notes the places of the first `count` terms that were found.
    #[inline]
    pub(super) fn note_all(&mut self, found: &Found, count: usize) {
        self.places.extend(found, count, self.base);
    }

    /// The places in the text that was read last.
    pub(crate) fn located(&self) -> Located<'_> {
        Located {
            places: &self.places,
            first: SLACK,
            after: self.places.count,
            base: self.base,
        }
    }

    /// The places in the counted text with this number, if they are known.
    pub(crate) fn kept(&self, text: usize) -> Option<Located<'_>> {
        let &(start, end, base) = self.texts.get(text)?;
        (start != UNKNOWN).then_some(Located {
            places: &self.kept,
            first: start as usize,
            after: end as usize,
            base,
        })
    }

    /// Bytes held.
    pub(crate) fn room(&self) -> usize {
        self.collected.room_held() + self.places.held() + self.kept.held()
    }
}
