//! Counting with an analyzer: forms instead of tokens, a query without stop words, repaired texts.

use super::count::count_text;
use super::reading::read_as;
use super::spans::{with_str, with_text};
use super::workspace::Workspace;
use crate::cpu::scan::code_points;
use crate::json::Span;
use crate::tokens::analyzer::Analyzer;
use crate::tokens::terms::{Hits, Terms};
use crate::tokens::tokenize;

/// Adds a query's terms to `terms`, without stop words unless there are no other words.
fn take_terms(query: &str, analyzer: &Analyzer, token: &mut Vec<u8>, terms: &mut Terms, hits: &mut Hits) {
    let mut take = |stop: bool| {
        tokenize::ws(query.as_bytes(), token, |token| {
            // Tokens consist of whole characters.
            let token = std::str::from_utf8(token).unwrap_or_default();
            if stop || !analyzer.stop_words.contains(&analyzer.plain(token)) {
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
            take_terms(&read_as(text, analyzer), analyzer, token, terms, hits);
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
