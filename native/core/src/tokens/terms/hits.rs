//! Counts of a query's terms in one text, with the buffers that counting needs.

use super::batch::Batch;
use super::beginnings::Mix;
use super::memo::Memo;
use super::met::Met;

/// Counts of a query's terms in one text.
#[derive(Debug, Default)]
pub struct Hits {
    /// One count for each term.
    counts: Vec<u32>,
    /// Terms whose count is not 0, in the order of their first occurrence.
    touched: Vec<u32>,
    /// One count for each slot of [`ShortTerms`](super::short_terms::ShortTerms), until its `collect`.
    pub(super) by_slot: Vec<u32>,
    /// Buffers for a batch of tokens.
    pub(crate) batch: Option<Box<Batch>>,
    /// Forms of tokens of earlier texts.
    pub(super) memo: Memo,
    pub(super) mix: Mix,
    /// The terms of a text whose tokens are located or collected instead of counted.
    pub(crate) met: Met,
}

impl Hits {
    /// Begins a request: `terms` counts of 0.
    pub fn reset(&mut self, terms: usize) {
        self.memo.clear();
        self.mix.clear();
        self.touched.clear();
        self.counts.clear();
        self.counts.resize(terms, 0);
    }

    #[inline]
    pub(super) fn add(&mut self, term: u32, times: u32) {
        let count = &mut self.counts[term as usize];
        if *count == 0 {
            self.touched.push(term);
        }
        *count += times;
    }

    /// Passes the counts to `each` as (term, count) by ascending term, and resets them to 0.
    pub fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        self.touched.sort_unstable();
        for &term in &self.touched {
            each(term, std::mem::take(&mut self.counts[term as usize]));
        }
        self.touched.clear();
    }
}
