//! Requests of any bytes that ask for more than the usual, answered and held against what the answer must be:
//! for the fuzzer, and for the inputs that it kept.

use std::collections::HashSet;
use std::sync::LazyLock;

use fusegate_core::fuse::corpora::{Corpora, Counter, Version};
use fusegate_core::fuse::{Embedding, Outcome, Visible};
use fusegate_core::tokens::analyzer::stem;
use fusegate_core::tokens::tokenize::{self, Tokenizer};
use serde_json::{Value, json};

#[path = "shipped.rs"]
mod shipped;
use shipped::{MODELS, WORKSPACE};

/// Statistics of a few words, as they stand and by their English stems.
static CORPORA: LazyLock<Corpora> = LazyLock::new(|| {
    let key = [7; 16];
    let corpora = Corpora::new(&key);
    for (name, analyzer) in [("plain", "\"plain\""), ("english", "{\"stemmer\":\"english\"}")] {
        let mut counter = Counter::new(key, analyzer.as_bytes(), Tokenizer::Ws).expect("an analyzer");
        for text in ["the red fox runs", "running foxes", "a general"] {
            counter.add(text).expect("a text");
        }
        let version = Version {
            number: 1,
            learnt: false,
            statistics: counter.finish().expect("statistics"),
        };
        corpora.add(name.as_bytes(), version);
    }
    corpora
});

const WORDS: [&str; 24] = [
    "fox",
    "foxes",
    "Fox",
    "run",
    "running",
    "runs",
    "the",
    "red",
    "dying",
    "die",
    "dies",
    "tie",
    "general",
    "generalizations",
    "ab1",
    "2024",
    "skies",
    "sky",
    "café",
    "straße",
    "日本",
    "İ",
    "internationalization",
    "hopping",
];
const ENDINGS: [&str; 8] = ["", "s", "ed", "ing", "ly", "ies", "ational", "bility"];
const SEPARATORS: [&str; 6] = [" ", " ", ", ", "-", "\n", "\""];
const NUMBERS: [f64; 8] = [0.0, 1.0, 0.5, -1.0, 3.25, 1e3, -2.5, 0.125];

/// Choices that the bytes make; 0 once they have ended.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn number(&mut self) -> f64 {
        NUMBERS[self.below(NUMBERS.len())]
    }

    fn word(&mut self) -> String {
        if self.below(4) > 0 {
            return WORDS[self.below(WORDS.len())].to_owned();
        }
        let letters = 1 + self.below(18);
        let word: String = (0..letters)
            .map(|_| char::from(b"aeioubgnstyBL1"[self.below(14)]))
            .collect();
        word + ENDINGS[self.below(ENDINGS.len())]
    }

    fn text(&mut self) -> String {
        let words = self.below(40);
        (0..words)
            .map(|_| self.word() + SEPARATORS[self.below(SEPARATORS.len())])
            .collect()
    }

    fn legs(&mut self) -> Value {
        let mut legs = json!({});
        let norms = ["max", "minmax", "zscore", "log1p", "rank", "none"];
        for name in ["bm25", "dense", "own"] {
            if name == "own" || self.below(3) > 0 {
                let norm = norms[self.below(norms.len())];
                legs[name] = json!({"weight": 1 + self.below(3), "normalize": norm});
            }
        }
        legs
    }
}

