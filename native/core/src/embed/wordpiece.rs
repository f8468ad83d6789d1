//! Word pieces as the uncased BERT models cut them (Devlin et al. 2019; Wu et al. 2016): lower case, no
//! accents, each punctuation mark and CJK character a word, then the longest known piece first.
//!
//! Words of ASCII letters and digits are looked up directly; only a stretch with other characters is
//! normalized first, so that mostly plain texts are fast.

use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_normalization::char::decompose_canonical;

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();

/// Prefix of a piece that continues a word.
const CONTINUES: &str = "##";
/// Longer words (in characters) are unknown.
const LONGEST_WORD: usize = 100;

/// Why a vocabulary cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadVocabulary {
    /// Two entries are equal.
    Repeated,
    /// An entry is empty, or too long for the table.
    Length,
    /// Too many entries for the table.
    Count,
}

/// One slot of the hash table.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    /// The entry's id; [`FREE`]: none.
    id: u32,
}

const FREE: u32 = u32::MAX;
const MOST_ENTRIES: usize = 1 << 20;
const LONGEST_ENTRY: usize = 64;

/// Pieces by text. Hashes are computed byte by byte, so that one pass over a word gives the hashes of all its
/// prefixes.
pub struct Vocabulary {
    slots: Vec<Slot>,
    /// Entries, concatenated, without the mark of those that continue a word.
    bytes: Vec<u8>,
    /// Offset of each entry in `bytes`; one more at the end.
    starts: Vec<u32>,
    /// For each entry, true if it continues a word.
    continues: Vec<bool>,
    /// Length of the longest entry in bytes.
    longest: usize,
    short: ShortWords,
}

/// Entries of up to eight bytes that begin a word, one number each: most words of a text are among them.
#[derive(Default)]
struct ShortWords {
    /// The entry's bytes, the first in the lowest; 0: free.
    keys: Vec<u64>,
    ids: Vec<u32>,
}

impl ShortWords {
    fn of(vocabulary: &Vocabulary) -> Self {
        let begins = |&id: &u32| !vocabulary.continues[id as usize];
        let key = |id: u32| (short_key(vocabulary.text(id)), id);
        let ids = (0..vocabulary.len() as u32).filter(begins).map(key);
        let entries: Vec<(u64, u32)> = ids.filter_map(|(key, id)| Some((key?, id))).collect();
        let places = (entries.len() * 2).next_power_of_two().max(16);
        let mut made = Self {
            keys: vec![0; places],
            ids: vec![FREE; places],
        };
        for (key, id) in entries {
            let place = made.place(key);
            (made.keys[place], made.ids[place]) = (key, id);
        }
        made
    }

    /// Index of a key, or of the slot where it would be.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let last = self.keys.len() - 1;
        let mut place = (key.wrapping_mul(SEED[0]) >> 32) as usize & last;
        while self.keys[place] != key && self.keys[place] != 0 {
            place = (place + 1) & last;
        }
        place
    }

    /// The entry with this key; [`FREE`] if there is none.
    #[inline(always)]
    fn find(&self, key: u64) -> u32 {
        self.ids[self.place(key)]
    }
}

/// One to eight bytes as a unique number; `None` for longer texts, or if one of the bytes is 0.
#[inline]
fn short_key(text: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    (!text.contains(&0) && !text.is_empty()).then(|| u64::from_le_bytes(bytes))
}

/// The key of one to eight ASCII letters and digits at an offset, lower-cased.
#[inline(always)]
fn plain_key(bytes: &[u8], at: usize, length: usize) -> u64 {
    let word = match bytes[at..].first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes[at..]
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    (word | 0x2020_2020_2020_2020) & (u64::MAX >> (64 - 8 * length))
}

/// Initial hashes: of a piece that begins a word, and of one that continues it.
const SEED: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];

#[inline(always)]
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte))
        .wrapping_mul(0x2127_599B_F432_5C37)
        .rotate_left(23)
}

impl Vocabulary {
    /// A vocabulary of entries in the order of their ids.
    ///
    /// # Errors
    /// [`BadVocabulary`]
    pub fn new<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, BadVocabulary> {
        let mut made = Self {
            slots: Vec::new(),
            bytes: Vec::new(),
            starts: vec![0],
            continues: Vec::new(),
            longest: 0,
            short: ShortWords::default(),
        };
        for entry in entries {
            made.add(entry)?;
        }
        // At least half of the slots stay free, so that look-ups are short.
        let places = (made.len() * 2).next_power_of_two().max(16);
        made.slots = vec![Slot { tag: 0, id: FREE }; places];
        for id in 0..made.len() as u32 {
            made.enter(id)?;
        }
        made.short = ShortWords::of(&made);
        Ok(made)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.continues.len()
    }

