//! The members of a FuseRequest that few requests have: they are stored separately, at no cost for other
//! requests.

use std::sync::Arc;

use super::analyzer::analyzer;
use super::corpus::{Corpus, Given, NamedCorpus, given};
use super::legs::{self, Boost, Faults, Leg, Source};
use super::named::Named;
use super::options::{Doc, Options};
use super::results::{self, Collapse, CollapseBy, Diversify, Highlight, LikenessBy};
use super::unknown::{Notes, Unknown};
use super::values::{NOWHERE, number, whole, word};
use crate::fuse::corpora::{Lesson, Version};
use crate::json::{Scanner, Span, Unfit};
use crate::tokens::analyzer::Analyzer;
use crate::tokens::tokenize::Tokenizer;

/// The members that few requests have.
#[derive(Debug, Default)]
pub struct More {
    /// Rules that turn tokens into terms.
    pub analyzer: Option<Analyzer>,
    /// Inline statistics for BM25; none: those of the request's docs.
    pub corpus: Option<Corpus>,
    /// Named statistics, instead of inline ones.
    pub corpus_named: Option<NamedCorpus>,
    /// The version of the named statistics.
    pub(in crate::fuse) corpus_found: Option<Arc<Version>>,
    /// True if the request's docs are learnt under that name.
    pub learn: bool,
    /// That name, if its docs may be learnt.
    pub lesson: Option<Lesson>,
    /// The profile that the request names.
    pub profile: Option<NamedProfile>,
    /// Treatment of a doc without a dense score.
    pub on_missing_dense: OnMissing,
    /// Meaning of dense scores.
    pub dense_kind: DenseKind,
    /// Least fused score of a result.
    pub min_score: Option<f64>,
    /// The lists to fuse; empty: BM25 and the dense list by their weights.
    pub legs: Vec<Leg>,
    /// Docs' numbers for legs.
    pub scores: Named,
    /// Numbers that raise or lower scores.
    pub boosts: Vec<Boost>,
    /// Docs' numbers for boosts.
    pub values: Named,
    /// The rule by which docs count as one.
    pub collapse: Option<Collapse>,
    /// Diversification of the results.
    pub diversify: Option<Diversify>,
    /// Highlights of the results' texts.
    pub highlight: Option<Highlight>,
    /// Groups of docs, by the index of the doc.
    groups: Vec<(u32, Span)>,
    /// Members that are not declared.
    pub unknown: Unknown,
    pub(in crate::fuse) faults: Faults,
}

impl More {
    /// Bytes of memory that the lists take.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.legs)
            + size_of_val(&*self.boosts)
            + size_of_val(&*self.groups)
            + self.scores.bytes()
            + self.values.bytes()
    }
}

/// Treatment of a doc without a dense score.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum OnMissing {
    /// A model computes the scores of all docs.
    #[default]
    Embed,
    /// 0.
    Zero,
    /// The lowest score that was sent.
    Min,
    /// The request is refused.
    Error,
}

/// Meaning of dense scores.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum DenseKind {
    /// A greater value is closer.
    #[default]
    Similarity,
    /// A lower value is closer; 0 or more.
    Distance,
}

/// A reference to a profile.
#[derive(Debug)]
pub struct NamedProfile {
    /// Span of the name.
    pub(in crate::fuse) name: Span,
    /// The requested version; `None`: the newest.
    pub(in crate::fuse) version: Option<f64>,
    /// True if the request has it as an object, not as a name alone.
    pub(in crate::fuse) is_object: bool,
    /// The name and the version that were found.
    pub(crate) found: Option<(String, u32)>,
}

const MISSING: [(&[u8], OnMissing); 4] = [
    (b"embed", OnMissing::Embed),
    (b"zero", OnMissing::Zero),
    (b"min", OnMissing::Min),
    (b"error", OnMissing::Error),
];
const KINDS: [(&[u8], DenseKind); 2] = [
    (b"similarity", DenseKind::Similarity),
    (b"distance", DenseKind::Distance),
];

impl More {
    /// Reads the value of one of these members.
    #[cold]
    pub(super) fn read(&mut self, scanner: &mut Scanner, name: &[u8], notes: &Notes) -> Result<(), Unfit> {
        match name {
            b"analyzer" => self.analyzer = Some(analyzer(scanner, notes)?),
            b"corpus" => {
                (self.corpus, self.corpus_named) = match given(scanner)? {
                    Given::Inline(corpus) => (Some(corpus), None),
                    Given::Named(named) => (None, Some(named)),
                }
            }
            b"learn" => self.learn = scanner.boolean()?,
            b"profile" => self.profile = Some(named_profile(scanner)?),
            b"on_missing_dense" => self.on_missing_dense = word(scanner, &MISSING)?,
            b"dense_kind" => self.dense_kind = word(scanner, &KINDS)?,
            b"legs" => self.legs = legs::read_legs(scanner, notes)?,
            b"boosts" => self.boosts = legs::read_boosts(scanner, notes)?,
            b"collapse" => self.collapse = Some(results::read_collapse(scanner, notes)?),
            b"diversify" => self.diversify = Some(results::read_diversify(scanner, notes)?),
            b"highlight" => self.highlight = Some(results::read_highlight(scanner, notes)?),
            _ => self.min_score = Some(number(scanner, f64::MIN, f64::MAX)?),
        }
        Ok(())
    }

