//! Scalar products of two vectors, and of one with many others. Each sum has one order, so that every path
//! gives the same bits.

use super::simd::{Level, Path};

/// Numbers of a vector that are added apart, and only then to each other.
const LANES: usize = 8;
/// Vectors that are read together: a sum waits for the one before it.
const TOGETHER: usize = 4;

/// Vectors of the same dimension, one after another.
#[derive(Debug)]
pub(crate) struct Rows {
    numbers: Vec<f64>,
    dimension: usize,
}

impl Rows {
    /// Of the numbers of all vectors, each of `dimension`.
    pub(crate) fn new(numbers: Vec<f64>, dimension: usize) -> Self {
        Rows { numbers, dimension }
    }

    #[inline(always)]
    fn row(&self, at: u32) -> &[f64] {
        &self.numbers[at as usize * self.dimension..][..self.dimension]
    }

    /// Sets each of `products` to that of the vector `one` and the one whose index is in `others`.
    pub(crate) fn products(&self, path: Path, one: u32, others: &[u32], products: &mut [f64]) {
        match path.level() {
            Level::Portable => self.portable(one, others, products),
            // SAFETY: the path proves that the CPU has what the function is compiled for.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 | Level::Avx512Vbmi2 => unsafe { self.wide(one, others, products) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn wide(&self, one: u32, others: &[u32], products: &mut [f64]) {
        self.portable(one, others, products);
    }

    #[inline(always)]
    fn portable(&self, one: u32, others: &[u32], products: &mut [f64]) {
        let own = self.row(one);
        let (others, rest) = others.as_chunks::<TOGETHER>();
        let (products, last) = products.split_at_mut(others.len() * TOGETHER);
        for (products, others) in products.chunks_exact_mut(TOGETHER).zip(others) {
            products.copy_from_slice(&together(own, others.map(|other| self.row(other))));
        }
        for (product, &other) in last.iter_mut().zip(rest) {
            [*product] = together(own, [self.row(other)]);
        }
    }
}

#[inline(always)]
fn together<const COUNT: usize>(own: &[f64], others: [&[f64]; COUNT]) -> [f64; COUNT] {
    let mut lanes = [[0.0; LANES]; COUNT];
    let (blocks, rest) = own.as_chunks::<LANES>();
    let others = others.map(|other| other.as_chunks::<LANES>());
    for (at, own) in blocks.iter().enumerate() {
        for (lanes, (blocks, _)) in lanes.iter_mut().zip(&others) {
            for ((lane, one), other) in lanes.iter_mut().zip(own).zip(&blocks[at]) {
                *lane += one * other;
            }
        }
    }
    let mut products = [0.0; COUNT];
    for ((product, lanes), (_, last)) in products.iter_mut().zip(lanes).zip(&others) {
        let rest = rest.iter().zip(*last).map(|(one, other)| one * other);
        *product = lanes.iter().sum::<f64>() + rest.sum::<f64>();
    }
    products
}

/// The scalar product of two vectors of one dimension.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0; LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += f64::from(a) * f64::from(b);
        }
    }
    let rest = rest_a.iter().zip(rest_b);
    lanes.iter().sum::<f64>() + rest.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_gives_the_bits_of_the_obvious_sum() {
        for dimension in [0, 3, 8, 20, 256] {
            let number = |at: usize| (at * at % 1_009) as f64 / 7.0 - 50.0;
            let rows = Rows::new((0..9 * dimension).map(number).collect(), dimension);
            let others = [4, 0, 8, 3, 4, 7, 1];
            let naive = others.map(|other| {
                let mut lanes = [0.0; LANES];
                let whole = dimension - dimension % LANES;
                let product = |at: usize| rows.row(4)[at] * rows.row(other)[at];
                (0..whole).for_each(|at| lanes[at % LANES] += product(at));
                lanes.iter().sum::<f64>() + (whole..dimension).map(product).sum::<f64>()
            });
            for path in Path::all() {
                let mut products = [f64::NAN; 7];
                rows.products(path, 4, &others, &mut products);
                assert_eq!(products.map(f64::to_bits), naive.map(f64::to_bits));
            }
        }
    }
}
