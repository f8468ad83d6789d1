//! The query's terms and how often each occurs in a text: what BM25 needs to know, with no token ever stored.

use std::hash::{BuildHasher, RandomState};

use crate::analyzer::{Forms, LONGEST_STEMMED};
use crate::ascii::Batch;

/// Two words and a length that tell terms of up to 16 bytes apart, and longer ones nearly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Key {
    /// The first eight bytes.
    prefix: u64,
    /// Those, with what lies between them and the last eight mixed in.
    first: u64,
    /// The last eight bytes of more than eight.
    last: u64,
    length: usize,
}

const EMPTY: u32 = u32::MAX;
const LOWER: u64 = 0x2020_2020_2020_2020;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn fold_multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            let rest = bytes.get(at..).unwrap_or_default();
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(chunk)
        }
    }
}

impl Key {
    /// Key of the `length` bytes at `at`. `bits` is or-ed into each byte: [`LOWER`] folds ASCII letters and
    /// leaves digits, 0 takes bytes as they are.
    #[inline]
    fn of(bytes: &[u8], at: usize, length: usize, bits: u64) -> Key {
        if length <= 8 {
            let kept = u64::MAX >> (64 - 8 * length as u32);
            let first = (word(bytes, at) | bits) & kept;
            return Key {
                prefix: first,
                first,
                last: 0,
                length,
            };
        }
        let last = word(bytes, at + length - 8) | bits;
        let prefix = word(bytes, at) | bits;
        let mut first = prefix;
        if length > 16 {
            for step in (8..length - 8).step_by(8) {
                first = fold_multiply(first ^ (word(bytes, at + step) | bits), MIX);
            }
        }
        Key {
            prefix,
            first,
            last,
            length,
        }
    }
}

impl Key {
    /// The same for ASCII letters and digits, 1 to 16 of them, without a branch on their number.
    #[inline(always)]
    fn of_short(bytes: &[u8], at: usize, length: usize) -> Key {
        let first = (word(bytes, at) | LOWER) & (u64::MAX >> (64 - 8 * length.min(8) as u32));
        let last = word(bytes, at + length.max(8) - 8) | LOWER;
        Key {
            prefix: first,
            first,
            last: if length > 8 { last } else { 0 },
            length,
        }
    }
}

/// A query of at most this many distinct terms has its short ones counted without branches.
const FEW: usize = 64;

/// Counts of a query's terms in one text.
#[derive(Debug, Default)]
pub struct Hits {
    /// One count a term.
    counts: Vec<u32>,
    /// Terms whose count is not 0, in the order they were found.
    touched: Vec<u32>,
    /// One count a slot of [`ShortTerms`], until [`ShortTerms::collect`].
    by_slot: Vec<u32>,
    /// Room that tokens are gathered in.
    pub(crate) batch: Option<Box<Batch>>,
    /// Forms of tokens that were met before.
    memo: Memo,
}

/// Forms of the tokens that were met last, in this request and in those before: most words come again, and a
/// stem costs many times a look. A token whose place another one took is stemmed again.
#[derive(Debug, Default)]
struct Memo {
    /// None until an analyzer needs them.
    slots: Vec<Remembered>,
    /// Number of the request: the terms that others left do not count.
    round: u32,
}

/// A token and its form, each of at most 16 bytes, so that the two words of its key are its bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Remembered {
    first: u64,
    last: u64,
    /// The token's length, the [`Forms::number`] of the rules, and the request in which the form was last
    /// looked up among the terms: 8, 24 and 32 bits. 0: the slot is empty.
    tag: u64,
    /// The term that it was then.
    term: u32,
    form_length: u8,
    form_first: u64,
    form_last: u64,
}

impl Remembered {
    #[inline]
    fn tag(token: Key, forms: u16, round: u32) -> u64 {
        u64::from(round) << 32 | u64::from(forms) << 8 | token.length as u64
    }

