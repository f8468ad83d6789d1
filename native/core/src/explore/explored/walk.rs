//! Walks from neighbour to neighbour. SHA-256 of the seed, LF, and the turn's number decides each turn: the
//! same seed, start and state of the log give the same walk.

use std::collections::HashSet;
use std::io;

use sha2::{Digest, Sha256};

use super::Explored;
use crate::embed::static_model::Vector;
use crate::explore::clusters::Effort;
use crate::explore::nearest::Neighbour;
use crate::explore::vectors::{View, is_hidden};

/// Neighbours that a turn chooses from.
const WAYS: usize = 5;

/// One fragment of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its receipt's id.
    pub receipt: String,
    /// Its similarity to the fragment before it; 1 for the first.
    pub similarity: f64,
}

/// Parameters of a walk.
pub struct Walk<'a> {
    /// The position of the log that it is made at.
    pub position: u64,
    /// The text that decides its turns.
    pub seed: &'a str,
    /// Most steps.
    pub most: usize,
    /// Indexes of the fragments that it skips, in order.
    pub hidden: &'a [u32],
    /// True once nobody awaits it: it ends before its next search.
    pub stopped: &'a dyn Fn() -> bool,
}

/// The number that decides a turn, below `bound`: 48 bits of the hash, with negligible bias.
fn turn(seed: &str, number: usize, bound: usize) -> usize {
    let hash = Sha256::digest(format!("{seed}\n{number}"));
    let bits = hash
        .iter()
        .take(6)
        .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    (bits % bound.max(1) as u64) as usize
}

/// A walk in progress.
struct Way<'a> {
    explored: &'a Explored,
    view: View,
    walk: &'a Walk<'a>,
    steps: Vec<Step>,
    /// Receipts of the steps.
    seen: HashSet<String>,
}

impl Way<'_> {
    fn receipt(&self, index: usize) -> &str {
        self.view.facts(index).receipt()
    }

    fn is_open(&self, index: usize) -> bool {
        !is_hidden(self.walk.hidden, index as u32) && !self.seen.contains(self.receipt(index))
    }

    /// The first fragment if none is given: the one that the seed chooses, or the next open one after it.
    fn beginning(&self) -> Option<usize> {
        let count = self.view.count();
        let first = turn(self.walk.seed, 0, count);
        (0..count)
            .map(|step| (first + step) % count)
            .find(|&index| self.is_open(index))
    }

    fn push(&mut self, receipt: String, similarity: f64) {
        self.seen.insert(receipt.clone());
        self.steps.push(Step { receipt, similarity });
    }

    /// The nearest open fragments; none once nobody awaits the walk.
    fn open(&self, vector: &Vector) -> io::Result<Vec<Neighbour>> {
        if (self.walk.stopped)() {
            return Ok(Vec::new());
        }
        // The search also finds the fragments of earlier steps.
        let most = WAYS + self.steps.len();
        let among = (&self.view, self.walk.hidden);
        let found = self.explored.nearest_of(among, vector, most, Effort::Quick)?;
        let open = found.neighbours.into_iter();
        let open = open.filter(|one| self.is_open(one.index as usize));
        Ok(open.take(WAYS).collect())
    }

    fn run(mut self, mut vector: Vector) -> io::Result<Vec<Step>> {
        while self.steps.len() < self.walk.most {
            let open = self.open(&vector)?;
            let chosen = turn(self.walk.seed, self.steps.len(), open.len());
            let Some(&Neighbour { index, similarity }) = open.get(chosen) else {
                break;
            };
            vector = *self.view.vector(index as usize);
            self.push(self.receipt(index as usize).to_owned(), similarity);
        }
        Ok(self.steps)
    }
}

impl Explored {
    /// Walks until it has enough steps, or no open fragment is near. `from`: the receipt and the vector to
    /// begin with, of any fragment; without it, the seed chooses.
    pub fn walk(&self, walk: &Walk, from: Option<(&str, Vector)>) -> io::Result<Vec<Step>> {
        let mut way = Way {
            explored: self,
            view: self.vectors.view(walk.position)?,
            walk,
            steps: Vec::new(),
            seen: HashSet::new(),
        };
        let (receipt, vector) = match from {
            Some((receipt, vector)) => (receipt.to_owned(), vector),
            None => match way.beginning() {
                Some(index) => (way.receipt(index).to_owned(), *way.view.vector(index)),
                None => return Ok(Vec::new()),
            },
        };
        way.push(receipt, 1.0);
        way.run(vector)
    }
}
