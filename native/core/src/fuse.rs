//! POST /v1/fuse from the request's bytes to the answer's: parses, adds the dense scores that a model
//! computes, counts, scores, writes. A request that waits for vectors stays parsed, so that no body is parsed
//! twice.

mod analyze;
mod answer;
pub mod bm25;
mod collapse;
pub mod corpora;
mod cost;
mod count;
mod cut;
mod diversify;
mod elementary;
mod explain;
mod form;
mod highlight;
mod legs;
mod lookup;
mod notes;
mod pending;
mod pieces;
mod profile;
pub mod profiles;
mod reading;
pub mod request;
mod rerank;
mod score;
mod scored;
mod spans;
mod versions;
mod visible;
mod window;
mod workspace;
mod writer;

use std::sync::Arc;

use crate::embed::dense::{Gathered, Models};
use crate::embed::entity_map::{self, EntityMap, Refused};
use crate::forms::Pairs;
use crate::tokens::analyzer::Analyzer;
use crate::tokens::tokenize::{Keyed, Tokenizer};
use corpora::Lesson;
use cost::{LOOP_DETAILS, LOOP_PRODUCTS, LOOP_READ, is_long};
use form::Form;
use lookup::NotFound;
pub use pending::Pending;
use request::more::More;
use request::rerank::{Api, Asked, Refused as Unranked, Wrong};
use request::{Lists, Options, Said};
use spans::{text_of, with_str};
pub use visible::Visible;
use workspace::Source;
pub use workspace::{Embedding, Outcome, Workspace};

impl Workspace {
    /// Answers `body` into `out`.
    pub fn fuse(&mut self, body: &[u8], out: &mut [u8], embedding: Embedding<'_>) -> Outcome {
        self.begin(body, embedding.most_bytes, embedding.on_loop);
        let outcome = self
            .answer(body, out, embedding)
            .unwrap_or_else(|unanswered| unanswered);
        self.end(outcome)
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
        self.begin(body, embedding.most_bytes, embedding.on_loop);
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
        self.end(outcome)
    }

    /// Answers a request that waited, or gathers its vectors first. It is [`Outcome::Pending`] again if some
    /// are missing. `body`: the one that it was parsed from; `models`: those of then; `on_loop`:
    /// [`Embedding::on_loop`].
    ///
    /// # Panics
    /// When the body has another length.
    pub fn answer_pending(
        &mut self,
        pending: &mut Pending,
        body: &[u8],
        out: &mut [u8],
        models: &Arc<Models>,
        on_loop: bool,
    ) -> Outcome {
        assert_eq!(body.len(), pending.length, "another body");
        let room = pending.room();
        if room > out.len() {
            return Outcome::NeedsRoom(room);
        }
        self.begin(body, pending.most_bytes, on_loop);
        std::mem::swap(&mut self.lists, &mut pending.lists);
        let outcome = self
            .resume(pending, body, out, models)
            .unwrap_or_else(|unanswered| unanswered);
        std::mem::swap(&mut self.lists, &mut pending.lists);
        self.end(outcome)
    }

    /// Answers a request whose lists are in this workspace again.
    fn resume(
        &mut self,
        pending: &mut Pending,
        body: &[u8],
        out: &mut [u8],
        models: &Arc<Models>,
    ) -> Result<Outcome, Outcome> {
        let body = pending.joined.as_deref().unwrap_or(body);
        let gathering = (models, pending.model, &mut pending.gathered);
        self.answer_scored(body, &pending.options, &pending.form, gathering, out)
    }

    /// Answers a parsed request once it has all dense scores, for which vectors are gathered first that are
    /// not yet. `Err`: it has to wait for some of them or for a larger `out`, or cannot have them.
    fn answer_scored(
        &mut self,
        body: &[u8],
        options: &Options,
        form: &Form,
        (models, model, gathered): (&Arc<Models>, Option<usize>, &mut Option<Gathered>),
        out: &mut [u8],
    ) -> Result<Outcome, Outcome> {
        let Some(model) = model else {
            return Ok(self.finish(body, options, form, &Source::default(), out));
        };
        let gathered = match gathered {
            Some(gathered) => gathered,
            None => gathered.insert(self.gather(body, options, models, model)?),
        };
        // The vectors are retained, even if only the buffer is too small.
        if form.room(options, &self.lists) > out.len() || !gathered.is_whole() {
            return Err(Outcome::Pending);
        }
        let source = self.complete(gathered);
        Ok(self.finish(body, options, form, &source, out))
    }