    /// True if the slot has the token's form, and the term that it is in this request.
    #[inline]
    fn is_known(&self, token: Key, tag: u64) -> bool {
        (self.first ^ token.first) | (self.last ^ token.last) | (self.tag ^ tag) == 0
    }

    /// True if the slot has the token's form. `tag`: of any request.
    #[inline]
    fn is(&self, token: Key, tag: u64) -> bool {
        (self.first, self.last, self.tag as u32) == (token.first, token.last, tag as u32)
    }

    #[inline]
    fn form(&self) -> Key {
        Key {
            prefix: self.form_first,
            first: self.form_first,
            last: self.form_last,
            length: usize::from(self.form_length),
        }
    }
}

/// The form of a token on its way to the terms.
enum Form {
    /// One that can be remembered.
    Short(Key),
    /// The term that another one is, if any.
    Other(Option<u32>),
}

impl Memo {
    /// Tokens that are remembered at a time: 512 KiB.
    const SIZE: usize = 1 << 13;

    /// Forgets which terms the forms are.
    fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.clear();
            self.round = 1;
        }
    }

    /// The place of a token's key.
    #[inline]
    fn slot(&mut self, hash: u64) -> &mut Remembered {
        if self.slots.len() < Memo::SIZE {
            self.slots.resize(Memo::SIZE, Remembered::default());
        }
        &mut self.slots[hash as usize & (Memo::SIZE - 1)]
    }
}

impl Hits {
    /// Makes room for `terms` terms, all counts 0.
    pub fn reset(&mut self, terms: usize) {
        self.memo.clear();
        self.touched.clear();
        self.counts.clear();
        self.counts.resize(terms, 0);
    }

    #[inline]
    fn add(&mut self, term: u32, times: u32) {
        let count = &mut self.counts[term as usize];
        if *count == 0 {
            self.touched.push(term);
        }
        *count += times;
    }

    /// Hands over the counts as (term, count) by ascending term, leaving all at 0.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        self.touched.sort_unstable();
        for &term in &self.touched {
            each(term, std::mem::take(&mut self.counts[term as usize]));
        }
        self.touched.clear();
    }
}

/// The terms of up to eight ASCII bytes once more, each in a slot of its own: one look decides. Which tokens
/// are terms cannot be predicted, and a mispredicted branch costs more than all the rest, so that nothing
/// branches.
#[derive(Debug, Default)]
pub(crate) struct ShortTerms {
    /// The term's bytes as one number; 0 where there is none.
    slots: Vec<u64>,
    /// (slot, term)
    members: Vec<(u32, u32)>,
    multiplier: u64,
    shift: u32,
    /// Bit set over the hashes of the first eight bytes of the longer terms: where a bit is missing, none
    /// begins so.
    longer: u64,
}

/// A table without collisions is found within a few tries; this many mean that something is odd.
const TRIES: usize = 1000;

impl ShortTerms {
    /// Leaves the table unusable.
    fn clear(&mut self) {
        self.slots.clear();
        self.members.clear();
    }

