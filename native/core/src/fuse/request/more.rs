//! The members of a FuseRequest that few requests have: they are stored separately, at no cost for other
//! requests.

use std::collections::HashSet;
use std::sync::Arc;

use super::legs::{self, Boost, Faults, Leg, Source};
use super::named::Named;
use super::results::{self, Collapse, CollapseBy, Diversify, Highlight, LikenessBy};
use super::unknown::{Notes, Place, Unknown, known_members};
use super::{Doc, NOWHERE, Options, number, word};
use crate::fuse::corpora::{Learning, Terming, Version, Visible};
use crate::fuse::profiles::Profile;
use crate::fuse::versions::{Numbered, is_name};
use crate::json::{Scanner, Span, Unfit, unescape};
use crate::tokens::analyzer::{Analyzer, Forms, LANGUAGES, STOP_LISTS, StopWords, stop_list};
use crate::tokens::tokenize::{self, Tokenizer};

/// The members that few requests have.
#[derive(Debug, Default)]
pub struct More {
    /// Rules that turn tokens into terms.
    pub analyzer: Option<Analyzer>,
    /// Inline statistics for BM25; none: those of the request's docs.
    pub corpus: Option<Corpus>,
    /// Named statistics, instead of inline ones.
    pub corpus_named: Option<NamedCorpus>,
    /// True if the request's docs are learnt under that name.
    pub learn: bool,
    /// The learning of that name.
    pub learning: Option<Arc<Learning>>,
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
    /// Numbers of docs for legs.
    pub scores: Named,
    /// Numbers that raise or lower scores.
    pub boosts: Vec<Boost>,
    /// Numbers of docs for boosts.
    pub values: Named,
    /// Which docs count as one.
    pub collapse: Option<Collapse>,
    /// Diversification of the results.
    pub diversify: Option<Diversify>,
    /// Highlights of the results' texts.
    pub highlight: Option<Highlight>,
    /// Groups of docs, by the index of the doc.
    groups: Vec<(u32, Span)>,
    /// Members that are not declared.
    pub unknown: Unknown,
    faults: Faults,
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

/// Statistics of a collection.
#[derive(Debug, Clone, Copy)]
pub struct Corpus {
    /// Number of its docs.
    pub docs: f64,
    /// Their mean length in tokens.
    pub average_length: f64,
    /// Position in the body of the object that maps terms to numbers of docs.
    pub(crate) frequencies: usize,
}

/// A reference to named statistics.
#[derive(Debug)]
pub struct NamedCorpus {
    /// Span of the name.
    name: Span,
    /// The version that is asked for; none: the newest.
    version: Option<f64>,
    /// The version that was found.
    found: Option<Arc<Version>>,
}

/// A reference to a profile.
#[derive(Debug)]
pub struct NamedProfile {
    /// Span of the name.
    name: Span,
    /// The version that is asked for; none: the newest.
    version: Option<f64>,
    /// True if the request has it as an object, not as a name alone.
    is_object: bool,
    /// The name and the version that were found.
    pub(crate) found: Option<(String, u32)>,
}

/// Why named statistics were not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// They do not exist, or the name cannot learn.
    Refused,
    /// The owner must be known first.
    OwnerUnknown,
}

/// `corpus` as a request gives it.
enum Given {
    Inline(Corpus),
    Named(NamedCorpus),
}

