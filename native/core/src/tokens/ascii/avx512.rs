//! Examines 64 bytes of text with AVX-512, at once.

use std::arch::x86_64::*;

use super::blocks::{Block, count_blocks, low_bits};
use crate::tokens::terms::batch::Places;
use crate::tokens::terms::{Filter, Hits, Terms};

/// The filter's tables in registers.
struct Tables {
    low: [__m512i; 3],
    high: [__m512i; 3],
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn tables(filter: &Filter) -> Tables {
    let four_times = |half: &[u8; 16]| {
        // SAFETY: the array is 16 bytes long; the load needs no alignment.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(half.as_ptr().cast()) })
    };
    Tables {
        low: filter.low.each_ref().map(four_times),
        high: filter.high.each_ref().map(four_times),
    }
}

/// The 64 bytes from `at` on, with zeros after the end of `bytes`.
#[inline]
#[target_feature(enable = "avx512bw")]
fn load(bytes: &[u8], at: usize) -> __m512i {
    let rest = bytes.get(at..).unwrap_or_default();
    // SAFETY: the mask excludes lanes beyond `rest`, and excluded lanes are not read.
    unsafe { _mm512_maskz_loadu_epi8(low_bits(rest.len()), rest.as_ptr().cast()) }
}

/// Mask of the ASCII letters and digits among 64 bytes.
#[inline]
#[target_feature(enable = "avx512bw")]
fn words(bytes: __m512i) -> u64 {
    let lower = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    let letters = _mm512_sub_epi8(lower, _mm512_set1_epi8(b'a' as i8));
    let digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
    _mm512_cmplt_epu8_mask(letters, _mm512_set1_epi8(26))
        | _mm512_cmplt_epu8_mask(digits, _mm512_set1_epi8(10))
}

/// Examines the 64 bytes from `at` on, without those from `end` on.
#[inline]
#[target_feature(enable = "avx512bw")]
fn look(text: &[u8], at: usize, end: usize, tables: &Tables) -> Block {
    let nibble = _mm512_set1_epi8(15);
    let mut terms = _mm512_set1_epi8(-1);
    for place in 0..3 {
        let bytes = load(text, at + place);
        let low = _mm512_shuffle_epi8(tables.low[place], _mm512_and_si512(bytes, nibble));
        let half = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), nibble);
        let high = _mm512_shuffle_epi8(tables.high[place], half);
        terms = _mm512_and_si512(terms, _mm512_and_si512(low, high));
    }
    Block {
        words: words(load(text, at)) & low_bits(end - at),
        hints: _mm512_test_epi8_mask(terms, terms),
    }
}

/// As [`Places::add`]: compresses the numbers 0 to 63 to those whose bit is set.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
fn add(places: &mut Places, base: usize, bits: u64) {
    const NUMBERS: [u8; 64] = {
        let mut numbers = [0; 64];
        let mut at = 0;
        while at < 64 {
            numbers[at] = at as u8;
            at += 1;
        }
        numbers
    };
    // SAFETY: the array is 64 bytes long; the load needs no alignment.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let set = _mm512_maskz_compress_epi8(bits, numbers);
    let count = bits.count_ones() as usize;
    let base = _mm512_set1_epi32(base as i32);
    store(
        places,
        0,
        _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(set))),
    );
    if count > 16 {
        let rest = _mm512_extracti32x4_epi32::<1>(set);
        store(places, 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(rest)));
    }
    places.count += count;
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn store(places: &mut Places, after: usize, numbers: __m512i) {
    if let Some(room) = places.list[places.count + after..].first_chunk_mut::<16>() {
        // SAFETY: the room is 64 bytes long; the store needs no alignment.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), numbers) };
    }
}

/// As [`super::count_ws_ascii`].
#[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn count_ws_ascii(
    bytes: &[u8],
    start: usize,
    end: usize,
    terms: &Terms,
    hits: &mut Hits,
) -> usize {
    let tables = tables(&terms.filter);
    let look = |text: &[u8], at: usize, end: usize| look(text, at, end, &tables);
    let add = |places: &mut Places, base: usize, bits: u64| add(places, base, bits);
    count_blocks(bytes, start, end, (terms, hits), look, add)
}
