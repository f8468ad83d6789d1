//! The members of a FuseRequest that few requests have: what they ask for is kept apart, so that the others
//! pay nothing for it.

use std::collections::HashSet;
use std::sync::Arc;

use super::legs::{self, Boost, Faults, Leg, Source};
use super::named::Named;
use super::results::{self, Collapse, CollapseBy, Diversify, Highlight, LikenessBy};
use super::unknown::{Notes, Place, Unknown, known_members};
use super::{Doc, NOWHERE, Options, number, word};
use crate::analyzer::{Analyzer, Forms, LANGUAGES, STOP_LISTS, StopWords, stop_list};
use crate::corpora::{Learning, Terming, Version, Visible};
use crate::json::{Scanner, Span, Unfit, unescape};
use crate::profiles::Profile;
use crate::tokenize::{self, Tokenizer};
use crate::versions::{Numbered, is_name};

/// Settings that few requests have.
#[derive(Debug, Default)]
pub struct More {
    /// Rules that turn tokens into terms.
    pub analyzer: Option<Analyzer>,
    /// Statistics for BM25; nothing: those of the request's docs.
    pub corpus: Option<Corpus>,
    /// Statistics that the request names in place of them.
    pub corpus_named: Option<NamedCorpus>,
    /// True if that name learns the request's docs.
    pub learn: bool,
    /// The learning of the name.
    pub learning: Option<Arc<Learning>>,
    /// Settings that the request names.
    pub profile: Option<NamedProfile>,
    /// The score of a doc that came without a dense score.
    pub on_missing_dense: OnMissing,
    /// Meaning of dense scores.
    pub dense_kind: DenseKind,
    /// Least fused score of a result.
    pub min_score: Option<f64>,
    /// The lists that are fused; none: BM25 and the dense one by their weights.
    pub legs: Vec<Leg>,
    /// Numbers that docs bring for legs.
    pub scores: Named,
    /// Numbers that raise or lower scores.
    pub boosts: Vec<Boost>,
    /// Numbers that docs bring for boosts.
    pub values: Named,
    /// Docs that count as one.
    pub collapse: Option<Collapse>,
    /// Results unlike those before them.
    pub diversify: Option<Diversify>,
    /// Parts of texts around the query's terms.
    pub highlight: Option<Highlight>,
    /// Docs that have a group, by their places.
    groups: Vec<(u32, Span)>,
    /// Members that nobody knows.
    pub unknown: Unknown,
    faults: Faults,
}

/// The score of a doc that came without a dense score.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum OnMissing {
    /// One that a model makes, as all others then do.
    #[default]
    Embed,
    /// 0.
    Zero,
    /// The least that was sent.
    Min,
    /// None: the request is refused.
    Error,
}

/// Meaning of dense scores.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum DenseKind {
    /// The greater the closer.
    #[default]
    Similarity,
    /// The less the closer, 0 or more.
    Distance,
}

/// Statistics of a collection.
#[derive(Debug, Clone, Copy)]
pub struct Corpus {
    /// Number of its docs.
    pub docs: f64,
    /// Their mean length in tokens.
    pub average_length: f64,
    /// Place in the body of the object of terms and docs that hold them.
    pub(crate) frequencies: usize,
}

/// Statistics by their name.
#[derive(Debug)]
pub struct NamedCorpus {
    /// Place of the name.
    name: Span,
    /// The version that is asked for; nothing: the newest.
    version: Option<f64>,
    /// The version that was found.
    found: Option<Arc<Version>>,
}

/// Settings by their name.
#[derive(Debug)]
pub struct NamedProfile {
    /// Place of the name.
    name: Span,
    /// The version that is asked for; nothing: the newest.
    version: Option<f64>,
    /// True if an object says both.
    is_object: bool,
    /// The name and the number of the version that was found.
    pub(crate) found: Option<(String, u32)>,
}

/// Why the statistics that a request names are not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// There are none, or the name cannot learn.
    Refused,
    /// It has to be known who asks.
    OwnerUnknown,
}

/// `corpus` as a request gives it.
enum Given {
    Inline(Corpus),
    Named(NamedCorpus),
}