/// Most docs of a collection; the contract has the same bound.
const MOST_DOCS: f64 = 1e15;

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
    /// Apart from the loop over docs, which most requests need without it.
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

    /// Faults of names that only all docs together show, as a JSON array of `{loc, message}`.
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

    /// Finds the statistics that the request names. They are stored with the request, so they stay the same
    /// until it is answered.
    ///
    /// # Errors
    /// They do not exist, or the name cannot learn; or the owner must be known first.
    pub(crate) fn find(
        &mut self,
        body: &[u8],
        tokenizer: Tokenizer,
        corpora: Option<Visible<'_>>,
    ) -> Result<(), NotFound> {
        let Some(named) = &mut self.corpus_named else {
            return Ok(());
        };
        if self.learn && corpora.is_some_and(|visible| !visible.owner_known) {
            return Err(NotFound::OwnerUnknown);
        }
        let mut name = Vec::new();
        unescape(&body[named.name.start..named.name.end], &mut name);
        named.found = corpora.and_then(|visible| visible.find(&name, named.version));
        // A new name starts with learning, and has no version at first.
        let begins = self.learn && named.version.is_none() && is_name(&name);
        if let Some(visible) = corpora.filter(|_| self.learn && (named.found.is_some() || begins)) {
            let terming = Terming::of(tokenizer, self.analyzer.as_ref());
            match visible.learn(&name, terming) {
                Ok(learning) => self.learning = Some(learning),
                Err(unlearnt) => {
                    self.faults.add("\"learn\"", None, &unlearnt.text());
                    return Err(NotFound::Refused);
                }
            }
            return Ok(());
        }
        if named.found.is_some() {
            return Ok(());
        }
        let is_named = corpora.is_some_and(|visible| visible.find(&name, None).is_some());
        let names = corpora.map(|visible| visible.names()).unwrap_or_default();
        let (place, message) = if is_named {
            (
                "version",
                "the statistics of this name have no such version".to_owned(),
            )
        } else {
            ("name", unknown_name("no statistics have this name", &names))
        };
        let place = format!("\"corpus\",\"{place}\"");
        self.faults.add(&place, None, &message);
        Err(NotFound::Refused)
    }

    /// Finds the profile that the request names; adds a fault where there is none.
    pub(crate) fn find_profile(&mut self, body: &[u8], visible: Option<Visible<'_>>) -> Option<Arc<Profile>> {
        let asked = self.profile.as_mut()?;
        let mut name = Vec::new();
        unescape(&body[asked.name.start..asked.name.end], &mut name);
        let known = visible.and_then(|visible| Some((visible.profiles?, visible.owner)));
        let find = |version| known.and_then(|(profiles, owner)| profiles.find_for(owner, &name, version));
        if let Some(profile) = find(asked.version) {
            let name = String::from_utf8_lossy(&name).into_owned();
            asked.found = Some((name, profile.number()));
            return Some(profile);
        }
        let (place, message) = if find(None).is_some() {
            (
                "\"profile\",\"version\"",
                "the profile has no such version".to_owned(),
            )
        } else {
            let names = known.map(|(profiles, owner)| profiles.names_for(owner));
            let place = if asked.is_object {
                "\"profile\",\"name\""
            } else {
                "\"profile\""
            };
            (
                place,
                unknown_name("no profile has this name", &names.unwrap_or_default()),
            )
        };
        self.faults.add(place, None, &message);
        None
    }

    /// The version of the statistics that the request names.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.corpus_named.as_ref()?.found.as_deref()
    }

    /// Span of their name in the body.
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

/// The text of a parsed string.
pub(super) fn text_of(scanner: &Scanner, span: Span) -> Vec<u8> {
    let mut text = Vec::new();
    unescape(scanner.bytes(span), &mut text);
    text
}

