//! Examines 64 bytes of text with AVX2, in two halves.

use super::blocks::{Block, count_blocks, low_bits};
use crate::tokens::terms::batch::Places;
use crate::tokens::terms::{Filter, Hits, Terms};
use std::arch::x86_64::*;

/// A block and the two bytes after it, which the filter reads.
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
    // SAFETY: callers pass 0, 1, 2, 32, 33 or 34, so the window has 32 bytes from there.
    unsafe { _mm256_loadu_si256(window.as_ptr().add(at).cast()) }
}

/// Mask of the ASCII letters and digits among 32 bytes.
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

/// Mask of the bytes that can begin a term, among the 32 from `at` on.
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

/// Examines the 64 bytes from `at` on, without those from `end` on.
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
    let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    Block {
        words: both(words(load(window, 0)), words(load(window, 32))) & low_bits(end - at),
        hints: both(candidates(window, 0, tables), candidates(window, 32, tables)),
    }
}

/// As [`super::count_ws_ascii`].
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(crate) fn count_ws_ascii(
    bytes: &[u8],
    start: usize,
    end: usize,
    terms: &Terms,
    hits: &mut Hits,
) -> usize {
    let tables = tables(&terms.filter);
    let look = |text: &[u8], at: usize, end: usize| look(text, at, end, &tables);
    count_blocks(bytes, start, end, (terms, hits), look, Places::add)
}
