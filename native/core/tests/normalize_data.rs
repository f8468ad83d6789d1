//! Normalization against published data: ftfy's cases, UTS #39 skeletons, UAX #15's NormalizationTest. The
//! data is not the project's: it is read from beside it, and a check whose data is absent says so.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fusegate_core::text::normalize::{mojibake, repair, skeleton};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

/// A file of the shared data, or `None` with the reason printed.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no ../shared/data/{name} beside the project");
    None
}

fn unpacked(path: &Path) -> String {
    let child = Command::new("gzip")
        .arg("-dc")
        .arg(path)
        .stdout(Stdio::piped())
        .spawn();
    let mut text = String::new();
    let mut child = child.expect("gzip");
    child
        .stdout
        .take()
        .expect("its output")
        .read_to_string(&mut text)
        .expect("text");
    assert!(child.wait().expect("gzip").success());
    text
}

/// The text with only mojibake undone.
fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    match mojibake::repair(text, &mut { usize::MAX }) {
        Some(edits) => edits.apply(text.as_bytes(), &mut out),
        None => out.extend_from_slice(text.as_bytes()),
    }
    String::from_utf8(out).expect("text")
}

fn repaired(text: &str) -> String {
    let mut out = Vec::new();
    repair::text(text, true).apply(text.as_bytes(), &mut out);
    String::from_utf8(out).expect("text")
}

fn field<'a>(case: &'a Value, name: &str) -> Option<&'a str> {
    case[name].as_str()
}

#[test]
fn published_cases_of_ftfy() {
    let Some(path) = shared("mojibake/ftfy.json") else {
        return;
    };
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).expect("cases")).expect("JSON");
    let (mut fixed, mut left) = (0, Vec::new());
    for case in &cases {
        let original = field(case, "original").expect("a text");
        let expected = field(case, "fixed-encoding")
            .or(field(case, "fixed"))
            .expect("a text");
        let ours = decoded(original);
        let label = field(case, "label").expect("a label");
        let negative = field(case, "file") == Some("negative.json");
        if case["expect"] == "fail" {
            continue;
        }
        if ours == expected {
            fixed += 1;
        } else if ours == original && !negative {
            left.push(label);
        } else {
            panic!("{label}: {original:?} became {ours:?}, not {expected:?}");
        }
    }
    println!(
        "{fixed} of ftfy's cases as ftfy has them, {} left alone: {left:?}",
        left.len()
    );
    assert!(fixed >= 95, "{fixed}; left alone: {left:?}");
}

#[test]
fn broken_and_sound_texts_in_eleven_languages() {
    let Some(path) = shared("mojibake/generated.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("cases");
    let (mut broken, mut agreed, mut repaired) = (0, 0, 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let (text, truth) = (
            field(&case, "text").expect("a text"),
            field(&case, "truth").expect("the truth"),
        );
        let ours = decoded(text);
        if case["how"] == "none (must stay)" {
            assert_eq!(ours, text, "a sound text");
            continue;
        }
        broken += 1;
        repaired += usize::from(ours == truth);
        agreed += usize::from(Some(ours.as_str()) == field(&case, "ftfy_fix_encoding"));
    }
    println!("{repaired} of {broken} repaired, {agreed} as ftfy does");
    assert_eq!(agreed, broken);
}

#[test]
fn published_skeletons() {
    let Some(path) = shared("confusables/skeletons.jsonl") else {
        return;
    };
    for line in std::fs::read_to_string(path).expect("cases").lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let text = field(&case, "text").expect("a text");
        let ours = skeleton::skeleton(text);
        assert_eq!(Some(ours.as_str()), field(&case, "skeleton"), "{text}");
        if let Some(other) = field(&case, "confusable_with") {
            assert_eq!(
                case["same_skeleton"],
                ours == skeleton::skeleton(other),
                "{text} and {other}"
            );
        }
    }
}

/// Characters whose repair is not NFKC, or which stand for more than themselves (docs/normalize.md).
fn has_a_row_of_its_own(c: char) -> bool {
    use fusegate_core::text::normalize::properties::{Action, properties};
    let action = properties(c).action();
    let plain = matches!(c, '\'' | '"' | '-');
    !plain
        && !matches!(
            action,
            Action::None | Action::Map | Action::Compose | Action::Mark | Action::Confusable
        )
        || matches!(c, '\u{FDFA}' | '\u{FDFB}')
        || is_spacing_accent(c)
}

/// Accents with a width of their own stay: NFKC puts a space before them, which cuts the word.
fn is_spacing_accent(c: char) -> bool {
    let mut decomposed = std::iter::once(c).nfkd();
    decomposed.next() == Some(' ') && decomposed.next().is_some()
}

/// A text's NFKC with its quotes, dashes and spaces made plain, out of the published NFKC.
fn plain_nfkc(nfkc: &str) -> String {
    use fusegate_core::text::normalize::properties::{Kind, mapped};
    let made_plain = |c: char| match mapped(c) {
        Some((to, Kind::Quote | Kind::Dash | Kind::Space)) => to.to_owned(),
        _ => c.to_string(),
    };
    nfkc.chars().map(made_plain).collect()
}

#[test]
fn normalization_test_in_full() {
    let Some(path) = shared("unicode/17.0/NormalizationTest.txt.gz") else {
        return;
    };
    let text = unpacked(&path);
    let decode = |codes: &str| -> String {
        let codes = codes
            .split_whitespace()
            .map(|code| u32::from_str_radix(code, 16).expect("a code"));
        codes
            .map(|code| char::from_u32(code).expect("a character"))
            .collect()
    };
    let (mut lines, mut rows) = (0, 0);
    for line in text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_hexdigit()))
    {
        let columns: Vec<String> = line.split(';').take(5).map(decode).collect();
        lines += 1;
        for source in &columns {
            if source.chars().any(has_a_row_of_its_own) || mojibake::is_bad(source) {
                rows += 1;
                continue;
            }
            let expected = plain_nfkc(&columns[3]);
            let special = columns
                .iter()
                .flat_map(|column| column.chars())
                .any(has_a_row_of_its_own);
            if !special {
                assert_eq!(repaired(source), expected, "{line}");
            }
        }
    }
    println!("{lines} lines, {rows} columns of which have rows of their own");
    assert!(lines > 19_000 && rows < lines / 5, "{lines} lines, {rows}");
}
