//! Collects all terms of a text, by their hashes.

use std::ops::Range;

use super::batch::Batch;
use super::collected::{SEEN_BITS, note};
use super::forms::Form;
use super::hits::Hits;
use super::key::{LOWER, fold_multiply, word};
use super::memo::Remembered;
use super::table::Terms;
use crate::tokens::analyzer::LONGEST_STEMMED;

/// For each token length up to 16: masks of its bytes among the first and the second eight.
static MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut length = 1;
    while length < 17 {
        let half = (length - 1) / 8;
        masks[length][0] = u64::MAX;
        masks[length][half] = u64::MAX >> (8 * (8 * (half + 1) - length));
        length += 1;
    }
    masks
};

impl Terms {
    /// Collects the tokens of a batch, of ASCII letters and digits, each of which is a term as it is. If
    /// `COUNTS`, also counts those that are short terms of the query, and writes the numbers of those that
    /// may be other terms to `longer`. Returns how many these are.
    #[inline(never)]
    pub(super) fn collect_ascii<const COUNTS: bool>(
        &self,
        text: &[u8],
        Batch {
            starts, ends, longer, ..
        }: &mut Batch,
        hits: &mut Hits,
    ) -> usize {
        let (starts, ends) = (&starts.list[..ends.count], &ends.list[..ends.count]);
        let unsure = &mut longer.list;
        let Hits { by_slot, met, .. } = hits;
        let collected = &mut met.collected;
        collected.make_room(starts.len());
        let room = &mut collected.hashes[collected.count..][..starts.len()];
        let seen = &mut collected.seen[..1 << SEEN_BITS];
        let (mut count, mut found) = (0, 0);
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let (at, length) = (start as usize, (end - start) as usize);
            let (hash, is_other) = match (MASKS.get(length), text[at..].first_chunk::<16>()) {
                (Some(masks), Some(bytes)) => {
                    let (first, second) = (word(bytes, 0) | LOWER, word(bytes, 8) | LOWER);
                    let (first, second) = (first & masks[0], second & masks[1]);
                    let is_other = COUNTS && {
                        let (slot, token) = self.short.look_at_key(first, length <= 8);
                        by_slot[slot] += u32::from(token.is_term);
                        self.short.could_be_longer(token)
                    };
                    (self.hash_of_words(first, second), is_other)
                }
                _ => (self.hash_of(text, at..at + length, LOWER), COUNTS),
            };
            count += usize::from(note(hash, collected.text, seen, &mut room[count]));
            if COUNTS {
                unsure[found] = number as u32;
                found += usize::from(is_other);
            }
        }
        collected.count += count;
        found
    }

    /// Hash of a term of at most 16 bytes, eight in each number; `second` may be 0.
    #[inline(always)]
    fn hash_of_words(&self, first: u64, second: u64) -> u64 {
        fold_multiply(first ^ self.seeds.0, second ^ self.seeds.1)
    }

    /// Hash of the term at a place of a text. `bits`: as for [`Terms::key`].
    fn hash_of(&self, text: &[u8], place: Range<usize>, bits: u64) -> u64 {
        let term = &text[place];
        match MASKS.get(term.len()) {
            Some(masks) => {
                let (first, second) = (word(term, 0) | bits, word(term, 8) | bits);
                self.hash_of_words(first & masks[0], second & masks[1])
            }
            None => self.hash(self.key(term, 0, term.len(), bits)),
        }
    }

    /// Collects the token of ASCII letters and digits of any case at a place of a text.
    pub(super) fn meet_collected(&self, text: &[u8], place: Range<usize>, hits: &mut Hits) {
        let hash = if self.forms.leaves_ascii() || place.len() > LONGEST_STEMMED {
            Some(self.hash_of(text, place, LOWER))
        } else {
            let mut room = [0; LONGEST_STEMMED];
            let lower = &mut room[..place.len()];
            lower.copy_from_slice(&text[place]);
            lower.make_ascii_lowercase();
            self.form_hash(lower, hits)
        };
        if let Some(hash) = hash {
            hits.met.collect(hash);
        }
    }

    /// Collects the term of a folded token.
    pub(crate) fn collect(&self, token: &[u8], hits: &mut Hits) {
        if let Some(hash) = self.form_hash(token, hits) {
            hits.met.collect(hash);
        }
    }

    /// As `collect`, and counts it if it is a term of the query.
    pub(crate) fn count_and_collect(&self, token: &[u8], hits: &mut Hits) {
        self.count(token, hits);
        self.collect(token, hits);
    }

    /// Hash of a folded token's form; `None` if the form is empty.
    fn form_hash(&self, token: &[u8], hits: &mut Hits) -> Option<u64> {
        let key = self.key(token, 0, token.len(), 0);
        let tag = Remembered::tag(key, self.forms_number, hits.memo.round);
        let slot = (key.length <= 16).then(|| hits.memo.slot(self.hash(key)));
        if let Some(slot) = slot.as_ref().filter(|slot| slot.is(key, tag)) {
            let form = slot.form();
            // The last eight bytes of a longer form, without those that are in `first`.
            let second = form.last.checked_shr(8 * (16 - form.length as u32)).unwrap_or(0);
            return Some(self.hash_of_words(form.first, second));
        }
        // Tokens are made of whole characters.
        let form = self.forms.of(std::str::from_utf8(token).unwrap_or_default());
        if let (Some(slot), Form::Short(_)) = (slot, self.form(&form)) {
            self.learn(slot, key, tag, || self.form(&form));
        }
        let bytes = form.as_bytes();
        (!bytes.is_empty()).then(|| self.hash_of(bytes, 0..bytes.len(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::analyzer::{Forms, LANGUAGES};

    #[test]
    fn a_first_text_may_be_without_a_token() {
        let (mut terms, mut hits) = (Terms::default(), Hits::default());
        terms.clear();
        terms.finish();
        assert_eq!(
            terms.collect_ascii::<true>(b"", &mut Batch::default(), &mut hits),
            0
        );
        assert!(hits.met.hashes().is_empty());
    }

    #[test]
    fn terms_as_they_are_are_no_stems_of_the_next_request() {
        let english = LANGUAGES.iter().find(|(name, _)| *name == b"english");
        let forms = Forms {
            stemmer: english.map(|&(_, stemmer)| stemmer),
            fold_accents: false,
        };
        let (mut terms, mut hits) = (Terms::default(), Hits::default());
        // A request with stems, one without, and one with stems.
        terms.clear_for(forms);
        terms.clear();
        terms.collect("strasse".as_bytes(), &mut hits);
        terms.clear_for(forms);
        terms.insert_form("strasse", &mut hits);
        assert_eq!(terms.text(0), b"strass");
    }
}
