//! Times of searches in exploration's index, without a server:
//! `cargo run --release --example explored -- FOLDER 10000000` makes a folder with that many generated
//! fragments, unless it is there, and measures it. Recall is measured against the exact scan.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use fusegate_core::embed::static_model::{StaticModel, quantized};
use fusegate_core::explore::clusters::Effort;
use fusegate_core::explore::explored::Explored;
use fusegate_core::explore::vectors::{Facts, Vectors};

/// Neighbours of a search, as a walk's step asks for them.
const MOST: usize = 15;
const SEARCHES: usize = 400;
const CHECKED: usize = 40;

/// Name of the generated vectors' source.
const METHOD: &str = "generated";

/// Topics, words of a topic, and words of a text: two thirds are of two topics, as `bench/growthStore.ts`
/// has them.
const TOPICS: usize = 500;
const TOPIC_WORDS: usize = 24;
const TEXT_WORDS: usize = 79;

/// Numbers without a pattern (MMIX's linear congruential generator), the same in every run.
struct Numbers(u64);

impl Numbers {
    fn of(seed: usize) -> Self {
        let mut numbers = Self(seed as u64 ^ 0x9e37_79b9_7f4a_7c15);
        for _ in 0..4 {
            numbers.below(2);
        }
        numbers
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Words of the project's guides, each as often as it is there.
fn guide_words() -> io::Result<Vec<String>> {
    let mut words = Vec::new();
    for entry in fs::read_dir("docs")? {
        let path = entry?.path();
        if path.extension().is_some_and(|one| one == "md") {
            let text = fs::read_to_string(path)?.to_lowercase();
            let parts = text.split(|one: char| !one.is_ascii_lowercase());
            words.extend(parts.filter(|word| word.len() > 2).map(String::from));
        }
    }
    Ok(words)
}

/// Texts by their number.
struct Texts {
    common: Vec<String>,
    topics: Vec<Vec<String>>,
}

impl Texts {
    fn new() -> io::Result<Self> {
        let common = guide_words()?;
        let mut different = common.clone();
        different.sort_unstable();
        different.dedup();
        let topic = |number: usize| {
            let mut numbers = Numbers::of(number);
            let word = |_| different[numbers.below(different.len())].clone();
            (0..TOPIC_WORDS).map(word).collect()
        };
        let topics = (0..TOPICS).map(topic).collect();
        Ok(Self { common, topics })
    }

    fn text(&self, place: usize) -> String {
        let mut numbers = Numbers::of(TOPICS + place);
        let own = [numbers.below(TOPICS), numbers.below(TOPICS)].map(|topic| &self.topics[topic]);
        let mut text = place.to_string();
        for _ in 0..TEXT_WORDS {
            let words = own.get(numbers.below(3)).copied().unwrap_or(&self.common);
            text.push(' ');
            text.push_str(&words[numbers.below(words.len())]);
        }
        text
    }
}

/// Makes the vectors of so many fragments, and their index.
fn fill(vectors: &Path, count: usize) -> io::Result<()> {
    Vectors::prepare(vectors, METHOD)?;
    let explored = Explored::open(vectors, METHOD, 0)?;
    let model = StaticModel::open(Path::new("models/static-256")).map_err(io::Error::other)?;
    let mut scratch = Default::default();
    let texts = Texts::new()?;
    let begun = Instant::now();
    for place in explored.vectors().state()?.count as usize..count {
        let receipt = format!("fr_0{place:025}");
        let position = place as u64 + 1;
        let facts = Facts::new(position, &receipt, 1_700_000_000_000 + position, 0);
        let facts = facts.ok_or_else(|| io::Error::other("the id is too long"))?;
        explored.append(facts, &quantized(&model.embed(&texts.text(place), &mut scratch)))?;
        explored.see(position, &receipt)?;
        if position.is_multiple_of(1_000_000) {
            eprintln!(
                "{position} fragments after {:.0} s",
                begun.elapsed().as_secs_f64()
            );
        }
    }
    explored.begin()?;
    while !explored.grow(10_000)? {}
    explored.close()
}

/// Prints the times and the recall of searches with an effort among the first fragments.
fn measure(path: &Path, count: usize, effort: Effort) -> io::Result<()> {
    let explored = Explored::open(path, METHOD, 0)?;
    let exact = Explored::open(path, METHOD, usize::MAX)?;
    let view = explored.vectors().view(count as u64)?;
    let search = |among: &Explored, at: usize| {
        let query = view.vector(at * 7_919 % view.count());
        among
            .nearest((count as u64, &[]), query, MOST, effort)
            .map(|found| found.neighbours)
    };
    let mut times = Vec::with_capacity(SEARCHES);
    for at in 0..2 * SEARCHES {
        let start = Instant::now();
        search(&explored, at)?;
        // The first ones bring the files into memory.
        if at >= SEARCHES {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    let (mut found, mut wanted) = (0, 0);
    for at in 0..CHECKED {
        let (near, right) = (search(&explored, at)?, search(&exact, at)?);
        wanted += right.len();
        found += right.iter().filter(|one| near.contains(one)).count();
    }
    let (median, most) = (times[SEARCHES / 2], times[SEARCHES * 99 / 100]);
    let recall = found as f64 / wanted as f64;
    println!(
        "{effort:?}: {median:.2} ms at the median, {most:.2} at the 99th percentile, recall {recall:.3}"
    );
    Ok(())
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let wanted = || io::Error::other("name a folder and a number of fragments");
    let [_, folder, count] = &arguments[..] else {
        return Err(wanted());
    };
    let count: usize = count.parse().map_err(|_| wanted())?;
    fs::create_dir_all(folder)?;
    let path = Path::new(folder).join("vectors");
    fill(&path, count)?;
    let index = Path::new(folder).join("vectors.index");
    let bytes = fs::metadata(&path)?.len() + fs::metadata(index)?.len();
    println!("{count} fragments, {} bytes each", bytes / count as u64);
    measure(&path, count, Effort::Quick)?;
    measure(&path, count, Effort::Thorough)
}
