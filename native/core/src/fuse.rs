//! POST /v1/fuse from the request's bytes to the answer's: BM25 over the request's docs, fusion, order.
//!
//! A BM25 score is the sum over the query's terms, in order of first occurrence, of weight * tf / (tf +
//! norm).

use std::sync::Arc;

use crate::ascii::count_ws_ascii;
use crate::dense::{Gathered, MODEL_ID_BYTES, Models};
use crate::entity_map::EntityMap;
use crate::json::{Span, unescape};
use crate::request::{self, Doc, Lists, Method, Options, Stopped, Tokenizer, Unscored};
use crate::scan::code_points;
use crate::static_model::Scratch;
use crate::terms::{Bigrams, Hits, Terms};
use crate::{bm25, tokenize, unicode};

/// Buffers that one thread keeps from request to request, so that a request allocates nothing once they have
/// grown; none grows with the number of tokens.
#[derive(Default)]
pub struct Workspace {
    lists: Lists,
    terms: Terms,
    bigrams: Bigrams,
    hits: Hits,
    token: Vec<u8>,
    unescaped: Vec<u8>,
    /// (term, its count in the doc), doc after doc.
    matches: Vec<(u32, u32)>,
    /// Where each doc's matches end, and its length in tokens.
    lengths: Vec<(usize, usize)>,
    document_frequencies: Vec<u32>,
    term_weights: Vec<f64>,
    bm25: Vec<f64>,
    fused: Vec<Fused>,
    order: Vec<(u64, u32)>,
    bm25_ranks: Vec<u32>,
    dense_ranks: Vec<u32>,
    scratch: Scratch,
    /// What [`Outcome::NeedsVectors`] waits for.
    gathered: Option<Gathered>,
}

/// Where dense scores come from.
#[derive(Clone, Copy)]
pub enum Dense<'a> {
    /// Every doc has one.
    Caller,
    /// They are computed where a doc lacks one.
    Computed(&'a Computed<'a>),
    /// They were computed for this body.
    Known(&'a Known<'a>),
}

/// What dense scores are computed by.
pub struct Computed<'a> {
    /// The installed models.
    pub models: &'a Arc<Models>,
    /// Most docs of a request that they are computed for.
    pub most_docs: usize,
}

/// Dense scores that were computed for a body.
pub struct Known<'a> {
    /// In the order of the docs; finite, never -0.
    pub scores: &'a [f64],
    /// The model's id, which needs no escape in JSON.
    pub model: &'a str,
    /// Whether the model read only the beginning of the query or of a text.
    pub truncated: bool,
}

/// What the answer says of where the dense scores come from.
struct Source {
    model: Option<String>,
    truncated: bool,
}

/// One doc's scores.
#[derive(Debug, Clone, Copy, Default)]
struct Fused {
    bm25_norm: f64,
    dense_norm: f64,
    bm25_part: f64,
    dense_part: f64,
    score: f64,
}

/// What the fast path made of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was written: its length, and how many characters the request counts for.
    Written {
        /// Bytes written.
        length: usize,
        /// Code points of the query and the texts.
        characters: u64,
    },
    /// Something in it is for the exact path.
    Declined,
    /// A doc came without a dense score. Said before the rest of the body was read.
    NeedsModel,
    /// The model computes vectors elsewhere, and some are not known: [`Workspace::take_gathered`] has them.
    NeedsVectors,
    /// The answer may need this many bytes of room.
    NeedsRoom(usize),
}

impl From<Stopped> for Outcome {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Declined => Outcome::Declined,
            Stopped::Unscored => Outcome::NeedsModel,
        }
    }
}

/// Workspaces over this many docs are given back after the request.
const KEPT_DOCS: usize = 1 << 14;
/// Room for escapes and tokens is given back over this many bytes.
const KEPT_BYTES: usize = 1 << 20;

