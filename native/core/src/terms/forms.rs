//! Terms by token, where the forms of tokens are compared.

use super::memo::{Memo, Remembered};
use super::{EMPTY, FEW, Form, Hits, Key, LOWER, Terms};
use crate::analyzer::LONGEST_STEMMED;

impl Terms {
    /// Place of the term that the form of a folded token is.
    pub(crate) fn find_form(&self, token: &str) -> Option<u32> {
        self.find(self.forms.of(token).as_bytes())
    }

    /// Place of a term.
    pub(crate) fn find(&self, term: &[u8]) -> Option<u32> {
        if term.is_empty() {
            return None;
        }
        let key = Key::of(term, 0, term.len(), 0);
        let found = self.slots[self.slot(key, |other| self.stored(other) == term)].term;
        (found != EMPTY).then_some(found)
    }

    /// A form as it is looked up.
    pub(super) fn form(&self, form: &str) -> Form {
        let bytes = form.as_bytes();
        // Only of so many bytes a key tells all.
        if (1..=16).contains(&bytes.len()) {
            Form::Short(Key::of(bytes, 0, bytes.len(), 0))
        } else {
            Form::Other(self.find(bytes))
        }
    }

    /// Place of the term with the key of at most 16 bytes.
    #[inline]
    fn find_short(&self, key: Key) -> u32 {
        self.slots[self.slot(key, |_| true)].term
    }

    /// The term of a token by its key, or [`EMPTY`]. `form` makes its form where that is not remembered.
    #[inline]
    pub(super) fn term_of(&self, key: Key, memo: &mut Memo, form: impl FnOnce() -> Form) -> u32 {
        if key.length > 16 {
            return match form() {
                Form::Short(form) => self.find_short(form),
                Form::Other(term) => term.unwrap_or(EMPTY),
            };
        }
        let tag = Remembered::tag(key, self.forms_number, memo.round);
        let slot = memo.slot(self.hash(key));
        if slot.is_known(key, tag) {
            slot.term
        } else {
            self.learn(slot, key, tag, form)
        }
    }

    /// Brings a slot up to date; its token's term, or [`EMPTY`].
    #[inline(never)]
    pub(super) fn learn(
        &self,
        slot: &mut Remembered,
        key: Key,
        tag: u64,
        form: impl FnOnce() -> Form,
    ) -> u32 {
        if !slot.is(key, tag) {
            match form() {
                Form::Short(form) => {
                    *slot = Remembered {
                        first: key.first,
                        last: key.last,
                        form_first: form.first,
                        form_last: form.last,
                        form_length: form.length as u8,
                        ..Remembered::default()
                    }
                }
                Form::Other(term) => return term.unwrap_or(EMPTY),
            }
        }
        slot.term = self.find_short(slot.form());
        slot.tag = tag;
        slot.term
    }

    /// Writes the numbers of the tokens of ASCII letters and digits, in whatever case, that can be terms to
    /// `sifted`; returns how many these are, or nothing where that is not known of any. `starts` and `ends`
    /// are the tokens' places in `text`.
    #[inline]
    pub(crate) fn sift(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        sifted: &mut [u32],
    ) -> Option<usize> {
        if self.short.usable() {
            Some(self.short.sift(text, (starts, ends), sifted))
        } else if self.beginnings.usable() {
            Some(self.beginnings.sift(text, (starts, ends), sifted))
        } else {
            None
        }
    }

    /// Counts the tokens of ASCII letters and digits, in whatever case, whose forms are terms. `starts` and
    /// `ends` are the tokens' places in `text`, `sifted` is room for their numbers.
    pub(crate) fn count_ascii_forms(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        sifted: &mut [u32],
        hits: &mut Hits,
    ) {
        let token = |number: usize| {
            let (start, end) = (starts[number] as usize, ends[number] as usize);
            (start, end - start)
        };
        match self.sift(text, (starts, ends), sifted) {
            Some(found) => {
                let sifted = sifted[..found].iter();
                self.count_forms(text, sifted.map(|&number| token(number as usize)), hits);
            }
            None => self.count_forms(text, (0..starts.len()).map(token), hits),
        }
    }

