//! Throughput of POST /v1/fuse on one core:
//! `cargo run --release --example throughput -- [ROUNDS] BODY.json …`
//! Bodies are answered in turns. A hash of each answer shows whether two builds answer alike. Docs without
//! dense scores get them by the static model that ships.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fusegate_core::embed::dense::{Model, Models};
use fusegate_core::fuse::{Embedding, Outcome, Workspace};

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/static-256");
    let model = Model::open_static("static-256".to_owned(), [0; 32], &folder)?;
    let models = Arc::new(Models::new(vec![model], Some(0), None));
    let embedding = Embedding::whole(&models, usize::MAX, None);
    let mut workspace = Workspace::default();
    let mut out = vec![0; 4 << 20];
    let mut arguments = std::env::args().skip(1).peekable();
    let given = arguments.peek().and_then(|first| first.parse().ok());
    let bodies: Vec<(String, Vec<u8>)> = arguments
        .skip(usize::from(given.is_some()))
        .map(|path| std::fs::read(&path).map(|body| (path, body)))
        .collect::<Result<_, _>>()?;
    let total: usize = bodies.iter().map(|(_, body)| body.len()).sum();
    let mut times = vec![Vec::new(); bodies.len()];
    let mut hashes = vec![0; bodies.len()];
    // In turns, so that what else the machine does meets all alike.
    for _ in 0..given.unwrap_or((400 << 20) / total.max(1)) {
        for (((path, body), times), hash) in bodies.iter().zip(&mut times).zip(&mut hashes) {
            let start = Instant::now();
            let outcome = workspace.fuse(std::hint::black_box(body), &mut out, embedding);
            times.push(start.elapsed().as_secs_f64());
            let Outcome::Written { length, .. } = outcome else {
                panic!("{path}: {outcome:?}");
            };
            if *hash == 0 {
                let mut hasher = DefaultHasher::new();
                out[..length].hash(&mut hasher);
                *hash = hasher.finish();
            }
        }
    }
    let mut first = None;
    for (((path, body), mut times), hash) in bodies.into_iter().zip(times).zip(hashes) {
        times.sort_by(f64::total_cmp);
        // The best tenth: what the code costs where nothing else has the core.
        let time = times[times.len() / 10];
        let ratio = *first.get_or_insert(time) / time;
        let rate = body.len() as f64 / time / 1e6;
        println!(
            "{path}: {:.1} us a request, {rate:.0} MB/s of body, {ratio:.3} of the first's rate, \
             answer {hash:016x}",
            time * 1e6
        );
    }
    Ok(())
}
