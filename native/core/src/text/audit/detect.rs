//! Detects the format of a text by its beginning. Lines are the default.

use std::collections::HashSet;

use super::csv::{Rows, Separator};
use super::format::{Format, LONGEST_TOKEN};
use crate::json;

const SEPARATORS: [Separator; 4] = [b',', b';', b'\t', b'|'];

/// Rows examined to recognise CSV.
const ROWS: usize = 50;

/// Characters of the longest name of a column.
const LONGEST_NAME: usize = 64;

/// The format of a text that begins with `head`. `whole`: `head` is the whole text.
#[must_use]
pub fn format(head: &str, whole: bool) -> Format {
    if let Some(json) = json_format(head, whole) {
        json
    } else if best_separator(head, whole).is_some() {
        Format::Csv
    } else {
        Format::Lines
    }
}

/// The separator of a CSV text: the one with the most fields in even rows, else the most frequent one in the
/// first line, else a comma.
#[must_use]
pub fn separator(head: &str, whole: bool) -> Separator {
    let first = head.lines().next().unwrap_or_default();
    let often = |separator| first.bytes().filter(|&byte| byte == separator).count();
    let even = |separator| Some(shape(head, whole, separator)?.fields).filter(|&fields| fields > 1);
    widest(even)
        .or_else(|| widest(|separator| Some(often(separator))))
        .unwrap_or(b',')
}

/// The separator with the most fields; the first of equals.
fn widest(width: impl Fn(Separator) -> Option<usize>) -> Option<Separator> {
    let known = SEPARATORS
        .into_iter()
        .filter_map(|each| Some((each, width(each)?)));
    let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(separator, _)| separator)
}

/// The separator with which the text has even rows and is CSV.
fn best_separator(head: &str, whole: bool) -> Option<Separator> {
    widest(|separator| {
        let shape = shape(head, whole, separator)?;
        shape.is_csv().then_some(shape.fields)
    })
}

/// Rows with equal numbers of fields.
#[derive(Default)]
struct Shape {
    /// Fields of each row.
    fields: usize,
    rows: usize,
    /// Number of fields in the first row that read like column names, and whether the first field does.
    names: usize,
    begins_with_name: bool,
    /// True if a field contains a separator or a line feed, which needs quotes.
    quoted: bool,
    /// True if quotes stand around whole fields and nowhere else.
    tidy: bool,
}

impl Shape {
    /// Distinguishes CSV from prose with commas, which may have even rows, too. CSV has a first row of names
    /// only, or mostly names above two more rows, or quotes around whole fields.
    fn is_csv(&self) -> bool {
        let mostly_names = self.begins_with_name && 2 * self.names > self.fields && self.rows > 2;
        let evident = self.names == self.fields || mostly_names || self.quoted && self.tidy;
        self.fields > 1 && self.rows > 1 && evident
    }
}

/// The shape of a text's first rows; `None` if they are uneven or a quote stays open.
fn shape(head: &str, whole: bool, separator: Separator) -> Option<Shape> {
    let mut rows = Rows::new(separator);
    let mut at = 0;
    let mut shape = Shape {
        tidy: true,
        ..Shape::default()
    };
    while shape.rows < ROWS {
        let (read, complete) = rows.read(&head.as_bytes()[at..]).ok()?;
        let row = &head.as_bytes()[at..at + read];
        at += read;
        if !complete {
            if whole {
                rows.finish().ok()?;
            }
            if !rows.is_complete() {
                break;
            }
        }
        if shape.rows == 0 {
            shape.fields = rows.fields().count();
            (shape.names, shape.begins_with_name) = names(&rows);
        }
        let inside = |field: &[u8]| memchr::memchr2(separator, b'\n', field).is_some();
        shape.quoted |= rows.fields().any(inside);
        shape.tidy &= is_tidy(row, separator);
        shape.rows += 1;
    }
    (shape.rows > 0).then_some(shape)
}

/// Number of a header's fields that are short, distinct names, and true if the first is one. A name begins
/// with a letter and does not end like a sentence; the first column's may be empty, as for row numbers.
fn names(rows: &Rows) -> (usize, bool) {
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let mut is_name = |field| {
        let text = std::str::from_utf8(field).unwrap_or_default();
        let begun = match text.chars().next() {
            Some(first) => first.is_alphabetic() || matches!(first, '_' | '#' | '@' | '$'),
            None => seen.is_empty(),
        };
        let unlike_prose = !text.ends_with(['.', '!']) && text.chars().count() <= LONGEST_NAME;
        let fresh = seen.insert(field);
        begun && unlike_prose && fresh
    };
    let verdicts: Vec<bool> = rows.fields().map(&mut is_name).collect();
    let count = verdicts.iter().filter(|&&name| name).count();
    (count, verdicts.first() == Some(&true))
}

/// True if every quote in a row opens or closes a whole field, or is doubled inside one (RFC 4180).
fn is_tidy(row: &[u8], separator: Separator) -> bool {
    let mut rest = row.trim_ascii();
    loop {
        let is_quoted = rest.first() == Some(&b'"');
        let end = if is_quoted {
            let Some(end) = closing_quote(rest) else {
                return false;
            };
            end
        } else {
            memchr::memchr(separator, rest).unwrap_or(rest.len())
        };
        let (field, after) = rest.split_at(end);
        if !is_quoted && field.contains(&b'"') {
            return false;
        }
        match after.split_first() {
            None => return true,
            Some((next, more)) if *next == separator => rest = more,
            Some(_) => return false,
        }
    }
}

/// The place after the quote that closes a field's opening quote.
fn closing_quote(field: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', &field[at..])? + 1;
        if field.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// JSON or JSON Lines, if the text is either.
fn json_format(head: &str, whole: bool) -> Option<Format> {
    let text = head.trim_start();
    let container = text.starts_with(['{', '[']);
    if !container && !text.starts_with('"') {
        return None;
    }
    let is_value = |text: &str| json::check(text.as_bytes()).is_ok();
    if whole && container && is_value(text) {
        return Some(Format::Json);
    }
    // The last line may be incomplete.
    let end = if whole {
        text.len()
    } else {
        text.rfind('\n').unwrap_or(0)
    };
    let (lines, rest) = text.split_at(end);
    let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
    if lines.next().is_some_and(is_value) {
        let one = lines.clone().next().is_none() && rest.trim().is_empty();
        return match one && container {
            true => Some(Format::Json),
            false => lines.all(is_value).then_some(Format::Jsonl),
        };
    }
    (!whole && container && begins_value(text)).then_some(Format::Json)
}

/// True if a text is a prefix of one JSON value, or all of it.
fn begins_value(text: &str) -> bool {
    match json::value_end(text, 0) {
        Ok(end) => text[end..].trim().is_empty(),
        Err(refusal) => refusal.offset + LONGEST_TOKEN >= text.len(),
    }
}

/// True if `head` is too short to distinguish JSON from JSON Lines: its first line is incomplete.
#[must_use]
pub fn is_open(head: &[u8]) -> bool {
    let text = head
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(head)
        .trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[' | b'"')) && memchr::memchr(b'\n', text).is_none()
}