impl Workspace {
    /// Answers `body` into `out`.
    pub fn fuse(&mut self, body: &[u8], out: &mut [u8], dense: Dense<'_>) -> Outcome {
        let outcome = self.answer(body, out, dense).unwrap_or_else(|declined| declined);
        if self.lists.docs.capacity() + self.lists.entities.capacity() > KEPT_DOCS
            || self.matches.capacity() > KEPT_DOCS * 16
            || self.unescaped.capacity() + self.token.capacity() + self.terms.room() + self.bigrams.room()
                > KEPT_BYTES
        {
            let gathered = self.gathered.take();
            *self = Workspace {
                gathered,
                ..Workspace::default()
            };
        }
        outcome
    }

    /// What the last [`Outcome::NeedsVectors`] waits for.
    pub fn take_gathered(&mut self) -> Option<Gathered> {
        self.gathered.take()
    }

    fn answer(&mut self, body: &[u8], out: &mut [u8], dense: Dense<'_>) -> Result<Outcome, Outcome> {
        let unscored = match dense {
            Dense::Caller => Unscored::Stops,
            Dense::Computed(_) | Dense::Known(_) => Unscored::Noted,
        };
        let options = request::read(body, &mut self.lists, unscored)?;
        let room = self.room(&options);
        if room > out.len() {
            return Err(Outcome::NeedsRoom(room));
        }
        let source = self.complete_dense(body, &options, dense)?;
        let characters = match options.tokenizer {
            Tokenizer::Ws => self.count_words(body, &options),
            Tokenizer::Ngram => self.count_bigrams(body, &options),
        };
        self.score(&options);
        self.combine(&options);
        self.sort();
        let length = self.write(body, &options, &source, out);
        Ok(Outcome::Written { length, characters })
    }

    /// Gives every doc its dense score.
    fn complete_dense(
        &mut self,
        body: &[u8],
        options: &Options,
        dense: Dense<'_>,
    ) -> Result<Source, Outcome> {
        let (scores, source) = match dense {
            Dense::Computed(computed) if !options.all_dense => {
                let gathered = self.gather(body, options, computed)?;
                if gathered.missing().next().is_some() {
                    self.gathered = Some(gathered);
                    return Err(Outcome::NeedsVectors);
                }
                let (model, truncated) = (gathered.model().id().to_owned(), gathered.truncated());
                (
                    gathered.scores(),
                    Source {
                        model: Some(model),
                        truncated,
                    },
                )
            }
            Dense::Known(&Known {
                scores,
                model,
                truncated,
            }) => {
                let model = Some(model.to_owned());
                (scores.to_vec(), Source { model, truncated })
            }
            Dense::Caller | Dense::Computed(_) => {
                let (model, truncated) = (None, false);
                return Ok(Source { model, truncated });
            }
        };
        if scores.len() != self.lists.docs.len() {
            return Err(Outcome::Declined);
        }
        for (doc, score) in self.lists.docs.iter_mut().zip(scores) {
            doc.dense = score;
        }
        Ok(source)
    }

    /// The query's and the docs' texts as the model reads them. What no model can read is left to the exact
    /// path, which says why.
    fn gather(
        &mut self,
        body: &[u8],
        options: &Options,
        &Computed { models, most_docs }: &Computed<'_>,
    ) -> Result<Gathered, Outcome> {
        let Workspace {
            lists,
            unescaped,
            scratch,
            ..
        } = self;
        let Lists { docs, entities } = lists;
        if docs.len() > most_docs {
            return Err(Outcome::Declined);
        }
        let id = options.embed_model.map(|id| text_of(body, id, unescaped));
        let model = models.find(id.as_deref()).ok_or(Outcome::Declined)?;
        let mut text = |span: &Span| text_of(body, *span, unescaped);
        let pairs = entities
            .iter()
            .map(|(form, substitute)| (text(form), text(substitute)));
        let refused = |_| Outcome::Declined;
        let map = EntityMap::new(pairs.collect()).map_err(refused)?;
        let query = text(&options.query);
        let mut gathered = Gathered::new(models, model, map, &query, scratch).map_err(refused)?;
        for doc in docs.iter() {
            with_str(body, doc.text, unescaped, |text| gathered.add(text, scratch)).map_err(refused)?;
        }
        Ok(gathered)
    }

