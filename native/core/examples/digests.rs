//! Time of a fragment's whole set of digests (SHA-256 by FIPS 180-4), accepted strings to seal, on one
//! thread: `cargo run --release -p fusegate-core --example digests`. Prints JSON lines of the shortest of
//! many rounds.

use std::hint::black_box;
use std::time::Instant;

use fusegate_core::receipts::canonical::Fragment;
use fusegate_core::receipts::digest::{digests, seal};

const ROUNDS: usize = 30;
const CALLS: u32 = 200;

/// A text of `characters` drawn from `alphabet` by a fixed rule.
fn text(alphabet: &[char], characters: usize) -> String {
    let mut state = 20_261_121_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    (0..characters)
        .map(|_| alphabet[next() % alphabet.len()])
        .collect()
}

fn measure(name: &str, alphabet: &[char], characters: usize) {
    let (title, content) = (text(alphabet, 40), text(alphabet, characters));
    let fragment = Fragment {
        title: title.as_str(),
        content: &content,
        kind: "hypothesis",
        ..Fragment::default()
    };
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            let (accepted, _) = black_box(&fragment).accept();
            let digests = digests(&accepted, &accepted.json());
            black_box(seal(&accepted, &digests, "fr_0", "2026-11-21T00:00:00.000Z"));
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
    }
    println!(r#"{{"text":"{name}","characters":{characters},"microseconds":{best:.2}}}"#);
}

fn main() {
    let ascii: Vec<char> = " abcdefghijklmnopqrstuvwxyz ABC, ".chars().collect();
    let han: Vec<char> = ('\u{4E00}'..='\u{9FA5}').chain("，。".chars()).collect();
    let latin: Vec<char> = "aàéîõüßabcdefgh ".chars().collect();
    for characters in [200, 500, 2000] {
        measure("ascii", &ascii, characters);
        measure("latin", &latin, characters);
        measure("cjk", &han, characters);
    }
}