fn request_of(choices: &mut Choices) -> Value {
    let asked = choices.below(256);
    let has = |bit: usize| asked >> bit & 1 == 1;
    let mut request = json!({"query": choices.text(), "explain": true});
    let analyzer = choices.below(3);
    request["analyzer"] = match analyzer {
        0 => json!("plain"),
        1 => json!({"stemmer": "english"}),
        _ => json!({"stemmer": "german"}),
    };
    if has(0) {
        request["legs"] = choices.legs();
    }
    if has(1) {
        let shape = ["exp", "gauss", "linear"][choices.below(3)];
        let boost = json!({"value": "n", "origin": 0, "scale": 1.5, "function": shape, "weight": 0.5});
        request["boosts"] = json!([boost]);
    }
    if has(2) {
        request["diversify"] = json!({"diversity": choices.below(11) as f64 / 10.0});
        if choices.below(2) == 1 {
            request["diversify"]["candidates"] = json!(1 + choices.below(12));
        }
    }
    if has(3) {
        let whole = choices.below(2) == 0;
        let (chars, fragments) = if whole {
            (2000, 1)
        } else {
            (20 + choices.below(60), 1 + choices.below(4))
        };
        request["highlight"] = json!({"chars": chars, "fragments": fragments});
    }
    if has(4) && analyzer < 2 {
        let name = ["plain", "english"][analyzer];
        request["corpus"] = json!({"name": name});
    }
    if has(5) {
        request["top_k"] = json!(1 + choices.below(12));
    }
    if has(6) {
        request["method"] = json!("rrf");
    }
    let docs = 1 + choices.below(10);
    let docs = (0..docs).map(|at| {
        let mut doc = json!({"id": at.to_string(), "text": choices.text(), "dense_score": choices.number()});
        if has(0) {
            doc["scores"] = json!({"own": choices.number()});
        }
        if has(1) {
            doc["values"] = json!({"n": choices.number()});
        }
        doc
    });
    request["docs"] = docs.collect();
    request
}

/// The terms of a text, each with its first code point and the one after its last.
fn terms_of(request: &Value, text: &str) -> Vec<(String, usize, usize)> {
    let language = request["analyzer"]["stemmer"].as_str();
    let characters: Vec<char> = text.chars().collect();
    let is_word = |at: usize| {
        let mut tokens = 0;
        let character = characters[at].to_string();
        tokenize::ws(character.as_bytes(), &mut Vec::new(), |_| tokens += 1);
        tokens > 0
    };
    let mut terms = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let start = at;
        while at < characters.len() && is_word(at) {
            at += 1;
        }
        if at == start {
            at += 1;
            continue;
        }
        let run: String = characters[start..at].iter().collect();
        tokenize::ws(run.as_bytes(), &mut Vec::new(), |token| {
            let token = std::str::from_utf8(token).expect("whole characters");
            let form = language.and_then(|language| stem(language, token));
            terms.push((form.unwrap_or_else(|| token.to_owned()), start, at));
        });
    }
    terms
}

