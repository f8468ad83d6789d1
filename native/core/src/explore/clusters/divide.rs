//! Division of a full cluster: 2-means by direction (Dhillon and Modha 2001), with a minimum size of both
//! halves, so that no order of fragments makes the tree deep. Equal vectors stay together.

use crate::embed::static_model::{DIMENSION, Vector, quantized};
use crate::explore::nearest::{BLOCK, similarities, square};

const ROUNDS: usize = 5;
/// Each half gets at least one vector in this many.
const LEAST_PART: usize = 8;

/// The members of a cluster's halves, by their index among the divided vectors, in ascending order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) left: Vec<usize>,
    pub(super) right: Vec<usize>,
    /// True if the left half is exactly the members with one vector: no cut gave both halves their
    /// minimum size.
    pub(super) same: bool,
}

/// Similarity of each vector to `centre`.
fn to_each(centre: &Vector, vectors: &[&Vector], squares: &[u32]) -> [f64; BLOCK] {
    let mut out = [0.0; BLOCK];
    similarities((centre, square(centre)), vectors, Some(squares), &mut out);
    out
}

/// The vector that is least similar to `from`; the first of equal ones.
fn farthest<'a>(from: &Vector, vectors: &[&'a Vector], squares: &[u32]) -> Option<&'a Vector> {
    let found = to_each(from, vectors, squares);
    let least = (0..vectors.len()).min_by(|&a, &b| found[a].total_cmp(&found[b]))?;
    Some(vectors[least])
}

/// How much nearer each vector is to the first of two centroids, which are moved to the centres of their
/// halves in rounds.
fn leanings(vectors: &[&Vector], squares: &[u32]) -> Vec<f64> {
    let lean = |[a, b]: &[Vector; 2]| -> Vec<f64> {
        let (to_a, to_b) = (to_each(a, vectors, squares), to_each(b, vectors, squares));
        (0..vectors.len()).map(|at| to_a[at] - to_b[at]).collect()
    };
    let first = vectors
        .first()
        .and_then(|first| farthest(first, vectors, squares));
    let second = first.and_then(|first| farthest(first, vectors, squares));
    let (Some(first), Some(second)) = (first, second) else {
        return Vec::new();
    };
    let mut leaning = lean(&[*first, *second]);
    for _ in 0..ROUNDS {
        let mut sums = [[0_i64; DIMENSION]; 2];
        for (vector, leaning) in vectors.iter().zip(&leaning) {
            let side = &mut sums[usize::from(*leaning < 0.0)];
            side.iter_mut()
                .zip(*vector)
                .for_each(|(sum, &one)| *sum += i64::from(one));
        }
        let middles = sums.map(|sums| quantized(&sums));
        if middles.iter().any(|middle| square(middle) == 0) {
            break;
        }
        leaning = lean(&middles);
    }
    leaning
}

/// Divides at most [`BLOCK`] vectors.
pub(super) fn divide(vectors: &[&Vector]) -> Division {
    let squares: Vec<u32> = vectors.iter().map(|vector| square(vector)).collect();
    let leaning = leanings(vectors, &squares);
    let mut order: Vec<usize> = (0..vectors.len()).collect();
    order.sort_by(|&a, &b| {
        let nearer = leaning[b].total_cmp(&leaning[a]);
        nearer.then_with(|| vectors[a].cmp(vectors[b])).then(a.cmp(&b))
    });
    let part = vectors.len() / LEAST_PART;
    let wanted = leaning.iter().filter(|&&leaning| leaning >= 0.0).count();
    let apart = |cut: &usize| *cut > 0 && vectors[order[cut - 1]] != vectors[order[*cut]];
    let cuts = (part..=vectors.len() - part).filter(|&cut| cut < vectors.len());
    let cut = cuts.filter(apart).min_by_key(|&cut| (cut.abs_diff(wanted), cut));
    let middle = order.get(vectors.len() / 2).map(|&at| vectors[at]);
    let (mut left, mut right): (Vec<usize>, Vec<usize>) = match cut {
        Some(cut) => (order[..cut].to_vec(), order[cut..].to_vec()),
        // No cut: one vector fills the range between the minimum sizes.
        None => order.iter().partition(|&&at| Some(vectors[at]) == middle),
    };
    left.sort_unstable();
    right.sort_unstable();
    Division {
        left,
        right,
        same: cut.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Vectors with few distinct values, some of them similar.
    fn vectors() -> impl Strategy<Value = Vec<Vector>> {
        let one = (0..40_usize, 0..3_i8).prop_map(|(topic, turn)| {
            let mut vector = [0; DIMENSION];
            vector[topic] = 100;
            vector[(topic + 1) % DIMENSION] = 20 * turn + 1;
            vector
        });
        let few = (0..2_usize).prop_map(|topic| {
            let mut vector = [1; DIMENSION];
            vector[topic] = 100;
            vector
        });
        prop_oneof![
            prop::collection::vec(one, 16..200),
            prop::collection::vec(few, 16..200),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn halves_have_every_member_once_and_equal_vectors_together(vectors in vectors()) {
            let all: Vec<&Vector> = vectors.iter().collect();
            let Division { left, right, same } = divide(&all);
            prop_assert!(left.is_sorted() && right.is_sorted());
            let mut both: Vec<usize> = left.iter().chain(&right).copied().collect();
            both.sort_unstable();
            prop_assert_eq!(both, (0..vectors.len()).collect::<Vec<_>>());
            prop_assert!(left.iter().all(|&a| right.iter().all(|&b| vectors[a] != vectors[b])));
            let least = vectors.len() / LEAST_PART;
            if same {
                prop_assert!(left.iter().all(|&at| vectors[at] == vectors[left[0]]));
                prop_assert!(left.len() > vectors.len() - 2 * least);
            } else {
                prop_assert!(left.len() >= least && right.len() >= least);
            }
        }
    }

    #[test]
    fn topics_are_parted() {
        let vector = |at: usize, turn: i8| {
            let mut vector = [turn; DIMENSION];
            vector[at] = 120;
            vector
        };
        let vectors: Vec<Vector> = (0..60_i8)
            .map(|turn| vector(usize::from(turn % 3 == 0), turn % 5))
            .collect();
        let all: Vec<&Vector> = vectors.iter().collect();
        let Division { left, right, same } = divide(&all);
        let thirds: Vec<usize> = (0..60).filter(|at| at % 3 == 0).collect();
        assert!(!same && (left == thirds || right == thirds));
    }
}
