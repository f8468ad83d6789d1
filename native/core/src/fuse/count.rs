//! Counting the query's terms in the docs' texts.

use std::ops::Range;

use super::request::Options;
use super::request::more::More;
use super::request::results::LikenessBy;
use super::spans::with_text;
use super::workspace::Workspace;
use crate::cpu::scan::code_points;
use crate::json::Span;
use crate::tokens::ascii::count_ws_ascii;
use crate::tokens::terms::{Hits, Terms, Use};
use crate::tokens::tokenize::{self, Keyed, Tokenizer};

/// Least number of characters that a doc counts for: even an empty doc has an entry in the answer.
pub const LEAST_DOC_CHARACTERS: u64 = 16;

/// Counts the words of a text: ASCII with the loop for ASCII, other text with `other`. Returns code points
/// and tokens.
#[inline]
pub(super) fn count_text(
    text: &[u8],
    range: Range<usize>,
    ascii: bool,
    terms: &Terms,
    hits: &mut Hits,
    other: impl FnOnce(&[u8], &mut Hits) -> usize,
) -> (u64, usize) {
    if ascii {
        let characters = range.len() as u64;
        let keeps = hits.met.begin_counted();
        let tokens = count_ws_ascii(text, range.start, range.end, terms, hits);
        hits.met.end_counted(keeps);
        return (characters, tokens);
    }
    hits.met.end_counted(false);
    let text = &text[range];
    (code_points(text), other(text, hits))
}

impl Workspace {
    /// Counts each text's terms and tokens. Returns the characters that the request counts for: the code
    /// points of the query and of each text, for a text at least [`LEAST_DOC_CHARACTERS`].
    pub(super) fn count(&mut self, body: &[u8], options: &Options) -> u64 {
        match options.tokenizer {
            Tokenizer::Ws => self.count_words(body, options),
            Tokenizer::Keyed(cut) => self.count_keys(body, options, cut),
        }
    }

    /// As [`Workspace::count`], for a request with members that few requests have: with its analyzer, and
    /// with the positions or the terms of texts recorded if those of most texts are needed later. Otherwise
    /// the few texts are read again.
    pub(super) fn count_more(&mut self, body: &[u8], options: &Options, more: &More) -> u64 {
        let analyzer = more.analyzer.as_ref().filter(|analyzer| !analyzer.is_plain());
        let docs = self.lists.docs.len();
        let repairs = analyzer.is_some_and(|analyzer| analyzer.normalize);
        let shows_most = options.top_k.saturating_mul(4) >= docs;
        let highlights = more.highlight.is_some();
        self.hits.met.begin_request(highlights && !repairs && shows_most);
        let compares_all = more.diversify.is_some_and(|diversify| {
            diversify.by == LikenessBy::Terms && diversify.most(options.top_k) >= docs
        });
        let words = options.tokenizer == Tokenizer::Ws && analyzer.is_none();
        self.collects = compares_all && words && !highlights;
        if self.collects {
            self.distinct.clear();
        }
        let characters = match analyzer {
            Some(analyzer) => self.count_analyzed(body, options.query, analyzer),
            None => self.count(body, options),
        };
        if self.collects {
            self.hits.met.begin(Use::Count);
        }
        self.hits.met.end_request();
        characters
    }

    fn count_words(&mut self, body: &[u8], options: &Options) -> u64 {
        let collects = self.collects;
        let (terms, _, token, unescaped) = self.reading();
        terms.clear();
        let of_query = with_text(body, options.query, unescaped, |text, range, _| {
            tokenize::ws(&text[range.clone()], token, |term| terms.insert(term));
            code_points(&text[range])
        });
        terms.finish();
        if collects {
            // Words that are not in the query are needed too.
            terms.admit_all();
        }
        let count = terms.frequencies().len();
        of_query
            + self.count_docs(count, |workspace, text| {
                let (terms, hits, token, unescaped) = workspace.reading();
                with_text(body, text, unescaped, |text, range, ascii| {
                    count_text(text, range, ascii, terms, hits, |text, hits| {
                        if collects {
                            tokenize::count_and_collect_ws(text, token, terms, hits)
                        } else {
                            tokenize::count_ws(text, token, terms, hits)
                        }
                    })
                })
            })
    }

    fn count_keys(&mut self, body: &[u8], options: &Options, cut: Keyed) -> u64 {
        let Workspace {
            bigrams, unescaped, ..
        } = self;
        bigrams.clear();
        let of_query = with_text(body, options.query, unescaped, |text, range, _| {
            cut.each(&text[range.clone()], |key| bigrams.insert(key));
            code_points(&text[range])
        });
        let count = bigrams.frequencies().len();
        of_query
            + self.count_docs(count, |workspace, text| {
                let Workspace {
                    bigrams,
                    hits,
                    unescaped,
                    ..
                } = workspace;
                with_text(body, text, unescaped, |text, range, _| {
                    let text = &text[range];
                    (code_points(text), cut.count(text, bigrams, hits))
                })
            })
    }

    /// Counts `terms` terms in every doc. `count` records the counts of one text in `hits` and returns the
    /// text's code points and tokens. Returns the characters that the docs count for.
    #[inline]
    pub(super) fn count_docs(
        &mut self,
        terms: usize,
        mut count: impl FnMut(&mut Self, Span) -> (u64, usize),
    ) -> u64 {
        self.hits.reset(terms);
        self.matches.clear();
        self.lengths.clear();
        self.document_frequencies.clear();
        self.document_frequencies.resize(terms, 0);
        let mut characters = 0;
        for place in 0..self.lists.docs.len() {
            if self.collects {
                self.hits.met.begin(Use::CountAndCollect);
            }
            let (own, length) = count(self, self.lists.docs[place].text);
            if self.collects {
                self.distinct.add_text(self.hits.met.hashes());
            }
            characters += own.max(LEAST_DOC_CHARACTERS);
            self.end_matches(length);
        }
        characters
    }

    pub(super) fn frequencies(&self, options: &Options) -> &[u32] {
        match options.tokenizer {
            Tokenizer::Ws => self.terms.frequencies(),
            Tokenizer::Keyed(_) => self.bigrams.frequencies(),
        }
    }

    /// Records the counts of `hits` for the next doc.
    #[inline]
    fn end_matches(&mut self, length: usize) {
        let Workspace {
            hits,
            matches,
            document_frequencies,
            lengths,
            ..
        } = self;
        hits.drain(|term, count| {
            matches.push((term, count));
            document_frequencies[term as usize] += 1;
        });
        lengths.push((matches.len(), length));
    }
}
