//! Exploration on one machine: incremental and full counts, and answers of two processes at every position.

use super::*;
use crate::embed::static_model::{Scratch, StaticModel, quantized, shipped};
use crate::explore::nearest::{COMPARED, similarity};
use crate::explore::vectors::hash_of;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::sync::LazyLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// A separate folder for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let folder = std::env::temp_dir().join(format!("fusegate-explored-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        Self(folder)
    }

    fn opened(&self, from: usize) -> Explored {
        let path = self.0.join("vectors");
        Vectors::prepare(&path, "test").expect("a file");
        Explored::open(&path, "test", from).expect("the files")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vector_of(number: usize) -> Vector {
    static MODEL: LazyLock<StaticModel> = LazyLock::new(shipped);
    let words = [
        "lattice", "ledger", "signal", "anchor", "proof", "relay", "witness", "strut", "bread", "star",
    ];
    let word = |at: usize| words[(number * 31 + at * at * (number % 9 + 1)) % words.len()];
    let text = format!("{} {} {} {}", word(1), word(2), word(3), number % 997);
    quantized(&MODEL.embed(&text, &mut Scratch::default()))
}

/// Not every position has a fragment.
fn position_of(number: usize) -> u64 {
    (number + number / 2 + 1) as u64
}

fn facts_of(number: usize) -> Facts {
    let receipt = format!("fr_{number:026}");
    let mut facts = Facts::new(position_of(number), &receipt, 0, (number % 11) as u8).expect("room");
    let visitor = (number * number / 3) % 301;
    facts.visitor = if visitor == 0 {
        0
    } else {
        hash_of(&visitor.to_string())
    };
    facts.content = hash_of(&((number * 7) % 2_000).to_string());
    facts
}

fn fill(explored: &Explored, from: usize, to: usize) {
    for number in from..to {
        let facts = facts_of(number);
        let receipt = facts.receipt().to_owned();
        explored.append(facts, &vector_of(number)).expect("room");
        explored.see(position_of(number), &receipt).expect("room");
    }
}

fn grow(explored: &Explored) {
    while !explored.grow(500).expect("room") {}
}

#[test]
fn the_counts_of_the_present_are_those_of_all() {
    let folder = Folder::new();
    let (writer, reader) = (folder.opened(usize::MAX), folder.opened(usize::MAX));
    writer.begin().expect("a beginning");
    let mut from = 0;
    for count in [1, 2, 30, 600, 601, 2_500] {
        fill(&writer, from, count);
        from = count;
        let position = position_of(count - 1);
        let view = reader.vectors().view(position).expect("a view");
        let board = reader.board().expect("the file").expect("counts");
        assert_eq!((board.position, board.count as usize), (position, count));
        let all = view.standings(&[]);
        assert_eq!(board.standings, all[..all.len().min(LISTED)], "{count}");
        for (kind, &fragments) in (0_u8..).zip(&board.kinds) {
            let filter = Filter {
                kind: Some(kind),
                ..Filter::default()
            };
            assert_eq!(fragments as usize, view.matching(&filter));
            assert_eq!(
                reader.matching(&view, &filter, &[]).expect("a count"),
                fragments as usize
            );
        }
    }
    // An earlier position is counted from scratch.
    let then = reader.vectors().view(position_of(299)).expect("a view");
    let standings = reader.standings(position_of(299), &[]).expect("standings");
    assert_eq!(standings, then.standings(&[])[..LISTED]);
    let kinds = reader.kinds(position_of(299), &[]).expect("counts");
    assert_eq!(kinds.iter().sum::<u32>(), 300);
}

#[test]
fn hidden_fragments_are_in_no_count() {
    let folder = Folder::new();
    let explored = folder.opened(2_000);
    explored.begin().expect("a beginning");
    let mut from = 0;
    for count in [1, 30, 600, 601, 2_500] {
        fill(&explored, from, count);
        from = count;
        let now = position_of(count - 1);
        let third: Vec<u32> = (0..count as u32 + 9).filter(|index| index % 3 == 1).collect();
        let first: Vec<u32> = vec![0];
        let all: Vec<u32> = (0..count as u32).collect();
        for hidden in [&third, &first, &third, &all] {
            for position in [now, position_of(count / 2)] {
                let view = explored.vectors().view(position).expect("a view");
                let standings = explored.standings(position, hidden).expect("standings");
                let every = view.standings(hidden);
                assert_eq!(standings, every[..every.len().min(LISTED)], "{count}");
                let kinds = explored.kinds(position, hidden).expect("counts");
                let visible = (0..view.count() as u32).filter(|&index| !is_hidden(hidden, index));
                assert_eq!(kinds.iter().sum::<u32>() as usize, visible.clone().count());
                for (kind, &fragments) in (0_u8..).zip(&kinds) {
                    let filter = Filter {
                        kind: Some(kind),
                        ..Filter::default()
                    };
                    let matching = explored.matching(&view, &filter, hidden).expect("a count");
                    assert_eq!(matching, fragments as usize);
                    assert_eq!(view.select(&filter, 0, usize::MAX, hidden).len(), matching);
                }
                let regions = explored.regions(position, hidden).expect("regions");
                assert!(regions.iter().all(|region| !is_hidden(hidden, region.centre)));
                let counted: u32 = regions.iter().map(|region| region.count).sum();
                assert!(counted as usize <= visible.count());
            }
        }
    }
    let view = explored.vectors().all().expect("a view");
    let named = [7, 900, 2_499].map(|index| view.facts(index).receipt().to_owned());
    let receipts = named.iter().map(String::as_str).chain(["unknown"]).collect();
    assert_eq!(view.places_of(&receipts, 0), [7, 900, 2_499]);
    assert_eq!(view.places_of(&receipts, 8), [900, 2_499]);
}

#[test]
fn a_next_writer_counts_on() {
    let folder = Folder::new();
    let first = folder.opened(usize::MAX);
    first.begin().expect("a beginning");
    fill(&first, 0, 3_000);
    let before = first.board().expect("the file");
    drop(first);
    let next = folder.opened(usize::MAX);
    assert_eq!(next.board().expect("the file"), before, "without counting");
    assert_eq!(next.begin().expect("a beginning"), 0);
    assert_eq!(next.indexed().expect("a count"), 3_000);
    // Before it has counted all fragments, the board lags, and no one takes it for the current one.
    fill(&next, 3_000, 3_010);
    assert_eq!(next.board().expect("the file"), None);
    grow(&next);
    let board = next.board().expect("the file").expect("counts");
    let view = next.vectors().all().expect("a view");
    assert_eq!(board.standings, view.standings(&[])[..LISTED]);
    assert_eq!((board.count, next.indexed().expect("a count")), (3_010, 3_010));
}

/// One file of fragments, opened twice: the index answers from a count on, and never.
fn indexed_and_exact(folder: &Folder, from: usize, count: usize) -> (Explored, Explored) {
    let (indexed, exact) = (folder.opened(from), folder.opened(usize::MAX));
    indexed.begin().expect("a beginning");
    fill(&indexed, 0, count);
    (indexed, exact)
}

#[test]
fn the_index_answers_from_a_count_on_and_exactly_below() {
    let folder = Folder::new();
    let (explored, exact) = indexed_and_exact(&folder, 2_000, 3_000);
    let mut wanted = 0;
    let mut same = 0;
    for number in (0..3_000).step_by(150) {
        let query = vector_of(number + 13);
        for count in [1_999, 2_000, 3_000] {
            let position = position_of(count - 1);
            let found = explored
                .nearest((position, &[]), &query, 10, Effort::Quick)
                .expect("an answer");
            let scanned = exact
                .nearest((position, &[]), &query, 10, Effort::Quick)
                .expect("an answer");
            assert_eq!((found.indexed, scanned.indexed), (count >= 2_000, false));
            wanted += scanned.neighbours.len();
            let has = |one: &&Neighbour| found.neighbours.contains(one);
            same += scanned.neighbours.iter().filter(has).count();
        }
    }
    assert!(same * 100 >= wanted * 98, "{same} of {wanted}");
}

#[test]
fn links_lead_to_the_nearest_before_and_stay() {
    let folder = Folder::new();
    let (explored, exact) = indexed_and_exact(&folder, 1_500, 2_000);
    let position = position_of(1_999);
    let told = explored.links(position, 1_400..1_600, &[]).expect("links");
    let all = exact.links(position, 1_400..1_600, &[]).expect("links");
    assert_eq!(told[..100], all[..100], "below, every vector is compared");
    let same = told.iter().zip(&all).filter(|(a, b)| a == b).count();
    assert!(same >= 195, "{same} of 200");
    assert!(
        (1_400..)
            .zip(&told)
            .all(|(at, links)| links.iter().all(|one| one.index < at))
    );
    fill(&explored, 2_000, 2_600);
    assert_eq!(
        explored
            .links(position_of(2_599), 1_400..1_600, &[])
            .expect("links"),
        told
    );
    let fresh = folder.opened(1_500);
    assert_eq!(
        fresh.links(position, 1_390..1_600, &[]).expect("links")[10..],
        told
    );
}

#[test]
fn a_hidden_neighbour_leaves_no_gap_among_the_links() {
    let folder = Folder::new();
    let (explored, exact) = indexed_and_exact(&folder, 1_500, 2_000);
    let position = position_of(1_999);
    let places = 1_400..1_600;
    let told = explored.links(position, places.clone(), &[]).expect("links");
    // The nearest of each fragment, among them some of the asked ones.
    let near: HashSet<u32> = told.iter().flatten().map(|one| one.index).collect();
    let mut hidden: Vec<u32> = near.into_iter().collect();
    hidden.sort_unstable();
    let visible = explored.links(position, places.clone(), &hidden).expect("links");
    let all = exact.links(position, places.clone(), &hidden).expect("links");
    assert_eq!(visible[..100], all[..100], "below, every vector is compared");
    let same = visible.iter().zip(&all).filter(|(a, b)| a == b).count();
    assert!(same >= 190, "{same} of 200");
    assert!(visible.iter().flatten().all(|one| !hidden.contains(&one.index)));
    let of_hidden = (1_400_u32..).zip(&visible).filter(|(at, _)| hidden.contains(at));
    assert!(of_hidden.clone().count() > 10);
    assert!(
        of_hidden.clone().all(|(_, links)| links.is_empty()),
        "nobody is shown them"
    );
    assert_eq!(explored.links(position, places, &[]).expect("links"), told);
}

/// The vector of one of many fragments that are like each other.
fn like(number: usize) -> Vector {
    let mut vector = vector_of(5);
    vector[number % vector.len()] ^= 1 + (number / vector.len()) as i8;
    vector
}

/// An operator hid hundreds of fragments that were like each other (their indexes come third), and others are
/// like them, too.
fn beside_hidden(folder: &Folder) -> (Explored, Explored, Vec<u32>) {
    let (indexed, exact) = indexed_and_exact(folder, 1_000, 1_000);
    for number in 1_000..1_800 {
        indexed.append(facts_of(number), &like(number)).expect("room");
    }
    (indexed, exact, (1_000..1_700).collect())
}

#[test]
fn links_beside_many_hidden_fragments_cost_what_they_cost_elsewhere() {
    let folder = Folder::new();
    let path = folder.0.join("vectors");
    let (indexed, exact, hidden) = beside_hidden(&folder);
    let compared = |among: &Explored, places: Range<usize>, hidden: &[u32]| {
        let before = COMPARED.get();
        let links = among.links(u64::MAX, places, hidden).expect("links");
        (links, COMPARED.get() - before)
    };
    let (links, beside) = compared(&indexed, 1_700..1_800, &hidden);
    let (all, _) = compared(&exact, 1_700..1_800, &hidden);
    let same = links.iter().zip(&all).filter(|(a, b)| a == b).count();
    assert!(same >= 98, "{same} of 100");
    assert!(links.iter().all(|links| links.len() == LINKS), "no gap");
    let fresh = Explored::open(&path, "test", 1_000).expect("the files");
    let (_, none_hidden) = compared(&fresh, 1_700..1_800, &[]);
    assert!(beside <= none_hidden, "{beside} beside {none_hidden}");
    for explored in [&indexed, &exact] {
        let (links, compared) = compared(explored, 1_600..1_700, &hidden);
        assert_eq!((links, compared), (vec![Links::new(); 100], 0));
    }
}

#[test]
fn walks_beside_many_hidden_fragments_cost_what_they_cost_elsewhere() {
    let folder = Folder::new();
    let (indexed, exact, hidden) = beside_hidden(&folder);
    let walked = |among: &Explored, hidden: &[u32]| {
        let walk = Walk {
            position: u64::MAX,
            seed: "autumn",
            most: 40,
            hidden,
            stopped: &|| false,
        };
        let before = COMPARED.get();
        let steps = among.walk(&walk, Some(("fr_PROBE", like(1_650))));
        (steps.expect("a walk"), COMPARED.get() - before)
    };
    let (steps, beside) = walked(&indexed, &hidden);
    let (_, none_hidden) = walked(&indexed, &[]);
    assert!(beside <= none_hidden, "{beside} beside {none_hidden}");
    assert_eq!(steps, walked(&exact, &hidden).0);
}

#[test]
fn a_region_around_hidden_fragments_has_a_visible_centre() {
    let folder = Folder::new();
    let (indexed, _, hidden) = beside_hidden(&folder);
    let regions = indexed.regions(u64::MAX, &hidden).expect("regions");
    assert!(regions.iter().all(|region| !is_hidden(&hidden, region.centre)));
    assert_eq!(regions.iter().map(|region| region.count).sum::<u32>(), 1_100);
}

#[test]
fn regions_have_every_fragment_and_stay() {
    let folder = Folder::new();
    let explored = folder.opened(1_000);
    explored.begin().expect("a beginning");
    fill(&explored, 0, 2_500);
    let position = position_of(2_499);
    let regions = explored.regions(position, &[]).expect("regions");
    assert!((2..=12).contains(&regions.len()));
    assert_eq!(regions.iter().map(|region| region.count).sum::<u32>(), 2_500);
    assert!(regions.is_sorted_by_key(|region| (region.count, region.centre)));
    fill(&explored, 2_500, 4_000);
    assert_eq!(explored.regions(position, &[]).expect("regions"), regions);
    let few = explored.regions(position_of(499), &[]).expect("regions");
    let view = explored.vectors().view(position_of(499)).expect("a view");
    assert_eq!(few, regions::regions(&view, &[]));
}

#[test]
fn files_that_are_given_up_are_made_anew() {
    let folder = Folder::new();
    let (writer, reader) = (folder.opened(100), folder.opened(100));
    writer.begin().expect("a beginning");
    fill(&writer, 0, 800);
    writer.reset().expect("new files");
    assert_eq!(reader.vectors().state().expect("a state").count, 0);
    assert_eq!(reader.indexed().expect("a count"), 0);
    fill(&writer, 0, 300);
    let board = reader.board().expect("the file").expect("counts");
    assert_eq!((board.count, reader.indexed().expect("a count")), (300, 300));
    // Only the index was damaged: it is rebuilt beside the vectors, and until then all are compared.
    let index = index_path(&folder.0.join("vectors"));
    std::fs::write(&index, "nothing").expect("room");
    prepare_index(&folder.0.join("vectors"), "test").expect("an index");
    let next = folder.opened(100);
    let ask = |explored: &Explored| {
        explored
            .nearest((u64::MAX, &[]), &vector_of(3), 5, Effort::Thorough)
            .expect("an answer")
    };
    assert!(!ask(&next).indexed);
    next.begin().expect("a beginning");
    grow(&next);
    assert!(ask(&next).indexed);
}

#[test]
fn answers_do_not_depend_on_what_is_warm() {
    let folder = Folder::new();
    let writer = folder.opened(1_000);
    writer.begin().expect("a beginning");
    fill(&writer, 0, 2_500);
    grow(&writer);
    let (cold, warm) = (folder.opened(1_000), folder.opened(1_000));
    let bytes = cold.vectors().bytes().expect("a size") + cold.index.bytes().expect("a size");
    let path = folder.0.join("vectors");
    let length = |path: PathBuf| std::fs::metadata(path).expect("a file").len();
    assert_eq!(bytes, length(index_path(&path)) + length(path));
    assert!(
        !warm.warm(bytes - 1).expect("the files"),
        "they may not take that much"
    );
    assert!(warm.warm(bytes).expect("the files"));
    // The writer adds fragments to pages that are warm.
    fill(&writer, 2_500, 2_600);
    for number in (0..2_600).step_by(130) {
        for effort in [Effort::Quick, Effort::Thorough] {
            let ask = |explored: &Explored| {
                let found = explored.nearest((position_of(2_599), &[]), &vector_of(number + 7), 20, effort);
                found.expect("an answer")
            };
            let found = ask(&warm);
            assert_eq!(found, ask(&cold));
            assert!(found.indexed && found.neighbours.len() == 20);
        }
    }
    let empty = Folder::new().opened(1_000);
    assert!(
        empty.warm(u64::MAX).expect("the files"),
        "nothing is warm at once"
    );
}

/// All neighbours of a vector in a view, by their similarities one by one; those of 0 do not count.
fn all_near(view: &View, vector: &Vector) -> Vec<Neighbour> {
    let mut all: Vec<Neighbour> = (0..view.count() as u32)
        .map(|index| Neighbour {
            index,
            similarity: similarity(vector, view.vector(index as usize)),
        })
        .filter(|one| one.similarity > 0.0)
        .collect();
    all.sort_by(Neighbour::order);
    all
}

/// A walk by single searches, each for as many as it may choose from besides those it has been at.
fn naive_walk(
    view: &View,
    walk: &Walk,
    from: Option<(&str, Vector)>,
    search: impl Fn(&Vector, usize) -> Vec<Neighbour>,
) -> Vec<Step> {
    let number = |turn: usize| {
        let hash = Sha256::digest([walk.seed, "\n", &turn.to_string()].concat());
        let bytes: [u8; 8] = std::array::from_fn(|at| if at < 2 { 0 } else { hash[at - 2] });
        u64::from_be_bytes(bytes)
    };
    let receipt = |index: usize| view.facts(index).receipt().to_owned();
    let open = |index: usize, steps: &[Step]| {
        let receipt = receipt(index);
        !walk.hidden.contains(&(index as u32)) && steps.iter().all(|step| step.receipt != receipt)
    };
    let (first, mut vector) = from.map_or_else(
        || {
            let mut index = (number(0) % view.count() as u64) as usize;
            while !open(index, &[]) {
                index = (index + 1) % view.count();
            }
            (receipt(index), *view.vector(index))
        },
        |(receipt, vector)| (receipt.to_owned(), vector),
    );
    let mut steps = vec![Step {
        receipt: first,
        similarity: 1.0,
    }];
    while steps.len() < walk.most {
        let mut near = search(&vector, 5 + steps.len());
        near.retain(|one| open(one.index as usize, &steps));
        near.truncate(5);
        if near.is_empty() {
            break;
        }
        let one = near[(number(steps.len()) % near.len() as u64) as usize];
        vector = *view.vector(one.index as usize);
        steps.push(Step {
            receipt: receipt(one.index as usize),
            similarity: one.similarity,
        });
    }
    steps
}

#[test]
fn a_walk_is_that_of_single_searches() {
    let folder = Folder::new();
    let (indexed, exact) = indexed_and_exact(&folder, 1_000, 2_400);
    grow(&indexed);
    for round in 0..30 {
        let count = [2_400, 2_000, 1_000, 300, 12][round % 5];
        let view = exact.vectors().view(position_of(count - 1)).expect("a view");
        let receipts: Vec<String> = (0..count).map(|at| format!("fr_{at:026}")).collect();
        let every = [usize::MAX, 50, 3, 2][round % 4];
        let hidden = (0..count as u32).filter(|&at| (at as usize * 7 + round) % every == 1);
        let hidden: Vec<u32> = hidden.collect();
        let walk = Walk {
            position: position_of(count - 1),
            seed: &format!("seed {round}"),
            most: [10, 1, 40][round % 3],
            hidden: &hidden,
            stopped: &|| false,
        };
        // The seed's start, an unexplored one, or an explored one.
        let from = [
            None,
            Some(("fr_PROBE", vector_of(70_000 + round))),
            Some((receipts[count / 2].as_str(), vector_of(count / 2))),
        ][(round / 3) % 3];
        let scanned = naive_walk(&view, &walk, from, |vector, _| all_near(&view, vector));
        assert_eq!(exact.walk(&walk, from).expect("a walk"), scanned, "{round}");
        assert!(scanned.len() == walk.most || count == 12, "{round}");
        let searched = naive_walk(&view, &walk, from, |vector, most| {
            let found = indexed.nearest((walk.position, walk.hidden), vector, most, Effort::Quick);
            found.expect("an answer").neighbours
        });
        assert_eq!(indexed.walk(&walk, from).expect("a walk"), searched, "{round}");
    }
}

#[test]
fn a_walk_that_nobody_awaits_ends_before_its_next_search() {
    let folder = Folder::new();
    let explored = folder.opened(usize::MAX);
    explored.begin().expect("a beginning");
    fill(&explored, 0, 400);
    let looks = AtomicUsize::new(0);
    let walked = |most_looks: usize| {
        looks.store(0, SeqCst);
        let walk = Walk {
            position: u64::MAX,
            seed: "autumn",
            most: 30,
            hidden: &[],
            stopped: &|| looks.fetch_add(1, SeqCst) >= most_looks,
        };
        explored.walk(&walk, None).expect("a walk")
    };
    let whole = walked(usize::MAX);
    assert_eq!(whole.len(), 30);
    for looked in [0, 1, 7] {
        let some = walked(looked);
        assert_eq!(some, whole[..=looked], "{looked}");
        assert_eq!(looks.load(SeqCst), looked + 1, "no further search");
    }
    // Without fragments, and with none that is shown, there is no walk.
    let hidden: Vec<u32> = (0..400).collect();
    for position in [0, u64::MAX] {
        let walk = Walk {
            position,
            seed: "",
            most: 3,
            hidden: &hidden,
            stopped: &|| false,
        };
        assert_eq!(explored.walk(&walk, None).expect("a walk"), []);
    }
}
