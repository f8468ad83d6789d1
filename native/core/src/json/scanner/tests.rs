//! Strict JSON: accepted and refused texts.

use super::*;
use crate::json::unescape;
use proptest::prelude::*;
use serde_json::{Map, Value};

const NAMES: [&[u8]; 3] = [b"a", b"text", b"b"];

/// Members as [`Scanner::members`] reads them: the last number of each known name.
fn numbers(body: &[u8]) -> Option<[Option<f64>; 3]> {
    let mut read = [None; 3];
    let mut scanner = Scanner::new(body).ok()?;
    let members = scanner.members(&NAMES, 1, |scanner, place| {
        read[place] = None;
        read[place] = Some(scanner.number()?);
        Ok(())
    });
    let met = members.ok()?;
    scanner.end().ok()?;
    for (place, value) in read.iter().enumerate() {
        assert_eq!(value.is_some(), met >> place & 1 == 1);
    }
    Some(read)
}

/// The same by serde_json, where the last member of a name wins, too.
fn naive_numbers(body: &[u8]) -> Option<[Option<f64>; 3]> {
    let members: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let number = |name: &[u8]| match members.get(std::str::from_utf8(name).ok()?) {
        None => Some(None),
        Some(value) => value.as_f64().map(Some),
    };
    Some([number(NAMES[0])?, number(NAMES[1])?, number(NAMES[2])?])
}

fn pairs_of(body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut scanner = Scanner::new(body).ok()?;
    scanner.pairs(1, &mut pairs).ok()?;
    scanner.end().ok()?;
    let text = |span: Span| {
        let mut text = Vec::new();
        unescape(&body[span.start..span.end], &mut text);
        String::from_utf8(text).expect("checked text")
    };
    Some(
        pairs
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
    )
}

fn object() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "a",
        "b",
        "text",
        "\\u0061",
        "te\\u0078t",
        "\\u0062",
        "x\\\"y",
        "\\\\",
        "",
        "tex",
        "texts",
        "\\u0000",
    ]);
    let values = prop::sample::select(vec![
        "1",
        "2.5",
        "-3e1",
        "\"a\"",
        "\"\\n\"",
        "null",
        "[]",
        "{\"a\":1}",
        "[{\"a\":[]}]",
        "true",
    ]);
    let members = prop::collection::vec((names, values), 0..6).prop_map(|members| {
        let written: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("\"{name}\" : {value}"))
            .collect();
        format!("{{{}}}", written.join(","))
    });
    // Sometimes truncated.
    (members, prop::option::weighted(0.1, 0usize..40)).prop_map(|(text, cut)| match cut {
        Some(at) => text.chars().take(at).collect(),
        None => text,
    })
}

#[test]
fn an_escape_has_four_hex_digits_wherever_the_others_stand() {
    for places in 0..16 {
        let digits: String = (0..4)
            .map(|at| if places >> at & 1 == 1 { 'z' } else { '4' })
            .collect();
        let body = format!("\"\\u{digits}\"");
        assert_eq!(check(body.as_bytes()).is_ok(), places == 0, "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn numbers_are_those_of_the_standard_library(
        sign in "-?",
        whole in "0|[1-9][0-9]{0,20}|0[0-9]",
        fraction in "(\\.[0-9]{0,20})?",
        exponent in "([eE][+-]?[0-9]{0,2})?",
        after in "[ ,}\\].e-]?",
        rest in "([ 0-9a-f.-]{16}|[ -~]{0,3})",
    ) {
        let text = format!("{sign}{whole}{fraction}{exponent}{after}{rest}");
        let mut scanner = Scanner::of(&text);
        let read = scanner.number().ok().map(|value| (value.to_bits(), scanner.position()));
        let mut naive = Scanner::of(&text);
        let grammar = naive.skip_number_text().is_ok();
        let parsed = text[..naive.position()].parse::<f64>();
        let parsed = parsed.ok().filter(|value| grammar && value.is_finite());
        prop_assert_eq!(read, parsed.map(|value| (value.to_bits(), naive.position())), "{}", text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]
    #[test]
    fn members_are_those_of_serde_json(body in object()) {
        prop_assert_eq!(numbers(body.as_bytes()), naive_numbers(body.as_bytes()));
    }

    #[test]
    fn pairs_are_those_of_serde_json(body in object()) {
        let naive = serde_json::from_str::<std::collections::HashMap<String, String>>(&body).ok();
        let naive = naive.or_else(|| {
            // serde_json refuses a value of the wrong type even if a later one replaces it.
            let members: Map<String, Value> = serde_json::from_str(&body).ok()?;
            members.into_iter().map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect()
        });
        prop_assert_eq!(pairs_of(body.as_bytes()).map(|pairs| pairs.into_iter().collect()), naive);
    }
}