    /// Begins a request with an answer of at most `most_bytes`. `body`: as it was sent.
    fn begin(&mut self, body: &[u8], most_bytes: usize, on_loop: bool) {
        (self.most_bytes, self.on_loop, self.apart) = (most_bytes, on_loop, None);
        self.sent_bytes = body.len();
        self.most_details = most_bytes;
        // A caller who takes an answer of any length takes any details, too.
        if most_bytes < usize::MAX {
            self.most_details = most_bytes.min(cost::most_details(body.len()));
        }
        if on_loop {
            self.most_details = self.most_details.min(LOOP_DETAILS);
        }
    }

    /// Ends a request: an answer that is too large is none.
    fn end(&mut self, outcome: Outcome) -> Outcome {
        let is_too_large = matches!(outcome, Outcome::Written { length, .. } if length > self.most_bytes);
        if is_too_large {
            self.apart = None;
        }
        self.give_back();
        if is_too_large { Outcome::TooLarge } else { outcome }
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
        let mut asked = Box::new(request::rerank::read(body, api, id, &mut self.lists)?);
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
        let models = embedding.models;
        let model = self.model(body, &options, embedding)?;
        let room = form.room(&options, &self.lists);
        if model.is_none() && room > out.len() {
            return Err(Outcome::NeedsRoom(room));
        }
        let is_long =
            |model| body.len() > LOOP_READ || self.vector_products(&options, models, model) > LOOP_PRODUCTS;
        let mut gathered = None;
        let outcome = if embedding.on_loop && model.is_some_and(is_long) {
            Outcome::Deferred
        } else {
            self.answer_scored(body, &options, &form, (models, model, &mut gathered), out)
                .unwrap_or_else(|unanswered| unanswered)
        };
        if !matches!(outcome, Outcome::Pending | Outcome::Deferred) {
            return Ok(outcome);
        }
        self.pending = Some(Pending {
            options,
            form,
            lists: std::mem::take(&mut self.lists).shrunk(),
            model,
            gathered,
            length: body.len(),
            joined: None,
            most_bytes: embedding.most_bytes,
        });
        Err(outcome)
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

    /// Answers a parsed request that has all its dense scores. The buffer suffices, except for warnings and
    /// details that few requests have: with these the answer may get memory of its own.
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
                self.lower_empty(body, options);
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
        if self.on_loop && is_long(body, options, more, source.model.is_some(), self.lists.docs.len()) {
            return Outcome::Deferred;
        }
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
        if !self.detail(body, options, more, analyzer.unwrap_or(&plain)) {
            return self.undetailed();
        }
        if let Some(lesson) = &more.lesson {
            self.learn(body, lesson);
        }
        let needed =
            form::room(options, &self.lists) + self.pieces.len() + self.highlights.len() + self.notes.len();
        let length = if needed > out.len() {
            self.write_apart(body, options, source, (needed, out))
        } else {
            self.write(body, options, source, out)
        };
        Outcome::Written { length, characters }
    }

    /// The outcome of a request whose details are longer than they may be here.
    fn undetailed(&self) -> Outcome {
        if self.most_details == LOOP_DETAILS && self.on_loop {
            Outcome::Deferred
        } else if self.most_details < self.most_bytes {
            Outcome::TooDetailed
        } else {
            Outcome::TooLarge
        }
    }

    /// Writes the highlights and the explanations of the results; false if they are longer than they may be.
    fn detail(&mut self, body: &[u8], options: &Options, more: &More, analyzer: &Analyzer) -> bool {
        self.pieces.clear();
        self.highlights.clear();
        if let Some(highlight) = more.highlight {
            self.highlight(body, options, highlight);
        }
        self.highlights.len() <= self.most_details
            && (!options.explain || self.explain_more(body, options, more, analyzer))
    }

