//! Maximal marginal relevance (Carbonell and Goldstein, 1998): the next result is the one of the best (1 - d)
//! relevance - d likeness, its likeness the greatest to a result before it: the Jaccard index of their terms,
//! or the cosine of their vectors. A text without terms, or without a word that the model knows, is like
//! nothing.

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

    /// The first docs in the order, none of them chosen.
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

    /// The terms of the first docs in the order.
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

/// A candidate that is chosen.
struct Chosen {
    /// Its place in the order.
    at: u32,
    /// Number of its terms among the sets of terms.
    set: u32,
    relevance: f64,
    /// The greatest likeness to those that were chosen before.
    likeness: f64,
}

/// The candidates that are not chosen, in their order, each with what [`Chosen`] has. One list for each
/// number, so that several are computed at once.
struct Open {
    at: Vec<u32>,
    sets: Vec<u32>,
    relevances: Vec<f64>,
    /// The relevances' shares of the scores.
    weighted: Vec<f64>,
    likenesses: Vec<f64>,
}

impl Open {
    /// Place of the candidate with the best score, the first of equal ones, and its score.
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

    /// Removes a candidate.
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

/// How alike the candidates are.
enum Likeness<'a> {
    Terms(Sets),
    Vectors(Alike<'a>),
}

impl Likeness<'_> {
    /// Raises the likeness of those that are open to that with one of them. `common` is room.
    fn raise(&self, chosen: &Chosen, open: &mut Open, common: &mut Common) {
        match self {
            Likeness::Terms(sets) => sets.raise(chosen.set as usize, open, common),
            Likeness::Vectors(alike) => {
                for (known, &at) in open.likenesses.iter_mut().zip(&open.at) {
                    *known = known.max(alike.likeness(chosen.at as usize, at as usize));
                }
            }
        }
    }
}

/// Most terms that have a bit of their own; the others are listed.
const MOST_BITS: usize = 1024;
/// Sets of a term that has a bit, at least: those of fewer are gone through in less time than bits are.
const LEAST_SETS: usize = 5;

/// Sets of terms: of each the number of its terms, the bits of those that most sets have, and the number of
/// the other terms that it has in common with each set.
struct Sets {
    path: Path,
    sizes: Vec<u32>,
    /// The bits of each set, set after set.
    bits: Vec<[u64; BLOCK]>,
    /// Blocks of each.
    blocks: usize,
    /// The number of rare terms that each two sets have in common, set after set.
    rare: Vec<u32>,
}

/// Room that is used again from one set to the next: what each candidate has in common with one of them.
#[derive(Default)]
struct Common {
    counts: Vec<u32>,
}

/// Where terms are noted, by the number of sets that have them.
struct Places {
    /// Of each term. From 0 on those that have a bit; from [`RARE`] on the others, each with the place of its
    /// next holder among those of all.
    of: Vec<u32>,
    /// Number of the terms that have a bit.
    bits: usize,
    /// Where the holders of the terms with each number of sets begin.
    starts: Vec<usize>,
}

const RARE: u32 = 1 << 31;

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
        // The place of the next term with each number of sets, and how far the one after it is from it.
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
        // The last place is that of terms that have a bit. Which terms have one cannot be predicted: nothing
        // branches on it.
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

    /// Adds a rare term by the sets that have it.
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

    /// Raises the likeness of the sets that are open to that with one of them.
    fn raise(&self, chosen: usize, open: &mut Open, common: &mut Common) {
        let own = &self.bits[chosen * self.blocks..][..self.blocks];
        common.counts.resize(open.sets.len(), 0);
        bits::common(self.path, own, &self.bits, &open.sets, &mut common.counts);
        let rare = &self.rare[chosen * self.sizes.len()..][..self.sizes.len()];
        let counts = common.counts.iter().zip(&open.sets);
        for (likeness, (&count, &set)) in open.likenesses.iter_mut().zip(counts) {
            let both = count + rare[set as usize];
            let all = self.sizes[chosen] + self.sizes[set as usize] - both;
            // Of two sets without terms it is no number, which leaves the other.
            let found = f64::from(both) / f64::from(all);
            *likeness = if found > *likeness { found } else { *likeness };
        }
    }
}
