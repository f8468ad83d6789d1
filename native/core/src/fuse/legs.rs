//! Fusion of any number of lists, and boosts: each list's scores are made comparable and summed by their
//! weights, then raised or lowered by numbers of the docs.

use super::bm25::{exponential, logarithm};
use super::elementary::{exponentials, logarithms};
use super::request::legs::{Boost, Decay, Leg, Missing, Normalize, Source};
use super::request::more::More;
use super::request::named::Number;
use super::request::{Method, Options};
use super::score::ranks;
use super::scored::{Fused, List};
use super::workspace::Workspace;
use crate::json::write_text;

/// One list's share in the explanation of a doc.
struct Part {
    score: f64,
    norm: f64,
    part: f64,
    rank: u32,
}

/// A doc's numbers among those of all docs.
fn numbers_of(numbers: &[Number], doc: usize) -> &[Number] {
    let start = numbers.partition_point(|number| (number.doc as usize) < doc);
    let rest = &numbers[start..];
    &rest[..rest.partition_point(|number| number.doc as usize == doc)]
}

/// A doc's value for `name`.
fn value_of(numbers: &[Number], name: u32) -> Option<f64> {
    let found = numbers.iter().find(|number| number.name == name);
    found.map(|number| number.value + 0.0)
}

impl Boost {
    /// The factor of a score, from 0 to 1, for a doc's value; 1 if the doc has none.
    fn factor(&self, value: Option<f64>) -> f64 {
        let Some(value) = value else { return 1.0 };
        let ratio = self.ratio(value);
        let kept = match self.function {
            Decay::Exp => exponential(self.logarithm * ratio),
            Decay::Gauss => exponential(self.logarithm * (ratio * ratio)),
            Decay::Linear => self.linear(ratio),
        };
        self.weighted(kept)
    }

    /// As [`Boost::factor`], for each of `values`.
    fn factors(&self, values: &[f64], factors: &mut Vec<f64>) {
        factors.clear();
        let ratios = values.iter().map(|&value| self.ratio(value));
        match self.function {
            Decay::Exp => factors.extend(ratios.map(|ratio| self.logarithm * ratio)),
            Decay::Gauss => factors.extend(ratios.map(|ratio| self.logarithm * (ratio * ratio))),
            Decay::Linear => factors.extend(ratios.map(|ratio| self.linear(ratio))),
        }
        if self.function != Decay::Linear {
            exponentials(factors);
        }
        factors
            .iter_mut()
            .for_each(|factor| *factor = self.weighted(*factor));
    }

    /// Distance from the origin beyond the offset, in scales.
    #[inline(always)]
    fn ratio(&self, value: f64) -> f64 {
        ((value - self.origin).abs() - self.offset).max(0.0) / self.scale
    }

    #[inline(always)]
    fn linear(&self, ratio: f64) -> f64 {
        (1.0 - (1.0 - self.decay) * ratio).max(0.0)
    }

    /// Applies the weight to `kept`, the shape's factor.
    #[inline(always)]
    fn weighted(&self, kept: f64) -> f64 {
        1.0 - self.weight + self.weight * kept
    }
}

impl Leg {
    /// The leg's part of a doc's score, by the doc's rank.
    fn part_by_rank(&self, rank: u32, more: &More, options: &Options) -> f64 {
        more.legs.len() as f64 * self.weight / (options.rrf_k + f64::from(rank))
    }
}

/// Adds a leg's parts to the scores of docs.
#[inline]
fn add((fused, source): (&mut [Fused], Source), norms: &[f64], parts: impl Iterator<Item = f64>) {
    for ((fused, &norm), part) in fused.iter_mut().zip(norms).zip(parts) {
        match source {
            Source::Bm25 => (fused.bm25_norm, fused.bm25_part) = (norm, part),
            Source::Dense => (fused.dense_norm, fused.dense_part) = (norm, part),
            Source::Sent(_) => {}
        }
        fused.score += part;
    }
}

