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
#[cfg(target_arch = "x86_64")]
mod blocks;

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
