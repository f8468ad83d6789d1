//! Counts the bits that two sets have in common.

use super::simd::{Level, Path};

/// Words in a block; each set is padded with zeros to whole blocks.
pub(crate) const BLOCK: usize = 8;

/// Sets each of `counts` to the number of bits that `own` shares with the set whose index is in `numbers`.
/// `sets`: all sets, one after another, each as long as `own`.
#[inline]
pub(crate) fn common(
    path: Path,
    own: &[[u64; BLOCK]],
    sets: &[[u64; BLOCK]],
    numbers: &[u32],
    counts: &mut [u32],
) {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 => unsafe { counted_at_once(own, sets, numbers, counts) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Avx2 => unsafe { counted(own, sets, numbers, counts) },
        Level::Portable => portable(own, sets, numbers, counts),
    }
}

#[inline(always)]
fn portable(own: &[[u64; BLOCK]], sets: &[[u64; BLOCK]], numbers: &[u32], counts: &mut [u32]) {
    for (&number, count) in numbers.iter().zip(counts) {
        let other = &sets[number as usize * own.len()..][..own.len()];
        let mut sums = [0; BLOCK];
        for (one, other) in own.iter().zip(other) {
            for word in 0..BLOCK {
                sums[word] += (one[word] & other[word]).count_ones();
            }
        }
        *count = sums.iter().sum();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn counted(own: &[[u64; BLOCK]], sets: &[[u64; BLOCK]], numbers: &[u32], counts: &mut [u32]) {
    portable(own, sets, numbers, counts);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vpopcntdq,popcnt")]
fn counted_at_once(own: &[[u64; BLOCK]], sets: &[[u64; BLOCK]], numbers: &[u32], counts: &mut [u32]) {
    portable(own, sets, numbers, counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_counts_the_bits_of_both() {
        let word = |at: u64, seed: u64| (at * seed + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for blocks in 0..5 {
            let block =
                |at: usize, seed| std::array::from_fn(|place| word((at * BLOCK + place) as u64, seed));
            let own: Vec<[u64; BLOCK]> = (0..blocks).map(|at| block(at, 3)).collect();
            let sets: Vec<[u64; BLOCK]> = (0..4 * blocks).map(|at| block(at, 7)).collect();
            let numbers = [2, 0, 3];
            let naive = numbers.map(|number| {
                let bit = |set: &[[u64; BLOCK]], at: usize| set.as_flattened()[at / 64] >> (at % 64) & 1 == 1;
                let other = &sets[number as usize * blocks..];
                let both = (0..blocks * BLOCK * 64).filter(|&at| bit(&own, at) && bit(other, at));
                both.count() as u32
            });
            for path in Path::all() {
                let mut counts = [u32::MAX; 3];
                common(path, &own, &sets, &numbers, &mut counts);
                assert_eq!(counts, naive);
            }
        }
    }
}
