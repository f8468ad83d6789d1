//! Counts the bits that two sets have in common.

use crate::simd::{Level, Path};

/// Number of bits set in both.
#[inline]
pub(crate) fn common(path: Path, left: &[u64], right: &[u64]) -> u32 {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 | Level::Avx512 | Level::Avx2 => unsafe { counted(left, right) },
        Level::Portable => portable(left, right),
    }
}

#[inline(always)]
fn portable(left: &[u64], right: &[u64]) -> u32 {
    let both = left.iter().zip(right).map(|(one, other)| one & other);
    both.map(u64::count_ones).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn counted(left: &[u64], right: &[u64]) -> u32 {
    portable(left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_counts_the_bits_of_both() {
        let words = |seed: u64| (1..40).map(move |at: u64| (at * seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (left, right): (Vec<u64>, Vec<u64>) = (words(3).collect(), words(7).collect());
        for length in 0..left.len() {
            let bit = |set: &[u64], at: usize| set[at / 64] >> (at % 64) & 1 == 1;
            let naive = (0..64 * length).filter(|&at| bit(&left, at) && bit(&right, at));
            let naive = naive.count() as u32;
            for path in Path::all() {
                assert_eq!(common(path, &left[..length], &right[..length]), naive);
            }
        }
    }
}
