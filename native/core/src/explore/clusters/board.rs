//! Counts of the fragments by kind and by visitor. The writer counts each new fragment and publishes the
//! counts in the header of the index for every worker of the machine, so that no answer has to count all
//! fragments.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use super::{BOARD_AT, Clusters, HEADER_BYTES, Mapping};
use crate::explore::vectors::{Facts, Standing};

/// Kinds that are counted: those with lower numbers.
pub const KINDS: usize = 16;
/// Visitors that are listed.
pub const LISTED: usize = 100;

/// Numbers of the published form: a version, which is odd during a write; position, fragments, number of
/// visitors listed; the kinds; two numbers of each visitor.
const NUMBERS: usize = 4 + KINDS + 2 * LISTED;
const _: () = assert!(BOARD_AT + 8 * NUMBERS <= HEADER_BYTES);

/// Most reads of a board during a write, before giving up: its writer may have died.
const MOST_READS: usize = 1_000;

/// The counts at some position of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// The position.
    pub position: u64,
    /// Number of fragments up to that position.
    pub count: u32,
    /// Number of them by kind.
    pub kinds: [u32; KINDS],
    /// The visitors with most fragments of distinct content; of equal ones the earlier first.
    pub standings: Vec<Standing>,
}

/// The counts in the writer's memory.
#[derive(Default)]
pub struct Tally {
    count: u32,
    kinds: [u32; KINDS],
    /// Pairs of visitor and content.
    seen: HashSet<(u64, u64)>,
    /// Index of a visitor's first fragment, and number of its fragments of distinct content.
    visitors: HashMap<u64, (u32, u32)>,
    /// Sorted. Counts never shrink, so a visitor can enter the list only with a new fragment.
    standings: Vec<Standing>,
}

impl Tally {
    /// Number of fragments that are counted.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Counts the next fragment.
    pub fn add(&mut self, facts: &Facts) {
        let place = self.count;
        self.count += 1;
        if let Some(kind) = self.kinds.get_mut(usize::from(facts.kind)) {
            *kind += 1;
        }
        let visitor = facts.visitor;
        if visitor == 0 || !self.seen.insert((visitor, facts.content)) {
            return;
        }
        let (first, fragments) = self.visitors.entry(visitor).or_insert((place, 0));
        *fragments += 1;
        let standing = Standing {
            visitor,
            fragments: *fragments,
            first: *first,
        };
        let full = self.standings.len() == LISTED;
        if full && self.standings.last().is_some_and(|last| *last < standing) {
            return;
        }
        self.standings.retain(|one| one.visitor != visitor);
        let at = self.standings.partition_point(|one| *one < standing);
        self.standings.insert(at, standing);
        self.standings.truncate(LISTED);
    }

    /// The counts, as of a position up to which all fragments are counted.
    pub fn at(&self, position: u64) -> Board {
        Board {
            position,
            count: self.count,
            kinds: self.kinds,
            standings: self.standings.clone(),
        }
    }
}

impl Mapping {
    fn board_number(&self, at: usize) -> &AtomicU64 {
        self.number(BOARD_AT + 8 * at)
    }

    fn publish(&self, board: &Board) {
        let turn = self.board_number(0).load(Relaxed) | 1;
        self.board_number(0).store(turn, Relaxed);
        fence(Release);
        let listed = board.standings.len() as u64;
        let head = [board.position, u64::from(board.count), listed];
        let kinds = board.kinds.iter().map(|&kind| u64::from(kind));
        let rows = board
            .standings
            .iter()
            .flat_map(|one| [one.visitor, u64::from(one.fragments) << 32 | u64::from(one.first)]);
        for (at, number) in (1..).zip(head.into_iter().chain(kinds).chain(rows)) {
            self.board_number(at).store(number, Relaxed);
        }
        self.board_number(0).store(turn + 1, Release);
    }

    /// The board; `None` if none was published, or if a write does not end.
    fn board(&self) -> Option<Board> {
        for _ in 0..MOST_READS {
            let turn = self.board_number(0).load(Acquire);
            if turn == 0 {
                return None;
            }
            let numbers: [u64; NUMBERS] = std::array::from_fn(|at| self.board_number(at).load(Relaxed));
            fence(Acquire);
            if turn.is_multiple_of(2) && self.board_number(0).load(Relaxed) == turn {
                return Some(read(&numbers));
            }
            std::hint::spin_loop();
        }
        None
    }
}

fn read(numbers: &[u64; NUMBERS]) -> Board {
    let listed = (numbers[3] as usize).min(LISTED);
    let rows = numbers[4 + KINDS..].chunks_exact(2).take(listed);
    Board {
        position: numbers[1],
        count: numbers[2] as u32,
        kinds: std::array::from_fn(|kind| numbers[4 + kind] as u32),
        standings: rows
            .map(|row| Standing {
                visitor: row[0],
                fragments: (row[1] >> 32) as u32,
                first: row[1] as u32,
            })
            .collect(),
    }
}

impl Clusters {
    /// Publishes these counts to every worker. The caller is the only writer.
    pub fn publish(&self, board: &Board) -> io::Result<()> {
        self.file.get()?.publish(board);
        Ok(())
    }

    /// The counts that were published last.
    pub fn board(&self) -> io::Result<Option<Board>> {
        Ok(self.file.get()?.board())
    }
}