    /// Builds the table, or leaves it unusable where the terms are too many.
    fn build(&mut self, keys: &[Key], seed: u64) {
        self.clear();
        if keys.len() > FEW {
            return;
        }
        let ascii = |key: &Key| key.first & 0x8080_8080_8080_8080 == 0;
        let short = keys
            .iter()
            .enumerate()
            .filter(|(_, key)| key.length <= 8 && ascii(key));
        let count = short.clone().count();
        // With n terms in n * n / 4 slots, one multiplier in eight or so puts no two into one.
        let size = (count * count / 4).next_power_of_two().max(64);
        self.shift = 64 - size.trailing_zeros();
        self.multiplier = seed | 1;
        for _ in 0..TRIES {
            self.multiplier = self.multiplier.wrapping_mul(MIX).rotate_left(23) | 1;
            self.slots.clear();
            self.slots.resize(size, 0);
            self.members.clear();
            for (term, key) in short.clone() {
                let slot = self.place(key.first);
                self.slots[slot] = key.first;
                self.members.push((slot as u32, term as u32));
            }
            if self.slots.iter().filter(|&&key| key != 0).count() == count {
                let longer = keys.iter().filter(|key| key.length > 8);
                self.longer = longer.fold(0, |bits, key| {
                    bits | 1 << (key.prefix.wrapping_mul(self.multiplier) >> 58)
                });
                return;
            }
        }
        self.slots.clear();
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        (key.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// True if the table can be asked.
    #[inline]
    pub(crate) fn usable(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Makes room in `hits` for counting in slots.
    pub(crate) fn prepare(&self, hits: &mut Hits) {
        hits.by_slot.resize(self.slots.len(), 0);
    }

    /// Counts in their slots those of the tokens of ASCII letters and digits, in whatever case, that are
    /// short terms. `starts` and `ends` are the tokens' places in `text`. Writes the numbers of those that
    /// could be longer terms to `longer`, and returns how many these are.
    pub(crate) fn count(
        &self,
        text: &[u8],
        (starts, ends): (&[u32], &[u32]),
        hits: &mut Hits,
        longer: &mut [u32],
    ) -> usize {
        let ShortTerms {
            ref slots,
            multiplier,
            shift,
            longer: beginnings,
            ..
        } = *self;
        let counts = &mut hits.by_slot[..slots.len()];
        let mut found = 0;
        for (number, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let length = end - start;
            let kept = u64::MAX >> (64 - 8 * length.min(8));
            let key = (word(text, start as usize) | LOWER) & kept;
            let hash = key.wrapping_mul(multiplier);
            let slot = (hash >> shift) as usize;
            let short = length <= 8;
            counts[slot] += u32::from(short & (slots[slot] == key));
            longer[found] = number as u32;
            found += usize::from(!short & (beginnings >> (hash >> 58) & 1 == 1));
        }
        found
    }

    /// Moves what was counted in slots to the terms.
    pub(crate) fn collect(&self, hits: &mut Hits) {
        for &(slot, term) in &self.members {
            let count = std::mem::take(&mut hits.by_slot[slot as usize]);
            if count > 0 {
                hits.add(term, count);
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: Key,
    term: u32,
}

/// Distinct terms in order of first occurrence, found by their bytes.
#[derive(Debug, Default)]
pub struct Terms {
    slots: Vec<Slot>,
    seeds: (u64, u64),
    bytes: Vec<u8>,
    ends: Vec<usize>,
    keys: Vec<Key>,
    frequencies: Vec<u32>,
    /// Rules that turn tokens into the forms that are compared with terms.
    forms: Forms,
    /// Their [`Forms::number`].
    forms_number: u16,
    /// What an ASCII term can begin with.
    pub(crate) filter: Filter,
    /// The short ones once more.
    pub(crate) short: ShortTerms,
}

impl Terms {
    /// Forgets all terms.
    pub fn clear(&mut self) {
        if self.seeds == (0, 0) {
            // Seeded, so that no caller can choose terms that all fall into one slot.
            let state = RandomState::new();
            self.seeds = (state.hash_one(0), state.hash_one(1) | 1);
        }
        self.slots.clear();
        self.slots.resize(
            16,
            Slot {
                key: Key::default(),
                term: EMPTY,
            },
        );
        self.bytes.clear();
        self.ends.clear();
        self.keys.clear();
        self.frequencies.clear();
        self.forms = Forms::default();
        self.filter = Filter::default();
    }

    /// Forgets all terms; those that come are forms, and stand for all tokens that have them.
    pub fn clear_for(&mut self, forms: Forms) {
        self.clear();
        self.forms = forms;
        self.forms_number = forms.number();
    }

    /// Rules that turn tokens into the forms that are compared with terms.
    pub(crate) fn forms(&self) -> Forms {
        self.forms
    }

    /// Bytes of a term.
    pub(crate) fn text(&self, term: u32) -> &[u8] {
        self.stored(term)
    }

    /// Bytes of room held.
    pub fn room(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Occurrences of each distinct term in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    /// Counts one more occurrence of a folded, not empty term.
    pub fn insert(&mut self, folded: &[u8]) {
        let key = Key::of(folded, 0, folded.len(), 0);
        let slot = self.slot(key, |term| self.stored(term) == folded);
        if self.slots[slot].term != EMPTY {
            self.frequencies[self.slots[slot].term as usize] += 1;
            return;
        }
        self.slots[slot] = Slot {
            key,
            term: self.keys.len() as u32,
        };
        if self.forms.leaves_ascii() {
            self.filter.add(folded, self.keys.len());
        } else if self.forms.keeps_beginnings() {
            self.filter.add_beginning(folded, self.keys.len());
        } else {
            self.filter = Filter::ALL;
        }
        self.bytes.extend_from_slice(folded);
        self.ends.push(self.bytes.len());
        self.keys.push(key);
        self.frequencies.push(1);
        if self.keys.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// To be called after the last term.
    pub fn finish(&mut self) {
        if self.forms.leaves_ascii() {
            self.short.build(&self.keys, self.seeds.1);
        } else {
            self.short.clear();
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(
            size,
            Slot {
                key: Key::default(),
                term: EMPTY,
            },
        );
        for term in 0..self.keys.len() {
            let key = self.keys[term];
            let slot = self.slot(key, |_| false);
            self.slots[slot] = Slot {
                key,
                term: term as u32,
            };
        }
    }

    fn stored(&self, term: u32) -> &[u8] {
        let term = term as usize;
        let start = if term == 0 { 0 } else { self.ends[term - 1] };
        &self.bytes[start..self.ends[term]]
    }

    #[inline]
    fn hash(&self, key: Key) -> u64 {
        fold_multiply(
            key.first ^ self.seeds.0,
            key.last ^ (key.length as u64) << 56 ^ self.seeds.1,
        )
    }

    /// The slot that holds `key`, or the empty one where it would stand. `same` decides between terms of more
    /// than 16 bytes whose keys are equal.
    #[inline]
    fn slot(&self, key: Key, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.hash(key) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.term == EMPTY || slot.key == key && (key.length <= 16 || same(slot.term)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Counts the folded token `token` if it is a term.
    #[inline]
    pub(crate) fn count(&self, token: &[u8], hits: &mut Hits) {
        let key = Key::of(token, 0, token.len(), 0);
        let slot = &self.slots[self.slot(key, |term| self.stored(term) == token)];
        if slot.term != EMPTY {
            hits.add(slot.term, 1);
        }
    }

    /// Counts the token of `length` ASCII letters and digits at `at`, in whatever case, if it is a term.
    #[inline]
    pub(crate) fn count_ascii(&self, bytes: &[u8], at: usize, length: usize, hits: &mut Hits) {
        let key = Key::of(bytes, at, length, LOWER);
        let same = |term: u32| bytes[at..at + length].eq_ignore_ascii_case(self.stored(term));
        let slot = &self.slots[self.slot(key, same)];
        if slot.term != EMPTY {
            hits.add(slot.term, 1);
        }
    }
}

/// Terms by token, where the forms of tokens are compared.
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
    fn form(&self, form: &str) -> Form {
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
    fn term_of(&self, key: Key, memo: &mut Memo, form: impl FnOnce() -> Form) -> u32 {
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
    fn learn(&self, slot: &mut Remembered, key: Key, tag: u64, form: impl FnOnce() -> Form) -> u32 {
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

    /// Counts the tokens of ASCII letters and digits, in whatever case, whose forms are terms. `starts` and
    /// `ends` are the tokens' places in `text`. Which of them are terms cannot be predicted, so that nothing
    /// branches on it where the terms are few: what is none counts in a place of its own.
    pub(crate) fn count_ascii_forms(&self, text: &[u8], (starts, ends): (&[u32], &[u32]), hits: &mut Hits) {
        let tokens = starts.iter().zip(ends).map(|(&start, &end)| {
            let (start, end) = (start as usize, end as usize);
            (start, end - start)
        });
        if self.keys.len() > FEW {
            for (start, length) in tokens {
                self.count_ascii_form(text, start, length, hits);
            }
            return;
        }
        let mut counts = [0_u32; FEW + 1];
        for (start, length) in tokens {
            let term = if length <= 16 {
                let key = Key::of_short(text, start, length);
                self.term_of(key, &mut hits.memo, || {
                    self.form_of_ascii(&text[start..start + length])
                })
            } else {
                self.term_of_long(text, start, length)
            };
            counts[FEW.min(term as usize)] += 1;
        }
        for (term, &count) in counts[..self.keys.len()].iter().enumerate() {
            if count > 0 {
                hits.add(term as u32, count);
            }
        }
    }

    /// The term of a token of more than 16 ASCII letters and digits, in whatever case, or [`EMPTY`].
    #[cold]
    fn term_of_long(&self, bytes: &[u8], at: usize, length: usize) -> u32 {
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
    fn form_of_ascii(&self, token: &[u8]) -> Form {
        let mut room = [0; LONGEST_STEMMED];
        let lower = &mut room[..token.len()];
        lower.copy_from_slice(token);
        lower.make_ascii_lowercase();
        self.form(&self.forms.of(std::str::from_utf8(lower).unwrap_or_default()))
    }
}

/// For each of a token's first three bytes: bits of the terms that can have this low, this high half-byte
/// there. The terms share eight bits, so that a set bit is a hint; a missing one is certain.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) low: [[u8; 16]; 3],
    pub(crate) high: [[u8; 16]; 3],
}

impl Filter {
    /// Lets every token through.
    const ALL: Filter = Filter {
        low: [[u8::MAX; 16]; 3],
        high: [[u8::MAX; 16]; 3],
    };

    /// Lets the tokens through that [`Forms::keeps_beginnings`] allows a form to have.
    fn add_beginning(&mut self, form: &[u8], term: usize) {
        let bit = 1 << (term % 8);
        for place in 0..3 {
            let mut admit = |byte: u8| {
                for byte in [byte, byte.to_ascii_uppercase()] {
                    self.low[place][usize::from(byte & 15)] |= bit;
                    self.high[place][usize::from(byte >> 4)] |= bit;
                }
            };
            match form.get(place) {
                Some(&byte) if place < 2 || form.len() > 3 => {
                    admit(byte);
                    if place == 1 && form.len() == 3 && form.ends_with(b"ie") {
                        admit(b'y');
                    }
                }
                _ => (0..=255u8).for_each(admit),
            }
        }
    }

    fn add(&mut self, folded: &[u8], term: usize) {
        // A term with other characters cannot stand in an ASCII text.
        if !folded.is_ascii() {
            return;
        }
        let bit = 1 << (term % 8);
        for place in 0..3 {
            let mut admit = |byte: u8| {
                self.low[place][usize::from(byte & 15)] |= bit;
                self.high[place][usize::from(byte >> 4)] |= bit;
            };
            match folded.get(place) {
                Some(&byte) => {
                    admit(byte);
                    admit(byte.to_ascii_uppercase());
                }
                // The byte after a term is no letter and no digit; bytes further on can be anything.
                None if place == folded.len() => {
                    (0..=255u8)
                        .filter(|byte| !byte.is_ascii_alphanumeric())
                        .for_each(admit);
                }
                None => (0..=255u8).for_each(admit),
            }
        }
    }
}

/// Character bigrams of the query in order of first occurrence, each as the two code points in one number.
#[derive(Debug)]
pub struct Bigrams {
    slots: Vec<(u64, u32)>,
    seed: u64,
    keys: Vec<u64>,
    frequencies: Vec<u32>,
    seen: Box<[u64; SEEN_WORDS]>,
}

/// Words of the bit set that most lookups end at.
const SEEN_WORDS: usize = 256;
/// Second half of the key of a run of one character.
const ALONE: u32 = 0x11_0000;

impl Default for Bigrams {
    fn default() -> Self {
        Bigrams {
            slots: Vec::new(),
            seed: 0,
            keys: Vec::new(),
            frequencies: Vec::new(),
            seen: Box::new([0; SEEN_WORDS]),
        }
    }
}

impl Bigrams {
    /// Bytes of room held.
    pub fn room(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
    }

    /// Forgets all bigrams.
    pub fn clear(&mut self) {
        if self.seed == 0 {
            self.seed = RandomState::new().hash_one(0) | 1;
        }
        self.slots.clear();
        self.slots.resize(16, (0, EMPTY));
        self.keys.clear();
        self.frequencies.clear();
        self.seen.fill(0);
    }

    /// Place of a bigram, or of a run of one character.
    pub(crate) fn find(&self, text: &[u8]) -> Option<u32> {
        let mut characters = std::str::from_utf8(text).ok()?.chars().map(u32::from);
        let key = match (characters.next()?, characters.next(), characters.next()) {
            (only, None, _) => Bigrams::single(only),
            (first, Some(second), None) => Bigrams::pair(first, second),
            _ => return None,
        };
        let term = self.slots[self.slot(key, self.hash(key))].1;
        (term != EMPTY).then_some(term)
    }

    /// A bigram in characters.
    pub(crate) fn text(&self, term: u32) -> String {
        let key = self.keys[term as usize];
        let halves = [(key >> 32) as u32, key as u32];
        // The second half of a run of one character is none.
        halves.into_iter().filter_map(char::from_u32).collect()
    }

    /// How often each distinct bigram occurs in the query.
    pub fn frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    #[inline]
    fn hash(&self, key: u64) -> u64 {
        fold_multiply(key ^ self.seed, MIX)
    }

    #[inline]
    fn slot(&self, key: u64, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].1 != EMPTY && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Counts one more occurrence of a bigram of the query.
    pub fn insert(&mut self, key: u64) {
        let hash = self.hash(key);
        let slot = self.slot(key, hash);
        if self.slots[slot].1 != EMPTY {
            self.frequencies[self.slots[slot].1 as usize] += 1;
            return;
        }
        self.slots[slot] = (key, self.keys.len() as u32);
        self.keys.push(key);
        self.frequencies.push(1);
        let (word, bit) = Bigrams::place(key);
        self.seen[word] |= bit;
        if self.keys.len() * 2 > self.slots.len() {
            let size = self.slots.len() * 4;
            self.slots.clear();
            self.slots.resize(size, (0, EMPTY));
            for term in 0..self.keys.len() {
                let key = self.keys[term];
                let slot = self.slot(key, self.hash(key));
                self.slots[slot] = (key, term as u32);
            }
        }
    }

    /// Counts a bigram of a text if the query has it.
    #[inline]
    pub(crate) fn count(&self, key: u64, hits: &mut Hits) {
        let (word, bit) = Bigrams::place(key);
        if self.seen[word] & bit != 0 {
            self.count_seen(key, hits);
        }
    }

    #[inline(never)]
    fn count_seen(&self, key: u64, hits: &mut Hits) {
        let term = self.slots[self.slot(key, self.hash(key))].1;
        if term != EMPTY {
            hits.add(term, 1);
        }
    }

    /// Place of a key in the bit set: its word and its bit there.
    #[inline]
    fn place(key: u64) -> (usize, u64) {
        let mixed = key.wrapping_mul(MIX) >> 50;
        (mixed as usize / 64, 1 << (mixed % 64))
    }

    /// Key of two neighbours in a run.
    #[inline]
    pub(crate) fn pair(first: u32, second: u32) -> u64 {
        u64::from(first) << 32 | u64::from(second)
    }

    /// Key of a run of one character.
    #[inline]
    pub(crate) fn single(only: u32) -> u64 {
        u64::from(only) << 32 | u64::from(ALONE)
    }
}