/// Makes a list's scores comparable. `ranks` are read for [`Normalize::Rank`] alone.
fn normalize(how: Normalize, scores: &[f64], ranks: &[u32], norms: &mut Vec<f64>) {
    norms.clear();
    let count = scores.len() as f64;
    let largest = scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
    if how == Normalize::Rank {
        norms.extend(ranks.iter().map(|&rank| (count - f64::from(rank) + 1.0) / count));
        return;
    }
    if largest == 0.0 {
        norms.resize(scores.len(), 0.0);
        return;
    }
    match how {
        Normalize::None | Normalize::Rank => norms.extend_from_slice(scores),
        // If 1 + the largest is 1, all logarithms are 0.
        Normalize::Log1p if 1.0 + largest == 1.0 => norms.extend(scores.iter().map(|score| score / largest)),
        Normalize::Max => norms.extend(scores.iter().map(|score| score / largest)),
        Normalize::Log1p => {
            let most = logarithm(1.0 + largest);
            norms.extend(scores.iter().map(|score| 1.0 + score.abs()));
            logarithms(norms);
            for (norm, score) in norms.iter_mut().zip(scores) {
                *norm = norm.copysign(*score) / most;
            }
        }
        Normalize::MinMax | Normalize::ZScore => {
            // Scaled first, so that no difference overflows.
            norms.extend(scores.iter().map(|score| score / largest));
            let least = norms.iter().fold(1.0, |least: f64, norm| least.min(*norm));
            let most = norms.iter().fold(-1.0, |most: f64, norm| most.max(*norm));
            if how == Normalize::MinMax {
                spread(norms, least, most);
            } else {
                standardize(norms, least == most);
            }
        }
    }
}

/// Maps the least to 0 and the most to 1; if they are equal, all to 1 if positive, else to 0.
fn spread(norms: &mut [f64], least: f64, most: f64) {
    for norm in norms {
        *norm = if least < most {
            (*norm - least) / (most - least)
        } else if most > 0.0 {
            1.0
        } else {
            0.0
        };
    }
}

/// Maps each to its standard deviations from the mean; all to 0 if they are equal.
fn standardize(norms: &mut [f64], equal: bool) {
    let count = norms.len() as f64;
    let mean = norms.iter().sum::<f64>() / count;
    let squares = norms.iter().map(|norm| (norm - mean) * (norm - mean));
    let deviation = (squares.sum::<f64>() / count).sqrt();
    for norm in norms {
        *norm = if equal || deviation == 0.0 {
            0.0
        } else {
            (*norm - mean) / deviation
        };
    }
}

impl Workspace {
    /// Sets the scores and norms of a leg, and its ranks if `ranked` or its norms need them.
    fn list(&mut self, leg: &Leg, more: &More, ranked: bool) {
        let mut list = std::mem::take(&mut self.list);
        let docs = &self.lists.docs;
        list.scores.clear();
        match leg.source {
            Source::Bm25 => list.scores.extend_from_slice(&self.bm25),
            Source::Dense => list.scores.extend(docs.iter().map(|doc| doc.dense)),
            Source::Sent(name) => {
                let sent = || more.scores.numbers().iter().filter(|number| number.name == name);
                let missing = match leg.missing {
                    Missing::Zero => 0.0,
                    Missing::Min => sent().map(|number| number.value).reduce(f64::min).unwrap_or(0.0),
                };
                list.scores.resize(docs.len(), missing);
                for number in sent() {
                    list.scores[number.doc as usize] = number.value;
                }
            }
        }
        if ranked || leg.normalize == Normalize::Rank {
            ranks(list.scores.iter().copied(), &mut self.order, &mut list.ranks);
        }
        normalize(leg.normalize, &list.scores, &list.ranks, &mut list.norms);
        self.list = list;
    }

    /// The part of a doc's score from a leg that is [listed](Self::list).
    fn part(&self, leg: &Leg, more: &More, options: &Options, doc: usize) -> f64 {
        match options.method {
            Method::MaxNorm => leg.weight * self.list.norms[doc],
            Method::Rrf => leg.part_by_rank(self.list.ranks[doc], more, options),
        }
    }

    /// As [`Workspace::combine`], for the legs of a request.
    pub(super) fn combine_legs(&mut self, options: &Options, more: &More) {
        self.fused.clear();
        self.fused.resize(self.lists.docs.len(), Fused::default());
        let ranked = options.method == Method::Rrf;
        for leg in &more.legs {
            self.list(leg, more, ranked);
            let List { norms, ranks, .. } = &self.list;
            let fused = (&mut self.fused[..], leg.source);
            match options.method {
                Method::MaxNorm => add(fused, norms, norms.iter().map(|norm| leg.weight * norm)),
                Method::Rrf => {
                    let parts = ranks.iter().map(|&rank| leg.part_by_rank(rank, more, options));
                    add(fused, norms, parts);
                }
            }
        }
        if options.explain {
            self.rank_usual();
        }
    }

