//! Texts as keyed hashes: each term's hash, and the digest by which a text is sampled.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::statistics::{Key, hash};
use crate::tokens::analyzer::{Analyzer, Forms};
use crate::tokens::tokenize::{self, Tokenizer};

/// Most tokens whose terms are cached.
const KNOWN_TOKENS: usize = 1 << 16;
/// Most bytes of such a token.
const KNOWN_BYTES: usize = 32;

/// Hashes the terms of texts.
pub(super) struct Hasher {
    key: Key,
    analyzer: Analyzer,
    tokenizer: Tokenizer,
    /// Hashes of tokens' terms, so that most tokens are stemmed only once.
    known: HashMap<Box<[u8]>, Option<u64>>,
    token: Vec<u8>,
}

impl Hasher {
    pub(super) fn new(key: Key, analyzer: Analyzer, tokenizer: Tokenizer) -> Self {
        Self {
            key,
            analyzer,
            tokenizer,
            known: HashMap::new(),
            token: Vec::new(),
        }
    }

    /// Passes the hash of each token's term; `None` for a token of only accents, which has no term.
    pub(super) fn each(&mut self, text: &str, mut each: impl FnMut(Option<u64>)) {
        let Self {
            key,
            analyzer,
            known,
            token,
            ..
        } = self;
        if let Tokenizer::Keyed(cut) = self.tokenizer {
            cut.each(text.as_bytes(), |bigram| {
                each(Some(hash(
                    key,
                    crate::tokens::terms::bigram_text(bigram).as_bytes(),
                )));
            });
            return;
        }
        let read = crate::fuse::reading::read_as(text, analyzer);
        tokenize::ws(read.as_bytes(), token, |token| {
            let found = known.get(token).copied();
            each(found.unwrap_or_else(|| {
                // Tokens consist of whole characters.
                let word = std::str::from_utf8(token).unwrap_or_default();
                let form = analyzer.forms.of(word);
                let hash = (!form.is_empty()).then(|| hash(key, form.as_bytes()));
                if known.len() < KNOWN_TOKENS && token.len() <= KNOWN_BYTES {
                    known.insert(token.into(), hash);
                }
                hash
            }));
        });
    }
}

/// Settings of a request that determine the terms of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terming {
    /// Tokenizer of the request.
    pub(crate) tokenizer: Tokenizer,
    /// Forms of its tokens.
    pub(crate) forms: Forms,
    /// True if texts are repaired first.
    pub(crate) normalize: bool,
}

impl Terming {
    /// The settings from a request.
    pub(crate) fn of(tokenizer: Tokenizer, analyzer: Option<&Analyzer>) -> Self {
        let analyzer = analyzer.filter(|_| tokenizer == Tokenizer::Ws);
        Self {
            tokenizer,
            forms: analyzer.map(|analyzer| analyzer.forms).unwrap_or_default(),
            normalize: analyzer.is_some_and(|analyzer| analyzer.normalize),
        }
    }

    /// The settings as text, as stored.
    #[must_use]
    pub fn text(self) -> String {
        // Names of tokenizers are ASCII.
        let mut text = String::from_utf8_lossy(self.tokenizer.name()).into_owned();
        text.push_str(", ");
        text.push_str(self.forms.language().unwrap_or("plain"));
        if self.forms.fold_accents {
            text.push_str(", fold_accents");
        }
        if self.normalize {
            text.push_str(", normalize");
        }
        text
    }

    pub(super) fn hasher(self, key: Key) -> Hasher {
        let analyzer = Analyzer {
            forms: self.forms,
            normalize: self.normalize,
            ..Analyzer::default()
        };
        Hasher::new(key, analyzer, self.tokenizer)
    }
}

/// Digests texts: the first eight bytes of HMAC-SHA-256 (RFC 2104), big-endian.
#[derive(Clone)]
pub(crate) struct Digester {
    /// The inner and outer states after their first block.
    inner: Sha256,
    outer: Sha256,
}

impl Digester {
    pub(crate) fn new(key: &Key) -> Self {
        let started = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block)
        };
        Self {
            inner: started(0x36),
            outer: started(0x5C),
        }
    }

    pub(crate) fn digest(&self, text: &str) -> u64 {
        let inner = self.inner.clone().chain_update(text).finalize();
        let digest = self.outer.clone().chain_update(inner).finalize();
        digest
            .iter()
            .take(8)
            .fold(0, |first, &byte| first << 8 | u64::from(byte))
    }
}
