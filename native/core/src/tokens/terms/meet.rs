//! Tokens of texts for other ends than counting: all terms of a text, and the places of the query's.

use std::ops::Range;

use super::batch::Batch;
use super::filter::Filter;
use super::hits::Hits;
use super::key::{EMPTY, Key};
use super::met::Use;
use super::table::Terms;

impl Terms {
    /// Lets every token of ASCII through to [`Terms::meet_ascii`]; gives what [`Terms::admit`] puts back.
    pub(crate) fn admit_all(&mut self) -> Filter {
        std::mem::replace(&mut self.filter, Filter::ALL)
    }

    /// Puts the filter of the query's terms back.
    pub(crate) fn admit(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Meets the tokens of ASCII letters and digits of a batch. Apart from the loops that count, which are
    /// slower where this stands within them.
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
                    hits.met.note(place.start as u32, place.end as u32, term);
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
