//! The `ws` tokenizer for ASCII text, 64 bytes at a time: a token's start is a bit in a mask, how many there
//! are is a population count, and only starts that a term could begin with are looked up.
//!
//! The filter is the shuffle lookup of packed multi-substring search (as in Hyperscan's Teddy).

use crate::terms::{Hits, Terms};

/// Counts the `ws` tokens of the ASCII text `bytes[start..end]` that are terms; returns how many tokens there
/// are in all. What lies around the text is read at most, never counted.
pub fn count_ws_ascii(bytes: &[u8], start: usize, end: usize, terms: &Terms, hits: &mut Hits) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the CPU has what the function is compiled for, as just found.
        return unsafe { avx2::count_ws_ascii(bytes, start, end, terms, hits) };
    }
    portable_count(bytes, start, end, terms, hits)
}

pub(crate) fn portable_count(
    bytes: &[u8],
    start: usize,
    end: usize,
    terms: &Terms,
    hits: &mut Hits,
) -> usize {
    let mut tokens = 0;
    let mut at = start;
    while at < end {
        if !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let stop = run_end(bytes, at, end);
        tokens += 1;
        terms.count_ascii(bytes, at, stop - at, hits);
        at = stop;
    }
    tokens
}

/// End of the run of letters and digits that goes on at `at`.
#[inline]
fn run_end(bytes: &[u8], at: usize, end: usize) -> usize {
    let rest = &bytes[at..end];
    at + rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(rest.len())
}

/// Tokens that are gathered before they are looked up.
const BATCH: usize = 256;
/// Most that one block adds, and what [`Places::add`] writes beyond.
const SPARE: usize = 64 + 8;

/// Places in a text.
#[derive(Debug)]
struct Places {
    list: [u32; BATCH + SPARE],
    count: usize,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            list: [0; BATCH + SPARE],
            count: 0,
        }
    }
}

impl Places {
    /// Adds the places of `bits`, the lowest of which stands for `base`: eight at a time whether there are so
    /// many or not, so that the number of bits decides few branches.
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

/// Tokens of one text, in the order of their places, on the way to being looked up. Kept from text to text, since
/// clearing it would cost more than filling it.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    starts: Places,
    /// The end of the token of the same number.
    ends: Places,
    /// Numbers of the tokens that may be long terms.
    longer: Places,
}

impl Batch {
    /// Looks up the tokens whose ends are known; a last start without its end stays for the next time.
    #[inline(always)]
    fn look_up(&mut self, text: &[u8], terms: &Terms, hits: &mut Hits) {
        let Batch { starts, ends, longer } = self;
        let count = ends.count;
        let place = |number: usize| (starts.list[number] as usize, ends.list[number] as usize);
        if terms.short.usable() {
            for number in 0..count {
                let (start, end) = place(number);
                longer.list[longer.count] = number as u32;
                longer.count += usize::from(terms.short.count(text, start, end, hits));
            }
            for &number in &longer.list[..longer.count] {
                let (start, end) = place(number as usize);
                terms.count_ascii(text, start, end - start, hits);
            }
            longer.count = 0;
        } else {
            for number in 0..count {
                let (start, end) = place(number);
                terms.count_ascii(text, start, end - start, hits);
            }
        }
        starts.list[0] = starts.list[count];
        starts.count -= count;
        ends.count = 0;
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BATCH, Hits, Terms};
    use crate::terms::Filter;
    use std::arch::x86_64::*;

    /// A block and the two bytes after it, which the filter looks at.
    const WINDOW: usize = 64 + 2;

    /// The filter's tables in registers.
    struct Tables {
        low: [__m256i; 3],
        high: [__m256i; 3],
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn tables(filter: &Filter) -> Tables {
        let twice = |half: &[u8; 16]| {
            // SAFETY: the array is 16 bytes long; the load needs no alignment.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(half.as_ptr().cast()) })
        };
        Tables {
            low: [
                twice(&filter.low[0]),
                twice(&filter.low[1]),
                twice(&filter.low[2]),
            ],
            high: [
                twice(&filter.high[0]),
                twice(&filter.high[1]),
                twice(&filter.high[2]),
            ],
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(window: &[u8; WINDOW], at: usize) -> __m256i {
        debug_assert!(at + 32 <= WINDOW);
        // SAFETY: callers pass 0, 1, 2, 32, 33 or 34, so that 32 bytes from there lie in the window.
        unsafe { _mm256_loadu_si256(window.as_ptr().add(at).cast()) }
    }

    /// Which of 32 bytes are ASCII letters or digits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words(bytes: __m256i) -> u32 {
        let within = |offset: __m256i, count: i8| {
            _mm256_cmpeq_epi8(_mm256_min_epu8(offset, _mm256_set1_epi8(count - 1)), offset)
        };
        let lower = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        let letters = within(_mm256_sub_epi8(lower, _mm256_set1_epi8(b'a' as i8)), 26);
        let digits = within(_mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8)), 10);
        _mm256_movemask_epi8(_mm256_or_si256(letters, digits)) as u32
    }

    /// Which of the 32 bytes from `at` on can begin a term.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn candidates(window: &[u8; WINDOW], at: usize, tables: &Tables) -> u32 {
        let nibble = _mm256_set1_epi8(15);
        let mut terms = _mm256_set1_epi8(-1);
        for place in 0..3 {
            let bytes = load(window, at + place);
            let low = _mm256_shuffle_epi8(tables.low[place], _mm256_and_si256(bytes, nibble));
            let half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
            let high = _mm256_shuffle_epi8(tables.high[place], half);
            terms = _mm256_and_si256(terms, _mm256_and_si256(low, high));
        }
        !(_mm256_movemask_epi8(_mm256_cmpeq_epi8(terms, _mm256_setzero_si256())) as u32)
    }

    /// What is known of 64 bytes: which are letters or digits, and at which of them a term could begin.
    struct Block {
        words: u64,
        hints: u64,
    }

    /// Looks at the 64 bytes from `at` on, those from `end` on left out.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look(bytes: &[u8], at: usize, end: usize, tables: &Tables) -> Block {
        let mut padded = [0; WINDOW];
        let window = match bytes[at..].first_chunk::<WINDOW>() {
            Some(window) => window,
            None => {
                let rest = &bytes[at..];
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            }
        };
        let inside = if end - at < 64 {
            (1 << (end - at)) - 1
        } else {
            u64::MAX
        };
        let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Block {
            words: both(words(load(window, 0)), words(load(window, 32))) & inside,
            hints: both(candidates(window, 0, tables), candidates(window, 32, tables)),
        }
    }

    /// As [`super::count_ws_ascii`].
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub fn count_ws_ascii(bytes: &[u8], start: usize, end: usize, terms: &Terms, hits: &mut Hits) -> usize {
        let tables = tables(&terms.filter);
        let text = &bytes[start..];
        let mut batch = std::mem::take(&mut hits.batch).unwrap_or_default();
        let mut tokens = 0;
        let (mut before, mut open) = (0, false);
        terms.short.prepare(hits);
        for at in (0..end - start).step_by(64) {
            let block = look(text, at, end - start, &tables);
            let begins = block.words & !(block.words << 1 | before);
            tokens += begins.count_ones() as usize;
            let hinted = begins & block.hints;
            // Adding a run's first bit carries to the bit after its last: where the hinted tokens end.
            let (sum, first) = block.words.overflowing_add(hinted);
            let (sum, second) = sum.overflowing_add(u64::from(open));
            open = first | second;
            batch.starts.add(at, hinted);
            batch.ends.add(at, sum & !block.words);
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
}
