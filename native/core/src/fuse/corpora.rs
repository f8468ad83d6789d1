//! Statistics of collections that requests name: stored, counted and looked up. A term is stored as a keyed
//! 64-bit hash (SipHash-2-4), and no word of a text is stored. Among a million terms two share a hash once in
//! 37 million collections.

mod hashed;
mod learning;
mod sample;
mod statistics;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::request::analyzer::analyzer_alone;
use super::versions::{Numbered, Versions};
use crate::json::{Scanner, Unfit, unescape};
use crate::tokens::tokenize::Tokenizer;
use hashed::Hasher;
pub use hashed::Terming;
use learning::Learnings;
pub use learning::{Lesson, Step, Unlearnt};
pub use statistics::{Key, MOST_TERMS, Refused, Statistics, hash};

/// Counts texts; it stores only hashes of them.
pub struct Counter {
    key: Key,
    hasher: Hasher,
    docs: u32,
    tokens: u64,
    /// Number of docs with each term, and the last of those docs.
    counted: HashMap<u64, (u32, u32)>,
    /// Number of distinct terms, and true if there are too many.
    terms: usize,
    too_many: bool,
}

impl Counter {
    /// `settings`: the JSON of a request's `analyzer`.
    ///
    /// # Errors
    /// It is invalid, or does not go with the tokenizer.
    pub fn new(key: Key, settings: &[u8], tokenizer: Tokenizer) -> Result<Self, Refused> {
        let mut scanner = Scanner::new(settings).map_err(|_| Refused::Invalid)?;
        scanner.skip_space();
        let analyzer = analyzer_alone(&mut scanner).map_err(|_| Refused::Invalid)?;
        scanner.end().map_err(|_| Refused::Invalid)?;
        if tokenizer != Tokenizer::Ws && !analyzer.is_plain() {
            return Err(Refused::Invalid);
        }
        Ok(Self {
            key,
            hasher: Hasher::new(key, analyzer, tokenizer),
            docs: 0,
            tokens: 0,
            counted: HashMap::new(),
            terms: 0,
            too_many: false,
        })
    }

    /// Counts a doc.
    ///
    /// # Errors
    /// There are too many docs, or too many distinct terms.
    pub fn add(&mut self, text: &str) -> Result<(), Refused> {
        self.docs = self.docs.checked_add(1).ok_or(Refused::Docs)?;
        let Self {
            hasher,
            docs,
            tokens,
            counted,
            terms,
            too_many,
            ..
        } = self;
        // One text may have many more terms than the limit.
        let mut count = |hash: u64| match counted.entry(hash) {
            Entry::Vacant(_) if *too_many => {}
            Entry::Vacant(place) => {
                place.insert((1, *docs));
                *terms += 1;
                *too_many = *terms > MOST_TERMS;
            }
            Entry::Occupied(mut place) => {
                let (count, last) = place.get_mut();
                if *last != *docs {
                    (*count, *last) = (*count + 1, *docs);
                }
            }
        };
        hasher.each(text, |hash| {
            *tokens += 1;
            if let Some(hash) = hash {
                count(hash);
            }
        });
        if self.too_many {
            return Err(Refused::Terms);
        }
        Ok(())
    }

    /// Counts the docs of whole lines; blank ones are skipped.
    ///
    /// # Errors
    /// A line is not a doc, or [`Counter::add`] refuses it.
    pub fn add_lines(&mut self, lines: &[u8]) -> Result<(), Refused> {
        let mut text = Vec::new();
        for (place, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            doc_text(line, &mut text).map_err(|_| Refused::Line(place + 1))?;
            // JSON that was read is valid UTF-8.
            self.add(std::str::from_utf8(&text).unwrap_or_default())?;
        }
        Ok(())
    }

    /// The statistics of the counted texts.
    ///
    /// # Errors
    /// No text had a token.
    pub fn finish(self) -> Result<Statistics, Refused> {
        if self.tokens == 0 {
            return Err(Refused::Empty);
        }
        let average_length = (self.tokens as f64 / f64::from(self.docs)).max(0.01);
        let counted = self.counted.into_iter().map(|(hash, (count, _))| (hash, count));
        Statistics::of(self.key, self.docs, average_length, counted.collect())
    }
}

/// Reads the text of a doc: a string, or the `text` of an object.
fn doc_text(line: &[u8], text: &mut Vec<u8>) -> Result<(), Unfit> {
    let mut scanner = Scanner::new(line).map_err(|_| Unfit)?;
    let mut span = None;
    if scanner.peek() == Some(b'"') {
        span = Some(scanner.string()?);
    } else {
        scanner.members(&[b"text"], 1, |scanner, _| {
            span = Some(scanner.string()?);
            Ok(())
        })?;
    }
    scanner.end()?;
    text.clear();
    unescape(scanner.bytes(span.ok_or(Unfit)?), text);
    Ok(())
}

/// A version of a named collection.
#[derive(Debug)]
pub struct Version {
    /// From 1.
    pub number: u32,
    /// True if it was learned from requests.
    pub learnt: bool,
    /// Its statistics.
    pub statistics: Statistics,
}

impl Numbered for Version {
    fn number(&self) -> u32 {
        self.number
    }
}

/// The named collections that a process knows.
#[derive(Default)]
pub struct Corpora {
    pub(super) versions: Versions<Version>,
    /// The names that are learnt.
    pub(super) learnings: Arc<Learnings>,
}

impl Corpora {
    /// An empty table. `key`: the key of the hashes.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self {
            learnings: Arc::new(Learnings::new(key)),
            ..Self::default()
        }
    }

    /// The names that learn.
    #[must_use]
    pub fn learnings(&self) -> &Learnings {
        &self.learnings
    }

    /// Adds a version newer than the existing ones.
    pub fn add(&self, name: &[u8], version: Version) {
        self.versions.add(name, version);
    }

    /// Forgets a name, and what it learned.
    pub fn remove(&self, name: &[u8]) {
        self.learnings.remove(name);
        self.versions.remove(name);
    }

    /// True if a name with an owner exists, or existed.
    #[must_use]
    pub fn has_owners(&self) -> bool {
        self.versions.has_owners()
    }

    /// Versions of a name, in order.
    #[must_use]
    pub fn versions(&self, name: &[u8]) -> Vec<u32> {
        self.versions.numbers(name)
    }

    /// Every name, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.versions.names()
    }
}

#[cfg(test)]
mod tests;
