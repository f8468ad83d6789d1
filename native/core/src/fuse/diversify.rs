//! Maximal marginal relevance (Carbonell and Goldstein, 1998): the next result is the candidate with the best
//! (1 - d) relevance - d likeness. Its likeness is the greatest to any earlier result: the Jaccard index of
//! their terms, or the cosine of their vectors. It is 0 for a text without terms, or without a word that the
//! model knows.

use super::reading::read_as;
use super::request::Options;
use super::request::results::{Diversify, LikenessBy};
use super::scored::Choice;
use super::spans::{with_str, with_text};
use super::workspace::Workspace;
use crate::cpu::bits::{self, BLOCK};
use crate::cpu::simd::Path;
use crate::embed::dense::{Alike, Gathered};
use crate::tokens::analyzer::Analyzer;
use crate::tokens::terms::{Distinct, Use};
use crate::tokens::tokenize::{self, Tokenizer};

impl Workspace {
    /// Reorders the first results by this rule; `choices` records how each was chosen.
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
            // The terms were collected during counting.
            _ if self.collects => Likeness::Terms(Sets::of(&self.distinct)),
            // A request for vectors without a model was refused.
            _ => Likeness::Terms(self.terms_of(body, (options, analyzer), count)),
        };
        let mut open = self.candidates(count, diversify.diversity);
        let (mut chosen, mut common) = (Vec::with_capacity(count), Common::default());
        while chosen.len() < wanted {
            let (best, score) = open.best(diversify.diversity);
            let next = open.take(best);
            choices.push(Choice {
                relevance: next.relevance,
                likeness: next.likeness,
                score,
            });
            likeness.raise(&next, &mut open, &mut common);
            chosen.push(next.at as usize);
        }
        chosen.extend(open.at.iter().map(|&at| at as usize));
        let order: Vec<_> = chosen.iter().map(|&at| self.order[at]).collect();
        self.order[..count].copy_from_slice(&order);
        self.choices = choices;
    }

    /// The first `count` docs in the order, none of them chosen yet.
    fn candidates(&self, count: usize, diversity: f64) -> Open {
        let docs = self.order[..count].iter().map(|&(_, doc)| doc);
        let score = |doc: u32| self.fused[doc as usize].score;
        let largest = docs.clone().map(|doc| score(doc).abs()).fold(0.0, f64::max);
        let relevance = |doc| {
            if largest == 0.0 { 0.0 } else { score(doc) / largest }
        };
        let relevances: Vec<f64> = docs.clone().map(relevance).collect();
        Open {
            at: (0..count as u32).collect(),
            sets: if self.collects {
                docs.collect()
            } else {
                (0..count as u32).collect()
            },
            weighted: relevances.iter().map(|one| (1.0 - diversity) * one).collect(),
            likenesses: vec![0.0; count],
            relevances,
        }
    }

    /// Collects the terms of the first docs in the order.
    fn terms_of(&mut self, body: &[u8], (options, analyzer): (&Options, &Analyzer), count: usize) -> Sets {
        let mut distinct = std::mem::take(&mut self.distinct);
        distinct.clear();
        let filter = self.terms.admit_all();
        for at in 0..count {
            let text = self.lists.docs[self.order[at].1 as usize].text;
            let (terms, hits, token, unescaped) = self.reading();
            hits.met.begin(Use::Collect);
            let mut collect = |text: &[u8]| match options.tokenizer {
                Tokenizer::Ws => tokenize::collect_ws(text, token, terms, hits),
                Tokenizer::Keyed(cut) => cut.each(text, |key| hits.met.collect(distinct.hash_of(key))),
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

/// A chosen candidate.
struct Chosen {
    /// Its place in the order.
    at: u32,
    /// Index of its terms in [`Sets`].
    set: u32,
    relevance: f64,
    /// The greatest likeness to a candidate chosen earlier.
    likeness: f64,
}

/// The candidates not chosen yet, in their order, with the fields of [`Chosen`]. Each field is a list, so
/// that several are computed at once.
struct Open {
    at: Vec<u32>,
    sets: Vec<u32>,
    relevances: Vec<f64>,
    /// The relevances times 1 - diversity.
    weighted: Vec<f64>,
    likenesses: Vec<f64>,
}

impl Open {
    /// Index of the candidate with the best score, the first of equal ones, and that score.
    fn best(&self, diversity: f64) -> (usize, f64) {
        let scores = self.weighted.iter().zip(&self.likenesses);
        let scores = scores.map(|(weighted, likeness)| weighted - diversity * likeness);
        let (mut best, mut most) = (0, f64::NEG_INFINITY);
        for (place, score) in scores.enumerate() {
            if score > most {
                (best, most) = (place, score);
            }
        }
        (best, most)
    }

    /// Removes the candidate at `place`.
    fn take(&mut self, place: usize) -> Chosen {
        self.weighted.remove(place);
        Chosen {
            at: self.at.remove(place),
            set: self.sets.remove(place),
            relevance: self.relevances.remove(place),
            likeness: self.likenesses.remove(place),
        }
    }
}

/// The data that likeness is computed from.
enum Likeness {
    Terms(Sets),
    Vectors(Alike),
}

impl Likeness {
    /// Raises each open candidate's likeness to that with `chosen`, if it is greater. `common` is a buffer.
    fn raise(&self, chosen: &Chosen, open: &mut Open, common: &mut Common) {
        match self {
            Likeness::Terms(sets) => sets.raise(chosen.set as usize, open, common),
            Likeness::Vectors(alike) => {
                let Open { at, likenesses, .. } = open;
                alike.raise(chosen.at, at, likenesses, &mut common.products);
            }
        }
    }
}

/// Terms that have a bit, if so many are in several sets; the others are counted for each pair of their sets.
const USUAL_BITS: usize = 1024;
/// Fewest sets that share a term with a bit: for a term of fewer sets, counting pairs takes less time.
const LEAST_SETS: usize = 5;
/// Each term in more than this share of the sets has a bit, however many there are: a set has at most so many
/// bits for each of its terms, and another term is counted for at most this share of the sets at a time.
const RARE_SHARE: usize = 16;

/// The terms of each text, as a set: their number, the bits of the most frequent ones, and the number of the
/// other, rare ones that it shares with each set.
struct Sets {
    path: Path,
    sizes: Vec<u32>,
    /// The bits of each set, set after set.
    bits: Vec<[u64; BLOCK]>,
    /// Blocks of each set.
    blocks: usize,
    /// The number of rare terms that each pair of sets shares, set after set.
    rare: Vec<u32>,
}

/// Buffers, reused for each chosen candidate: the frequent terms that each open one shares with it, or the
/// scalar products of their vectors.
#[derive(Default)]
struct Common {
    counts: Vec<u32>,
    products: Vec<f64>,
}

/// Where each term is recorded, by the number of sets that have it.
struct Places {
    /// For each term its bit, or, from [`RARE`] on, the index at which the next set that has it is recorded
    /// among the holders of all rare terms.
    of: Vec<u32>,
    /// Number of terms that have a bit.
    bits: usize,
    /// For each number of sets, the first holder of its terms; then the end of all.
    starts: Vec<usize>,
}

const RARE: u32 = 1 << 31;

impl Places {
    /// `counts`: the number of sets that have each term. `sets`: the number of all sets.
    fn of(counts: &[u32], sets: usize) -> Places {
        let mut terms_by_count = vec![0_usize; sets + 1];
        for &count in counts {
            terms_by_count[count as usize] += 1;
        }
        let (mut least, mut bits) = (sets + 1, 0);
        let rare = LEAST_SETS.max(sets / RARE_SHARE + 1);
        while least > rare || least > LEAST_SETS && bits + terms_by_count[least - 1] <= USUAL_BITS {
            least -= 1;
            bits += terms_by_count[least];
        }
        // For each number of sets, the place of the next term, and the step to the one after it.
        let (mut next, mut starts) = (vec![(0, 1); sets + 1], Vec::with_capacity(least));
        let mut start = 0;
        for count in 0..least {
            next[count] = (RARE + start as u32, count as u32);
            starts.push(start);
            start += terms_by_count[count] * count;
        }
        let mut bit = 0;
        for count in least..=sets {
            next[count].0 = bit;
            bit += terms_by_count[count] as u32;
        }
        starts.push(start);
        let of = counts.iter().map(|&count| {
            let (place, step) = next[count as usize];
            next[count as usize].0 += step;
            place
        });
        Places {
            of: of.collect(),
            bits,
            starts,
        }
    }
}

impl Sets {
    fn of(distinct: &Distinct) -> Sets {
        let sets = distinct.ends().len();
        let mut places = Places::of(distinct.counts(), sets);
        let blocks = places.bits.div_ceil(64 * BLOCK);
        let mut found = Sets {
            path: Path::best(),
            sizes: Vec::with_capacity(sets),
            bits: vec![[0; BLOCK]; blocks * sets],
            blocks,
            rare: vec![0; sets * sets],
        };
        // Which terms have a bit cannot be predicted, so nothing branches on it: these write to the last
        // holder, which is not read.
        let last = places.starts.last().copied().unwrap_or(0);
        let mut holders = vec![0; last + 1];
        let mut none = [0];
        let mut start = 0;
        for (set, &end) in distinct.ends().iter().enumerate() {
            let terms = &distinct.terms()[start..end];
            found.sizes.push(terms.len() as u32);
            let bits = found.bits[set * blocks..][..blocks].as_flattened_mut();
            let bits = if blocks == 0 { &mut none } else { bits };
            for &term in terms {
                let place = &mut places.of[term as usize];
                let is_rare = *place >= RARE;
                let at = *place & !RARE;
                holders[if is_rare { at as usize } else { last }] = set as u32;
                let word = if is_rare { 0 } else { at as usize / 64 };
                bits[word] |= u64::from(!is_rare) << (at % 64);
                *place += u32::from(is_rare);
            }
            start = end;
        }
        for (count, range) in places.starts.windows(2).enumerate().skip(2) {
            for own in holders[range[0]..range[1]].chunks_exact(count) {
                found.add_rare(own);
            }
        }
        found
    }

    /// Counts a rare term for each pair of its holders.
    #[inline]
    fn add_rare(&mut self, holders: &[u32]) {
        let sets = self.sizes.len();
        for &one in holders {
            let row = &mut self.rare[one as usize * sets..][..sets];
            for &other in holders {
                row[other as usize] += 1;
            }
        }
    }

    /// Raises each open set's likeness to that with `chosen`, if it is greater.
    fn raise(&self, chosen: usize, open: &mut Open, common: &mut Common) {
        let own = &self.bits[chosen * self.blocks..][..self.blocks];
        common.counts.resize(open.sets.len(), 0);
        bits::common(self.path, own, &self.bits, &open.sets, &mut common.counts);
        let rare = &self.rare[chosen * self.sizes.len()..][..self.sizes.len()];
        let counts = common.counts.iter().zip(&open.sets);
        for (likeness, (&count, &set)) in open.likenesses.iter_mut().zip(counts) {
            let both = count + rare[set as usize];
            let all = self.sizes[chosen] + self.sizes[set as usize] - both;
            // NaN for two sets without terms, which leaves the likeness as it is.
            let found = f64::from(both) / f64::from(all);
            *likeness = if found > *likeness { found } else { *likeness };
        }
    }
}