fn float(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

/// Parts and factors make the scores.
fn assert_explained(request: &Value, result: &Value) {
    let explain = &result["explain"];
    let parts: f64 = match explain["legs"].as_object() {
        Some(legs) => legs.values().map(|leg| float(&leg["part"])).sum(),
        None => float(&explain["bm25_part"]) + float(&explain["dense_part"]),
    };
    let boosts = explain["boosts"].as_array().into_iter().flatten();
    let factor: f64 = boosts.map(|boost| float(&boost["factor"])).product();
    assert!(
        is_near(parts * factor, float(&result["fused_score"])),
        "{request}"
    );
    let terms = explain["terms"].as_array().expect("terms");
    let sum: f64 = terms.iter().map(|term| float(&term["part"])).sum();
    assert!(is_near(sum, float(&result["bm25_score"])), "{request}");
    // The counts are those of the docs.
    let text = &request["docs"][result["id"]
        .as_str()
        .expect("an id")
        .parse::<usize>()
        .expect("a place")]["text"];
    let met = terms_of(request, text.as_str().expect("a text"));
    for term in terms {
        let count = met.iter().filter(|(known, ..)| *known == term["term"]).count();
        assert_eq!(term["tf"], count, "{} of {request}", term["term"]);
    }
    let asked = terms_of(request, request["query"].as_str().expect("a query"));
    let asked: HashSet<&str> = asked.iter().map(|(term, ..)| term.as_str()).collect();
    let found: HashSet<&str> = met
        .iter()
        .map(|(term, ..)| term.as_str())
        .filter(|term| asked.contains(term))
        .collect();
    assert_eq!(terms.len(), found.len(), "{request}");
}

/// Fragments are in order and within their bounds; one that holds the whole text has every match.
fn assert_highlighted(request: &Value, result: &Value) {
    let asked = terms_of(request, request["query"].as_str().expect("a query"));
    let text = result["text"].as_str().expect("a text");
    let length = text.chars().count();
    let met = terms_of(request, text);
    let matches: Vec<Value> = met
        .iter()
        .filter(|(term, ..)| asked.iter().any(|(other, ..)| other == term))
        .map(|(_, start, end)| json!([start, end]))
        .collect();
    let fragments = result["highlights"].as_array().expect("highlights");
    let most = request["highlight"]["chars"].as_u64().expect("a number") as usize;
    if most >= length && request["highlight"]["fragments"] == 1 {
        let whole = json!({"start": 0, "end": length, "matches": matches});
        let expected = if length == 0 { vec![] } else { vec![whole] };
        assert_eq!(*fragments, expected, "{request}");
    }
    let mut last = 0;
    for fragment in fragments {
        let bound = |name: &str| fragment[name].as_u64().expect("a place") as usize;
        let (start, end) = (bound("start"), bound("end"));
        assert!(
            last <= start && start < end && end <= length && end - start <= most,
            "{request}"
        );
        last = end;
        for one in fragment["matches"].as_array().expect("matches") {
            assert!(matches.contains(one), "{request}");
            let place = |at: usize| one[at].as_u64().expect("a place") as usize;
            assert!(start <= place(0) && place(1) <= end, "{request}");
        }
    }
}

/// Each chosen result is the one of the best score among those that were left.
fn assert_diverse(request: &Value, results: &[Value], plain: &[Value]) {
    let top_k = request["top_k"]
        .as_u64()
        .map_or(usize::MAX, |top_k| top_k as usize);
    let most = top_k.saturating_mul(3).min(500);
    let given = request["diversify"]["candidates"].as_u64();
    let count = plain.len().min(given.map_or(most, |given| given as usize));
    let d = float(&request["diversify"]["diversity"]);
    let sets: Vec<HashSet<String>> = plain[..count]
        .iter()
        .map(|result| {
            let terms = terms_of(request, result["text"].as_str().expect("a text"));
            terms.into_iter().map(|(term, ..)| term).collect()
        })
        .collect();
    let score = |at: usize| float(&plain[at]["fused_score"]);
    let largest = (0..count).map(|at| score(at).abs()).fold(0.0, f64::max);
    let mut open: Vec<usize> = (0..count).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for result in results.iter().take(count) {
        let rated = |&at: &usize| {
            let alike = chosen.iter().map(|&other| {
                let both = sets[at].intersection(&sets[other]).count();
                let all = sets[at].len() + sets[other].len() - both;
                if both == 0 { 0.0 } else { both as f64 / all as f64 }
            });
            let relevance = if largest == 0.0 { 0.0 } else { score(at) / largest };
            (1.0 - d) * relevance - d * alike.fold(0.0, f64::max)
        };
        let place = open.iter().position(|&at| plain[at]["id"] == result["id"]);
        let place = place.expect("one of the candidates");
        let best = open.iter().map(rated).fold(f64::MIN, f64::max);
        let own = rated(&open[place]);
        assert!(is_near(best, own), "{request}");
        if d > 0.0 {
            assert!(
                is_near(float(&result["explain"]["diversify"]["score"]), own),
                "{request}"
            );
        }
        chosen.push(open.remove(place));
    }
}

/// The results of a request that is valid.
fn answered(request: &Value) -> Vec<Value> {
    let body = serde_json::to_vec(request).expect("JSON");
    let mut out = vec![0; 64 * body.len() + 65_536];
    let embedding = Embedding::whole(&MODELS, 50, Some(Visible::to(b"", &CORPORA, None)));
    let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.fuse(&body, &mut out, embedding));
    let Outcome::Written { length, .. } = outcome else {
        panic!("{outcome:?} of {request}");
    };
    let mut answer: Value = serde_json::from_slice(&out[..length]).expect("an answer in JSON");
    let Value::Array(results) = answer["results"].take() else {
        panic!("no results of {request}");
    };
    results
}

/// Answers the request that some bytes stand for, and holds the answer against the obvious reading.
///
/// # Panics
/// When they differ.
pub fn assert_ranked(data: &[u8]) {
    let request = request_of(&mut Choices(data.iter()));
    let results = answered(&request);
    for result in &results {
        assert_explained(&request, result);
        if request.get("highlight").is_some() {
            assert_highlighted(&request, result);
        }
    }
    if request.get("diversify").is_some() {
        let mut plain = request.clone();
        let members = plain.as_object_mut().expect("an object");
        members.remove("diversify");
        members.remove("top_k");
        assert_diverse(&request, &results, &answered(&plain));
    }
}
