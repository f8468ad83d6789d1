//! The exact scan: compares a vector with every vector of a block, and selects the nearest in a total order.
//! The loops are plain Rust, compiled again for each instruction set that pays, and chosen at run time.

use std::borrow::Borrow;
use std::cmp::Ordering;

use crate::cpu::simd::{Level, Path};
use crate::embed::static_model::{DIMENSION, Vector};

/// Vectors compared together.
pub const BLOCK: usize = 1024;

/// A vector's index and its similarity (cosine) to the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Index in log order.
    pub index: u32,
    /// Above 0, at most 1.
    pub similarity: f64,
}

impl Neighbour {
    /// The more similar first, ties by index: a total order, since no similarity is NaN.
    pub fn order(&self, other: &Self) -> Ordering {
        other
            .similarity
            .total_cmp(&self.similarity)
            .then(self.index.cmp(&other.index))
    }
}

/// Sum of the products of two vectors.
#[inline(always)]
fn dot(a: &Vector, b: &Vector) -> i32 {
    let mut sum = 0;
    for at in 0..DIMENSION {
        sum += i32::from(a[at]) * i32::from(b[at]);
    }
    sum
}

/// A vector's squared length.
pub fn square(vector: &Vector) -> u32 {
    dot(vector, vector) as u32
}

/// Cosine of the angle between vectors from their product and squared lengths. Every step is exact or
/// correctly rounded, so that the result is the same on every machine. 0 if one of them is 0.
#[inline(always)]
fn cosine(product: i32, a: u32, b: u32) -> f64 {
    // A square of 0 would give NaN; with 1 instead, the product of 0 gives 0.
    f64::from(product) / (f64::from(a.max(1)) * f64::from(b.max(1))).sqrt()
}

/// Cosine of the angle between two vectors.
pub fn similarity(a: &Vector, b: &Vector) -> f64 {
    cosine(dot(a, b), square(a), square(b))
}

