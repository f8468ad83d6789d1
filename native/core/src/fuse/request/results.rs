//! `collapse`, `diversify` and `highlight`: settings of the list of results.

use super::unknown::{Notes, Place, known_members};
use super::values::{number, word};
use crate::json::{Scanner, Unfit};

/// Bounds of numbers; the contract has the same.
const MOST_KEPT: f64 = 1e6;
const MOST_CANDIDATES: f64 = 500.0;
const CHARACTERS: (f64, f64) = (20.0, 2000.0);
const MOST_FRAGMENTS: f64 = 10.0;

/// Rules by which docs count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollapseBy {
    /// Docs with the same text, after NFKC and case folding.
    Text,
    /// Docs with the same `group`.
    Group,
}

/// The rule by which docs count as one, and how many of them remain.
#[derive(Debug, Clone, Copy)]
pub struct Collapse {
    /// The rule.
    pub by: CollapseBy,
    /// Number of the best docs that remain.
    pub keep: usize,
}

/// Ways to compare texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikenessBy {
    /// By the share of their terms that they have in common.
    Terms,
    /// By the cosine of their vectors, from the model that computes dense scores.
    Vectors,
}

/// Prefers results that differ from those before them (maximal marginal relevance).
#[derive(Debug, Clone, Copy)]
pub struct Diversify {
    /// Weight of the similarity; 0: off.
    pub diversity: f64,
    /// How texts are compared.
    pub by: LikenessBy,
    /// Number of best docs that results are chosen from; `None`: 3 times `top_k`, at most 500.
    pub candidates: Option<usize>,
}

impl Diversify {
    /// Most docs that results are chosen from; 0: off.
    pub fn most(&self, top_k: usize) -> usize {
        if self.diversity == 0.0 {
            return 0;
        }
        let usual = top_k.saturating_mul(3).min(MOST_CANDIDATES as usize);
        self.candidates.unwrap_or(usual)
    }
}

/// Parts of texts around the query's terms.
#[derive(Debug, Clone, Copy)]
pub struct Highlight {
    /// Most code points of a fragment.
    pub characters: usize,
    /// Most fragments of a text.
    pub fragments: usize,
}

fn whole(scanner: &mut Scanner, least: f64, most: f64) -> Result<usize, Unfit> {
    let value = number(scanner, least, most)?;
    if value.fract() == 0.0 {
        Ok(value as usize)
    } else {
        Err(Unfit)
    }
}

/// Reads `collapse`.
pub(super) fn read_collapse(scanner: &mut Scanner, notes: &Notes) -> Result<Collapse, Unfit> {
    const NAMES: [&[u8]; 2] = [b"by", b"keep"];
    const WORDS: [(&[u8], CollapseBy); 2] = [(b"text", CollapseBy::Text), (b"group", CollapseBy::Group)];
    let (mut by, mut keep) = (CollapseBy::Text, 1);
    notes.borrow_mut().forget(Place::Collapse);
    let met = known_members(scanner, (notes, Place::Collapse), &NAMES, 2, |scanner, place| {
        match place {
            0 => by = word(scanner, &WORDS)?,
            _ => keep = whole(scanner, 1.0, MOST_KEPT)?,
        }
        Ok(())
    })?;
    if met & 1 == 0 {
        return Err(Unfit);
    }
    Ok(Collapse { by, keep })
}

/// Reads `diversify`.
pub(super) fn read_diversify(scanner: &mut Scanner, notes: &Notes) -> Result<Diversify, Unfit> {
    const NAMES: [&[u8]; 3] = [b"diversity", b"by", b"candidates"];
    const WORDS: [(&[u8], LikenessBy); 2] =
        [(b"terms", LikenessBy::Terms), (b"vectors", LikenessBy::Vectors)];
    let (mut diversity, mut by, mut candidates) = (0.0, LikenessBy::Terms, None);
    notes.borrow_mut().forget(Place::Diversify);
    let met = known_members(scanner, (notes, Place::Diversify), &NAMES, 2, |scanner, place| {
        match place {
            0 => diversity = number(scanner, 0.0, 1.0)?,
            1 => by = word(scanner, &WORDS)?,
            _ => candidates = Some(whole(scanner, 1.0, MOST_CANDIDATES)?),
        }
        Ok(())
    })?;
    if met & 1 == 0 {
        return Err(Unfit);
    }
    Ok(Diversify {
        diversity,
        by,
        candidates,
    })
}

/// Reads `highlight`.
pub(super) fn read_highlight(scanner: &mut Scanner, notes: &Notes) -> Result<Highlight, Unfit> {
    const NAMES: [&[u8]; 2] = [b"chars", b"fragments"];
    let (mut characters, mut fragments) = (160, 1);
    notes.borrow_mut().forget(Place::Highlight);
    known_members(scanner, (notes, Place::Highlight), &NAMES, 2, |scanner, place| {
        match place {
            0 => characters = whole(scanner, CHARACTERS.0, CHARACTERS.1)?,
            _ => fragments = whole(scanner, 1.0, MOST_FRAGMENTS)?,
        }
        Ok(())
    })?;
    Ok(Highlight {
        characters,
        fragments,
    })
}
