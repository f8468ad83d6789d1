//! POST /v1/fuse from the request's bytes to the answer's: parses, adds the dense scores that a model
//! computes, counts, scores, writes. A request that waits for vectors stays parsed, so that no body is parsed
//! twice.

mod analyze;
mod answer;
pub mod bm25;
mod collapse;
pub mod corpora;
mod count;
mod cut;
mod diversify;
mod elementary;
mod explain;
mod highlight;
mod legs;
mod notes;
mod pending;
mod profile;
pub mod profiles;
pub mod request;
mod rerank;
mod score;
mod versions;
mod window;

use std::sync::Arc;

use crate::embed::dense::{Gathered, Models};
use crate::embed::entity_map::{EntityMap, Refused};
use crate::embed::sight::Poor;
use crate::embed::static_model::Scratch;
use crate::fuse::corpora::{Learning, Visible};
use crate::fuse::request::more::{More, NotFound};
use crate::fuse::request::rerank::{Api, Asked, Refused as Unranked, Wrong};
use crate::fuse::request::{Lists, Options, Said};
use crate::json::{Span, unescape};
use crate::tokens::analyzer::Analyzer;
use crate::tokens::terms::{Bigrams, Distinct, Hits, Terms};
use crate::tokens::tokenize::{Keyed, Tokenizer};
pub(crate) use analyze::read_as;
use diversify::Choice;
use explain::Pieces;
use legs::List;
pub use pending::Pending;
use score::{Fused, Statistics};

/// Buffers that one thread keeps from request to request, so that a request allocates nothing once they have
/// grown. None grows with the number of tokens.
#[derive(Default)]
pub struct Workspace {
    lists: Lists,
    terms: Terms,
    bigrams: Bigrams,
    hits: Hits,
    token: Vec<u8>,
    unescaped: Vec<u8>,
    /// (term, its count in the doc), in the order of the docs.
    matches: Vec<(u32, u32)>,
    /// The end of each doc's matches, and its length in tokens.
    lengths: Vec<(usize, usize)>,
    document_frequencies: Vec<u32>,
    term_weights: Vec<f64>,
    statistics: Statistics,
    corpus_frequencies: Vec<f64>,
    /// Span of the name, version and number of docs of the statistics that the answer names.
    told: Option<(Span, u32, f64)>,
    /// The member of the answer that names the profile.
    profile: Vec<u8>,
    /// Number of results in the answer.
    shown: usize,
    bm25: Vec<f64>,
    fused: Vec<Fused>,
    order: Vec<(u64, u32)>,
    bm25_ranks: Vec<u32>,
    dense_ranks: Vec<u32>,
    scratch: Scratch,
    /// Parts of results that few requests have.
    pieces: Pieces,
    /// The highlights of results.
    highlights: Pieces,
    /// How results were chosen, if they are diversified.
    choices: Vec<Choice>,
    distinct: Distinct,
    /// True if counting collects the terms of all docs in `distinct`.
    collects: bool,
    /// Warnings that few requests have, each after a comma.
    notes: Vec<u8>,
    /// The leg that is being fused.
    list: List,
    /// The first doc of whose text a model read only the beginning, and the number of such docs.
    cut: Option<(usize, usize)>,
    /// True if BM25 is not fused.
    bm25_unused: bool,
    /// True if dense scores are not fused.
    dense_unused: bool,
    /// Why the last request is [`Outcome::Invalid`], if only all docs together show that.
    faults: Option<Vec<u8>>,
    /// The last request with its profile's settings written out, if it is [`Outcome::Invalid`] with these.
    written_out: Option<Vec<u8>>,
    /// The request of the last [`Outcome::Pending`].
    pending: Option<Pending>,
    /// Why the last rerank request is [`Outcome::Invalid`].
    unranked: Option<Unranked>,
}

/// Form of the answer: that of /v1/fuse, or that of a rerank interface.
enum Form {
    Fuse,
    Rerank(Box<Asked>),
}

/// What a request may need: models, where a doc has no dense score, and named data.
#[derive(Clone, Copy)]
pub struct Embedding<'a> {
    /// The installed models.
    pub models: &'a Arc<Models>,
    /// Most docs of a request that a model scores.
    pub most_docs: usize,
    /// The statistics and profiles that requests may name.
    pub corpora: Option<Visible<'a>>,
}

