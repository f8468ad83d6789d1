//! Counting in blocks of 64 bytes, whatever vector instructions examine them.

use crate::tokens::terms::batch::{BATCH, Batch, Places};
use crate::tokens::terms::{Hits, Terms, Use};

/// Masks over 64 bytes: letters or digits, and places where a term could begin.
pub(super) struct Block {
    pub(super) words: u64,
    pub(super) hints: u64,
}

/// A mask of the lowest `count` bits of a block.
#[inline(always)]
pub(super) fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// Looks up the tokens with known ends; a last start without its end is kept for the next call.
#[inline(never)]
fn look_up(batch: &mut Batch, text: &[u8], terms: &Terms, hits: &mut Hits) {
    if hits.met.purpose != Use::Count {
        terms.meet_all(text, batch, hits);
        return batch.keep_last();
    }
    let Batch {
        starts, ends, longer, ..
    } = batch;
    let count = ends.count;
    let (first, last) = (&starts.list[..count], &ends.list[..count]);
    if !terms.forms().leaves_ascii() {
        terms.count_ascii_forms(text, (first, last), &mut longer.list, hits);
    } else {
        let look_up = |number: usize, hits: &mut Hits| {
            let (start, end) = (first[number] as usize, last[number] as usize);
            terms.count_ascii(text, start, end - start, hits);
        };
        if terms.short.usable() {
            let found = terms.short.count(text, (first, last), hits, &mut longer.list);
            longer.list[..found]
                .iter()
                .for_each(|&number| look_up(number as usize, hits));
        } else {
            (0..count).for_each(|number| look_up(number, hits));
        }
    }
    batch.keep_last();
}

/// Counts block by block. `look` examines the 64 bytes from a place in the text on, up to the text's end;
/// `add` is [`Places::add`] or equivalent.
#[inline(always)]
pub(super) fn count_blocks(
    bytes: &[u8],
    start: usize,
    end: usize,
    (terms, hits): (&Terms, &mut Hits),
    look: impl Fn(&[u8], usize, usize) -> Block,
    add: impl Fn(&mut Places, usize, u64),
) -> usize {
    let text = &bytes[start..];
    let mut batch = std::mem::take(&mut hits.batch).unwrap_or_default();
    let mut tokens = 0;
    let (mut before, mut open) = (0, false);
    terms.short.prepare(hits);
    for at in (0..end - start).step_by(64) {
        let block = look(text, at, end - start);
        let begins = block.words & !(block.words << 1 | before);
        tokens += begins.count_ones() as usize;
        let hinted = begins & block.hints;
        // Adding a run's first bit carries to the bit after its last: the ends of the hinted tokens.
        let (sum, first) = block.words.overflowing_add(hinted);
        let (sum, second) = sum.overflowing_add(u64::from(open));
        open = first | second;
        add(&mut batch.starts, at, hinted);
        add(&mut batch.ends, at, sum & !block.words);
        if batch.starts.count >= BATCH {
            look_up(&mut batch, text, terms, hits);
        }
        before = block.words >> 63;
    }
    if open {
        batch.ends.add(end - start, 1);
    }
    look_up(&mut batch, text, terms, hits);
    terms.short.collect(hits);
    hits.batch = Some(batch);
    tokens
}
