//! Maximal marginal relevance (Carbonell and Goldstein, 1998): the next result is the one of the best (1 - d)
//! relevance - d likeness, its likeness the greatest to a result before it: the Jaccard index of their terms,
//! or the cosine of their vectors. A text without terms, or without a word that the model knows, is like
//! nothing.

use super::analyze::read_as;
use super::{Workspace, with_str, with_text};
use crate::analyzer::Analyzer;
use crate::bits;
use crate::dense::{Alike, Gathered};
use crate::request::Options;
use crate::request::results::{CANDIDATES, Diversify, LikenessBy};
use crate::simd::Path;
use crate::terms::{Distinct, Use};
use crate::tokenize::{self, Tokenizer};

/// How a result was chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) relevance: f64,
    pub(super) likeness: f64,
    pub(super) score: f64,
}

impl Workspace {
    /// Orders the first results so; `choices` says how each came to its place.
    pub(super) fn diversify(
        &mut self,
        body: &[u8],
        options: &Options,
        (analyzer, diversify): (&Analyzer, Diversify),
        vectors: Option<&Gathered>,
    ) {
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        let most = options.top_k.saturating_mul(3).min(CANDIDATES);
        let count = self.order.len().min(diversify.candidates.unwrap_or(most));
        let wanted = count.min(options.top_k);
        if diversify.diversity == 0.0 || count == 0 {
            self.choices = choices;
            return;
        }
        let likeness = match (diversify.by, vectors) {
            (LikenessBy::Vectors, Some(gathered)) => {
                let docs = self.order[..count].iter().map(|&(_, doc)| doc as usize);
                Likeness::Vectors(gathered.alike(docs))
            }
            // Without a model the request was refused.
            _ => Likeness::Terms(self.terms_of(body, (options, analyzer), count)),
        };
        let largest = self.order[..count]
            .iter()
            .map(|&(_, doc)| self.fused[doc as usize].score.abs())
            .fold(0.0, f64::max);
        let d = diversify.diversity;
        let mut open: Vec<Open> = (0..count)
            .map(|at| {
                let score = self.fused[self.order[at].1 as usize].score;
                let relevance = if largest == 0.0 { 0.0 } else { score / largest };
                let weighted = (1.0 - d) * relevance;
                Open {
                    at,
                    relevance,
                    weighted,
                    likeness: 0.0,
                }
            })
            .collect();
        let (mut chosen, mut common) = (Vec::with_capacity(count), Vec::new());
        while chosen.len() < wanted {
            let score = |one: &Open| one.weighted - d * one.likeness;
            let (mut best, mut most) = (0, score(&open[0]));
            for (place, one) in open.iter().enumerate().skip(1) {
                let score = score(one);
                if score > most {
                    (best, most) = (place, score);
                }
            }
            let next = open.remove(best);
            choices.push(Choice {
                relevance: next.relevance,
                likeness: next.likeness,
                score: most,
            });
            likeness.raise(next.at, &mut open, &mut common);
            chosen.push(next.at);
        }
        chosen.extend(open.iter().map(|one| one.at));
        let order: Vec<_> = chosen.iter().map(|&at| self.order[at]).collect();
        self.order[..count].copy_from_slice(&order);
        self.choices = choices;
    }

    /// The terms of the first docs in the order.
    fn terms_of(&mut self, body: &[u8], (options, analyzer): (&Options, &Analyzer), count: usize) -> Sets {
        let mut distinct = std::mem::take(&mut self.distinct);
        distinct.clear();
        let filter = self.terms.admit_all();
        for at in 0..count {
            let text = self.lists.docs[self.order[at].1 as usize].text;
            let Workspace {
                terms,
                hits,
                token,
                unescaped,
                ..
            } = self;
            hits.met.begin(Use::Collect);
            let mut collect = |text: &[u8]| match options.tokenizer {
                Tokenizer::Ws => tokenize::collect_ws(text, token, terms, hits),
                Tokenizer::Keyed(cut) => cut.each(text, |key| hits.met.hashes.push(Distinct::hash_of(key))),
            };
            if analyzer.normalize {
                with_str(body, text, unescaped, |text| {
                    collect(read_as(text, analyzer).as_bytes())
                });
            } else {
                with_text(body, text, unescaped, |text, range, _| collect(&text[range]));
            }
            distinct.add(&self.hits.met.hashes);
            distinct.end();
        }
        self.hits.met.begin(Use::Count);
        self.terms.admit(filter);
        let sets = Sets::of(&distinct);
        self.distinct = distinct;
        sets
    }
}

/// A candidate that is not chosen.
struct Open {
    /// Its place in the order.
    at: usize,
    relevance: f64,
    /// Its share of the score.
    weighted: f64,
    /// The greatest likeness to those that are chosen.
    likeness: f64,
}

