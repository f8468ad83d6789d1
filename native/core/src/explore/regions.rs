//! Regions of a view's fragments: spherical k-means (Dhillon and Modha 2001) from a fixed start, so that the
//! same fragments always have the same regions.

use super::clusters::Cluster;
use super::nearest::{Best, Neighbour, square};
use super::vectors::{View, is_hidden};
use crate::embed::static_model::{DIMENSION, Vector, quantized};

/// Most regions.
pub const MOST: usize = 12;
/// Average fragments of a region while there are few fragments.
const FEW: usize = 4;
/// Most fragments used to find the centres.
const SAMPLE: usize = 8_192;
const ROUNDS: usize = 5;

/// One region.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Index of the fragment nearest to its centre.
    pub centre: u32,
    /// Number of its fragments.
    pub count: u32,
}

/// The centre nearest to a vector, the first of equals; `None` if no similarity is above 0.
fn nearest(centres: &[Vector], squares: &[u32], vector: &Vector) -> Option<Neighbour> {
    let mut best = Best::new(1, 0.0);
    best.scan(vector, square(vector), 0, centres, squares);
    best.take().first().copied()
}

/// A vector, and the number of fragments it represents.
type Weighted<'a> = (&'a Vector, u32);

/// One round: each centre moves to the mean of the points nearest to it.
fn moved(points: &[Weighted], centres: &[Vector]) -> Vec<Vector> {
    let squares: Vec<u32> = centres.iter().map(square).collect();
    let mut sums = vec![[0_i64; DIMENSION]; centres.len()];
    for &(vector, weight) in points {
        if let Some(centre) = nearest(centres, &squares, vector) {
            let sums = &mut sums[centre.index as usize];
            sums.iter_mut()
                .zip(vector)
                .for_each(|(sum, &one)| *sum += i64::from(one) * i64::from(weight));
        }
    }
    let still = |sums: &[i64; DIMENSION]| sums.iter().all(|&sum| sum == 0);
    let pairs = sums.iter().zip(centres);
    pairs
        .map(|(sums, centre)| if still(sums) { *centre } else { quantized(sums) })
        .collect()
}

/// Centres of regions of clusters, each with its number of fragments. `hidden`: vectors of the fragments that
/// do not count.
pub fn of_clusters<'a>(clusters: &[Cluster], hidden: impl Iterator<Item = &'a Vector>) -> Vec<(Vector, u32)> {
    let points: Vec<Weighted> = clusters.iter().map(|one| (&one.middle, one.fragments)).collect();
    let wanted = points.len().min(MOST);
    let mut centres: Vec<Vector> = (0..wanted)
        .map(|at| *points[at * points.len() / wanted].0)
        .collect();
    for _ in 0..ROUNDS {
        centres = moved(&points, &centres);
    }
    let squares: Vec<u32> = centres.iter().map(square).collect();
    let mut found: Vec<(Vector, u32)> = centres.iter().map(|centre| (*centre, 0)).collect();
    for (vector, fragments) in points {
        // The fragments of a cluster count even if its own vector is near no centre.
        let region = nearest(&centres, &squares, vector).map_or(0, |centre| centre.index as usize);
        found[region].1 += fragments;
    }
    for vector in hidden {
        let region = nearest(&centres, &squares, vector).map_or(0, |centre| centre.index as usize);
        if let Some((_, fragments)) = found.get_mut(region) {
            *fragments = fragments.saturating_sub(1);
        }
    }
    found.retain(|(_, fragments)| *fragments > 0);
    found
}

/// The regions of a view, the smallest first. Fragments without words belong to none; `hidden` ones do not
/// count and are no centres.
pub fn regions(view: &View, hidden: &[u32]) -> Vec<Region> {
    let count = view.count();
    let wanted = (count / FEW).clamp(usize::from(count > 0), MOST);
    let spread = |number: usize| (0..number).map(move |at| at * count / number);
    let sample: Vec<Weighted> = spread(count.min(SAMPLE))
        .map(|place| (view.vector(place), 1))
        .collect();
    let mut centres: Vec<Vector> = spread(wanted).map(|place| *view.vector(place)).collect();
    for _ in 0..ROUNDS {
        centres = moved(&sample, &centres);
    }
    let squares: Vec<u32> = centres.iter().map(square).collect();
    let mut found: Vec<(Region, f64)> = centres
        .iter()
        .map(|_| (Region { centre: 0, count: 0 }, 0.0))
        .collect();
    for place in (0..count).filter(|&place| !is_hidden(hidden, place as u32)) {
        let Some(centre) = nearest(&centres, &squares, view.vector(place)) else {
            continue;
        };
        let (region, similarity) = &mut found[centre.index as usize];
        region.count += 1;
        if centre.similarity > *similarity {
            (region.centre, *similarity) = (place as u32, centre.similarity);
        }
    }
    let mut regions: Vec<Region> = found.into_iter().map(|(region, _)| region).collect();
    regions.retain(|region| region.count > 0);
    regions.sort_by_key(|region| (region.count, region.centre));
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::static_model::{Scratch, shipped};
    use crate::explore::vectors::{Facts, Vectors};

    fn view_of(texts: &[String], check: impl FnOnce(&View)) {
        let path =
            std::env::temp_dir().join(format!("fusegate-regions-{}-{}", std::process::id(), texts.len()));
        Vectors::prepare(&path, "test").expect("a file");
        let vectors = Vectors::open(&path, "test").expect("the file");
        let model = shipped();
        for (position, text) in (1..).zip(texts) {
            let facts = Facts::new(position, &format!("r{position}"), 0, 0).expect("room");
            let vector = quantized(&model.embed(text, &mut Scratch::default()));
            vectors.append(facts, &vector).expect("room");
        }
        check(&vectors.view(u64::MAX).expect("a view"));
        std::fs::remove_file(&path).expect("the file");
    }

    #[test]
    fn texts_of_one_topic_share_a_region() {
        let topics = [
            "lattice struts carry the load of bridges",
            "sourdough bread rises with wild yeast",
            "neutron stars spin and pulse in radio",
        ];
        let texts: Vec<String> = (0..120)
            .map(|number| format!("{} {number}", topics[number % 3]))
            .collect();
        view_of(&texts, |view| {
            let found = regions(view, &[]);
            assert_eq!(found.iter().map(|region| region.count).sum::<u32>(), 120);
            assert!(found.len() <= MOST && found.is_sorted_by_key(|region| (region.count, region.centre)));
            assert_eq!(found, regions(view, &[]));
            let topics: std::collections::HashSet<u32> =
                found.iter().map(|region| region.centre % 3).collect();
            assert_eq!(topics.len(), 3);
        });
    }

    #[test]
    fn few_fragments_and_none() {
        view_of(&[], |view| assert_eq!(regions(view, &[]), []));
        let texts = ["one word".to_owned(), "--".to_owned()];
        view_of(&texts, |view| {
            assert_eq!(regions(view, &[]), [Region { centre: 0, count: 1 }])
        });
    }
}
