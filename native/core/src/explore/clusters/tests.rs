//! The tree of clusters: its results beside those of the exact scan, in every state, after kills and with
//! equal vectors.

use super::search::Bounds;
use super::*;
use crate::explore::nearest::Neighbour;
use crate::explore::vectors::{Facts, Vectors};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let folder = std::env::temp_dir().join(format!("fusegate-clusters-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        Self(folder)
    }

    fn vectors(&self) -> Vectors {
        let path = self.0.join("vectors");
        Vectors::prepare(&path, "test").expect("a file");
        Vectors::open(&path, "test").expect("the file")
    }

    fn index(&self) -> Clusters {
        Clusters::open(&self.0.join("index"), "test").expect("an index")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Sums of a few of 300 directions, like vectors of texts about topics.
fn vector_of(number: usize) -> Vector {
    let mut numbers = Numbers(number as u64 + 1);
    let topic = numbers.next(30);
    let mut sums = [0_i64; DIMENSION];
    for _ in 0..6 {
        let mut word = Numbers(1_000 + topic * 10 + numbers.next(10));
        sums.iter_mut()
            .for_each(|sum| *sum += word.next(201) as i64 - 100);
    }
    let mut own = Numbers(7_000 + number as u64);
    sums.iter_mut().for_each(|sum| *sum += own.next(121) as i64 - 60);
    quantized(&sums)
}

fn append(vectors: &Vectors, number: usize, vector: &Vector) {
    let facts = Facts::new(number as u64 + 1, &format!("fr_{number:026}"), 0, 0).expect("room");
    vectors.append(facts, vector).expect("room");
}

fn fill(vectors: &Vectors, index: &Clusters, from: usize, to: usize) {
    for number in from..to {
        append(vectors, number, &vector_of(number));
        index.insert(&vectors.all().expect("a view")).expect("room");
    }
}

/// Bounds that leave out most of a small tree.
const NARROW: Bounds = Bounds {
    width: 16,
    sketches: 5_000,
    compared: 512,
};

/// Share of the exact results that a search of the index finds; asserts that its similarities are exact.
fn recall(index: &Clusters, view: &View, queries: impl Iterator<Item = Vector>) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let exact = view.nearest(&query, 10, &[]);
        let near = index
            .nearest((view, &[]), &query, 10, Effort::Quick)
            .expect("an answer");
        assert!(
            near.is_sorted_by(|a, b| a.order(b).is_lt()),
            "in the order of all"
        );
        for one in &near {
            let similarity = similarity(&query, view.vector(one.index as usize));
            assert_eq!(one.similarity, similarity);
        }
        wanted += exact.len();
        found += exact.iter().filter(|one| near.contains(one)).count();
    }
    found as f64 / wanted as f64
}

#[test]
fn finds_what_the_exact_scan_finds() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    fill(&vectors, &index, 0, 25_000);
    let view = vectors.all().expect("a view");
    assert!(index.state().expect("a state").fits(&view));
    let own = (0..20).map(|at| *view.vector(at * 491));
    assert!(recall(&index, &view, own) >= 0.98);
    let other = (0..20).map(|at| vector_of(1_000_000 + at));
    let found = recall(&index, &view, other);
    assert!(found >= 0.98, "recall {found}");
    // Most of the nearest are found although only a fifth of the sketches are examined.
    let (mut found, mut wanted) = (0, 0);
    for number in 0..20 {
        let query = vector_of(1_000_000 + number);
        let exact = view.nearest(&query, 10, &[]);
        let near = index
            .nearest_within((&view, &[]), &query, 10, NARROW)
            .expect("an answer");
        wanted += exact.len();
        found += exact.iter().filter(|one| near.contains(one)).count();
    }
    assert!(found * 10 >= wanted * 9, "{found} of {wanted}");
    let sums: u32 = index
        .clusters(&view, 100)
        .expect("clusters")
        .iter()
        .map(|one| one.fragments)
        .sum();
    assert_eq!(sums, 25_000);
}