/// How alike the candidates are.
enum Likeness<'a> {
    Terms(Sets),
    Vectors(Alike<'a>),
}

impl Likeness<'_> {
    /// Raises the likeness of those that are open to that with one of them. `common` is room.
    fn raise(&self, chosen: usize, open: &mut [Open], common: &mut Vec<u32>) {
        match self {
            Likeness::Terms(sets) => sets.raise(chosen, open, common),
            Likeness::Vectors(alike) => {
                for one in open {
                    one.likeness = one.likeness.max(alike.likeness(chosen, one.at));
                }
            }
        }
    }
}

/// Terms that have a bit of their own; the others are listed.
const MOST_BITS: usize = 1024;

/// Sets of terms: of each the number of its terms, the bits of those that most sets have, and lists of the
/// others that two sets have at least.
struct Sets {
    path: Path,
    sizes: Vec<u32>,
    words: usize,
    bits: Vec<u64>,
    /// The rare terms of each set, set after set, and where each ends.
    rare: Vec<u32>,
    ends: Vec<usize>,
    /// The sets of each rare term, term after term, and where each ends.
    holders: Vec<u32>,
    holder_ends: Vec<usize>,
}

impl Sets {
    fn of(distinct: &Distinct) -> Sets {
        let sets = distinct.ends().len();
        // Terms of more than one set, those of most sets first.
        let counts = distinct.counts();
        let mut shared: Vec<u32> = (0..counts.len() as u32)
            .filter(|&term| counts[term as usize] > 1)
            .collect();
        if shared.len() > MOST_BITS {
            shared.sort_unstable_by_key(|&term| (std::cmp::Reverse(counts[term as usize]), term));
        }
        let mut places = vec![u32::MAX; counts.len()];
        for (place, &term) in shared.iter().enumerate() {
            places[term as usize] = place as u32;
        }
        let words = shared.len().min(MOST_BITS).div_ceil(64);
        let rare_terms = shared.len().saturating_sub(MOST_BITS);
        let mut found = Sets {
            path: Path::best(),
            sizes: Vec::with_capacity(sets),
            words,
            bits: vec![0; words * sets],
            rare: Vec::new(),
            ends: Vec::with_capacity(sets),
            holders: Vec::new(),
            holder_ends: vec![0; rare_terms],
        };
        let mut start = 0;
        for (set, &end) in distinct.ends().iter().enumerate() {
            let terms = &distinct.terms()[start..end];
            found.sizes.push(terms.len() as u32);
            for &term in terms {
                let place = places[term as usize] as usize;
                if place < MOST_BITS {
                    found.bits[set * words + place / 64] |= 1 << (place % 64);
                } else if place < shared.len() {
                    found.rare.push((place - MOST_BITS) as u32);
                }
            }
            found.ends.push(found.rare.len());
            start = end;
        }
        found.file_holders(&shared, counts);
        found
    }

    /// Lists the sets of each rare term.
    fn file_holders(&mut self, shared: &[u32], counts: &[u32]) {
        let mut end = 0;
        let mut next: Vec<usize> = Vec::with_capacity(self.holder_ends.len());
        for (place, holder_end) in self.holder_ends.iter_mut().enumerate() {
            next.push(end);
            end += counts[shared[place + MOST_BITS] as usize] as usize;
            *holder_end = end;
        }
        self.holders.resize(end, 0);
        let mut start = 0;
        for (set, &end) in self.ends.iter().enumerate() {
            for &term in &self.rare[start..end] {
                self.holders[next[term as usize]] = set as u32;
                next[term as usize] += 1;
            }
            start = end;
        }
    }

    /// Raises the likeness of the sets that are open to that with one of them.
    /// `common` is room.
    fn raise(&self, chosen: usize, open: &mut [Open], common: &mut Vec<u32>) {
        let start = chosen.checked_sub(1).map_or(0, |before| self.ends[before]);
        common.clear();
        if !self.holders.is_empty() {
            common.resize(self.sizes.len(), 0);
        }
        for &term in &self.rare[start..self.ends[chosen]] {
            let term = term as usize;
            let start = term.checked_sub(1).map_or(0, |before| self.holder_ends[before]);
            for &set in &self.holders[start..self.holder_ends[term]] {
                common[set as usize] += 1;
            }
        }
        let of = |set: usize| &self.bits[set * self.words..][..self.words];
        let (own, size) = (of(chosen), self.sizes[chosen]);
        for one in open {
            let rare = common.get(one.at).copied().unwrap_or(0);
            let both = bits::common(self.path, own, of(one.at)) + rare;
            let all = size + self.sizes[one.at] - both;
            if both > 0 {
                one.likeness = one.likeness.max(f64::from(both) / f64::from(all));
            }
        }
    }
}