    /// Counts the tokens at these starts, of these lengths, whose forms are terms. Which of them are cannot
    /// be predicted, so that nothing branches on it where the terms are few: a token that is none counts in a
    /// place of its own.
    #[inline]
    fn count_forms(&self, text: &[u8], tokens: impl Iterator<Item = (usize, usize)>, hits: &mut Hits) {
        if self.keys.len() > FEW {
            for (start, length) in tokens {
                self.count_ascii_form(text, start, length, hits);
            }
            return;
        }
        // As long as a power of two, so that no place needs a check.
        let mut counts = [0_u32; 2 * FEW];
        let round = hits.memo.round;
        for (start, length) in tokens {
            if length > 16 {
                let term = self.term_of_long(text, start, length);
                counts[FEW.min(term as usize)] += 1;
                continue;
            }
            let key = Key::of_short(text, start, length);
            let recent = hits.memo.recent(key);
            let term = if recent.is(key, round) {
                recent.term
            } else {
                self.look_up_again(text, start, key, &mut hits.memo)
            };
            counts[term as usize % (2 * FEW)] += 1;
        }
        for (term, &count) in counts[..self.keys.len()].iter().enumerate() {
            if count > 0 {
                hits.add(term as u32, count);
            }
        }
    }

    /// The term of a token of at most 16 ASCII letters and digits, which is among the recent ones from then
    /// on; [`FEW`] where it is none.
    #[inline(never)]
    fn look_up_again(&self, text: &[u8], start: usize, key: Key, memo: &mut Memo) -> u32 {
        let form = || self.form_of_ascii(&text[start..start + key.length]);
        let term = self.term_of(key, memo, form).min(FEW as u32);
        let round = memo.round;
        memo.recent(key).set(key, round, term);
        term
    }

    /// The term of a token of more than 16 ASCII letters and digits, in whatever case, or [`EMPTY`].
    #[cold]
    pub(super) fn term_of_long(&self, bytes: &[u8], at: usize, length: usize) -> u32 {
        if length > LONGEST_STEMMED {
            // Keeps its form.
            let key = Key::of(bytes, at, length, LOWER);
            let same = |term: u32| bytes[at..at + length].eq_ignore_ascii_case(self.stored(term));
            return self.slots[self.slot(key, same)].term;
        }
        match self.form_of_ascii(&bytes[at..at + length]) {
            Form::Short(form) => self.find_short(form),
            Form::Other(term) => term.unwrap_or(EMPTY),
        }
    }

    /// Counts one more occurrence of the term that the form of a folded token is.
    pub(crate) fn insert_form(&mut self, token: &str, hits: &mut Hits) {
        if token.is_empty() {
            return;
        }
        let key = Key::of(token.as_bytes(), 0, token.len(), 0);
        let tag = Remembered::tag(key, self.forms_number, 0);
        let slot = (key.length <= 16).then(|| hits.memo.slot(self.hash(key)));
        if let Some(slot) = slot.as_ref().filter(|slot| slot.is(key, tag)) {
            let mut bytes = [0; 16];
            let length = usize::from(slot.form_length);
            bytes[..8].copy_from_slice(&slot.form_first.to_le_bytes());
            if length > 8 {
                bytes[length - 8..length].copy_from_slice(&slot.form_last.to_le_bytes());
            }
            self.insert(&bytes[..length]);
            return;
        }
        let form = self.forms.of(token);
        if let Some(slot) = slot {
            self.learn(slot, key, tag, || self.form(&form));
        }
        if !form.is_empty() {
            self.insert(form.as_bytes());
        }
    }

    /// Counts the folded token `token` if its form is a term.
    pub(crate) fn count_form(&self, token: &[u8], hits: &mut Hits) {
        let key = Key::of(token, 0, token.len(), 0);
        // Tokens are made of whole characters.
        let form = || self.form(&self.forms.of(std::str::from_utf8(token).unwrap_or_default()));
        let term = self.term_of(key, &mut hits.memo, form);
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// Counts the token of `length` ASCII letters and digits at `at`, in whatever case, if its form is a
    /// term.
    #[inline]
    pub(crate) fn count_ascii_form(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let term = if length <= 16 {
            let key = Key::of_short(bytes, at, length);
            let form = || self.form_of_ascii(&bytes[at..at + length]);
            self.term_of(key, &mut hits.memo, form)
        } else {
            self.term_of_long(bytes, at, length)
        };
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// The form of a token of ASCII letters and digits, in whatever case.
    #[cold]
    pub(super) fn form_of_ascii(&self, token: &[u8]) -> Form {
        let mut room = [0; LONGEST_STEMMED];
        let lower = &mut room[..token.len()];
        lower.copy_from_slice(token);
        lower.make_ascii_lowercase();
        self.form(&self.forms.of(std::str::from_utf8(lower).unwrap_or_default()))
    }
}