/// The source of the dense scores, for the answer.
struct Source<'a> {
    model: Option<String>,
    truncated: bool,
    poor: Poor,
    /// The vectors that the scores were computed from.
    vectors: Option<&'a Gathered>,
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was written.
    Written {
        /// Bytes written.
        length: usize,
        /// Code points of the query and the texts.
        characters: u64,
    },
    /// The answer may need this many bytes of room.
    NeedsRoom(usize),
    /// The request was parsed and waits: for vectors that are computed elsewhere, or only for room.
    /// [`Workspace::take_pending`] returns it.
    Pending,
    /// The request is invalid, has more docs than a model scores, or names an unknown model.
    Invalid,
    /// The request learns, and its owner must be known first.
    OwnerUnknown,
    /// `entity_map` cannot be applied.
    Entities(Refused),
}

impl From<Refused> for Outcome {
    fn from(refused: Refused) -> Self {
        Outcome::Entities(refused)
    }
}

impl Form {
    /// Most bytes that the answer can take.
    fn room(&self, options: &Options, lists: &Lists) -> usize {
        match self {
            Form::Fuse => answer::room(options, lists),
            Form::Rerank(asked) => rerank::room(asked, lists),
        }
    }
}

/// Workspaces for more docs than this are freed after the request.
const KEPT_DOCS: usize = 1 << 14;
/// Buffers for escapes and tokens of more bytes than this are freed.
const KEPT_BYTES: usize = 1 << 20;

impl Workspace {
    /// Answers `body` into `out`.
    pub fn fuse(&mut self, body: &[u8], out: &mut [u8], embedding: Embedding<'_>) -> Outcome {
        let outcome = self
            .answer(body, out, embedding)
            .unwrap_or_else(|unanswered| unanswered);
        self.give_back();
        outcome
    }

    /// Answers a rerank request into `out`, in the form of one of the rerank interfaces. `id`: the answer's
    /// id, which needs no escape in JSON.
    pub fn rerank(
        &mut self,
        body: &[u8],
        api: Api,
        id: &str,
        out: &mut [u8],
        embedding: Embedding<'_>,
    ) -> Outcome {
        let outcome = match self.read_rerank(body, api, id, embedding) {
            Ok(asked) => {
                let (options, form) = (asked.options, Form::Rerank(asked));
                self.answer_read(body, options, form, out, embedding)
                    .unwrap_or_else(|unanswered| unanswered)
            }
            Err(unranked) => {
                self.unranked = Some(unranked);
                Outcome::Invalid
            }
        };
        self.give_back();
        outcome
    }

    /// Why the last rerank request was [`Outcome::Invalid`].
    pub fn take_unranked(&mut self) -> Option<Unranked> {
        self.unranked.take()
    }

    /// Faults of names in the last request, as a JSON array of `{loc, message}`, if they made it
    /// [`Outcome::Invalid`].
    pub fn take_faults(&mut self) -> Option<Vec<u8>> {
        self.faults.take()
    }

    /// Takes the last request with its profile's settings written out, if it was [`Outcome::Invalid`] with
    /// these.
    pub fn take_written_out(&mut self) -> Option<Vec<u8>> {
        self.written_out.take()
    }

    /// Takes the request of the last [`Outcome::Pending`].
    pub fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// Frees memory that few requests need.
    fn give_back(&mut self) {
        self.lists.more = None;
        if self.lists.docs.capacity() + self.lists.entities.capacity() > KEPT_DOCS
            || self.matches.capacity() > KEPT_DOCS * 16
            || self.unescaped.capacity()
                + self.token.capacity()
                + self.terms.room()
                + self.bigrams.room()
                + self.pieces.room()
                + self.highlights.room()
                + self.notes.capacity()
                + self.hits.met.room()
                + self.distinct.room()
                > KEPT_BYTES
        {
            let (pending, unranked) = (self.pending.take(), self.unranked.take());
            let (faults, written_out) = (self.faults.take(), self.written_out.take());
            *self = Workspace {
                pending,
                unranked,
                faults,
                written_out,
                ..Workspace::default()
            };
        }
    }

    fn answer(&mut self, body: &[u8], out: &mut [u8], embedding: Embedding<'_>) -> Result<Outcome, Outcome> {
        (self.faults, self.written_out) = (None, None);
        let Ok(said) = request::read(body, &mut self.lists) else {
            return Err(Outcome::Invalid);
        };
        let more = self.lists.more.as_ref();
        if more.is_some_and(|more| more.profile.is_some()) {
            return self.answer_by_profile(body, said, out, embedding);
        }
        self.answer_said(body, said, out, embedding)
    }

