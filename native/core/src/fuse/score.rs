//! Scores and ranks: BM25 of the counts, the fusion of both lists, and their order.
//!
//! A BM25 score is the sum over the query's terms, in order of first occurrence, of weight * tf / (tf +
//! norm).

use super::bm25;
use super::corpora;
use super::request::corpus::Corpus;
use super::request::more::More;
use super::request::{Method, Options};
use super::scored::{Fused, Statistics};
use super::workspace::Workspace;
use crate::json::{Scanner, unescape};
use crate::tokens::tokenize::Tokenizer;

impl Workspace {
    /// Computes BM25 with the statistics of a collection, or of the request's docs.
    pub(super) fn score(&mut self, body: &[u8], options: &Options, more: Option<&More>) {
        let docs = self.lists.docs.len();
        let tokens: usize = self.lengths.iter().map(|&(_, length)| length).sum();
        let average = tokens as f64 / docs as f64;
        let docs = docs as f64;
        let given = more.filter(|more| more.has_statistics());
        self.statistics = match given {
            None => Statistics { docs, average },
            Some(more) => self.look_up(body, options, more),
        };
        let Statistics { docs, average } = self.statistics;
        let mut weights = std::mem::take(&mut self.term_weights);
        weights.clear();
        let counts = self.frequencies(options).iter();
        if given.is_none() {
            let counts = counts.zip(&self.document_frequencies);
            let weight = |(&in_query, &in_docs)| bm25::term_weight(in_query, f64::from(in_docs), docs);
            weights.extend(counts.map(weight));
        } else {
            let counts = counts.zip(&self.corpus_frequencies);
            weights.extend(counts.map(|(&in_query, &in_docs)| bm25::term_weight(in_query, in_docs, docs)));
        }
        self.bm25.clear();
        let mut start = 0;
        for &(end, length) in &self.lengths {
            let norm = bm25::length_norm(options.k1, options.b, length, average);
            let score = self.matches[start..end]
                .iter()
                .fold(0.0, |score, &(term, count)| {
                    let count = f64::from(count);
                    score + weights[term as usize] * (count / (count + norm))
                });
            self.bm25.push(score);
            start = end;
        }
        self.term_weights = weights;
    }

    /// Looks the query's terms up in the statistics that a request has or names.
    fn look_up(&mut self, body: &[u8], options: &Options, more: &More) -> Statistics {
        match (&more.corpus, more.version()) {
            (Some(corpus), _) => self.look_up_inline(body, options, corpus),
            (None, Some(version)) => self.look_up_named(options, &version.statistics),
            // A name without statistics was refused before counting.
            (None, None) => Statistics::default(),
        }
    }

    /// Looks the query's terms up in named statistics.
    fn look_up_named(&mut self, options: &Options, named: &corpora::Statistics) -> Statistics {
        let mut frequencies = std::mem::take(&mut self.corpus_frequencies);
        frequencies.clear();
        for term in 0..self.frequencies(options).len() as u32 {
            frequencies.push(match options.tokenizer {
                Tokenizer::Ws => named.frequency(self.terms.text(term)),
                Tokenizer::Keyed(_) => named.frequency(self.bigrams.text(term).as_bytes()),
            });
        }
        self.corpus_frequencies = frequencies;
        Statistics {
            docs: named.docs,
            average: named.average_length,
        }
    }

    /// Looks the query's terms up in inline statistics; a term that is not listed is in none of the
    /// collection's docs.
    fn look_up_inline(&mut self, body: &[u8], options: &Options, corpus: &Corpus) -> Statistics {
        let mut frequencies = std::mem::take(&mut self.corpus_frequencies);
        frequencies.clear();
        frequencies.resize(self.frequencies(options).len(), 0.0);
        let mut name = Vec::new();
        // Checked when the request was parsed: an invalid value is one that a later value replaces.
        let _ = Scanner::again(body, corpus.frequencies).values(3, |scanner, span| {
            name.clear();
            unescape(scanner.bytes(span), &mut name);
            let value = scanner.number()?;
            let term = match options.tokenizer {
                Tokenizer::Ws => self.terms.find(&name),
                Tokenizer::Keyed(_) => self.bigrams.find(&name),
            };
            if let Some(term) = term {
                frequencies[term as usize] = value + 0.0;
            }
            Ok(())
        });
        self.corpus_frequencies = frequencies;
        Statistics {
            docs: corpus.docs,
            average: corpus.average_length,
        }
    }

    /// Number of docs of the collection that have a term.
    pub(super) fn frequency(&self, term: usize, corpus: bool) -> f64 {
        if corpus {
            self.corpus_frequencies[term]
        } else {
            f64::from(self.document_frequencies[term])
        }
    }

    pub(super) fn combine(&mut self, options: &Options) {
        let largest_bm25 = self
            .bm25
            .iter()
            .fold(0.0, |largest: f64, score| largest.max(score.abs()));
        let largest_dense = self
            .lists
            .docs
            .iter()
            .fold(0.0, |largest: f64, doc| largest.max(doc.dense.abs()));
        let normalized = |score: f64, largest: f64| if largest == 0.0 { 0.0 } else { score / largest };
        let ranked = options.method == Method::Rrf || options.explain;
        if ranked {
            self.rank_usual();
        }
        self.fused.clear();
        for (place, (doc, &bm25)) in self.lists.docs.iter().zip(&self.bm25).enumerate() {
            let bm25_norm = normalized(bm25, largest_bm25);
            let dense_norm = normalized(doc.dense, largest_dense);
            let (bm25_part, dense_part) = match options.method {
                Method::MaxNorm => (options.bm25_weight * bm25_norm, options.dense_weight * dense_norm),
                Method::Rrf => {
                    let part = |weight: f64, rank: u32| 2.0 * weight / (options.rrf_k + f64::from(rank));
                    (
                        part(options.bm25_weight, self.bm25_ranks[place]),
                        part(options.dense_weight, self.dense_ranks[place]),
                    )
                }
            };
            let score = bm25_part + dense_part;
            self.fused.push(Fused {
                bm25_norm,
                dense_norm,
                bm25_part,
                dense_part,
                score,
            });
        }
    }

    /// Ranks by BM25 and by dense score.
    pub(super) fn rank_usual(&mut self) {
        ranks(self.bm25.iter().copied(), &mut self.order, &mut self.bm25_ranks);
        ranks(
            self.lists.docs.iter().map(|doc| doc.dense),
            &mut self.order,
            &mut self.dense_ranks,
        );
    }

    pub(super) fn sort(&mut self) {
        sort_descending(self.fused.iter().map(|fused| fused.score), &mut self.order);
    }
}

/// Sorts (score, index) by descending score, equal ones by ascending index, into `order`. No score is NaN or
/// -0.
fn sort_descending(scores: impl Iterator<Item = f64>, order: &mut Vec<(u64, u32)>) {
    order.clear();
    order.extend(scores.enumerate().map(|(place, score)| {
        // Maps the descending order of floats to the ascending order of integers.
        let bits = (score + 0.0).to_bits();
        let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        (!ascending, place as u32)
    }));
    order.sort_unstable();
}

/// Ranks from 1 by descending score, ties by index.
pub(super) fn ranks(scores: impl Iterator<Item = f64>, order: &mut Vec<(u64, u32)>, ranks: &mut Vec<u32>) {
    sort_descending(scores, order);
    ranks.clear();
    ranks.resize(order.len(), 0);
    for (rank, &(_, place)) in order.iter().enumerate() {
        ranks[place as usize] = rank as u32 + 1;
    }
}
