//! Times of searches in a data folder's index:
//! `cargo run --release --example explored -- DATA/vectors METHOD`. METHOD is the `embedding.method` of
//! exploration's answers. No server may use the folder: an index of another version is replaced. Recall is
//! measured against the exact scan.

use std::path::Path;
use std::time::Instant;

use fusegate_core::clusters::Effort;
use fusegate_core::explored::Explored;

/// Neighbours of a search, as a walk's step asks for them.
const MOST: usize = 15;
const SEARCHES: usize = 200;
const CHECKED: usize = 40;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, method] = &arguments[..] else {
        return Err(std::io::Error::other(
            "say the path of the vectors and their method",
        ));
    };
    let explored = Explored::open(Path::new(path), method, 0)?;
    let exact = Explored::open(Path::new(path), method, usize::MAX)?;
    let view = explored.vectors().all()?;
    println!("{} fragments", view.count());
    // As the writer does where the index was made by another version.
    if explored.indexed()? == 0 {
        explored.begin()?;
        while !explored.grow(10_000)? {}
    }
    for effort in [Effort::Quick, Effort::Thorough] {
        let query = |at: usize| *view.vector(at * 7_919 % view.count());
        let mut times = Vec::with_capacity(SEARCHES);
        for at in 0..2 * SEARCHES {
            let start = Instant::now();
            explored.nearest(u64::MAX, &query(at), MOST, effort)?;
            // The first ones bring the files into memory.
            if at >= SEARCHES {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        let (mut found, mut wanted) = (0, 0);
        for at in 0..CHECKED {
            let near = explored.nearest(u64::MAX, &query(at), MOST, effort)?.neighbours;
            let right = exact.nearest(u64::MAX, &query(at), MOST, effort)?.neighbours;
            wanted += right.len();
            found += right.iter().filter(|one| near.contains(one)).count();
        }
        println!(
            "{effort:?}: {:.2} ms at the median, {:.2} at the 99th percentile, recall {:.3}",
            times[SEARCHES / 2],
            times[SEARCHES * 99 / 100],
            found as f64 / wanted as f64
        );
    }
    Ok(())
}
