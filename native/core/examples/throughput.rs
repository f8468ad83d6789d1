//! Throughput of POST /v1/fuse on one core: `cargo run --release --example throughput -- BODY.json …`
//! Bodies are answered in turns. Docs without dense scores get them by the static model that ships.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fusegate_core::dense::{Model, Models};
use fusegate_core::fuse::{Embedding, Outcome, Workspace};

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/static-256");
    let model = Model::open_static("static-256".to_owned(), [0; 32], &folder)?;
    let models = Arc::new(Models::new(vec![model], Some(0), None));
    let embedding = Embedding {
        models: &models,
        most_docs: usize::MAX,
        corpora: None,
    };
    let mut workspace = Workspace::default();
    let mut out = vec![0; 4 << 20];
    let bodies: Vec<(String, Vec<u8>)> = std::env::args()
        .skip(1)
        .map(|path| std::fs::read(&path).map(|body| (path, body)))
        .collect::<Result<_, _>>()?;
    let total: usize = bodies.iter().map(|(_, body)| body.len()).sum();
    let mut times = vec![Vec::new(); bodies.len()];
    // In turns, so that what else the machine does meets all alike.
    for _ in 0..(400 << 20) / total.max(1) {
        for ((path, body), times) in bodies.iter().zip(&mut times) {
            let start = Instant::now();
            let outcome = workspace.fuse(std::hint::black_box(body), &mut out, embedding);
            assert!(matches!(outcome, Outcome::Written { .. }), "{path}: {outcome:?}");
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let mut first = None;
    for ((path, body), mut times) in bodies.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        // The best tenth: what the code costs where nothing else has the core.
        let time = times[times.len() / 10];
        let ratio = *first.get_or_insert(time) / time;
        println!(
            "{path}: {:.1} us a request, {:.0} MB/s of body, {ratio:.3} of the first's rate",
            time * 1e6,
            body.len() as f64 / time / 1e6
        );
    }
    Ok(())
}