    fn count_words(&mut self, body: &[u8], options: &Options) -> u64 {
        let Workspace {
            terms,
            hits,
            token,
            unescaped,
            ..
        } = self;
        terms.clear();
        let mut characters = 0;
        with_text(body, options.query, unescaped, |text, range, _| {
            characters += code_points(&text[range.clone()]);
            tokenize::ws(&text[range], token, |term| terms.insert(term));
        });
        terms.finish();
        hits.reset(terms.frequencies().len());
        self.start_matches(options);
        for place in 0..self.lists.docs.len() {
            let Workspace {
                lists,
                terms,
                hits,
                token,
                unescaped,
                ..
            } = self;
            let length = with_text(body, lists.docs[place].text, unescaped, |text, range, ascii| {
                if ascii {
                    characters += range.len() as u64;
                    return count_ws_ascii(text, range.start, range.end, terms, hits);
                }
                characters += code_points(&text[range.clone()]);
                tokenize::count_ws(&text[range], token, terms, hits)
            });
            self.end_matches(length);
        }
        characters
    }

    fn count_bigrams(&mut self, body: &[u8], options: &Options) -> u64 {
        let Workspace {
            bigrams,
            hits,
            unescaped,
            ..
        } = self;
        bigrams.clear();
        let mut characters = 0;
        with_text(body, options.query, unescaped, |text, range, _| {
            characters += code_points(&text[range.clone()]);
            tokenize::ngram(&text[range], |key| bigrams.insert(key));
        });
        hits.reset(bigrams.frequencies().len());
        self.start_matches(options);
        for place in 0..self.lists.docs.len() {
            let Workspace {
                lists,
                bigrams,
                hits,
                unescaped,
                ..
            } = self;
            let length = with_text(body, lists.docs[place].text, unescaped, |text, range, _| {
                characters += code_points(&text[range.clone()]);
                tokenize::count_ngram(&text[range], bigrams, hits)
            });
            self.end_matches(length);
        }
        characters
    }

    fn frequencies(&self, options: &Options) -> &[u32] {
        match options.tokenizer {
            Tokenizer::Ws => self.terms.frequencies(),
            Tokenizer::Ngram => self.bigrams.frequencies(),
        }
    }

    fn start_matches(&mut self, options: &Options) {
        let terms = self.frequencies(options).len();
        self.matches.clear();
        self.lengths.clear();
        self.document_frequencies.clear();
        self.document_frequencies.resize(terms, 0);
    }

    /// Files what `hits` counted under the next doc.
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