    /// Answers a request that is complete, or was completed by its profile.
    fn answer_said(
        &mut self,
        body: &[u8],
        said: Said,
        out: &mut [u8],
        embedding: Embedding<'_>,
    ) -> Result<Outcome, Outcome> {
        let Ok(options) = request::complete(said, &mut self.lists) else {
            self.faults = self.lists.more.as_mut().and_then(|more| more.take_faults());
            return Err(Outcome::Invalid);
        };
        if let Some(more) = &mut self.lists.more
            && let Err(not_found) = more.find(body, options.tokenizer, embedding.corpora)
        {
            self.faults = more.take_faults();
            return Err(match not_found {
                NotFound::Refused => Outcome::Invalid,
                NotFound::OwnerUnknown => Outcome::OwnerUnknown,
            });
        }
        self.answer_read(body, options, Form::Fuse, out, embedding)
    }

    /// Parses a rerank request and finds its model.
    fn read_rerank(
        &mut self,
        body: &[u8],
        api: Api,
        id: &str,
        Embedding {
            models, most_docs, ..
        }: Embedding<'_>,
    ) -> Result<Box<Asked>, Unranked> {
        self.lists.more = None;
        let mut asked = Box::new(crate::fuse::request::rerank::read(
            body,
            api,
            id,
            &mut self.lists,
        )?);
        let refused = |wrong| Unranked {
            shape: asked.shape,
            wrong,
        };
        let docs = self.lists.docs.len();
        if docs > most_docs {
            return Err(refused(Wrong::TooMany {
                docs,
                most: most_docs,
            }));
        }
        let named = asked.options.embed_model;
        let id = named.map(|id| text_of(body, id, &mut self.unescaped));
        if models.find(id.as_deref()).is_none() {
            if models.find(None).is_none() {
                return Err(refused(Wrong::NoModel));
            }
            asked.unknown_model = named;
            asked.options.embed_model = None;
        }
        if answer::has_cjk(body, asked.options.query) {
            asked.options.tokenizer = Tokenizer::Keyed(Keyed::Ngram);
        }
        Ok(asked)
    }

    /// Answers a parsed request.
    fn answer_read(
        &mut self,
        body: &[u8],
        options: Options,
        form: Form,
        out: &mut [u8],
        embedding: Embedding<'_>,
    ) -> Result<Outcome, Outcome> {
        let room = form.room(&options, &self.lists);
        if options.all_dense {
            if room > out.len() {
                return Err(Outcome::NeedsRoom(room));
            }
            let source = Source {
                model: None,
                truncated: false,
                poor: Poor::default(),
                vectors: None,
            };
            return Ok(self.finish(body, &options, &form, &source, out));
        }
        let gathered = self.gather(body, &options, embedding)?;
        let mut needed = room;
        if room <= out.len() && gathered.missing().next().is_none() {
            let source = self.complete(&gathered);
            match self.finish(body, &options, &form, &source, out) {
                Outcome::NeedsRoom(more) => needed = more,
                written => return Ok(written),
            }
        }
        // The gathered vectors stay, also where only room is missing.
        self.pending = Some(Pending {
            options,
            form,
            lists: std::mem::take(&mut self.lists),
            gathered,
            length: body.len(),
            joined: None,
            needed,
        });
        Err(Outcome::Pending)
    }

