//! Explanations of scores, written before the answer, so that their length is known.

use std::ops::Range;

use super::bm25;
use super::pieces::Pieces;
use super::reading::read_as;
use super::request::Options;
use super::request::more::More;
use super::spans::with_str;
use super::workspace::Workspace;
use crate::tokens::analyzer::Analyzer;
use crate::tokens::tokenize::{self, Tokenizer};

/// Most distinct tokens of a text that are named for a term.
const MOST_MATCHED: usize = 10;

/// The statistics of terms as JSON, each written once, however many texts have the term.
#[derive(Default)]
struct Constants {
    written: Vec<u8>,
    /// The start and the end of each term's; both 0: not written yet.
    places: Vec<(usize, usize)>,
}

impl Constants {
    /// The members `df` and `idf` of a term, and the name of the one after them. `in_docs`: the number of
    /// docs that have it, of `docs`.
    fn of(&mut self, term: usize, in_docs: impl Fn() -> f64, docs: f64) -> &[u8] {
        if self.places.len() <= term {
            self.places.resize(term + 1, (0, 0));
        }
        if self.places[term].1 == 0 {
            let (start, in_docs) = (self.written.len(), in_docs());
            let mut number = ryu_js::Buffer::new();
            for (name, value) in [
                (&b",\"df\":"[..], in_docs),
                (b",\"idf\":", bm25::idf(in_docs, docs)),
            ] {
                self.written.extend_from_slice(name);
                self.written
                    .extend_from_slice(number.format_finite(value).as_bytes());
            }
            self.written.extend_from_slice(b",\"part\":");
            self.places[term] = (start, self.written.len());
        }
        let (start, end) = self.places[term];
        &self.written[start..end]
    }
}

impl Workspace {
    /// Writes the pieces of the results, in their order. False, with as many as an answer may be long and one
    /// term or leg, if they are longer.
    pub(super) fn explain_more(
        &mut self,
        body: &[u8],
        options: &Options,
        more: &More,
        analyzer: &Analyzer,
    ) -> bool {
        let most = self.most_details.saturating_sub(self.highlights.len());
        let fused = !more.legs.is_empty() || !more.boosts.is_empty();
        let mut by_legs = vec![Vec::new(); if fused { self.shown } else { 0 }];
        if !self.explain_legs(options, more, most, &mut by_legs) {
            return false;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut constants = Constants::default();
        for rank in 0..self.shown {
            let place = self.order[rank].1 as usize;
            if more.names_terms() {
                let statistics = (analyzer, more.has_statistics(), &mut constants);
                self.explain_terms(body, options, statistics, place, (most, &mut pieces));
            }
            if let Some(piece) = by_legs.get_mut(rank) {
                pieces.raw(&std::mem::take(piece));
            }
            if let Some(choice) = self.choices.get(rank) {
                pieces.number(b",\"diversify\":{\"relevance\":", choice.relevance);
                pieces.number(b",\"similarity\":", choice.likeness);
                pieces.number(b",\"score\":", choice.score);
                pieces.raw(b"}");
            }
            pieces.end();
            if pieces.len() > most {
                break;
            }
        }
        self.pieces = pieces;
        self.pieces.len() <= most
    }

    /// The tokens of a text that become each of the query's terms that it has, whose places among all matches
    /// are given, in the order of the text. A list for each term of the query would cost as many for each
    /// result.
    fn matched(
        &mut self,
        body: &[u8],
        analyzer: &Analyzer,
        place: usize,
        found: Range<usize>,
    ) -> Vec<Vec<String>> {
        let Workspace {
            lists,
            terms,
            token,
            unescaped,
            matches,
            ..
        } = self;
        // By ascending term.
        let found = &matches[found];
        let mut matched = vec![Vec::new(); found.len()];
        with_str(body, lists.docs[place].text, unescaped, |text| {
            tokenize::ws(read_as(text, analyzer).as_bytes(), token, |token| {
                let token = std::str::from_utf8(token).unwrap_or_default();
                let term = terms.find_form(token);
                let at = term.and_then(|term| found.binary_search_by_key(&term, |&(term, _)| term).ok());
                let Some(tokens) = at.map(|at| &mut matched[at]) else {
                    return;
                };
                if tokens.len() < MOST_MATCHED && !tokens.iter().any(|known| known == token) {
                    tokens.push(token.to_owned());
                }
            });
        });
        matched
    }

    /// Writes the query's terms that a text has, each with its part of the score, until all pieces have more
    /// than `most` bytes.
    fn explain_terms(
        &mut self,
        body: &[u8],
        options: &Options,
        (analyzer, corpus, constants): (&Analyzer, bool, &mut Constants),
        place: usize,
        (most, pieces): (usize, &mut Pieces),
    ) {
        let start = place.checked_sub(1).map_or(0, |before| self.lengths[before].0);
        let (end, length) = self.lengths[place];
        let matched = match options.tokenizer {
            Tokenizer::Ws => self.matched(body, analyzer, place, start..end),
            Tokenizer::Keyed(_) => Vec::new(),
        };
        let norm = bm25::length_norm(options.k1, options.b, length, self.statistics.average);
        pieces.raw(b",\"terms\":[");
        for at in start..end {
            let (term, count) = self.matches[at];
            let known = term as usize;
            pieces.raw(if at == start {
                b"{\"term\":\""
            } else {
                b",{\"term\":\""
            });
            match options.tokenizer {
                // No term has a character that JSON escapes.
                Tokenizer::Ws => pieces.raw(self.terms.text(term)),
                Tokenizer::Keyed(_) => pieces.raw(self.bigrams.text(term).as_bytes()),
            }
            pieces.raw(b"\",\"matched\":[");
            match matched.get(at - start) {
                Some(tokens) => {
                    for (number, token) in tokens.iter().enumerate() {
                        pieces.raw(if number == 0 { b"\"" } else { b",\"" });
                        pieces.raw(token.as_bytes());
                        pieces.raw(b"\"");
                    }
                }
                None => {
                    pieces.raw(b"\"");
                    pieces.raw(self.bigrams.text(term).as_bytes());
                    pieces.raw(b"\"");
                }
            }
            let tf = f64::from(count);
            pieces.number(b"],\"tf\":", tf);
            let in_docs = || self.frequency(known, corpus);
            let before = constants.of(known, in_docs, self.statistics.docs);
            pieces.number(before, self.term_weights[known] * (tf / (tf + norm)));
            pieces.raw(b"}");
            if pieces.len() > most {
                return;
            }
        }
        pieces.raw(b"]");
    }
}