    fn score(&mut self, options: &Options) {
        let docs = self.lists.docs.len();
        let tokens: usize = self.lengths.iter().map(|&(_, length)| length).sum();
        let average = tokens as f64 / docs as f64;
        let mut weights = std::mem::take(&mut self.term_weights);
        weights.clear();
        let counts = self.frequencies(options).iter().zip(&self.document_frequencies);
        weights.extend(counts.map(|(&in_query, &in_docs)| bm25::term_weight(in_query, in_docs, docs)));
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

    fn combine(&mut self, options: &Options) {
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
            ranks(self.bm25.iter().copied(), &mut self.order, &mut self.bm25_ranks);
            ranks(
                self.lists.docs.iter().map(|doc| doc.dense),
                &mut self.order,
                &mut self.dense_ranks,
            );
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

    fn sort(&mut self) {
        sort_descending(self.fused.iter().map(|fused| fused.score), &mut self.order);
    }

    /// Whether no doc matched a term, and whether the dense scores tell no doc from another.
    fn warnings(&self) -> (bool, bool) {
        let lexical_empty = self.matches.is_empty();
        let first = self.lists.docs[0].dense;
        let dense_flat = self.lists.docs.len() > 1 && self.lists.docs.iter().all(|doc| doc.dense == first);
        (lexical_empty, dense_flat)
    }

    /// Most bytes that the answer can take.
    fn room(&self, options: &Options) -> usize {
        const NUMBER: usize = 25;
        const RESULT: usize = 80 + 3 * NUMBER + 10;
        const EXPLAIN: usize = 110 + 4 * NUMBER + 20;
        const REST: usize = 1024 + MODEL_ID_BYTES;
        let each = RESULT + if options.explain { EXPLAIN } else { 0 };
        let strings = |doc: &Doc| {
            let text = if options.return_text {
                doc.text.end - doc.text.start
            } else {
                0
            };
            doc.id.end - doc.id.start + text
        };
        let query = options.query.end - options.query.start;
        REST + query + self.lists.docs.len() * each + self.lists.docs.iter().map(strings).sum::<usize>()
    }

    fn write(&self, body: &[u8], options: &Options, source: &Source, out: &mut [u8]) -> usize {
        let mut writer = Writer { out, at: 0 };
        let copied = |span: Span| &body[span.start..span.end];
        writer.raw(b"{\"query\":\"");
        writer.raw(copied(options.query));
        writer.raw(match options.method {
            Method::MaxNorm => b"\",\"method\":\"maxnorm\",\"tokenizer\":\"" as &[u8],
            Method::Rrf => b"\",\"method\":\"rrf\",\"tokenizer\":\"",
        });
        writer.raw(match options.tokenizer {
            Tokenizer::Ws => b"ws\",\"dense_source\":\"" as &[u8],
            Tokenizer::Ngram => b"ngram\",\"dense_source\":\"",
        });
        match &source.model {
            None => writer.raw(b"caller"),
            Some(model) => {
                writer.raw(b"model:");
                writer.raw(model.as_bytes());
            }
        }
        writer.raw(b"\",\"results\":[");
        for (rank, &(_, place)) in self.order.iter().take(options.top_k).enumerate() {
            let place = place as usize;
            let doc = &self.lists.docs[place];
            writer.raw(if rank == 0 { b"{\"id\":\"" } else { b",{\"id\":\"" });
            writer.raw(copied(doc.id));
            writer.raw(b"\",\"text\":\"");
            if options.return_text {
                writer.raw(copied(doc.text));
            }
            writer.number(b"\",\"dense_score\":", doc.dense);
            writer.number(b",\"bm25_score\":", self.bm25[place]);
            writer.number(b",\"fused_score\":", self.fused[place].score);
            writer.number(b",\"rank\":", (rank + 1) as f64);
            if options.explain {
                self.write_explain(place, &mut writer);
            }
            writer.raw(b"}");
        }
        writer.raw(b"]");
        self.write_warnings(body, options, source, &mut writer);
        writer.raw(b"}");
        writer.at
    }

    fn write_explain(&self, place: usize, writer: &mut Writer<'_>) {
        let fused = &self.fused[place];
        writer.number(b",\"explain\":{\"bm25_norm\":", fused.bm25_norm);
        writer.number(b",\"dense_norm\":", fused.dense_norm);
        writer.number(b",\"bm25_part\":", fused.bm25_part);
        writer.number(b",\"dense_part\":", fused.dense_part);
        writer.number(b",\"bm25_rank\":", f64::from(self.bm25_ranks[place]));
        writer.number(b",\"dense_rank\":", f64::from(self.dense_ranks[place]));
        writer.raw(b"}");
    }

    fn write_warnings(&self, body: &[u8], options: &Options, source: &Source, writer: &mut Writer<'_>) {
        let (lexical_empty, dense_flat) = self.warnings();
        let mut separator: &[u8] = b",\"warnings\":[";
        let mut warn = |warning: &[u8]| {
            writer.raw(separator);
            writer.raw(warning);
            separator = b",";
        };
        if lexical_empty {
            let cjk = options.tokenizer == Tokenizer::Ws
                && self.lists.docs.iter().any(|doc| has_cjk(body, doc.text));
            warn(if cjk { LEXICAL_EMPTY_CJK } else { LEXICAL_EMPTY });
        }
        if dense_flat {
            warn(DENSE_FLAT);
        }
        if source.truncated {
            warn(TRUNCATED);
        }
        if separator == b"," {
            writer.raw(b"]");
        }
    }
}

const LEXICAL_EMPTY: &[u8] = b"{\"code\":\"lexical_leg_empty\",\"message\":\"\
No document contains a term of the query: every bm25_score is 0.\"}";
const LEXICAL_EMPTY_CJK: &[u8] = b"{\"code\":\"lexical_leg_empty\",\"message\":\"\
No document contains a term of the query: every bm25_score is 0. The texts hold Chinese, Japanese or Korean, \
which ws does not split into words: try tokenizer ngram.\"}";
const DENSE_FLAT: &[u8] = b"{\"code\":\"dense_leg_flat\",\"message\":\"\
All dense scores are equal: they do not change the order.\"}";
const TRUNCATED: &[u8] = b"{\"code\":\"truncated_input\",\"message\":\"\
The model read only the beginning of the query or of a text: they are longer than it takes.\"}";

/// Hands `each` the buffer that holds the characters of `span`, where in it they lie, and whether all are
/// ASCII.
#[inline]
fn with_text<T>(
    body: &[u8],
    span: Span,
    unescaped: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], std::ops::Range<usize>, bool) -> T,
) -> T {
    if !span.escaped {
        return each(body, span.start..span.end, span.ascii);
    }
    unescaped.clear();
    unescape(&body[span.start..span.end], unescaped);
    each(unescaped, 0..unescaped.len(), unescaped.is_ascii())
}

