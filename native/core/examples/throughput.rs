//! Throughput of the fast path on one core: `cargo run --release --example throughput -- BODY.json …`

use std::time::Instant;

use fusegate_core::fuse::{Outcome, Workspace};

fn main() -> std::io::Result<()> {
    let mut workspace = Workspace::default();
    let mut out = vec![0; 64 << 20];
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        let rounds = (400 << 20) / body.len();
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..rounds {
                let outcome = workspace.fuse(std::hint::black_box(&body), &mut out);
                assert!(matches!(outcome, Outcome::Written { .. }), "{path}: {outcome:?}");
            }
            best = best.min(start.elapsed().as_secs_f64() / rounds as f64);
        }
        println!(
            "{path}: {:.1} us a request, {:.0} MB/s of body",
            best * 1e6,
            body.len() as f64 / best / 1e6
        );
    }
    Ok(())
}
