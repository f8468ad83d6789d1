//! Sketches of vectors: the signs of their numbers, a bit each. Of vectors that are near most signs agree, so
//! that a scan of sketches, an eighth as long as that of the vectors, leaves few to be compared.

use crate::simd::{Level, Path};
use crate::static_model::{DIMENSION, Vector};

/// Words of a sketch.
pub(super) const WORDS: usize = DIMENSION / 64;
/// Signs that differ: from none to all.
pub(super) const DISTANCES: usize = DIMENSION + 1;

pub(super) type Sketch = [u64; WORDS];

/// The sketch of a vector.
pub(super) fn sketch(vector: &Vector) -> Sketch {
    let mut words = [0; WORDS];
    for (at, &one) in vector.iter().enumerate() {
        words[at / 64] |= u64::from(one > 0) << (at % 64);
    }
    words
}

#[inline(always)]
fn distances_with(query: &Sketch, sketches: &[Sketch], out: &mut Vec<u16>) {
    out.extend(sketches.iter().map(|sketch| {
        let pairs = query.iter().zip(sketch);
        pairs.map(|(a, b)| (a ^ b).count_ones() as u16).sum::<u16>()
    }));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn distances_avx2(query: &Sketch, sketches: &[Sketch], out: &mut Vec<u16>) {
    distances_with(query, sketches, out);
}

fn distances_by(path: Path, query: &Sketch, sketches: &[Sketch], out: &mut Vec<u16>) {
    match path.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 | Level::Avx512Vbmi2 => {
            // SAFETY: the path proves that the CPU has what the function is compiled for.
            unsafe { distances_avx2(query, sketches, out) }
        }
        Level::Portable => distances_with(query, sketches, out),
    }
}

/// Appends how many signs of each sketch differ from those of a query.
pub(super) fn distances(query: &Sketch, sketches: &[Sketch], out: &mut Vec<u16>) {
    distances_by(Path::best(), query, sketches, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn every_instruction_set_counts_the_signs_that_differ(
            numbers in prop::collection::vec(any::<i8>(), 3 * DIMENSION..9 * DIMENSION),
        ) {
            let vectors: Vec<Vector> = numbers
                .chunks_exact(DIMENSION)
                .map(|chunk| std::array::from_fn(|at| chunk[at]))
                .collect();
            let sketches: Vec<Sketch> = vectors.iter().map(sketch).collect();
            let differing = |a: &Vector, b: &Vector| {
                a.iter().zip(b).filter(|(a, b)| (**a > 0) != (**b > 0)).count() as u16
            };
            let naive: Vec<u16> = vectors.iter().map(|one| differing(&vectors[0], one)).collect();
            for path in Path::all() {
                let mut found = Vec::new();
                distances_by(path, &sketches[0], &sketches, &mut found);
                prop_assert_eq!(&found, &naive, "{:?}", path);
            }
        }
    }
}