/// [`with_text`] for text.
fn with_str<T>(body: &[u8], span: Span, unescaped: &mut Vec<u8>, mut each: impl FnMut(&str) -> T) -> T {
    with_text(body, span, unescaped, |text, range, _| {
        // The whole body is UTF-8, spans lie between ASCII quotes, and escapes stand for characters.
        each(std::str::from_utf8(&text[range]).unwrap_or_default())
    })
}

/// A text of its own.
fn text_of(body: &[u8], span: Span, unescaped: &mut Vec<u8>) -> String {
    with_str(body, span, unescaped, str::to_owned)
}

fn has_cjk(body: &[u8], span: Span) -> bool {
    with_text(body, span, &mut Vec::new(), |text, range, ascii| {
        !ascii && String::from_utf8_lossy(&text[range]).chars().any(unicode::is_cjk)
    })
}

/// Sorts (score, place) by descending score, equal ones by ascending place, into `order`. No score is NaN or
/// -0.
fn sort_descending(scores: impl Iterator<Item = f64>, order: &mut Vec<(u64, u32)>) {
    order.clear();
    order.extend(scores.enumerate().map(|(place, score)| {
        // Maps the order of numbers, turned round, to the order of integers.
        let bits = (score + 0.0).to_bits();
        let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        (!ascending, place as u32)
    }));
    order.sort_unstable();
}

/// Ranks from 1 by descending score, ties by place.
fn ranks(scores: impl Iterator<Item = f64>, order: &mut Vec<(u64, u32)>, ranks: &mut Vec<u32>) {
    sort_descending(scores, order);
    ranks.clear();
    ranks.resize(order.len(), 0);
    for (rank, &(_, place)) in order.iter().enumerate() {
        ranks[place as usize] = rank as u32 + 1;
    }
}

/// Writes into room that was made large enough before.
struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// A member's beginning and its number as ECMAScript's Number::toString writes it.
    #[inline]
    fn number(&mut self, before: &[u8], value: f64) {
        self.raw(before);
        self.raw(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }
}
