//! Counting with an analyzer: forms instead of tokens, a query without stop words, repaired texts.

use std::borrow::Cow;

use super::count::count_text;
use super::reading::read_as;
use super::spans::{with_str, with_text};
use super::workspace::Workspace;
use crate::cpu::scan::code_points;
use crate::json::{Scanner, Span};
use crate::tokens::analyzer::{Analyzer, StopList, StopWords};
use crate::tokens::terms::{Hits, Terms};
use crate::tokens::tokenize;

/// A token as it is compared with stop words.
fn plain<'a>(token: &'a [u8], analyzer: &Analyzer) -> Cow<'a, str> {
    // Tokens consist of whole characters.
    analyzer.plain(std::str::from_utf8(token).unwrap_or_default())
}

/// The list of stop words, if tokens are compared with it as they are.
fn listed(analyzer: &Analyzer) -> Option<StopList> {
    match analyzer.stop_words {
        StopWords::None => Some(&[]),
        StopWords::Listed(words) if !analyzer.forms.fold_accents => Some(words),
        _ => None,
    }
}

/// The words of a query as they are compared with stop words, and which of them are stop words.
#[derive(Default)]
struct Compared {
    words: Terms,
    /// By the number of a word; empty where none is a stop word.
    stop: Vec<bool>,
}

impl Compared {
    /// Of a query whose stop words are in no list that can be searched. The list of a request is only read,
    /// once: a table of all its words would cost many times their bytes.
    fn new(query: &str, body: &[u8], analyzer: &Analyzer, token: &mut Vec<u8>) -> Self {
        let mut compared = Self::default();
        compared.words.clear();
        tokenize::ws(query.as_bytes(), token, |token| {
            let word = plain(token, analyzer);
            if !word.is_empty() {
                compared.words.insert(word.as_bytes());
            }
        });
        match analyzer.stop_words {
            StopWords::None => {}
            StopWords::Listed(words) => words.iter().for_each(|word| compared.note(&analyzer.plain(word))),
            StopWords::Given { at, .. } => {
                each_token(body, at, token, |token| compared.note(&plain(token, analyzer)))
            }
        }
        compared
    }

    /// Notes a stop word, if the query has it.
    fn note(&mut self, word: &str) {
        if let Some(word) = self.words.find(word.as_bytes()) {
            self.stop.resize(self.words.frequencies().len(), false);
            self.stop[word as usize] = true;
        }
    }

    fn is_stop(&self, token: &str, analyzer: &Analyzer) -> bool {
        !self.stop.is_empty()
            && self
                .words
                .find(analyzer.plain(token).as_bytes())
                .is_some_and(|word| self.stop[word as usize])
    }
}

/// Calls `each` with the tokens of the words in the JSON array at `at`, which was read before.
fn each_token(body: &[u8], at: usize, token: &mut Vec<u8>, mut each: impl FnMut(&[u8])) {
    let mut unescaped = Vec::new();
    let words = Scanner::again(body, at).array(|scanner| {
        let word = scanner.string()?;
        with_text(body, word, &mut unescaped, |text, range, _| {
            tokenize::ws(&text[range], token, &mut each)
        });
        Ok(())
    });
    debug_assert!(words.is_ok());
}

/// Adds a query's terms to `terms`, without stop words unless there are no other words. `body`: has the
/// analyzer's own stop words.
fn take_terms(
    query: &str,
    (body, analyzer): (&[u8], &Analyzer),
    token: &mut Vec<u8>,
    terms: &mut Terms,
    hits: &mut Hits,
) {
    let listed = listed(analyzer);
    let compared = match listed {
        Some(_) => Compared::default(),
        None => Compared::new(query, body, analyzer, token),
    };
    let listed = listed.unwrap_or_default();
    let is_stop = |token: &str| listed.binary_search(&token).is_ok() || compared.is_stop(token, analyzer);
    let mut take = |stop: bool| {
        tokenize::ws(query.as_bytes(), token, |token| {
            let token = std::str::from_utf8(token).unwrap_or_default();
            if stop || !is_stop(token) {
                terms.insert_form(token, hits);
            }
        });
        terms.frequencies().is_empty()
    };
    if take(false) {
        take(true);
    }
}

impl Workspace {
    /// As [`Workspace::count`], with an analyzer.
    pub(super) fn count_analyzed(&mut self, body: &[u8], query: Span, analyzer: &Analyzer) -> u64 {
        let (terms, hits, token, unescaped) = self.reading();
        terms.clear_for(analyzer.forms);
        let of_query = with_str(body, query, unescaped, |text| {
            take_terms(&read_as(text, analyzer), (body, analyzer), token, terms, hits);
            code_points(text.as_bytes())
        });
        terms.finish_forms(hits);
        let count = terms.frequencies().len();
        of_query
            + self.count_docs(count, |workspace, text| {
                let (terms, hits, token, unescaped) = workspace.reading();
                let mut counted = |text: &[u8], range, ascii| {
                    count_text(text, range, ascii, terms, hits, |text, hits| {
                        tokenize::count_ws_forms(text, token, terms, hits)
                    })
                };
                if !analyzer.normalize {
                    return with_text(body, text, unescaped, counted);
                }
                with_str(body, text, unescaped, |text| {
                    let read = read_as(text, analyzer);
                    let read = read.as_bytes();
                    let (_, length) = counted(read, 0..read.len(), read.is_ascii());
                    (code_points(text.as_bytes()), length)
                })
            })
    }
}