    /// Writes the answer into memory of its own, or, if it is not too long, into `out`.
    #[cold]
    fn write_apart(
        &mut self,
        body: &[u8],
        options: &Options,
        source: &Source<'_>,
        (needed, out): (usize, &mut [u8]),
    ) -> usize {
        let mut apart = vec![0; needed];
        let length = self.write(body, options, source, &mut apart);
        apart.truncate(length);
        match out.get_mut(..length) {
            Some(out) => out.copy_from_slice(&apart),
            None => self.apart = Some(apart),
        }
        length
    }

    /// Offers the docs to the name that learns.
    #[cold]
    fn learn(&mut self, body: &[u8], lesson: &Lesson) {
        if lesson.has_ended() {
            return;
        }
        let Workspace { lists, unescaped, .. } = self;
        let docs = &lists.docs;
        let digests: Vec<u64> = docs
            .iter()
            .map(|doc| with_str(body, doc.text, unescaped, |text| lesson.digest(text)))
            .collect();
        lesson.offer(&digests, |at| text_of(body, docs[at].text, unescaped).into());
    }

    /// The index of the model that scores the docs: the named one, or the default one. `None`: the request
    /// has all dense scores.
    fn model(
        &mut self,
        body: &[u8],
        options: &Options,
        Embedding {
            models, most_docs, ..
        }: Embedding<'_>,
    ) -> Result<Option<usize>, Outcome> {
        if options.all_dense {
            return Ok(None);
        }
        if self.lists.docs.len() > most_docs {
            return Err(Outcome::Invalid);
        }
        let id = options.embed_model;
        let id = id.map(|id| text_of(body, id, &mut self.unescaped));
        models.find(id.as_deref()).map(Some).ok_or(Outcome::Invalid)
    }

    /// Most products of vectors' numbers that it takes to diversify the docs by a model's vectors.
    fn vector_products(&self, options: &Options, models: &Models, model: usize) -> usize {
        let more = self.lists.more.as_ref().filter(|more| more.compares_vectors());
        let diversify = more.and_then(|more| more.diversify);
        diversify.map_or(0, |diversify| {
            let count = diversify.most(options.top_k).min(self.lists.docs.len());
            let dimension = models.get(model).map_or(0, |model| model.dimension);
            count * count.min(options.top_k) * dimension
        })
    }

    /// Gathers the query's and the docs' texts as the model reads them. On an event loop, texts that a map
    /// makes too long for it come to [`Outcome::Deferred`].
    fn gather(
        &mut self,
        body: &[u8],
        options: &Options,
        models: &Arc<Models>,
        model: usize,
    ) -> Result<Gathered, Outcome> {
        let Workspace {
            lists,
            unescaped,
            scratch,
            on_loop,
            ..
        } = self;
        let Lists { docs, entities, more } = lists;
        let mut pairs = Pairs::default();
        for &(form, substitute) in entities.iter() {
            let form = text_of(body, form, unescaped);
            with_str(body, substitute, unescaped, |substitute| {
                pairs.add(&form, substitute)
            });
        }
        let most = entity_map::most_bytes(self.sent_bytes);
        let here = if *on_loop { most.min(LOOP_READ) } else { most };
        let refused = |refused| match refused {
            Refused::Texts if here < most => Outcome::Deferred,
            _ => Outcome::Entities(refused),
        };
        let map = EntityMap::new(pairs, here).map_err(refused)?;
        let query = text_of(body, options.query, unescaped);
        let mut gathered = Gathered::new(models, model, map, &query, scratch).map_err(refused)?;
        if more.as_ref().is_some_and(|more| more.compares_vectors()) {
            gathered.keep_vectors();
        }
        for doc in docs.iter() {
            with_str(body, doc.text, unescaped, |text| gathered.add(text, scratch)).map_err(refused)?;
        }
        Ok(gathered)
    }
}