/// The message of an unknown name, with the known ones.
fn unknown_name(sentence: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    match (names.len(), more) {
        (0, _) => format!("{sentence}; there are none here"),
        (_, 0) => format!("{sentence}; known: {shown}"),
        _ => format!("{sentence}; known: {shown} and {more} more"),
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

/// Reads a whole number.
fn whole(scanner: &mut Scanner, least: f64, most: f64) -> Result<f64, Unfit> {
    let value = number(scanner, least, most)?;
    if value.fract() == 0.0 {
        Ok(value)
    } else {
        Err(Unfit)
    }
}

/// Reads inline statistics.
///
/// # Errors
/// They are invalid, or a name is given instead.
pub(crate) fn corpus(scanner: &mut Scanner) -> Result<Corpus, Unfit> {
    match given(scanner)? {
        Given::Inline(corpus) => Ok(corpus),
        Given::Named(_) => Err(Unfit),
    }
}

/// Reads `corpus`. The frequencies are only checked here, and looked up once the query's terms are known, as
/// a collection has many more terms.
fn given(scanner: &mut Scanner) -> Result<Given, Unfit> {
    const NAMES: [&[u8]; 5] = [b"docs", b"average_length", b"df", b"name", b"version"];
    let (mut docs, mut average_length, mut frequencies) = (0.0, 0.0, 0);
    let (mut name, mut version) = (NOWHERE, None);
    let met = scanner.members(&NAMES, 2, |scanner, place| {
        match NAMES[place] {
            b"docs" => docs = whole(scanner, 1.0, MOST_DOCS)?,
            b"average_length" => average_length = number(scanner, 0.01, f64::MAX)?,
            b"df" => {
                frequencies = scanner.position();
                scanner.skip_value(2)?;
            }
            b"name" => name = scanner.string()?,
            _ => version = Some(whole(scanner, 1.0, f64::from(u32::MAX))?),
        }
        Ok(())
    })?;
    match met {
        0b00111 => {}
        0b01000 | 0b11000 => {
            return Ok(Given::Named(NamedCorpus {
                name,
                version,
                found: None,
            }));
        }
        _ => return Err(Unfit),
    }
    let end = scanner.position();
    scanner.stand_at(frequencies);
    scanner.values(3, |scanner, _| whole(scanner, 0.0, docs).map(|_| ()))?;
    scanner.stand_at(end);
    Ok(Given::Inline(Corpus {
        docs,
        average_length,
        frequencies,
    }))
}

/// Reads an analyzer that is a JSON text by itself.
///
/// # Errors
/// It is invalid.
pub(crate) fn analyzer_alone(scanner: &mut Scanner) -> Result<Analyzer, Unfit> {
    analyzer(scanner, &Notes::default())
}

/// Reads `analyzer`: `plain`, a language's name for its usual settings, or the settings one by one.
pub(super) fn analyzer(scanner: &mut Scanner, notes: &Notes) -> Result<Analyzer, Unfit> {
    let mut analyzer = Analyzer::default();
    notes.borrow_mut().forget(Place::Analyzer);
    if scanner.peek() == Some(b'"') {
        let name = scanner.string()?;
        if scanner.place(name, &[b"plain"]).is_none() {
            let names = LANGUAGES.each_ref().map(|(name, _)| *name);
            let (name, algorithm) = LANGUAGES[scanner.place(name, &names).ok_or(Unfit)?];
            analyzer.forms.stemmer = Some(algorithm);
            analyzer.stop_words = StopWords::Listed(stop_list(name));
        }
        return Ok(analyzer);
    }
    const NAMES: [&[u8]; 4] = [b"stemmer", b"stopwords", b"fold_accents", b"normalize"];
    let Analyzer {
        forms: Forms {
            stemmer,
            fold_accents,
        },
        stop_words,
        normalize,
    } = &mut analyzer;
    known_members(scanner, (notes, Place::Analyzer), &NAMES, 2, |scanner, place| {
        match NAMES[place] {
            b"stemmer" if scanner.null()? => *stemmer = None,
            b"stemmer" => *stemmer = Some(word(scanner, &LANGUAGES)?),
            b"stopwords" => *stop_words = read_stop_words(scanner)?,
            b"fold_accents" => *fold_accents = scanner.boolean()?,
            _ => *normalize = scanner.boolean()?,
        }
        Ok(())
    })?;
    if analyzer.forms.fold_accents {
        analyzer.stop_words = std::mem::take(&mut analyzer.stop_words).without_accents();
    }
    Ok(analyzer)
}

/// Reads `stopwords`: null, a language's name, or words. A word is tokenized as texts are.
fn read_stop_words(scanner: &mut Scanner) -> Result<StopWords, Unfit> {
    if scanner.null()? {
        return Ok(StopWords::None);
    }
    if scanner.peek() == Some(b'"') {
        return Ok(StopWords::Listed(word(scanner, &STOP_LISTS)?));
    }
    let (mut words, mut token) = (HashSet::new(), Vec::new());
    scanner.array(|scanner| {
        let span = scanner.string()?;
        let text = text_of(scanner, span);
        let had = words.len();
        tokenize::ws(&text, &mut token, |word| {
            words.insert(String::from_utf8_lossy(word).into_owned());
        });
        // A word without tokens removes nothing, but counts as a word, as in the contract's types.
        if words.len() == had && !text.is_empty() {
            words.insert(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(())
    })?;
    Ok(StopWords::Given(words))
}
