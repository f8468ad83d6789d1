//! Maximal marginal relevance (Carbonell and Goldstein, 1998): the next result is the one of the best (1 - d)
//! relevance - d likeness, its likeness the greatest to a result before it: the Jaccard index of their terms,
//! or the cosine of their vectors. A text without terms, or without a word that the model knows, is like
//! nothing.

use super::analyze::read_as;
use super::{Workspace, with_str, with_text};
use crate::analyzer::Analyzer;
use crate::bits::{self, BLOCK};
use crate::dense::{Alike, Gathered};
use crate::request::Options;
use crate::request::results::{Diversify, LikenessBy};
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
        let count = self.order.len().min(diversify.most(options.top_k));
        let wanted = count.min(options.top_k);
        if count == 0 {
            self.choices = choices;
            return;
        }
        let likeness = match (diversify.by, vectors) {
            (LikenessBy::Vectors, Some(gathered)) => {
                let docs = self.order[..count].iter().map(|&(_, doc)| doc as usize);
                Likeness::Vectors(gathered.alike(docs))
            }
            // Their terms were collected when they were counted.
            _ if self.collects => Likeness::Terms(Sets::of(&self.distinct)),
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
                    set: if self.collects {
                        self.order[at].1
                    } else {
                        at as u32
                    },
                    relevance,
                    weighted,
                    likeness: 0.0,
                }
            })
            .collect();
        let (mut chosen, mut common) = (Vec::with_capacity(count), Common::default());
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
            likeness.raise(&next, &mut open, &mut common);
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
                Tokenizer::Keyed(cut) => cut.each(text, |key| hits.met.collect(Distinct::hash_of(key))),
            };
            if analyzer.normalize {
                with_str(body, text, unescaped, |text| {
                    collect(read_as(text, analyzer).as_bytes())
                });
            } else {
                with_text(body, text, unescaped, |text, range, _| collect(&text[range]));
            }
            distinct.add_text(self.hits.met.hashes());
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
    /// Number of its terms among the sets of terms.
    set: u32,
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
    fn raise(&self, chosen: &Open, open: &mut [Open], common: &mut Common) {
        match self {
            Likeness::Terms(sets) => sets.raise(chosen.set as usize, open, common),
            Likeness::Vectors(alike) => {
                for one in open {
                    one.likeness = one.likeness.max(alike.likeness(chosen.at, one.at));
                }
            }
        }
    }
}

/// Most terms that have a bit of their own; the others are listed.
const MOST_BITS: usize = 1024;
/// Sets of a term that has a bit, at least: those of fewer are gone through in less time than bits are.
const LEAST_SETS: usize = 5;

/// Sets of terms: of each the number of its terms, the bits of those that most sets have, and lists of the
/// others that two sets have at least.
struct Sets {
    path: Path,
    sizes: Vec<u32>,
    /// The bits of each set, set after set.
    bits: Vec<[u64; BLOCK]>,
    /// Blocks of each.
    blocks: usize,
    /// The rare terms of each set, set after set, and where each ends.
    rare: Vec<u32>,
    ends: Vec<usize>,
    /// The sets of each rare term, term after term, and where each ends.
    holders: Vec<u32>,
    holder_ends: Vec<usize>,
}

/// Room that is used again from one set to the next.
#[derive(Default)]
struct Common {
    /// The sets that are looked at, and what each has in common with one of them.
    numbers: Vec<u32>,
    counts: Vec<u32>,
    /// Rare terms that each set has in common with one of them.
    rare: Vec<u32>,
}

/// Places of terms: from 0 on those that have a bit, from [`RARE`] on the rare ones, [`ALONE`] those of one
/// set.
struct Places {
    of: Vec<u32>,
    bits: usize,
    /// Number of sets of each rare term.
    rare: Vec<u32>,
}

const RARE: u32 = 1 << 31;
const ALONE: u32 = u32::MAX;

impl Places {
    /// `counts`: the number of sets of each term. `sets`: the number of all.
    fn of(counts: &[u32], sets: usize) -> Places {
        let mut terms_by_count = vec![0_usize; sets + 1];
        for &count in counts {
            terms_by_count[count as usize] += 1;
        }
        let (mut least, mut bits) = (sets + 1, 0);
        while least > LEAST_SETS && bits + terms_by_count[least - 1] <= MOST_BITS {
            least -= 1;
            bits += terms_by_count[least];
        }
        let (mut next, mut rare) = (0, Vec::new());
        let of = counts.iter().map(|&count| {
            if count as usize >= least {
                next += 1;
                return next - 1;
            }
            if count == 1 {
                return ALONE;
            }
            rare.push(count);
            RARE + rare.len() as u32 - 1
        });
        Places {
            of: of.collect(),
            bits,
            rare,
        }
    }
}

impl Sets {
    fn of(distinct: &Distinct) -> Sets {
        let sets = distinct.ends().len();
        let places = Places::of(distinct.counts(), sets);
        let blocks = places.bits.div_ceil(64 * BLOCK);
        let mut found = Sets {
            path: Path::best(),
            sizes: Vec::with_capacity(sets),
            bits: vec![[0; BLOCK]; blocks * sets],
            blocks,
            rare: Vec::new(),
            ends: Vec::with_capacity(sets),
            holders: Vec::new(),
            holder_ends: Vec::new(),
        };
        let mut start = 0;
        for (set, &end) in distinct.ends().iter().enumerate() {
            let terms = &distinct.terms()[start..end];
            found.sizes.push(terms.len() as u32);
            let bits = &mut found.bits[set * blocks..][..blocks].as_flattened_mut();
            for &term in terms {
                let place = places.of[term as usize];
                if place < RARE {
                    bits[place as usize / 64] |= 1 << (place % 64);
                } else if place != ALONE {
                    found.rare.push(place - RARE);
                }
            }
            found.ends.push(found.rare.len());
            start = end;
        }
        found.file_holders(&places.rare);
        found
    }

    /// Lists the sets of each rare term, of which the numbers are given.
    fn file_holders(&mut self, counts: &[u32]) {
        let mut next: Vec<usize> = Vec::with_capacity(counts.len());
        let mut end = 0;
        for &count in counts {
            next.push(end);
            end += count as usize;
            self.holder_ends.push(end);
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
    fn raise(&self, chosen: usize, open: &mut [Open], common: &mut Common) {
        let start = chosen.checked_sub(1).map_or(0, |before| self.ends[before]);
        common.rare.clear();
        common.rare.resize(self.sizes.len(), 0);
        for &term in &self.rare[start..self.ends[chosen]] {
            let term = term as usize;
            let start = term.checked_sub(1).map_or(0, |before| self.holder_ends[before]);
            for &set in &self.holders[start..self.holder_ends[term]] {
                common.rare[set as usize] += 1;
            }
        }
        common.numbers.clear();
        common.numbers.extend(open.iter().map(|one| one.set));
        common.counts.resize(open.len(), 0);
        let own = &self.bits[chosen * self.blocks..][..self.blocks];
        bits::common(self.path, own, &self.bits, &common.numbers, &mut common.counts);
        for (one, &count) in open.iter_mut().zip(&common.counts) {
            let both = count + common.rare[one.set as usize];
            let all = self.sizes[chosen] + self.sizes[one.set as usize] - both;
            // Of two sets without terms it is no number, which leaves the other.
            one.likeness = one.likeness.max(f64::from(both) / f64::from(all));
        }
    }
}