#[test]
fn a_small_tree_finds_all() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    fill(&vectors, &index, 0, 3_000);
    let view = vectors.all().expect("a view");
    let queries = (0..40).map(|at| vector_of(at * 71 + at % 2 * 9_000_000));
    assert!(recall(&index, &view, queries) >= 0.99);
}

#[test]
fn an_answer_of_a_state_stays_when_more_come() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    let queries: Vec<Vector> = (0..9).map(|at| vector_of(at * 333)).collect();
    let answers = |count: usize| -> Vec<Vec<Neighbour>> {
        let view = vectors.all().expect("a view").first(count);
        let near = |query| {
            index
                .nearest_within((&view, &[]), query, 7, NARROW)
                .expect("an answer")
        };
        queries.iter().map(near).collect()
    };
    let parts = |count: usize| {
        let view = vectors.all().expect("a view").first(count);
        index.clusters(&view, 50).expect("clusters")
    };
    let states = [1, 400, 448, 449, 500, 2_000, 5_000, 9_999];
    let mut told = Vec::new();
    let mut from = 0;
    for count in states {
        fill(&vectors, &index, from, count);
        told.push((count, answers(count), parts(count)));
        from = count;
    }
    fill(&vectors, &index, from, 12_000);
    for (count, answer, clusters) in told {
        assert_eq!(answers(count), answer, "{count}");
        assert_eq!(parts(count), clusters, "{count}");
    }
}

#[test]
fn equal_vectors_are_told_earliest_first() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    let mut equal = Vec::new();
    for number in 0..6_000 {
        let same = number % 3 != 0;
        if same {
            equal.push(number as u32);
        }
        append(&vectors, number, &vector_of(if same { 5 } else { number }));
        index.insert(&vectors.all().expect("a view")).expect("room");
    }
    for count in [300, 700, 2_000, 6_000] {
        let view = vectors.all().expect("a view").first(count);
        for most in [3, 150] {
            let near = index
                .nearest((&view, &[]), &vector_of(5), most, Effort::Quick)
                .expect("an answer");
            assert_eq!(near, view.nearest(&vector_of(5), most, &[]), "{count} {most}");
        }
        let sum: u32 = index
            .clusters(&view, 8)
            .expect("clusters")
            .iter()
            .map(|one| one.fragments)
            .sum();
        assert_eq!(sum as usize, count);
    }
    let nodes = index.file.get().expect("the file").number(NODES_AT).load(Relaxed);
    assert!(nodes < 80, "equal vectors take no nodes of their own: {nodes}");
}

/// So many hidden fragments are nearest that a search among the clusters of its bounds meets no others.
#[test]
fn hidden_fragments_are_no_wall_around_visible_ones() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    let mut hidden = Vec::new();
    for number in 0..12_000_usize {
        let mut vector = vector_of(number);
        // Of these, half are equal.
        if number % 6 != 0 {
            hidden.push(number as u32);
            vector = vector_of(5);
            vector[number / 2 % DIMENSION] ^= (number % 2 * (1 + number / 512)) as i8;
        }
        append(&vectors, number, &vector);
        index.insert(&vectors.all().expect("a view")).expect("room");
    }
    let view = vectors.all().expect("a view");
    let query = vector_of(5);
    let bounds = Bounds { width: 1, ..NARROW };
    let exact = view.nearest(&query, 10, &hidden);
    let near = index.nearest_within((&view, &hidden), &query, 10, bounds);
    let near = near.expect("an answer");
    let found = exact.iter().filter(|one| near.contains(one)).count();
    assert!(near.len() == 10 && found >= 9, "{found} of {}", near.len());
}