    /// True if it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.continues.is_empty()
    }

    fn add(&mut self, entry: &str) -> Result<(), BadVocabulary> {
        if self.len() == MOST_ENTRIES {
            return Err(BadVocabulary::Count);
        }
        let rest = entry.strip_prefix(CONTINUES).filter(|rest| !rest.is_empty());
        let text = rest.unwrap_or(entry).as_bytes();
        if text.is_empty() || text.len() > LONGEST_ENTRY {
            return Err(BadVocabulary::Length);
        }
        self.bytes.extend_from_slice(text);
        self.starts.push(self.bytes.len() as u32);
        self.continues.push(rest.is_some());
        self.longest = self.longest.max(text.len());
        Ok(())
    }

    fn enter(&mut self, id: u32) -> Result<(), BadVocabulary> {
        let (text, continues) = (self.text(id), self.continues[id as usize]);
        let hash = text
            .iter()
            .fold(SEED[usize::from(continues)], |hash, &byte| step(hash, byte));
        if self.find(hash, text, continues).is_some() {
            return Err(BadVocabulary::Repeated);
        }
        let mut place = self.place(hash);
        while self.slots[place].id != FREE {
            place = (place + 1) & (self.slots.len() - 1);
        }
        let tag = hash as u32;
        self.slots[place] = Slot { tag, id };
        Ok(())
    }

    fn text(&self, id: u32) -> &[u8] {
        let at = id as usize;
        &self.bytes[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, hash: u64, text: &[u8], continues: bool) -> Option<u32> {
        let mut place = self.place(hash);
        loop {
            let Slot { tag, id } = self.slots[place];
            if id == FREE {
                return None;
            }
            if tag == hash as u32 && self.continues[id as usize] == continues && self.text(id) == text {
                return Some(id);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// The longest piece that is a prefix of `text`, and its length in bytes.
    #[inline]
    fn longest_piece(&self, text: &[u8], continues: bool) -> Option<(u32, usize)> {
        let seed = SEED[usize::from(continues)];
        if text.len() <= self.longest {
            // Most words are pieces themselves.
            let hash = text.iter().fold(seed, |hash, &byte| step(hash, byte));
            if let Some(id) = self.find(hash, text, continues) {
                return Some((id, text.len()));
            }
        }
        self.longest_beginning(text, seed, continues)
    }

    fn longest_beginning(&self, text: &[u8], seed: u64, continues: bool) -> Option<(u32, usize)> {
        let most = text.len().min(self.longest);
        let mut hashes = [0; LONGEST_ENTRY];
        let mut hash = seed;
        for (kept, &byte) in hashes.iter_mut().zip(&text[..most]) {
            hash = step(hash, byte);
            *kept = hash;
        }
        (1..=most)
            .rev()
            .find_map(|length| Some((self.find(hashes[length - 1], &text[..length], continues)?, length)))
    }

    /// Adds the pieces of a word in normal form; if pieces cannot make the word, adds none and returns false.
    #[inline]
    fn add_pieces(&self, word: &[u8], pieces: &mut Vec<u32>) -> bool {
        let kept = pieces.len();
        let mut at = 0;
        while at < word.len() {
            let Some((id, length)) = self.longest_piece(&word[at..], at > 0) else {
                pieces.truncate(kept);
                return false;
            };
            pieces.push(id);
            at += length;
        }
        true
    }

    /// Adds the pieces of a text's words to `pieces`, in order, including punctuation. Names of special
    /// tokens are ordinary text; unknown words are left out. `scratch` is a buffer for words. Returns the
    /// number of pieces without punctuation, and that of unknown words.
    pub fn tokenize(&self, text: &str, scratch: &mut Vec<u8>, pieces: &mut Vec<u32>) -> (usize, usize) {
        let bytes = text.as_bytes();
        let begun = pieces.len();
        let (mut marks, mut unknown) = (0, 0);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match CLASS[usize::from(byte)] {
                Class::Space => at += 1,
                Class::Mark => {
                    marks += usize::from(self.add_pieces(&bytes[at..=at], pieces));
                    at += 1;
                }
                Class::Word | Class::Odd => {
                    let (end, plain) = stretch(bytes, at);
                    let short = plain && end - at <= 8;
                    let id = if short {
                        self.short.find(plain_key(bytes, at, end - at))
                    } else {
                        FREE
                    };
                    if id != FREE {
                        pieces.push(id);
                    } else if plain && end - at <= LONGEST_WORD {
                        scratch.clear();
                        // Sets the bit that makes letters lower-case; digits have it already.
                        scratch.extend(bytes[at..end].iter().map(|byte| byte | 0x20));
                        unknown += usize::from(!self.add_pieces(scratch, pieces));
                    } else if plain {
                        unknown += 1;
                    } else {
                        let more = self.add_normalized(&text[at..end], scratch, pieces);
                        (marks, unknown) = (marks + more.0, unknown + more.1);
                    }
                    at = end;
                }
            }
        }
        (pieces.len() - begun - marks, unknown)
    }

    /// Adds the pieces of a stretch with other characters than ASCII letters and digits. Returns the number
    /// of punctuation pieces, and the number of unknown words.
    fn add_normalized(&self, stretch: &str, scratch: &mut Vec<u8>, pieces: &mut Vec<u32>) -> (usize, usize) {
        let mut word = Word {
            vocabulary: self,
            bytes: scratch,
            characters: 0,
            pieces,
            marks: 0,
            unknown: 0,
        };
        word.bytes.clear();
        for character in stretch.chars() {
            let category = CATEGORIES.get(character);
            if is_dropped(character, category) {
                continue;
            }
            let alone = is_chinese(character);
            if alone || character.is_whitespace() {
                word.end();
            }
            if !character.is_whitespace() {
                decompose_canonical(character, |part| word.add_part(part));
            }
            if alone {
                word.end();
            }
        }
        word.end();
        (word.marks, word.unknown)
    }
}

/// A word while it is cut into its pieces.
struct Word<'a> {
    vocabulary: &'a Vocabulary,
    bytes: &'a mut Vec<u8>,
    characters: usize,
    pieces: &'a mut Vec<u32>,
    /// Number of punctuation pieces so far.
    marks: usize,
    /// Number of unknown words so far, without punctuation.
    unknown: usize,
}

impl Word<'_> {
    /// Adds a character of the canonical decomposition, unless it is an accent.
    fn add_part(&mut self, part: char) {
        if CATEGORIES.get(part) == GeneralCategory::NonspacingMark {
            return;
        }
        for small in part.to_lowercase() {
            let punctuation = is_punctuation(small);
            if punctuation {
                self.end();
            }
            let mut utf8 = [0; 4];
            self.bytes
                .extend_from_slice(small.encode_utf8(&mut utf8).as_bytes());
            self.characters += 1;
            if punctuation {
                self.marks += usize::from(self.add());
            }
        }
    }

    fn end(&mut self) {
        let known = self.add();
        self.unknown += usize::from(!known);
    }

    /// Adds the word's pieces and starts another; false if pieces cannot make the word.
    fn add(&mut self) -> bool {
        let fits = self.characters <= LONGEST_WORD;
        let known = fits && self.vocabulary.add_pieces(self.bytes, self.pieces);
        self.bytes.clear();
        self.characters = 0;
        known
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    /// Punctuation: a separate word.
    Mark,
    /// An ASCII letter or digit.
    Word,
    /// A control character, which is dropped, or a byte of another character.
    Odd,
}

const CLASS: [Class; 256] = {
    let mut classes = [Class::Odd; 256];
    let mut byte = 0;
    while byte < 128 {
        let one = byte as u8;
        classes[byte] = match one {
            b' ' | b'\t' | b'\n' | b'\r' => Class::Space,
            _ if one.is_ascii_alphanumeric() => Class::Word,
            _ if one.is_ascii_punctuation() => Class::Mark,
            _ => Class::Odd,
        };
        byte += 1;
    }
    classes
};

/// Splits a text so that its pieces are those of its parts. The first has `least` bytes or more, up to the
/// next ASCII space or punctuation.
pub fn split_at_word(text: &str, least: usize) -> (&str, &str) {
    let is_between = |&byte: &u8| matches!(CLASS[usize::from(byte)], Class::Space | Class::Mark);
    let bytes = text.as_bytes().get(least..).unwrap_or_default();
    let end = bytes.iter().position(is_between).map(|more| least + more);
    text.split_at(end.unwrap_or(text.len()))
}

/// End of the bytes from `at` on that are neither ASCII space nor ASCII punctuation, and true if all are
/// letters and digits. Normalization never affects characters across such an end.
#[inline]
fn stretch(bytes: &[u8], at: usize) -> (usize, bool) {
    let mut plain = true;
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        match CLASS[usize::from(byte)] {
            Class::Word => {}
            Class::Odd => plain = false,
            Class::Space | Class::Mark => break,
        }
        end += 1;
    }
    (end, plain)
}

/// Dropped characters: controls, formats, other ignorable ones, and the replacement character.
fn is_dropped(character: char, category: GeneralCategory) -> bool {
    character == '\u{FFFD}'
        || matches!(
            category,
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
        )
}

/// Ideographs; each is a word.
fn is_chinese(character: char) -> bool {
    matches!(character as u32,
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0x2F800..=0x2FA1F)
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    matches!(
        CATEGORIES.get(character),
        GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
    )
}

#[cfg(test)]
mod tests;
