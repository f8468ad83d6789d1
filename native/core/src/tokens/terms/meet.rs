//! Uses of a text's tokens besides counting: collecting all terms, and locating the query's terms.

use std::ops::Range;

use super::batch::Batch;
use super::filter::Filter;
use super::hits::Hits;
use super::key::{EMPTY, Key};
use super::met::Use;
use super::table::Terms;

impl Terms {
    /// Lets every ASCII token through to [`Terms::meet_ascii`]; returns what [`Terms::admit`] restores.
    pub(crate) fn admit_all(&mut self) -> Filter {
        std::mem::replace(&mut self.filter, Filter::ALL)
    }

    /// Restores the filter of the query's terms.
    pub(crate) fn admit(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Uses the tokens of a batch, of ASCII letters and digits, by purpose. Not inlined: the loops that count
    /// would be slower.
    #[inline(never)]
    pub(crate) fn meet_all(&self, text: &[u8], batch: &mut Batch, hits: &mut Hits) {
        match hits.met.purpose {
            Use::Collect if self.forms.leaves_ascii() => {
                self.collect_ascii::<false>(text, batch, hits);
            }
            Use::CountAndCollect if self.forms.leaves_ascii() && self.short.usable() => {
                let unsure = self.collect_ascii::<true>(text, batch, hits);
                for at in 0..unsure {
                    let (start, end) = batch.place(batch.longer.list[at] as usize);
                    self.count_ascii(text, start, end - start, hits);
                }
            }
            Use::Locate if self.short.usable() => self.locate(text, batch, hits),
            _ => (0..batch.ends.count).for_each(|number| {
                let (start, end) = batch.place(number);
                self.meet_ascii(text, start..end, hits);
            }),
        }
    }

    /// Uses the token of ASCII letters and digits of any case at `place`, by purpose.
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
                    hits.met.note(place.start as u32, place.end as u32, term);
                    hits.add(term, 1);
                }
            }
        }
    }

    /// The term of the token of ASCII letters and digits of any case at a place, or [`EMPTY`].
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
