//! The memory that one thread reuses for each request, and the outcomes of a request.

use std::sync::Arc;

use super::pending::Pending;
use super::pieces::Pieces;
use super::request::Lists;
use super::request::rerank::Refused as Unranked;
use super::scored::{Choice, Fused, List, Statistics};
use super::visible::Visible;
use crate::embed::dense::{Gathered, Models};
use crate::embed::entity_map::Refused;
use crate::embed::sight::Poor;
use crate::embed::static_model::Scratch;
use crate::json::Span;
use crate::tokens::terms::{Bigrams, Distinct, Hits, Terms};

/// Buffers that one thread reuses for each request, so that a request allocates nothing once they have grown.
/// None grows with the number of tokens.
#[derive(Default)]
pub struct Workspace {
    pub(super) lists: Lists,
    pub(super) terms: Terms,
    pub(super) bigrams: Bigrams,
    pub(super) hits: Hits,
    pub(super) token: Vec<u8>,
    pub(super) unescaped: Vec<u8>,
    /// (term, its count in the doc), in the order of the docs.
    pub(super) matches: Vec<(u32, u32)>,
    /// The end of each doc's matches, and its length in tokens.
    pub(super) lengths: Vec<(usize, usize)>,
    pub(super) document_frequencies: Vec<u32>,
    pub(super) term_weights: Vec<f64>,
    pub(super) statistics: Statistics,
    pub(super) corpus_frequencies: Vec<f64>,
    /// Span of the name, version and number of docs of the statistics that the answer names.
    pub(super) told: Option<(Span, u32, f64)>,
    /// The member of the answer that names the profile.
    pub(super) profile: Vec<u8>,
    /// Number of results in the answer.
    pub(super) shown: usize,
    pub(super) bm25: Vec<f64>,
    pub(super) fused: Vec<Fused>,
    pub(super) order: Vec<(u64, u32)>,
    pub(super) bm25_ranks: Vec<u32>,
    pub(super) dense_ranks: Vec<u32>,
    pub(super) scratch: Scratch,
    /// Parts of results that few requests have.
    pub(super) pieces: Pieces,
    /// The highlights of results.
    pub(super) highlights: Pieces,
    /// How results were chosen, if they are diversified.
    pub(super) choices: Vec<Choice>,
    pub(super) distinct: Distinct,
    /// True if counting collects the terms of all docs in `distinct`.
    pub(super) collects: bool,
    /// Warnings that few requests have, each after a comma.
    pub(super) notes: Vec<u8>,
    /// The leg that is being fused.
    pub(super) list: List,
    /// The first doc of whose text a model read only the beginning, and the number of such docs.
    pub(super) cut: Option<(usize, usize)>,
    /// True if BM25 is not fused.
    pub(super) bm25_unused: bool,
    /// True if dense scores are not fused.
    pub(super) dense_unused: bool,
    /// Why the last request is [`Outcome::Invalid`], if only all docs together show that.
    pub(super) faults: Option<Vec<u8>>,
    /// The last request with its profile's settings written out, if it is [`Outcome::Invalid`] with these.
    pub(super) written_out: Option<Vec<u8>>,
    /// The request of the last [`Outcome::Pending`] or [`Outcome::Deferred`].
    pub(super) pending: Option<Pending>,
    /// Bytes of the body as it was sent, without the settings of a profile.
    pub(super) sent_bytes: usize,
    /// Most bytes of the answer.
    pub(super) most_bytes: usize,
    /// Most bytes of highlights, and of explanations beside them.
    pub(super) most_details: usize,
    /// See [`Embedding::on_loop`].
    pub(super) on_loop: bool,
    /// The answer that the last [`Outcome::Written`] had no room for.
    pub(super) apart: Option<Vec<u8>>,
    /// Why the last rerank request is [`Outcome::Invalid`].
    pub(super) unranked: Option<Unranked>,
}

/// Models, for docs without a dense score, and named data that a request may need.
#[derive(Clone, Copy)]
pub struct Embedding<'a> {
    /// The installed models.
    pub models: &'a Arc<Models>,
    /// Most docs of a request that a model scores.
    pub most_docs: usize,
    /// Most bytes of an answer. A longer one is not written, nor its details beyond them.
    pub most_bytes: usize,
    /// True on an event loop, where long work comes to [`Outcome::Deferred`].
    pub on_loop: bool,
    /// The statistics and profiles that requests may name.
    pub corpora: Option<Visible<'a>>,
}

impl<'a> Embedding<'a> {
    /// For a caller off the event loop who takes an answer of any length.
    #[must_use]
    pub fn whole(models: &'a Arc<Models>, most_docs: usize, corpora: Option<Visible<'a>>) -> Self {
        Self {
            models,
            most_docs,
            most_bytes: usize::MAX,
            on_loop: false,
            corpora,
        }
    }
}

/// The source of the dense scores, for the answer. By default the request has them all.
#[derive(Default)]
pub(super) struct Source<'a> {
    pub(super) model: Option<String>,
    pub(super) truncated: bool,
    pub(super) poor: Poor,
    /// The vectors that the scores were computed from.
    pub(super) vectors: Option<&'a Gathered>,
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was written, to the buffer or, if it is longer, to memory of its own:
    /// [`Workspace::take_answer`] returns it.
    Written {
        /// Bytes written.
        length: usize,
        /// Code points of the query and the texts.
        characters: u64,
    },
    /// The answer may need a buffer of this many bytes, not counting its details.
    NeedsRoom(usize),
    /// The answer would be longer than [`Embedding::most_bytes`].
    TooLarge,
    /// The highlights and explanations would have more bytes than a body of this length may have.
    TooDetailed,
    /// The request was parsed and waits for vectors computed elsewhere, or only for a larger buffer.
    /// [`Workspace::take_pending`] returns it.
    Pending,
    /// The request is invalid, has more docs than a model scores, or names an unknown model.
    Invalid,
    /// The request learns, and its owner must be known first.
    OwnerUnknown,
    /// `entity_map` cannot be applied.
    Entities(Refused),
    /// On an event loop: the request was parsed and takes too long there, by the limits of `cost`.
    /// [`Workspace::take_pending`] returns it.
    Deferred,
}

/// Workspaces for more docs than this are freed after the request.
const KEPT_DOCS: usize = 1 << 14;
/// Buffers for escapes and tokens of more bytes than this are freed.
const KEPT_BYTES: usize = 1 << 20;

impl Workspace {
    /// The parts that read the words of a text: the query's terms, a doc's hits, the buffers of a token and
    /// of a text without escapes.
    pub(super) fn reading(&mut self) -> (&mut Terms, &mut Hits, &mut Vec<u8>, &mut Vec<u8>) {
        (
            &mut self.terms,
            &mut self.hits,
            &mut self.token,
            &mut self.unescaped,
        )
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

    /// Takes the answer of the last [`Outcome::Written`], if it is longer than the room that it was given.
    pub fn take_answer(&mut self) -> Option<Vec<u8>> {
        self.apart.take()
    }

    /// Takes the request of the last [`Outcome::Pending`] or [`Outcome::Deferred`].
    pub fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// Frees memory that few requests need.
    pub(super) fn give_back(&mut self) {
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
            let apart = self.apart.take();
            *self = Workspace {
                pending,
                unranked,
                faults,
                written_out,
                apart,
                ..Workspace::default()
            };
        }
    }
}
