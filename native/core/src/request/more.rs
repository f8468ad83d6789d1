//! The members of a FuseRequest that few requests have: what they ask for is kept apart, so that the others
//! pay nothing for it.

use std::collections::HashSet;

use super::{Options, Tokenizer, word};
use crate::analyzer::{Analyzer, Forms, LANGUAGES, STOP_LISTS, StopWords, stop_list};
use crate::json::{Scanner, Span, Unfit, unescape};
use crate::tokenize;

/// Settings that few requests have.
#[derive(Debug, Default)]
pub struct More {
    /// Rules that turn tokens into terms.
    pub analyzer: Option<Analyzer>,
}

impl More {
    /// True if it goes together with the rest of the request.
    pub(super) fn fits(&self, options: &Options) -> bool {
        let plain = self.analyzer.as_ref().is_none_or(Analyzer::is_plain);
        plain || options.tokenizer == Tokenizer::Ws
    }
}

/// The text of a string that was read.
pub(super) fn text_of(scanner: &Scanner, span: Span) -> Vec<u8> {
    let mut text = Vec::new();
    unescape(scanner.bytes(span), &mut text);
    text
}

/// Reads `analyzer`: `plain`, a language's name for its usual set, or the settings one by one.
pub(super) fn analyzer(scanner: &mut Scanner) -> Result<Analyzer, Unfit> {
    let mut analyzer = Analyzer::default();
    if scanner.peek() == Some(b'"') {
        let name = scanner.string()?;
        if scanner.place(name, &[b"plain"]).is_none() {
            let names = LANGUAGES.each_ref().map(|(name, _)| *name);
            let (name, algorithm) = LANGUAGES[scanner.place(name, &names).ok_or(Unfit)?];
            analyzer.forms.stemmer = Some(algorithm);
            analyzer.stop_words = StopWords::Listed(stop_list(name));
        }
        return Ok(analyzer);
    }
    const NAMES: [&[u8]; 4] = [b"stemmer", b"stopwords", b"fold_accents", b"normalize"];
    let Analyzer {
        forms: Forms {
            stemmer,
            fold_accents,
        },
        stop_words,
        normalize,
    } = &mut analyzer;
    scanner.members(&NAMES, 2, |scanner, place| {
        match NAMES[place] {
            b"stemmer" if scanner.null()? => *stemmer = None,
            b"stemmer" => *stemmer = Some(word(scanner, &LANGUAGES)?),
            b"stopwords" => *stop_words = read_stop_words(scanner)?,
            b"fold_accents" => *fold_accents = scanner.boolean()?,
            _ => *normalize = scanner.boolean()?,
        }
        Ok(())
    })?;
    if analyzer.forms.fold_accents {
        analyzer.stop_words = std::mem::take(&mut analyzer.stop_words).without_accents();
    }
    Ok(analyzer)
}

/// Reads `stopwords`: null, a language's name, or words. A word is cut into tokens as texts are.
fn read_stop_words(scanner: &mut Scanner) -> Result<StopWords, Unfit> {
    if scanner.null()? {
        return Ok(StopWords::None);
    }
    if scanner.peek() == Some(b'"') {
        return Ok(StopWords::Listed(word(scanner, &STOP_LISTS)?));
    }
    let (mut words, mut token) = (HashSet::new(), Vec::new());
    scanner.array(|scanner| {
        let span = scanner.string()?;
        let text = text_of(scanner, span);
        let had = words.len();
        tokenize::ws(&text, &mut token, |word| {
            words.insert(String::from_utf8_lossy(word).into_owned());
        });
        // One without tokens stops nothing. It counts as given all the same, as the contract's types say.
        if words.len() == had && !text.is_empty() {
            words.insert(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(())
    })?;
    Ok(StopWords::Given(words))
}
