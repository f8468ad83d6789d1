//! The `ws` tokenizer for ASCII text, 64 bytes at a time. Token starts are bits in a mask and are counted by
//! population count. Only starts that could begin a term are looked up.
//!
//! The filter is the shuffle look-up of packed multi-substring search (as in Hyperscan's Teddy).

use super::terms::{Hits, Terms, Use};
use crate::cpu::simd::{Level, Path};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Counts the `ws` tokens of the ASCII text `bytes[start..end]` that are terms; returns the number of all
/// tokens. Bytes around the text may be read, but never count.
pub fn count_ws_ascii(bytes: &[u8], start: usize, end: usize, terms: &Terms, hits: &mut Hits) -> usize {
    count_by(Path::best(), bytes, (start, end), terms, hits)
}

/// [`count_ws_ascii`] on a given path.
#[inline]
pub(crate) fn count_by(
    path: Path,
    bytes: &[u8],
    (start, end): (usize, usize),
    terms: &Terms,
    hits: &mut Hits,
) -> usize {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 => unsafe { avx512::count_ws_ascii(bytes, start, end, terms, hits) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Avx2 => unsafe { avx2::count_ws_ascii(bytes, start, end, terms, hits) },
        Level::Portable => portable_count(bytes, start, end, terms, hits),
    }
}

fn portable_count(bytes: &[u8], start: usize, end: usize, terms: &Terms, hits: &mut Hits) -> usize {
    let leaves_ascii = terms.forms().leaves_ascii();
    let mut tokens = 0;
    let mut at = start;
    while at < end {
        if !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let stop = run_end(bytes, at, end);
        tokens += 1;
        if hits.met.purpose != Use::Count {
            terms.meet_ascii(&bytes[start..], at - start..stop - start, hits);
        } else if leaves_ascii {
            terms.count_ascii(bytes, at, stop - at, hits);
        } else {
            terms.count_ascii_form(bytes, at, stop - at, hits);
        }
        at = stop;
    }
    tokens
}

/// End of the run of letters and digits at `at`.
#[inline]
fn run_end(bytes: &[u8], at: usize, end: usize) -> usize {
    let rest = &bytes[at..end];
    at + rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(rest.len())
}

/// Tokens collected before they are looked up.
const BATCH: usize = 256;
/// Most places that one block adds, and those written beyond them.
const SPARE: usize = 32 + 16;

/// Numbers that a list of a batch has room for: a power of two, so that none of them needs a check.
pub(crate) const ROOM: usize = (BATCH + SPARE).next_power_of_two();

/// Places in a text.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) list: [u32; ROOM],
    pub(crate) count: usize,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            list: [0; ROOM],
            count: 0,
        }
    }
}

impl Places {
    /// Adds the places of the set bits of `bits`; the lowest bit is `base`. Writes eight at a time even if
    /// fewer are set, so that few branches depend on the number of bits.
    #[inline(always)]
    fn add(&mut self, base: usize, mut bits: u64) {
        let count = bits.count_ones() as usize;
        let mut written = 0;
        while let Some(eight) = self.list[self.count + written..].first_chunk_mut::<8>() {
            for place in eight {
                *place = base as u32 + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            written += 8;
            if written >= count {
                break;
            }
        }
        self.count += count;
    }
}

/// Tokens of one text, in order, before they are looked up. Reused from text to text, since clearing it would
/// take longer than filling it.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) starts: Places,
    /// The ends of the tokens, by token number.
    pub(crate) ends: Places,
    /// Numbers of the tokens that may be terms, or that are long.
    pub(crate) longer: Places,
    /// The tokens that were found among the terms.
    pub(crate) found: Found,
}

/// Tokens that were found, in order: where they begin and end, and which terms they are, as
/// `ShortTerms::find_or` writes them.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) starts: [u32; ROOM],
    pub(crate) ends: [u32; ROOM],
    pub(crate) terms: [u32; ROOM],
}

impl Default for Found {
    fn default() -> Self {
        Found {
            starts: [0; ROOM],
            ends: [0; ROOM],
            terms: [0; ROOM],
        }
    }
}

impl Batch {
    /// Where a token begins and ends.
    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> (usize, usize) {
        let number = number % ROOM;
        (self.starts.list[number] as usize, self.ends.list[number] as usize)
    }

    /// Looks up the tokens with known ends; a last start without its end is kept for the next call.
    #[inline(never)]
    fn look_up(&mut self, text: &[u8], terms: &Terms, hits: &mut Hits) {
        if hits.met.purpose != Use::Count {
            terms.meet_all(text, self, hits);
            return self.keep_last();
        }
        let Batch {
            starts, ends, longer, ..
        } = self;
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
        self.keep_last();
    }

    /// Forgets the tokens with known ends.
    #[inline]
    fn keep_last(&mut self) {
        let Batch { starts, ends, .. } = self;
        starts.list[0] = starts.list[ends.count];
        starts.count -= ends.count;
        ends.count = 0;
    }
}

/// Masks over 64 bytes: letters or digits, and places where a term could begin.
struct Block {
    words: u64,
    hints: u64,
}

/// A mask of the lowest `count` bits of a block.
#[inline(always)]
fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// Counts block by block. `look` examines the 64 bytes from a place in the text on, without those after its
/// end; `add` is [`Places::add`] or equivalent.
#[inline(always)]
fn count_blocks(
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
            batch.look_up(text, terms, hits);
        }
        before = block.words >> 63;
    }
    if open {
        batch.ends.add(end - start, 1);
    }
    batch.look_up(text, terms, hits);
    terms.short.collect(hits);
    hits.batch = Some(batch);
    tokens
}
