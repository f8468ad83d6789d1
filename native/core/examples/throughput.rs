//! Throughput of POST /v1/fuse on one core: `cargo run --release --example throughput -- BODY.json …`
//! Bodies whose docs have no dense score get them by the static model that ships.

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
    };
    let mut workspace = Workspace::default();
    let mut out = vec![0; 4 << 20];
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        let mut times: Vec<f64> = (0..(400 << 20) / body.len())
            .map(|_| {
                let start = Instant::now();
                let outcome = workspace.fuse(std::hint::black_box(&body), &mut out, embedding);
                assert!(matches!(outcome, Outcome::Written { .. }), "{path}: {outcome:?}");
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        // The best tenth: what the code costs where nothing else has the core.
        let time = times[times.len() / 10];
        println!(
            "{path}: {:.1} us a request, {:.0} MB/s of body",
            time * 1e6,
            body.len() as f64 / time / 1e6
        );
    }
    Ok(())
}
