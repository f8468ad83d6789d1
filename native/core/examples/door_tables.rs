//! Generates the Unicode data of the door's verification (UAX #15, UAX #44, CaseFolding C + F) from ICU4X's
//! compiled data: `cargo run -p fusegate-core --example door_tables` from the project's root.

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::properties::{
    CanonicalCombiningClassMap, CanonicalComposition, CanonicalDecomposition, Decomposed,
};
use icu_normalizer::{DecomposingNormalizer, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// ICU4X 2.1 carries the data of this version; the `unicode_data` tests fail where another one slips in.
const VERSION: &str = fusegate_core::unicode::words::VERSION;
const HANGUL: std::ops::RangeInclusive<char> = '\u{AC00}'..='\u{D7A3}';

/// A number in base 36.
fn digits(mut number: u32) -> String {
    let mut text = Vec::new();
    loop {
        text.push(char::from_digit(number % 36, 36).expect("a digit"));
        number /= 36;
        if number == 0 {
            return text.iter().rev().collect();
        }
    }
}

/// Ascending numbers as base-36 differences.
fn deltas(values: impl Iterator<Item = u32>) -> String {
    let mut last = 0;
    let parts: Vec<String> = values
        .map(|value| digits(value - std::mem::replace(&mut last, value)))
        .collect();
    parts.join(" ")
}

/// Texts as hexadecimal code points joined by `-`.
fn sequences<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<String> = texts
        .map(|text| {
            let codes: Vec<String> = text
                .chars()
                .map(|code| format!("{:x}", u32::from(code)))
                .collect();
            codes.join("-")
        })
        .collect();
    parts.join(" ")
}

fn constant(comment: &str, name: &str, text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last_mut().expect("a line");
        if last.len() + word.len() > 100 {
            lines.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    let quoted: Vec<String> = lines.iter().map(|line| format!("  '{line}'")).collect();
    format!(
        "/** {comment} */\nexport const {name} =\n{};\n",
        quoted.join(" +\n")
    )
}

/// Every character with its full compatibility decomposition, where that differs; Hangul is computed.
fn decompositions() -> Vec<(char, String)> {
    const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfkd();
    ('\0'..=char::MAX)
        .filter(|code| !HANGUL.contains(code))
        .filter_map(|code| {
            let text = code.to_string();
            let decomposed = NFKD.normalize(&text).into_owned();
            (decomposed != text).then_some((code, decomposed))
        })
        .collect()
}

/// Every primary composite with the two characters it is composed of; Hangul is computed.
fn compositions() -> Vec<(char, String)> {
    let (decomposition, composition) = (CanonicalDecomposition::new(), CanonicalComposition::new());
    ('\0'..=char::MAX)
        .filter(|code| !HANGUL.contains(code))
        .filter_map(|code| match decomposition.decompose(code) {
            Decomposed::Expansion(first, second) => {
                let composed = composition.compose(first, second) == Some(code);
                composed.then(|| (code, [first, second].iter().collect()))
            }
            _ => None,
        })
        .collect()
}

fn folds() -> Vec<(char, String)> {
    const MAPPER: CaseMapperBorrowed<'static> = CaseMapper::new();
    ('\0'..=char::MAX)
        .filter_map(|code| {
            let text = code.to_string();
            let folded = MAPPER.fold_string(&text).into_owned();
            (folded != text).then_some((code, folded))
        })
        .collect()
}

/// The code points from which on a property has another value, with that value.
fn edges<Value: PartialEq + Copy>(first: Value, of: impl Fn(u32) -> Value) -> Vec<(u32, Value)> {
    let mut last = first;
    (0..0x11_0000)
        .filter_map(|code| {
            let value = of(code);
            let changed = value != std::mem::replace(&mut last, value);
            changed.then_some((code, value))
        })
        .collect()
}

fn mapping(what: &str, prefix: &str, entries: &[(char, String)]) -> String {
    let from = deltas(entries.iter().map(|(code, _)| u32::from(*code)));
    let to = sequences(entries.iter().map(|(_, text)| text.as_str()));
    constant(
        &format!("Code points that {what}; base-36 differences."),
        &format!("{prefix}From"),
        &from,
    ) + &constant(
        "Members of each: hexadecimal code points joined by `-`.",
        &format!("{prefix}To"),
        &to,
    )
}

fn main() -> std::io::Result<()> {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let formats = edges(false, |code| categories.get32(code) == GeneralCategory::Format);
    let classes = CanonicalCombiningClassMap::new();
    let combining = edges(0, |code| classes.get32_u8(code));
    let values: Vec<String> = combining.iter().map(|(_, class)| class.to_string()).collect();
    let text = format!(
        "/**\n * Unicode data of the independent verification (UAX #15, UAX #44).\n * Generated by \
         native/core/examples/door_tables.rs from ICU4X 2.1; do not edit.\n */\n\
         export const unicodeVersion = '{VERSION}';\n{}{}{}{}{}{}",
        constant(
            "Code points at which membership in Cf changes; base-36 differences.",
            "formatEdges",
            &deltas(formats.iter().map(|(code, _)| *code)),
        ),
        constant(
            "Code points at which the canonical combining class changes; base-36 differences.",
            "classEdges",
            &deltas(combining.iter().map(|(code, _)| *code)),
        ),
        constant(
            "The class from each of them on.",
            "classValues",
            &values.join(" ")
        ),
        mapping(
            "have a compatibility decomposition",
            "decompose",
            &decompositions()
        ),
        mapping("are composed of two", "compose", &compositions()),
        mapping("full case folding changes", "fold", &folds()),
    );
    std::fs::write("src/receipts/unicodeTables.ts", text)
}
