//! The Unicode data in use against the files that Unicode publishes: every line of NormalizationTest.txt (UAX
//! #15), every general category and case folding (UAX #44). The files are not part of the project; the tests
//! say so and pass where they are absent.

use std::io::Read;
use std::path::{Path, PathBuf};

use fusegate_core::unicode::fold::fold;
use fusegate_core::unicode::nfkc::{is_format, nfkc};
use fusegate_core::unicode::words;

/// A file of the version in use, or `None` (and a line that says so) where it is absent.
fn file(name: &str) -> Option<String> {
    let version = words::VERSION.strip_suffix(".0").expect("a version");
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/unicode")
        .join(version)
        .join(format!("{name}.txt.gz"));
    let Ok(file) = std::fs::File::open(&path) else {
        println!("{name}.txt of Unicode {version} is not there: not compared");
        return None;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("a text");
    Some(text)
}

/// The lines of a file without comments, cut at `;`.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty() && !line.starts_with('@'))
        .map(|line| line.split(';').map(str::trim).collect())
}

fn code(text: &str) -> u32 {
    u32::from_str_radix(text, 16).expect("a code point")
}

fn characters(text: &str) -> String {
    text.split(' ')
        .filter_map(|part| char::from_u32(code(part)))
        .collect()
}

#[test]
fn every_line_of_the_normalization_test() {
    let Some(text) = file("NormalizationTest") else {
        return;
    };
    let mut lines = 0;
    let mut listed = vec![false; 0x11_0000];
    let mut single = false;
    for line in text.lines() {
        if line.starts_with("@Part") {
            single = line.starts_with("@Part1");
        }
        for row in rows(line) {
            let columns: Vec<String> = row[..5].iter().map(|column| characters(column)).collect();
            for column in &columns {
                assert_eq!(nfkc(column), columns[3], "{row:?}");
            }
            if single {
                listed[columns[0].chars().next().expect("a character") as usize] = true;
            }
            lines += 1;
        }
    }
    assert!(lines > 19_000);
    // Every character that Part 1 does not list is its own NFKC.
    for character in ('\0'..=char::MAX).filter(|&c| !listed[c as usize]) {
        assert_eq!(nfkc(&character.to_string()), character.to_string());
    }
}

#[test]
fn every_format_character() {
    let Some(text) = file("DerivedGeneralCategory") else {
        return;
    };
    let mut format = vec![false; 0x11_0000];
    for row in rows(&text).filter(|row| row[1] == "Cf") {
        let (first, last) = row[0].split_once("..").unwrap_or((row[0], row[0]));
        for at in code(first)..=code(last) {
            format[at as usize] = true;
        }
    }
    assert!(format.iter().filter(|&&each| each).count() > 150);
    for character in '\0'..=char::MAX {
        assert_eq!(is_format(character), format[character as usize], "{character:?}");
    }
}

#[test]
fn every_full_folding() {
    let Some(text) = file("CaseFolding") else { return };
    let mut folds = std::collections::HashMap::new();
    for row in rows(&text).filter(|row| row[1] == "C" || row[1] == "F") {
        folds.insert(characters(row[0]), characters(row[2]));
    }
    assert!(folds.len() > 1_400);
    for character in '\0'..=char::MAX {
        let source = character.to_string();
        assert_eq!(&fold(&source), folds.get(&source).unwrap_or(&source));
    }
}
