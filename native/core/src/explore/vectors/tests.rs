//! The file of vectors: writing, reading, truncation and refusal.

use super::*;
use crate::embed::static_model::{Scratch, StaticModel, quantized, shipped};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let name = format!("fusegate-vectors-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn opened(&self) -> Vectors {
        Vectors::prepare(&self.0, "test").expect("a file");
        Vectors::open(&self.0, "test").expect("the file")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn embed(text: &str) -> Vector {
    static MODEL: LazyLock<StaticModel> = LazyLock::new(shipped);
    quantized(&MODEL.embed(text, &mut Scratch::default()))
}

fn text(number: usize) -> String {
    let words = [
        "lattice", "ledger", "signal", "anchor", "proof", "relay", "witness", "strut",
    ];
    let word = |at: usize| words[(number * 31 + at * at * (number % 7 + 1)) % words.len()];
    format!("{} {} {} {}", word(1), word(2), word(3), number % 97)
}

/// Fills a file; every third position of the log has no fragment in the file.
fn fill(vectors: &Vectors, from: usize, to: usize) {
    for number in from..to {
        let position = (number + number / 2 + 1) as u64;
        let receipt = format!("fr_{number:026}");
        let mut facts = Facts::new(position, &receipt, number as u64 * 10, (number % 8) as u8).expect("room");
        facts.visitor = (number % 5) as u64;
        vectors.append(facts, &embed(&text(number))).expect("room");
        vectors.see(position, &receipt).expect("room");
    }
}

#[test]
fn what_one_writes_another_reads_as_it_was_at_any_position() {
    let folder = Folder::new();
    let (writer, reader) = (folder.opened(), folder.opened());
    let many = 2 * BLOCK + 100;
    fill(&writer, 0, BLOCK + 3);
    assert_eq!(reader.view(u64::MAX).expect("a view").count(), BLOCK + 3);
    fill(&writer, BLOCK + 3, many);
    let state = reader.state().expect("a state");
    assert_eq!(
        (state.count as usize, state.last_receipt),
        (many, format!("fr_{:026}", many - 1))
    );
    for number in [0, 1, 2, BLOCK - 1, BLOCK, many - 1] {
        let facts = *reader.view(u64::MAX).expect("a view").facts(number);
        assert_eq!(facts.receipt(), format!("fr_{number:026}"));
        let then = reader.view(facts.position).expect("a view");
        assert_eq!(then.count(), number + 1);
        assert_eq!(then.vector(number), &embed(&text(number)));
    }
    assert_eq!(reader.view(0).expect("a view").count(), 0);
}

/// A file outlives the program that wrote it: its form may change only with its name.
#[test]
fn the_header_is_where_other_versions_look_for_it() {
    let folder = Folder::new();
    let vectors = folder.opened();
    fill(&vectors, 0, 3);
    let bytes = std::fs::read(&folder.0).expect("the file");
    let number = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes"));
    assert_eq!(&bytes[..8], b"fgvectr2");
    assert_eq!((number(16), number(24), number(32)), (3, 4, 0));
    assert_eq!(&bytes[40..69], format!("fr_{:026}", 2).as_bytes());
    assert_eq!(
        &bytes[4096..4096 + DIMENSION],
        embed(&text(0)).map(|each| each as u8)
    );
}

/// The obvious reading: every similarity to the first `to` fragments that are not hidden, sorted.
fn naive(
    view: &View,
    (query, to): (&Vector, usize),
    most: usize,
    least: f64,
    hidden: &[u32],
) -> Vec<Neighbour> {
    let mut all: Vec<Neighbour> = (0..to)
        .filter(|&index| !hidden.contains(&(index as u32)))
        .map(|index| Neighbour {
            index: index as u32,
            similarity: crate::explore::nearest::similarity(query, view.vector(index)),
        })
        .filter(|one| one.similarity > least)
        .collect();
    all.sort_by(Neighbour::order);
    all.truncate(most);
    all
}

#[test]
fn neighbours_and_links_agree_with_the_obvious_reading() {
    let folder = Folder::new();
    let vectors = folder.opened();
    fill(&vectors, 0, BLOCK + 200);
    let view = vectors.view(u64::MAX).expect("a view");
    for number in (0..view.count()).step_by(97) {
        let query = view.vector(number);
        let third: Vec<u32> = (0..view.count() as u32 + 9)
            .filter(|index| index % 3 == 1)
            .collect();
        for hidden in [&[], &third[..]] {
            assert_eq!(
                view.nearest(query, 7, hidden),
                naive(&view, (query, view.count()), 7, 0.0, hidden)
            );
        }
    }
    let ranges = [
        (5, 9),
        (0, 3),
        (BLOCK - 2, BLOCK + 30),
        (3, 20),
        (1100, BLOCK + 200),
    ];
    for (from, to) in ranges {
        let hidden = [
            0,
            4,
            5,
            6,
            BLOCK as u32 - 1,
            BLOCK as u32,
            BLOCK as u32 + 29,
            1_150,
        ];
        for hidden in [&[][..], &hidden] {
            let links = view.links(from, to, hidden);
            assert_eq!(links.len(), to - from);
            for (index, links) in (from..to).zip(links) {
                let most = if hidden.contains(&(index as u32)) {
                    0
                } else {
                    LINKS
                };
                let all = naive(&view, (view.vector(index), index), most, LINK_LEAST, hidden);
                assert_eq!(links, all, "{index}");
            }
        }
    }
}

#[test]
fn filters_agree_with_the_obvious_reading() {
    let folder = Folder::new();
    let vectors = folder.opened();
    fill(&vectors, 0, 500);
    let view = vectors.view(u64::MAX).expect("a view");
    let filter = Filter {
        kind: Some(3),
        visitor: Some(1),
        since_ms: Some(1_000),
    };
    let fits = |number: &usize| number % 8 == 3 && number % 5 == 1 && *number >= 100;
    let all: Vec<u32> = (0..500).filter(fits).map(|number| number as u32).collect();
    assert_eq!(view.select(&filter, 0, 1_000, &[]), all);
    assert_eq!(view.matching(&filter), all.len());
    assert_eq!(view.select(&filter, all[1] as usize, 2, &[]), all[1..3]);
    assert_eq!(view.matching(&Filter::default()), 500);
}

#[test]
fn a_file_of_another_method_is_made_anew() {
    let folder = Folder::new();
    let prepared = |method: &str| Vectors::prepare(&folder.0, method).expect("a file");
    assert!(prepared("test"));
    fill(&folder.opened(), 0, 3);
    assert!(prepared("test"));
    assert_eq!(folder.opened().state().expect("a state").count, 3);
    assert!(Vectors::open(&folder.0, "other").is_err());
    assert!(!prepared("other"));
    let other = Vectors::open(&folder.0, "other").expect("the file");
    assert_eq!(other.state().expect("a state").count, 0);
}

#[test]
fn standings_count_different_contents() {
    let folder = Folder::new();
    let vectors = folder.opened();
    for (position, (visitor, content)) in
        (1..).zip([("b", 1), ("a", 1), ("", 1), ("a", 1), ("a", 2), ("c", 7)])
    {
        let mut facts = Facts::new(position, "r", 0, 0).expect("room");
        (facts.visitor, facts.content) = (hash_of(visitor), content);
        vectors.append(facts, &embed("x")).expect("room");
    }
    let row = |visitor: &str, fragments: u32, first: u32| Standing {
        visitor: hash_of(visitor),
        fragments,
        first,
    };
    let found = vectors.view(u64::MAX).expect("a view").standings(&[]);
    assert_eq!(found, [row("a", 2, 1), row("b", 1, 0), row("c", 1, 5)]);
}

#[test]
fn what_a_power_cut_left_wrong_is_cut_off() {
    let folder = Folder::new();
    fill(&folder.opened(), 0, BLOCK + 50);
    for (at, good) in [(BLOCK + 20, BLOCK + 20), (7, 7)] {
        let block = HEADER_BYTES + at / BLOCK * BLOCK_BYTES;
        let mut file = OpenOptions::new().write(true).open(&folder.0).expect("the file");
        file.seek(SeekFrom::Start((block + at % BLOCK * DIMENSION) as u64))
            .expect("a place");
        file.write_all(&[77; 16]).expect("room");
        let vectors = folder.opened();
        let before = vectors.state().expect("a state").count as usize;
        assert_eq!(vectors.verify().expect("a check") as usize, before - good);
        let state = vectors.state().expect("a state");
        assert_eq!(state.count as usize, good);
        assert_eq!(state.last_receipt, format!("fr_{:026}", good - 1));
        assert_eq!(vectors.verify().expect("a check"), 0);
    }
    let vectors = folder.opened();
    fill(&vectors, 7, 30);
    assert_eq!(
        (
            vectors.verify().expect("a check"),
            vectors.state().expect("a state").count
        ),
        (0, 30)
    );
}

#[test]
fn a_file_given_up_is_followed_by_a_new_one() {
    let folder = Folder::new();
    let (writer, reader) = (folder.opened(), folder.opened());
    fill(&writer, 0, 10);
    let held = reader.view(u64::MAX).expect("a view");
    writer.reset().expect("a new file");
    assert_eq!(reader.state().expect("a state").count, 0);
    fill(&writer, 0, 3);
    assert_eq!(reader.view(u64::MAX).expect("a view").count(), 3);
    assert_eq!(held.facts(9).receipt(), format!("fr_{:026}", 9));
}

#[test]
fn another_file_is_made_anew() {
    let folder = Folder::new();
    std::fs::write(&folder.0, vec![1; HEADER_BYTES]).expect("a file");
    assert!(Vectors::open(&folder.0, "test").is_err());
    assert_eq!(folder.opened().state().expect("a state").count, 0);
}