#[test]
fn vectors_that_differ_by_little_make_no_deep_tree() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    for number in 0..8_000_usize {
        // Nine of ten are equal; the tenth differs in one number.
        let mut vector = vector_of(5);
        if number % 10 == 0 {
            vector[number / 10 % DIMENSION] = (number / 2_560) as i8;
        }
        append(&vectors, number, &vector);
        index.insert(&vectors.all().expect("a view")).expect("room");
    }
    let mapping = index.file.get().expect("the file");
    let nodes = mapping.nodes().expect("nodes");
    let mut level = vec![ROOT];
    let mut levels = 0;
    while !level.is_empty() {
        levels += 1;
        level = level
            .iter()
            .filter_map(|&id| nodes.at(id)?.halves(u32::MAX))
            .flatten()
            .collect();
    }
    assert!(levels < 40, "{levels} levels");
}

#[test]
fn fragments_without_words_are_nobodys_neighbours() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    for number in 0..1_500 {
        let vector = if number % 2 == 0 {
            [0; DIMENSION]
        } else {
            vector_of(number)
        };
        append(&vectors, number, &vector);
        index.insert(&vectors.all().expect("a view")).expect("room");
    }
    let view = vectors.all().expect("a view");
    assert_eq!(index.state().expect("a state").count, 1_500);
    assert_eq!(
        index
            .nearest((&view, &[]), &[0; DIMENSION], 5, Effort::Quick)
            .expect("an answer"),
        []
    );
    assert_eq!(recall(&index, &view, (0..9).map(vector_of)), 1.0);
}

#[test]
fn a_writer_goes_on_where_one_was_killed() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    index.begin(&vectors.all().expect("a view")).expect("a beginning");
    fill(&vectors, &index, 0, 700);
    let view = vectors.all().expect("a view");
    // Inserted, then killed before it was counted.
    for _ in 0..3 {
        append(&vectors, 700, &vector_of(700));
        let all = vectors.all().expect("a view");
        let mapping = index.file.get().expect("the file");
        put(&mapping, &all, 700, all.vector(700)).expect("room");
    }
    let next = folder.index();
    assert!(
        next.begin(&view).expect("a beginning"),
        "the same start of the machine"
    );
    next.insert(&vectors.all().expect("a view")).expect("room");
    let state = vectors.all().expect("a view").first(701);
    let own = next
        .nearest((&state, &[]), &vector_of(700), 700, Effort::Quick)
        .expect("an answer");
    assert_eq!(own, state.nearest(&vector_of(700), 700, &[]));
}

#[test]
fn an_index_that_cannot_be_relied_on_is_given_up() {
    let folder = Folder::new();
    let (vectors, index) = (folder.vectors(), folder.index());
    let all = || vectors.all().expect("a view");
    index.begin(&all()).expect("a beginning");
    fill(&vectors, &index, 0, 600);
    let reader = folder.index();
    let count = |index: &Clusters| index.state().expect("a state").count;
    // Closed: the index is used after another boot of the machine.
    index.close().expect("a disk");
    assert!(folder.index().begin(&all()).expect("a beginning"));
    assert_eq!(count(&reader), 600);
    // Not closed, and the machine was restarted.
    let boot = |value: u64| {
        let mapping = index.file.get().expect("the file");
        mapping.number(BOOT_AT).store(value, Release);
    };
    boot(12_345);
    assert!(!index.begin(&all()).expect("a beginning"));
    assert_eq!(count(&reader), 0, "others turn to the new file");
    while count(&index) < 600 {
        index.insert(&all()).expect("room");
    }
    // Built from more fragments than there are, or from other ones.
    assert!(!index.begin(&all().first(500)).expect("a beginning"));
    while count(&index) < 600 {
        index.insert(&all()).expect("room");
    }
    let other = Folder::new();
    let others = other.vectors();
    (0..900).for_each(|number| append(&others, number, &vector_of(number + 1)));
    assert!(!index.begin(&others.all().expect("a view")).expect("a beginning"));
    // No index at all.
    std::fs::write(folder.0.join("index"), "nothing").expect("room");
    assert_eq!(count(&folder.index()), 0);
}