    /// Sets every doc's dense score to the one that the model computed.
    fn complete<'a>(&mut self, gathered: &'a Gathered) -> Source<'a> {
        let (scores, poor) = gathered.scores();
        for (doc, score) in self.lists.docs.iter_mut().zip(scores) {
            doc.dense = score;
        }
        self.cut = gathered.truncated_docs();
        Source {
            model: Some(gathered.model().id().to_owned()),
            truncated: gathered.truncated(),
            poor,
            vectors: Some(gathered),
        }
    }

    /// Answers a parsed request that has all its dense scores. The room suffices, except for warnings and
    /// details that few requests have.
    fn finish(
        &mut self,
        body: &[u8],
        options: &Options,
        form: &Form,
        source: &Source<'_>,
        out: &mut [u8],
    ) -> Outcome {
        self.notes.clear();
        if let (Some(_), Some((first, count))) = (&source.model, self.cut) {
            self.note_truncated(first, count);
        }
        if let Some(mut more) = self.lists.more.take() {
            self.note_unknown(&mut more.unknown);
            let outcome = self.finish_more(body, options, &more, source, out);
            self.lists.more = Some(more);
            return outcome;
        }
        self.pieces.clear();
        self.highlights.clear();
        (self.bm25_unused, self.dense_unused) = (false, false);
        (self.told, self.collects) = (None, false);
        self.profile.clear();
        let characters = self.count(body, options);
        self.score(body, options, None);
        self.combine(options);
        let length = match form {
            Form::Fuse => {
                self.sort();
                self.shown = self.order.len().min(options.top_k);
                self.write(body, options, source, out)
            }
            Form::Rerank(asked) => {
                self.lower_empty(options);
                self.sort();
                self.write_rerank(body, asked, source, out)
            }
        };
        Outcome::Written { length, characters }
    }

    /// As [`Workspace::finish`], for a request with members that few requests have.
    fn finish_more(
        &mut self,
        body: &[u8],
        options: &Options,
        more: &More,
        source: &Source<'_>,
        out: &mut [u8],
    ) -> Outcome {
        let plain = Analyzer::default();
        let analyzer = more.analyzer.as_ref();
        let characters = self.count_more(body, options, more);
        (self.bm25_unused, self.dense_unused) = (!more.needs_bm25(), !more.needs_dense());
        self.score(body, options, Some(more));
        self.told = more
            .version()
            .zip(more.corpus_name())
            .map(|(version, name)| (name, version.number, version.statistics.docs));
        self.tell_profile(more);
        if more.legs.is_empty() {
            self.combine(options);
        } else {
            self.combine_legs(options, more);
        }
        if !more.boosts.is_empty() {
            self.boost(more);
        }
        self.sort();
        if let Some(least) = more.min_score {
            let enough = |&(_, place): &(u64, u32)| self.fused[place as usize].score >= least;
            let end = self.order.partition_point(enough);
            self.order.truncate(end);
        }
        self.choices.clear();
        if let Some(collapse) = more.collapse {
            self.collapse(body, more, collapse);
        }
        if let Some(diversify) = more.diversify {
            let how = (analyzer.unwrap_or(&plain), diversify);
            self.diversify(body, options, how, source.vectors);
        }
        self.shown = self.order.len().min(options.top_k);
        self.pieces.clear();
        self.highlights.clear();
        if let Some(highlight) = more.highlight {
            self.highlight(body, options, highlight);
        }
        if options.explain {
            self.explain_more(body, options, more, analyzer.unwrap_or(&plain));
        }
        let needed =
            answer::room(options, &self.lists) + self.pieces.len() + self.highlights.len() + self.notes.len();
        if needed > out.len() {
            return Outcome::NeedsRoom(needed);
        }
        if let Some(learning) = &more.learning {
            self.learn(body, learning);
        }
        let length = self.write(body, options, source, out);
        Outcome::Written { length, characters }
    }

    /// Offers the docs to the learning of a name.
    #[cold]
    fn learn(&mut self, body: &[u8], learning: &Learning) {
        if learning.has_ended() {
            return;
        }
        let Workspace { lists, unescaped, .. } = self;
        let docs = &lists.docs;
        let digests: Vec<u64> = docs
            .iter()
            .map(|doc| with_str(body, doc.text, unescaped, |text| learning.digest(text)))
            .collect();
        learning.offer(&digests, |at| text_of(body, docs[at].text, unescaped).into());
    }

    /// Gathers the query's and the docs' texts as the model reads them.
    fn gather(
        &mut self,
        body: &[u8],
        options: &Options,
        Embedding {
            models, most_docs, ..
        }: Embedding<'_>,
    ) -> Result<Gathered, Outcome> {
        let Workspace {
            lists,
            unescaped,
            scratch,
            ..
        } = self;
        let Lists { docs, entities, more } = lists;
        if docs.len() > most_docs {
            return Err(Outcome::Invalid);
        }
        let id = options.embed_model.map(|id| text_of(body, id, unescaped));
        let model = models.find(id.as_deref()).ok_or(Outcome::Invalid)?;
        let mut text = |span: &Span| text_of(body, *span, unescaped);
        let pairs = entities
            .iter()
            .map(|(form, substitute)| (text(form), text(substitute)));
        let map = EntityMap::new(pairs.collect())?;
        let query = text(&options.query);
        let mut gathered = Gathered::new(models, model, map, &query, scratch)?;
        if more.as_ref().is_some_and(|more| more.compares_vectors()) {
            gathered.keep_vectors();
        }
        for doc in docs.iter() {
            with_str(body, doc.text, unescaped, |text| gathered.add(text, scratch))?;
        }
        Ok(gathered)
    }
}

/// Calls `each` with the buffer that has the characters of `span`, their range in it, and whether all are
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

/// As [`with_text`], for a `str`.
fn with_str<T>(body: &[u8], span: Span, unescaped: &mut Vec<u8>, mut each: impl FnMut(&str) -> T) -> T {
    with_text(body, span, unescaped, |text, range, _| {
        // The whole body is UTF-8, spans lie between ASCII quotes, and escapes are whole characters.
        each(std::str::from_utf8(&text[range]).unwrap_or_default())
    })
}

/// A copy of a text.
fn text_of(body: &[u8], span: Span, unescaped: &mut Vec<u8>) -> String {
    with_str(body, span, unescaped, str::to_owned)
}