    /// Multiplies each score by the product of its boosts' factors, in their order.
    pub(super) fn boost(&mut self, more: &More) {
        let Workspace { fused, list, .. } = self;
        let List {
            scores: products,
            norms: values,
            ranks: docs,
            factors,
        } = list;
        products.clear();
        products.resize(fused.len(), 1.0);
        for boost in &more.boosts {
            values.clear();
            docs.clear();
            let own = more.values.numbers().iter();
            for number in own.filter(|number| number.name == boost.value) {
                values.push(number.value + 0.0);
                docs.push(number.doc);
            }
            boost.factors(values, factors);
            for (&doc, factor) in docs.iter().zip(&*factors) {
                products[doc as usize] *= factor;
            }
        }
        for (fused, product) in fused.iter_mut().zip(&*products) {
            fused.score *= product;
        }
    }

    /// Explains the legs and boosts of the results: adds to the piece of each, by its rank. Stops and returns
    /// false once the pieces have more than `most` bytes.
    pub(super) fn explain_legs(
        &mut self,
        options: &Options,
        more: &More,
        most: usize,
        pieces: &mut [Vec<u8>],
    ) -> bool {
        let mut total = 0;
        let mut head = Vec::new();
        for (at, leg) in more.legs.iter().enumerate() {
            self.list_again(leg, more);
            // The same before each of its scores, and escaped once.
            head.clear();
            head.extend_from_slice(if at == 0 { b",\"legs\":{\"" } else { b",\"" });
            write_text(&leg.name, &mut head);
            head.extend_from_slice(b"\":{\"score\":");
            for (rank, piece) in pieces.iter_mut().enumerate() {
                let doc = self.order[rank].1 as usize;
                let part = Part {
                    score: self.list.scores[doc],
                    norm: self.list.norms[doc],
                    part: self.part(leg, more, options, doc),
                    rank: self.list.ranks[doc],
                };
                let length = piece.len();
                write_part(&head, &part, piece);
                total += piece.len() - length;
                if total > most {
                    return false;
                }
            }
        }
        if !more.legs.is_empty() {
            pieces.iter_mut().for_each(|piece| piece.push(b'}'));
        }
        if more.boosts.is_empty() {
            return true;
        }
        let heads = boost_heads(&more.boosts);
        for (rank, piece) in pieces.iter_mut().enumerate() {
            let own = numbers_of(more.values.numbers(), self.order[rank].1 as usize);
            let length = piece.len();
            write_boosts(&more.boosts, &heads, own, piece);
            total += piece.len() - length;
            if total > most {
                return false;
            }
        }
        true
    }

    /// Lists a leg with its ranks and leaves the order of the results as it is.
    fn list_again(&mut self, leg: &Leg, more: &More) {
        let order = std::mem::take(&mut self.order);
        self.list(leg, more, true);
        self.order = order;
    }
}

fn number(before: &[u8], value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(before);
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

fn write_part(head: &[u8], part: &Part, out: &mut Vec<u8>) {
    number(head, part.score, out);
    number(b",\"norm\":", part.norm, out);
    number(b",\"part\":", part.part, out);
    number(b",\"rank\":", f64::from(part.rank), out);
    out.push(b'}');
}

/// The text before each boost's number, with the boost's name escaped.
fn boost_heads(boosts: &[Boost]) -> Vec<Vec<u8>> {
    let head = |(at, boost): (usize, &Boost)| {
        let mut head = Vec::from(if at == 0 { &b",\"boosts\":["[..] } else { b"," });
        head.extend_from_slice(b"{\"value\":\"");
        write_text(&boost.name, &mut head);
        head
    };
    boosts.iter().enumerate().map(head).collect()
}

fn write_boosts(boosts: &[Boost], heads: &[Vec<u8>], own: &[Number], out: &mut Vec<u8>) {
    for (boost, head) in boosts.iter().zip(heads) {
        let value = value_of(own, boost.value);
        out.extend_from_slice(head);
        match value {
            Some(value) => number(b"\",\"number\":", value, out),
            None => out.extend_from_slice(b"\",\"number\":null"),
        }
        number(b",\"factor\":", boost.factor(value), out);
        out.push(b'}');
    }
    out.push(b']');
}
