//! Tests of profiles: the answers to requests that name one, and settings that are refused.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::embed::dense::Models;
use crate::fuse::corpora::Corpora;
use crate::fuse::{Embedding, Outcome, Visible, Workspace};

/// Members of requests and profiles, each in two forms.
const MEMBERS: [[&str; 2]; 14] = [
    [r#""method":"rrf""#, r#""method":"maxnorm""#],
    [r#""tokenizer":"ngram""#, r#""tokenizer":"ws""#],
    [
        r#""weights":{"bm25":1,"dense":3}"#,
        r#""weights":{"dense":0.2,"bm25":0.1}"#,
    ],
    [r#""rrf_k":10"#, r#""rrf_k":7.5"#],
    [r#""k1":0.9"#, r#""k1":0"#],
    [r#""b":0.4"#, r#""b":1"#],
    [
        r#""analyzer":"english""#,
        r#""analyzer":{"stemmer":null,"stopwords":["the"],"fold_accents":true}"#,
    ],
    [
        r#""corpus":{"docs":50,"average_length":4.5,"df":{"fox":3,"run":40}}"#,
        r#""corpus":{"docs":3,"average_length":1,"df":{}}"#,
    ],
    [r#""on_missing_dense":"min""#, r#""on_missing_dense":"zero""#],
    [r#""dense_kind":"distance""#, r#""dense_kind":"similarity""#],
    [r#""min_score":0.3"#, r#""min_score":-1"#],
    [
        r#""legs":{"bm25":{"normalize":"zscore"},"dense":{"weight":2}}"#,
        r#""legs":{"bm25":{}}"#,
    ],
    [
        r#""collapse":{"by":"text"}"#,
        r#""collapse":{"by":"text","keep":2}"#,
    ],
    [
        r#""diversify":{"diversity":0.5}"#,
        r#""diversify":{"diversity":0}"#,
    ],
];

/// Indexes of `weights` and `legs` in it, which exclude each other.
const WEIGHTS: [usize; 2] = [2, 11];

fn answer(body: &str, profiles: &Profiles, owner: &str) -> (Outcome, Vec<u8>, Option<Vec<u8>>) {
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let corpora = Corpora::default();
    let embedding = Embedding::whole(
        &models,
        50,
        Some(Visible::to(owner.as_bytes(), &corpora, Some(profiles))),
    );
    let mut out = vec![0; 1 << 16];
    let mut workspace = Workspace::default();
    let outcome = workspace.fuse(body.as_bytes(), &mut out, embedding);
    out.truncate(match outcome {
        Outcome::Written { length, .. } => length,
        _ => 0,
    });
    let faults = workspace.take_faults();
    (outcome, out, faults.or_else(|| workspace.take_written_out()))
}

fn request(members: &[&str]) -> String {
    let texts = [
        "the red fox runs",
        "running foxes",
        "a général",
        "the red fox runs",
        "",
    ];
    let docs: Vec<String> = (0..texts.len())
        .map(|at| {
            format!(
                r#"{{"id":"{at}","text":"{}","dense_score":0.{}}}"#,
                texts[at],
                9 - at
            )
        })
        .collect();
    let all = members
        .iter()
        .map(|member| format!(",{member}"))
        .collect::<String>();
    format!(
        r#" {{"query":"red fox run","docs":[{}],"explain":true{all}}}"#,
        docs.join(",")
    )
}

proptest! {
    #[test]
    fn a_request_by_a_profile_is_answered_as_the_request_written_out(
        own in proptest::collection::vec(0..3_usize, MEMBERS.len()),
        kept in proptest::collection::vec(0..3_usize, MEMBERS.len()),
    ) {
        let of = |chosen: &[usize]| -> Vec<(usize, &str)> {
            let form = |(at, &form): (usize, &usize)| Some((at, *MEMBERS[at].get(form)?));
            chosen.iter().enumerate().filter_map(form).collect()
        };
        let (own, mut kept) = (of(&own), of(&kept));
        let weights: Vec<_> = own.iter().filter(|(at, _)| WEIGHTS.contains(at)).collect();
        prop_assume!(weights.len() < 2);
        // Only one of tokenizer and analyzer, and one of the weights.
        let kept_at = |place: usize| kept.iter().any(|(at, _)| *at == place);
        if kept_at(1) && kept_at(6) {
            kept.retain(|(at, _)| *at != 1);
        }
        if WEIGHTS.iter().all(|place| kept.iter().any(|(at, _)| at == place)) {
            kept.retain(|(at, _)| *at != WEIGHTS[0]);
        }
        let settings: Vec<&str> = kept.iter().map(|(_, member)| *member).collect();
        let settings = format!("{{{}}}", settings.join(","));
        let profiles = Profiles::default();
        profiles.add(b"shop", Profile::read(7, settings.as_bytes()).expect("settings"));
        let has = |place: usize| own.iter().any(|(at, _)| *at == place);
        let given = |place: usize| {
            !(has(place) || WEIGHTS.contains(&place) && WEIGHTS.iter().any(|&other| has(other)))
        };
        let mut members: Vec<&str> = own.iter().map(|(_, member)| *member).collect();
        let named = [&members[..], &[r#""profile":"sh\u006fp""#]].concat();
        members.extend(kept.iter().filter(|(at, _)| given(*at)).map(|(_, member)| *member));
        let (expected, bytes, _) = answer(&request(&members), &profiles, "");
        let (outcome, found, written_out) = answer(&request(&named), &profiles, "");
        let found = String::from_utf8(found).expect("text");
        let echo = r#","profile":{"name":"shop","version":7}"#;
        let of = |outcome| match outcome {
            Outcome::Written { length, characters } => Some((length, characters)),
            _ => None,
        };
        if let (Some((length, characters)), Some((plain, same))) = (of(outcome), of(expected)) {
            prop_assert_eq!(found.matches(echo).count(), 1);
            prop_assert_eq!(found.replace(echo, ""), String::from_utf8(bytes).expect("text"));
            prop_assert_eq!((length, characters), (plain + echo.len(), same));
        } else {
            prop_assert_eq!(outcome, expected);
            prop_assert_eq!(outcome, Outcome::Invalid);
            let whole = String::from_utf8(written_out.expect("the request written out")).expect("text");
            for member in members {
                prop_assert!(whole.contains(member), "{whole} lacks {member}");
            }
        }
    }
}

#[test]
fn settings_with_another_member_or_a_wrong_value_are_none() {
    let wrong = [
        "",
        "[]",
        "{",
        "{} {}",
        r#"{"query":"a"}"#,
        r#"{"top_k":1}"#,
        r#"{"learn":true}"#,
        r#"{"profile":"shop"}"#,
        r#"{"explain":true}"#,
        r#"{"weight":{}}"#,
        r#"{"k1":-1}"#,
        r#"{"analyzer":"klingon"}"#,
        r#"{"analyzer":{"stem":"english"}}"#,
        r#"{"weights":{"bm25":1,"dense":1},"legs":{"bm25":{}}}"#,
        r#"{"tokenizer":"ngram","analyzer":"english"}"#,
    ];
    for settings in wrong {
        assert!(Profile::read(1, settings.as_bytes()).is_none(), "{settings}");
    }
    assert!(Profile::read(1, b" {\"k1\":2, \"k1\":1} ").is_some());
}

/// `some` or `none`, for a request's results, then the profile that the answer names; or else its faults.
fn told(profiles: &Profiles, member: &str, owner: &str) -> String {
    let (outcome, answer, faults) = answer(&request(&[member]), profiles, owner);
    let Outcome::Written { .. } = outcome else {
        return String::from_utf8(faults.expect("a fault")).expect("text");
    };
    let text = String::from_utf8(answer).expect("text");
    let place = text.find(r#","profile""#).expect("the profile");
    let empty = text.contains(r#""results":[]"#);
    format!(
        "{}{}",
        if empty { "none" } else { "some" },
        &text[place..text.len() - 1]
    )
}

#[test]
fn a_profile_is_found_by_its_owner_and_version() {
    let profiles = Profiles::default();
    let put = |name: &str, number, settings: &str| {
        let profile = Profile::read(number, settings.as_bytes()).expect("settings");
        profiles.add(name.as_bytes(), profile);
    };
    put("shop", 1, r#"{"min_score":2}"#);
    put("shop", 3, r#"{"min_score":-2}"#);
    put("ada/shop", 1, r#"{"min_score":5}"#);
    put("bob/own", 1, "{}");
    let told = |member: &str, owner: &str| told(&profiles, member, owner);
    let newest = r#"some,"profile":{"name":"shop","version":3}"#;
    assert_eq!(told(r#""profile":"shop""#, ""), newest);
    assert_eq!(told(r#""profile":"shop""#, "bob"), newest);
    assert_eq!(told(r#""profile":{"name":"shop"}"#, ""), newest);
    let first = r#"none,"profile":{"name":"shop","version":1}"#;
    assert_eq!(told(r#""profile":{"version":1,"name":"shop"}"#, ""), first);
    assert_eq!(told(r#""profile":"shop""#, "ada"), first);
    let fault = |loc: &str, message: &str| format!(r#"[{{"loc":["body",{loc}],"message":"{message}"}}]"#);
    let unknown = |known: &str| format!("no profile has this name; known: {known}");
    assert_eq!(
        told(r#""profile":"own""#, ""),
        fault(r#""profile""#, &unknown("shop"))
    );
    assert_eq!(
        told(r#""profile":"x""#, "bob"),
        fault(r#""profile""#, &unknown("own, shop"))
    );
    assert_eq!(
        told(r#""profile":"ada/shop""#, ""),
        fault(r#""profile""#, &unknown("shop"))
    );
    assert_eq!(
        told(r#""profile":{"name":"x"}"#, ""),
        fault(r#""profile","name""#, &unknown("shop"))
    );
    assert_eq!(
        told(r#""profile":{"name":"shop","version":2}"#, ""),
        fault(r#""profile","version""#, "the profile has no such version")
    );
    profiles.remove(b"shop");
    profiles.remove(b"bob/own");
    assert_eq!(
        told(r#""profile":"shop""#, ""),
        fault(r#""profile""#, "no profile has this name; there are none here")
    );
}

#[test]
fn a_request_names_no_profile_of_one_before_it() {
    let profiles = Profiles::default();
    profiles.add(b"shop", Profile::read(1, b"{}").expect("settings"));
    let models = Arc::new(Models::new(Vec::new(), None, None));
    let corpora = Corpora::default();
    let mut workspace = Workspace::default();
    let mut answer = |members: &[&str]| {
        let embedding = Embedding::whole(&models, 50, Some(Visible::to(b"", &corpora, Some(&profiles))));
        let mut out = vec![0; 1 << 16];
        let body = request(members);
        let Outcome::Written { length, .. } = workspace.fuse(body.as_bytes(), &mut out, embedding) else {
            panic!("no answer");
        };
        String::from_utf8(out[..length].to_vec()).expect("text")
    };
    let plain = answer(&[]);
    let more = answer(&[r#""min_score":0"#]);
    assert!(answer(&[r#""profile":"shop""#]).contains(r#""profile":{"name":"shop","version":1}"#));
    assert_eq!(answer(&[]), plain);
    assert!(answer(&[r#""profile":"shop""#]).contains(r#""version":1"#));
    assert_eq!(answer(&[r#""min_score":0"#]), more);
}