/// Most docs that a collection has; the contract says the same.
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
    /// Reads the value of one of its members.
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

    /// Reads the value of a member of the doc of that place.
    #[cold]
    pub(super) fn read_of_doc(
        &mut self,
        scanner: &mut Scanner,
        name: &[u8],
        doc: usize,
    ) -> Result<(), Unfit> {
        match name {
            b"scores" => self.scores.read(scanner, doc),
            b"values" => self.values.read(scanner, doc),
            _ => {
                let doc = doc as u32;
                self.groups.pop_if(|(known, _)| *known == doc);
                self.groups.push((doc, scanner.string()?));
                Ok(())
            }
        }
    }

    /// Place of a doc's group in the body.
    pub(crate) fn group(&self, doc: u32) -> Option<Span> {
        let found = self.groups.binary_search_by_key(&doc, |&(known, _)| known);
        found.ok().map(|at| self.groups[at].1)
    }

    /// Forgets what docs brought.
    pub(super) fn forget_docs(&mut self) {
        self.scores.clear();
        self.values.clear();
        self.groups.clear();
    }

    /// Faults of names that only all docs show, as a JSON array of `{loc, message}`.
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

    /// Gives docs the dense scores that no model makes, once all is read.
    pub(super) fn complete(&mut self, options: &mut Options, docs: &mut [Doc]) -> Result<(), Unfit> {
        let plain = self.analyzer.as_ref().is_none_or(Analyzer::is_plain);
        if !plain && options.tokenizer != Tokenizer::Ws {
            return Err(Unfit);
        }
        if self.dense_kind == DenseKind::Distance {
            // Those that are missing are not a number.
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

    /// Finds the numbers of legs and boosts among those that docs bring.
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

    /// Finds the statistics that the request names. Kept with it, they are the same whenever it is answered.
    ///
    /// # Errors
    /// There are none, or the name cannot learn; or it has to be known who asks.
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
        // A name begins with what is learnt of it, and has no version until then.
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

    /// Finds the settings that the request names; a fault is noted where there are none.
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

    /// The statistics that the request names.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.corpus_named.as_ref()?.found.as_deref()
    }

    /// Place of their name in the body.
    pub(crate) fn corpus_name(&self) -> Option<Span> {
        self.corpus_named.as_ref().map(|named| named.name)
    }

    /// True if BM25 has the statistics of a collection.
    pub(crate) fn has_statistics(&self) -> bool {
        self.corpus.is_some() || self.version().is_some()
    }

    /// True if explanations name terms.
    pub(crate) fn names_terms(&self) -> bool {
        self.analyzer.is_some() || self.corpus.is_some() || self.corpus_named.is_some()
    }
}

/// The text of a string that was read.
pub(super) fn text_of(scanner: &Scanner, span: Span) -> Vec<u8> {
    let mut text = Vec::new();
    unescape(scanner.bytes(span), &mut text);
    text
}

/// The sentence of an unknown name, with those that are known.
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

/// Reads statistics themselves.
///
/// # Errors
/// They are invalid, or a name stands in their place.
pub(crate) fn corpus(scanner: &mut Scanner) -> Result<Corpus, Unfit> {
    match given(scanner)? {
        Given::Inline(corpus) => Ok(corpus),
        Given::Named(_) => Err(Unfit),
    }
}

/// Reads `corpus`. The frequencies are checked, and looked at again once the query's terms are known: a
/// collection has many more than that.
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

/// Reads an analyzer that is a JSON text of its own.
///
/// # Errors
/// It is invalid.
pub(crate) fn analyzer_alone(scanner: &mut Scanner) -> Result<Analyzer, Unfit> {
    analyzer(scanner, &Notes::default())
}

/// Reads `analyzer`: `plain`, a language's name for its usual set, or the settings one by one.
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

/// Reads `stopwords`: null, a language's name, or words. A word is cut into tokens as texts are.
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
        // One without tokens stops nothing. It counts as given all the same, as the contract's types say.
        if words.len() == had && !text.is_empty() {
            words.insert(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(())
    })?;
    Ok(StopWords::Given(words))
}
