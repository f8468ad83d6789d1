//! Throughput of the fast path on one core: `cargo run --release --example throughput -- BODY.json …`

use std::time::Instant;

use fusegate_core::fuse::{Outcome, Workspace};

fn main() -> std::io::Result<()> {
    let mut workspace = Workspace::default();
    let mut out = vec![0; 4 << 20];
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        let mut times: Vec<f64> = (0..(400 << 20) / body.len())
            .map(|_| {
                let start = Instant::now();
                let outcome = workspace.fuse(std::hint::black_box(&body), &mut out);
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
