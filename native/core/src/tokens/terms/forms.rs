//! Finds terms by the forms of tokens.

use super::batch::{Batch, Found, ROOM};
use super::hits::Hits;
use super::key::{EMPTY, FEW, Key, LOWER};
use super::memo::{Memo, Remembered};
use super::short_terms::Token;
use super::table::Terms;
use crate::tokens::analyzer::LONGEST_STEMMED;

/// A token's form, before it is looked up among the terms.
pub(super) enum Form {
    /// A form that the memo can store.
    Short(Key),
    /// The term of another form, if there is one.
    Other(Option<u32>),
}

/// Counts of few terms in a batch, and of no term at [`FEW`]. The length is a power of two, so that no index
/// needs a check, and small, as each batch zeroes it.
struct Counts([u16; 2 * FEW]);

/// No count of a batch overflows.
const _: () = assert!(ROOM <= u16::MAX as usize);

impl Default for Counts {
    fn default() -> Self {
        Counts([0; 2 * FEW])
    }
}

impl Counts {
    #[inline(always)]
    fn add(&mut self, term: u32) {
        self.0[term as usize % (2 * FEW)] += 1;
    }

    /// Adds the counts of the first `terms` terms to `hits`.
    #[inline]
    fn collect(&self, terms: usize, hits: &mut Hits) {
        for (term, &count) in self.0[..terms].iter().enumerate() {
            if count > 0 {
                hits.add(term as u32, u32::from(count));
            }
        }
    }
}

/// Moves the terms among the first `count` to the front; [`FEW`] is no term.
fn leave_terms(found: &mut Found, count: usize) {
    let mut kept = 0;
    for at in 0..count.min(ROOM) {
        let (start, end, term) = (found.starts[at], found.ends[at], found.terms[at]);
        (found.starts[kept], found.ends[kept], found.terms[kept]) = (start, end, term);
        kept += usize::from(term != FEW as u32);
    }
}

impl Terms {
    /// Index of the term that equals a folded token's form.
    pub(crate) fn find_form(&self, token: &str) -> Option<u32> {
        self.find(self.forms.of(token).as_bytes())
    }

    /// Index of a term.
    pub(crate) fn find(&self, term: &[u8]) -> Option<u32> {
        if term.is_empty() {
            return None;
        }
        let key = self.key(term, 0, term.len(), 0);
        let found = self.slots[self.slot(key, |other| self.stored(other) == term)].term;
        (found != EMPTY).then_some(found)
    }

    /// A form as it is looked up.
    pub(super) fn form(&self, form: &str) -> Form {
        let bytes = form.as_bytes();
        // A longer form is not all in its key.
        if (1..=16).contains(&bytes.len()) {
            Form::Short(self.key(bytes, 0, bytes.len(), 0))
        } else {
            Form::Other(self.find(bytes))
        }
    }

    /// Term with a key of at most 16 bytes, or [`EMPTY`].
    #[inline]
    fn find_short(&self, key: Key) -> u32 {
        self.slots[self.slot(key, |_| true)].term
    }

    /// The term of a token by its key, or [`EMPTY`]. `form` makes its form if `memo` does not have it.
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