/// Similarities of one vector to those of a block. `squares`: the block's squared lengths; if they lie in
/// memory that nothing else reads, it is faster to compute them.
#[inline(always)]
fn compare_with<One: Borrow<Vector>>(
    (query, square): (&Vector, u32),
    vectors: &[One],
    squares: Option<&[u32]>,
    out: &mut [f64; BLOCK],
) {
    let (mut products, mut computed) = ([0; BLOCK], [0; BLOCK]);
    for (at, vector) in vectors.iter().enumerate() {
        products[at] = dot(query, vector.borrow());
        if squares.is_none() {
            computed[at] = dot(vector.borrow(), vector.borrow()) as u32;
        }
    }
    let squares = squares.unwrap_or(&computed);
    for ((similarity, &product), &other) in out[..vectors.len()].iter_mut().zip(&products).zip(squares) {
        *similarity = cosine(product, square, other);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vl")]
fn compare_avx512<One: Borrow<Vector>>(
    query: (&Vector, u32),
    vectors: &[One],
    squares: Option<&[u32]>,
    out: &mut [f64; BLOCK],
) {
    compare_with(query, vectors, squares, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn compare_avx2<One: Borrow<Vector>>(
    query: (&Vector, u32),
    vectors: &[One],
    squares: Option<&[u32]>,
    out: &mut [f64; BLOCK],
) {
    compare_with(query, vectors, squares, out);
}

#[cfg(test)]
thread_local! {
    /// Vectors that a test's thread has compared: what its searches cost on any machine.
    pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// As [`compare_with`], on a path of the CPU.
fn compare<One: Borrow<Vector>>(
    path: Path,
    query: (&Vector, u32),
    vectors: &[One],
    squares: Option<&[u32]>,
    out: &mut [f64; BLOCK],
) {
    #[cfg(test)]
    COMPARED.set(COMPARED.get() + vectors.len());
    match path.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 | Level::Avx512 => {
            // SAFETY: the path proves that the CPU has what the function is compiled for.
            unsafe { compare_avx512(query, vectors, squares, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: as above.
            unsafe { compare_avx2(query, vectors, squares, out) }
        }
        Level::Portable => compare_with(query, vectors, squares, out),
    }
}

/// Similarities of a vector, with its squared length, to at most [`BLOCK`] others; `out` has them by index.
pub(crate) fn similarities<One: Borrow<Vector>>(
    query: (&Vector, u32),
    vectors: &[One],
    squares: Option<&[u32]>,
    out: &mut [f64; BLOCK],
) {
    compare(Path::best(), query, vectors, squares, out);
}

/// The best few of the offered neighbours.
#[derive(Clone, Debug)]
pub struct Best {
    /// In order; never more than `most`.
    kept: Vec<Neighbour>,
    most: usize,
    /// Only scores above it are accepted.
    least: f64,
}

impl Best {
    /// Empty; for at most `most`, all above `least`, which is at least 0.
    pub fn new(most: usize, least: f64) -> Self {
        let kept = Vec::with_capacity(most + 1);
        Self { kept, most, least }
    }

    /// Adds a neighbour if it is among the best so far. Of equals the first offered stays, so offer them by
    /// ascending index.
    #[inline]
    pub fn offer(&mut self, neighbour: Neighbour) {
        if neighbour.similarity <= self.least {
            return;
        }
        let at = self.kept.partition_point(|kept| kept.order(&neighbour).is_lt());
        self.kept.insert(at, neighbour);
        self.kept.truncate(self.most);
        if let (true, Some(last)) = (self.kept.len() == self.most, self.kept.last()) {
            self.least = self.least.max(last.similarity);
        }
    }

    /// As [`Best::offer`], in any order of indexes: of equals the lower index stays.
    pub(crate) fn offer_unordered(&mut self, neighbour: Neighbour) {
        let full = self.kept.len() == self.most;
        let worse = |last: &Neighbour| !neighbour.order(last).is_lt();
        if neighbour.similarity <= 0.0 || self.most == 0 || (full && self.kept.last().is_some_and(worse)) {
            return;
        }
        let at = self.kept.partition_point(|kept| kept.order(&neighbour).is_lt());
        self.kept.insert(at, neighbour);
        self.kept.truncate(self.most);
    }

    /// Offers the vectors of a block; the first one has index `first`.
    pub fn scan(&mut self, query: &Vector, square: u32, first: u32, vectors: &[Vector], squares: &[u32]) {
        self.scan_visible((query, square), first, vectors, squares, |_| true);
    }

    /// As [`Best::scan`], only those whose indexes are visible. All are compared: to compare a block at once
    /// is faster than to compare what lies between hidden ones.
    pub fn scan_visible(
        &mut self,
        (query, square): (&Vector, u32),
        first: u32,
        vectors: &[Vector],
        squares: &[u32],
        is_visible: impl Fn(u32) -> bool,
    ) {
        if self.most == 0 || square == 0 || vectors.is_empty() {
            return;
        }
        let mut similarities = [0.0; BLOCK];
        compare(
            Path::best(),
            (query, square),
            vectors,
            Some(squares),
            &mut similarities,
        );
        for (index, &similarity) in (first..).zip(&similarities[..vectors.len()]) {
            if similarity > self.least && is_visible(index) {
                self.offer(Neighbour { index, similarity });
            }
        }
    }

    /// The best, in order.
    pub fn take(self) -> Vec<Neighbour> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Vectors of few distinct numbers, so that equal similarities occur.
    fn vectors(count: usize) -> impl Strategy<Value = Vec<Vector>> {
        let one = (
            any::<u64>(),
            prop_oneof![Just(0_u64), Just(1), Just(3), Just(127)],
        )
            .prop_map(|(seed, top)| {
                let mut state = seed % 9;
                let mut vector = [0; DIMENSION];
                for number in &mut vector {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    *number = (((state >> 33) % (2 * top + 1)) as i64 - top as i64) as i8;
                }
                vector
            });
        prop::collection::vec(one, 1..count)
    }

    /// The obvious implementation: every similarity, sorted.
    fn naive(query: &Vector, all: &[Vector], most: usize, least: f64) -> Vec<Neighbour> {
        let length = |vector: &Vector| -> i64 { vector.iter().map(|&one| i64::from(one).pow(2)).sum() };
        let mut found: Vec<Neighbour> = (0_u32..)
            .zip(all)
            .filter(|(_, other)| length(other) > 0 && length(query) > 0)
            .map(|(index, other)| {
                let product: i64 = query
                    .iter()
                    .zip(other)
                    .map(|(&a, &b)| i64::from(a) * i64::from(b))
                    .sum();
                let similarity = product as f64 / ((length(query) * length(other)) as f64).sqrt();
                Neighbour { index, similarity }
            })
            .filter(|neighbour| neighbour.similarity > least)
            .collect();
        found.sort_by(Neighbour::order);
        found.truncate(most);
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn agrees_with_the_obvious_reading(
            all in vectors(3 * BLOCK / 2),
            most in 0..12_usize,
            least in prop_oneof![Just(0.0), Just(0.3)],
        ) {
            let query = &all[all.len() / 2];
            let squares: Vec<u32> = all.iter().map(square).collect();
            let mut best = Best::new(most, least);
            for (at, (vectors, squares)) in all.chunks(BLOCK).zip(squares.chunks(BLOCK)).enumerate() {
                best.scan(query, square(query), (at * BLOCK) as u32, vectors, squares);
            }
            prop_assert_eq!(best.take(), naive(query, &all, most, least));
        }

        #[test]
        fn every_instruction_set_finds_the_same(all in vectors(64)) {
            let squares: Vec<u32> = all.iter().map(square).collect();
            let (mut plain, mut fast) = ([0.0; BLOCK], [0.0; BLOCK]);
            for query in &all {
                compare_with((query, square(query)), &all, Some(&squares), &mut plain);
                let given = |path| [(path, Some(&squares[..])), (path, None)];
                for (path, squares) in Path::all().flat_map(given) {
                    compare(path, (query, square(query)), &all, squares, &mut fast);
                    prop_assert_eq!(plain[..all.len()].to_vec(), fast[..all.len()].to_vec(), "{:?}", path);
                }
            }
        }
    }
}