    /// Reads the value of the member at `place` in [`DOC_NAMES`](super::DOC_NAMES) of the doc at index `doc`.
    /// Not inlined into the loop over docs, which most requests need without it.
    #[inline(never)]
    pub(super) fn read_of_doc(
        &mut self,
        scanner: &mut Scanner,
        place: usize,
        doc: usize,
    ) -> Result<(), Unfit> {
        match place {
            3 => self.scores.read(scanner, doc),
            4 => self.values.read(scanner, doc),
            _ => {
                let doc = doc as u32;
                self.groups.pop_if(|(known, _)| *known == doc);
                self.groups.push((doc, scanner.string()?));
                Ok(())
            }
        }
    }

    /// Span of a doc's group in the body.
    pub(crate) fn group(&self, doc: u32) -> Option<Span> {
        let found = self.groups.binary_search_by_key(&doc, |&(known, _)| known);
        found.ok().map(|at| self.groups[at].1)
    }

    /// Removes the data of docs.
    pub(super) fn forget_docs(&mut self) {
        self.scores.clear();
        self.values.clear();
        self.groups.clear();
    }

    /// Takes the faults of names that only all docs together show, a JSON array of `{loc, message}`.
    pub(crate) fn take_faults(&mut self) -> Option<Vec<u8>> {
        self.faults.take()
    }

    /// True if dense scores are fused.
    pub(crate) fn needs_dense(&self) -> bool {
        self.legs.is_empty() || self.legs.iter().any(|leg| leg.source == Source::Dense)
    }

    /// True if BM25 is fused.
    pub(crate) fn needs_bm25(&self) -> bool {
        self.legs.is_empty() || self.legs.iter().any(|leg| leg.source == Source::Bm25)
    }

    /// True if results are diversified by vectors.
    pub(crate) fn compares_vectors(&self) -> bool {
        let by = self.diversify.map(|diversify| diversify.by);
        by == Some(LikenessBy::Vectors)
    }

    /// Sets the dense scores that no model computes, once the request is parsed.
    pub(super) fn complete(&mut self, options: &mut Options, docs: &mut [Doc]) -> Result<(), Unfit> {
        let plain = self.analyzer.as_ref().is_none_or(Analyzer::is_plain);
        if !plain && options.tokenizer != Tokenizer::Ws {
            return Err(Unfit);
        }
        if self.dense_kind == DenseKind::Distance {
            // Missing ones are NaN.
            if docs.iter().any(|doc| doc.dense < 0.0) {
                return Err(Unfit);
            }
            docs.iter_mut()
                .for_each(|doc| doc.dense = 1.0 / (1.0 + doc.dense));
        }
        if self.learn && self.corpus_named.is_none() {
            return Err(Unfit);
        }
        let embeds = self.on_missing_dense == OnMissing::Embed && self.needs_dense();
        if self.compares_vectors() && (options.all_dense || !embeds) {
            let message = "a model makes the vectors, which scores no doc here: leave dense_score out";
            self.faults.add("\"diversify\",\"by\"", None, message);
        }
        self.look_up()?;
        if options.all_dense || embeds {
            return Ok(());
        }
        let least = match self.on_missing_dense {
            OnMissing::Error => return Err(Unfit),
            OnMissing::Min if options.some_dense => {
                docs.iter().fold(f64::MAX, |least, doc| least.min(doc.dense))
            }
            _ => 0.0,
        };
        for doc in docs.iter_mut().filter(|doc| doc.dense.is_nan()) {
            doc.dense = least;
        }
        options.all_dense = true;
        Ok(())
    }

    /// Matches the names of legs and boosts with those in the docs.
    fn look_up(&mut self) -> Result<(), Unfit> {
        legs::look_up(
            (&mut self.legs, &self.scores),
            (&mut self.boosts, &self.values),
            &mut self.faults,
        );
        let by_group = self
            .collapse
            .is_some_and(|collapse| collapse.by == CollapseBy::Group);
        if by_group && self.groups.is_empty() {
            self.faults.add("\"collapse\",\"by\"", None, "no doc has a group");
        }
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(Unfit)
        }
    }

    /// The version of the statistics that the request names.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.corpus_found.as_deref()
    }

    /// Span of the statistics' name in the body.
    pub(crate) fn corpus_name(&self) -> Option<Span> {
        self.corpus_named.as_ref().map(|named| named.name)
    }

    /// True if BM25 uses the statistics of a collection.
    pub(crate) fn has_statistics(&self) -> bool {
        self.corpus.is_some() || self.version().is_some()
    }

    /// True if explanations list terms.
    pub(crate) fn names_terms(&self) -> bool {
        self.analyzer.is_some() || self.corpus.is_some() || self.corpus_named.is_some()
    }
}

/// Reads `profile`: a name, or a name and a version.
fn named_profile(scanner: &mut Scanner) -> Result<NamedProfile, Unfit> {
    let (mut name, mut version) = (NOWHERE, None);
    let is_object = scanner.peek() != Some(b'"');
    if is_object {
        let met = scanner.members(&[b"name", b"version"], 2, |scanner, place| {
            match place {
                0 => name = scanner.string()?,
                _ => version = Some(whole(scanner, 1.0, f64::from(u32::MAX))?),
            }
            Ok(())
        })?;
        if met & 1 == 0 {
            return Err(Unfit);
        }
    } else {
        name = scanner.string()?;
    }
    Ok(NamedProfile {
        name,
        version,
        is_object,
        found: None,
    })
}