    /// Updates a slot; returns its token's term, or [`EMPTY`].
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
                Form::Short(form) => *slot = Remembered::new(key, form),
                Form::Other(term) => return term.unwrap_or(EMPTY),
            }
        }
        slot.term = self.find_short(slot.form());
        slot.tag = tag;
        slot.term
    }

    /// True if a term of at most eight bytes of ASCII is its own form.
    pub(super) fn is_own_form(&self, term: u32, hits: &mut Hits) -> bool {
        let (key, text) = (self.keys[term as usize], self.stored(term));
        if key.length > 8 || !text.is_ascii() {
            return false;
        }
        // Of no request: the round of this one begins later.
        let tag = Remembered::tag(key, self.forms_number, 0);
        let slot = hits.memo.slot(self.hash(key));
        if slot.is(key, tag) {
            slot.form() == key
        } else {
            self.learn(slot, key, tag, || self.form_of_ascii(text)) == term
        }
    }

    /// Counts the tokens of ASCII letters and digits of any case, whose forms are terms. `starts` and `ends`
    /// are the tokens' places in `text`, `unsure` is a buffer for token numbers.
    pub(crate) fn count_ascii_forms(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        unsure: &mut [u32],
        hits: &mut Hits,
    ) {
        let token = |number: usize| {
            let (start, end) = (starts[number] as usize, ends[number] as usize);
            (start, end - start)
        };
        let found = if !self.beginnings.usable() {
            return self.count_forms(text, (0..starts.len()).map(token), hits);
        } else if hits.mix.is_rich() && self.short.usable() {
            let counts = &mut hits.by_slot;
            let begins = |token: Token| !token.is_term & self.beginnings.begins(token.key);
            self.short.count_or(text, (starts, ends), counts, unsure, begins)
        } else {
            let found = self.beginnings.sift(text, (starts, ends), unsure);
            hits.mix.learn(found, starts.len());
            found
        };
        let unsure = unsure[..found].iter();
        self.count_forms(text, unsure.map(|&number| token(number as usize)), hits);
    }

    /// Counts the tokens, each a start and a length, whose forms are terms. Which ones cannot be predicted,
    /// so nothing branches on it if the terms are few: a token that is no term counts at [`FEW`].
    #[inline]
    fn count_forms(&self, text: &[u8], tokens: impl Iterator<Item = (usize, usize)>, hits: &mut Hits) {
        if self.keys.len() > FEW {
            for (start, length) in tokens {
                self.count_ascii_form(text, start, length, hits);
            }
            return;
        }
        let mut counts = Counts::default();
        for (start, length) in tokens {
            let term = self.recent_term(text, start, length, &mut hits.memo);
            counts.add(term);
        }
        counts.collect(self.keys.len(), hits);
    }

    /// If the terms are few: counts and notes the tokens of a batch that are terms, or whose forms are.
    pub(super) fn locate(&self, text: &[u8], batch: &mut Batch, hits: &mut Hits) {
        let leaves_ascii = self.forms.leaves_ascii();
        let Hits { met, memo, .. } = hits;
        let (count, others) = if leaves_ascii {
            let longer = |token| self.short.could_be_longer(token);
            self.short.find_or(text, batch, longer)
        } else {
            let begins = |token: Token| !token.is_term & self.beginnings.begins(token.key);
            self.short.find_or(text, batch, begins)
        };
        let Batch { longer, found, .. } = batch;
        let mut left = count;
        for &at in longer.list.iter().take(others) {
            let at = at as usize % ROOM;
            let (start, end) = (found.starts[at] as usize, found.ends[at] as usize);
            let term = if leaves_ascii {
                self.term_as_it_is(text, start, end - start).min(FEW as u32)
            } else {
                self.recent_term(text, start, end - start, memo)
            };
            left -= usize::from(term == FEW as u32);
            found.terms[at] = term;
        }
        if left < count {
            leave_terms(found, count);
        }
        let (mut counts, terms) = (Counts::default(), self.short.terms());
        for term in found.terms.iter_mut().take(left) {
            *term = terms[*term as usize];
            counts.add(*term);
        }
        met.note_all(found, left);
        counts.collect(self.keys.len(), hits);
    }

    /// If the terms are few: the term of a token of ASCII letters and digits of any case, or [`FEW`] if it
    /// has none.
    #[inline(always)]
    fn recent_term(&self, text: &[u8], start: usize, length: usize, memo: &mut Memo) -> u32 {
        if length > 16 {
            return self.term_of_long(text, start, length).min(FEW as u32);
        }
        let key = Key::of_short(text, start, length);
        let round = memo.round;
        let recent = memo.recent(key);
        if recent.is(key, round) {
            recent.term
        } else {
            self.look_up_again(text, start, key, memo)
        }
    }

    /// As [`Terms::recent_term`], for a token of at most 16 bytes that is not among the recent ones, and adds
    /// it to them.
    #[inline(never)]
    fn look_up_again(&self, text: &[u8], start: usize, key: Key, memo: &mut Memo) -> u32 {
        let form = || self.form_of_ascii(&text[start..start + key.length]);
        let term = self.term_of(key, memo, form).min(FEW as u32);
        let round = memo.round;
        memo.recent(key).set(key, round, term);
        term
    }

    /// The term that equals an unstemmed token of ASCII letters and digits of any case, or [`EMPTY`].
    #[inline]
    pub(super) fn term_as_it_is(&self, bytes: &[u8], at: usize, length: usize) -> u32 {
        let key = self.key(bytes, at, length, LOWER);
        let same = |term: u32| bytes[at..at + length].eq_ignore_ascii_case(self.stored(term));
        self.slots[self.slot(key, same)].term
    }

    /// The term of a token of more than 16 ASCII letters and digits of any case, or [`EMPTY`].
    #[cold]
    pub(super) fn term_of_long(&self, bytes: &[u8], at: usize, length: usize) -> u32 {
        if length > LONGEST_STEMMED {
            // Not stemmed.
            return self.term_as_it_is(bytes, at, length);
        }
        match self.form_of_ascii(&bytes[at..at + length]) {
            Form::Short(form) => self.find_short(form),
            Form::Other(term) => term.unwrap_or(EMPTY),
        }
    }

    /// Counts one more occurrence of a folded token's form in the query.
    pub(crate) fn insert_form(&mut self, token: &str, hits: &mut Hits) {
        if token.is_empty() {
            return;
        }
        let key = self.key(token.as_bytes(), 0, token.len(), 0);
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
        // Its term is not looked up: no request's number is in the tag.
        if let Some(slot) = slot
            && let Form::Short(form) = self.form(&form)
        {
            *slot = Remembered {
                tag,
                ..Remembered::new(key, form)
            };
        }
        if !form.is_empty() {
            self.insert(form.as_bytes());
        }
    }

    /// Counts the folded token `token` if its form is a term.
    pub(crate) fn count_form(&self, token: &[u8], hits: &mut Hits) {
        let key = self.key(token, 0, token.len(), 0);
        // Tokens are made of whole characters.
        let form = || self.form(&self.forms.of(std::str::from_utf8(token).unwrap_or_default()));
        let term = self.term_of(key, &mut hits.memo, form);
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// Counts the token of `length` ASCII letters and digits of any case at `at`, if its form is a
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

    /// The form of a token of ASCII letters and digits of any case.
    #[cold]
    pub(super) fn form_of_ascii(&self, token: &[u8]) -> Form {
        let mut room = [0; LONGEST_STEMMED];
        let lower = &mut room[..token.len()];
        lower.copy_from_slice(token);
        lower.make_ascii_lowercase();
        self.form(&self.forms.of(std::str::from_utf8(lower).unwrap_or_default()))
    }
}
