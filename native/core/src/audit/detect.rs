//! Which format a text is in, by its beginning. What is not surely another format is lines.

use super::csv::{Rows, Separator};
use super::records::Format;
use crate::json;

const SEPARATORS: [Separator; 4] = [b',', b';', b'\t', b'|'];

/// Rows by which CSV is told.
const ROWS: usize = 50;

/// Characters of the longest name of a column.
const LONGEST_NAME: usize = 64;

/// The format of a text that begins with `head`. `whole`: that is all of it.
#[must_use]
pub fn format(head: &str, whole: bool) -> Format {
    if is_json(head, whole) {
        Format::Json
    } else if is_jsonl(head, whole) {
        Format::Jsonl
    } else if best_separator(head, whole).is_some() {
        Format::Csv
    } else {
        Format::Lines
    }
}

/// What parts the fields of a text that is CSV: what makes most fields in rows that are even, else what
/// stands most often in the first line, else a comma.
#[must_use]
pub fn separator(head: &str, whole: bool) -> Separator {
    let first = head.lines().next().unwrap_or_default();
    let often = |separator| first.bytes().filter(|&byte| byte == separator).count();
    let even = |separator| Some(width(head, whole, separator)?.0).filter(|&fields| fields > 1);
    widest(even)
        .or_else(|| widest(|separator| Some(often(separator))))
        .unwrap_or(b',')
}

/// The separator that makes most fields, of equals the first.
fn widest(width: impl Fn(Separator) -> Option<usize>) -> Option<Separator> {
    let known = SEPARATORS
        .into_iter()
        .filter_map(|each| Some((each, width(each)?)));
    let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(separator, _)| separator)
}

/// The separator that makes even rows under a header that reads like one.
fn best_separator(head: &str, whole: bool) -> Option<Separator> {
    widest(|separator| {
        let (width, rows, names) = width(head, whole, separator)?;
        (width > 1 && rows > 1 && names).then_some(width)
    })
}

/// Fields of each row, how many rows were looked at, and whether the first reads like a header; `None` where
/// the rows are not even or a quote stays open.
fn width(head: &str, whole: bool, separator: Separator) -> Option<(usize, usize, bool)> {
    let mut rows = Rows::new(separator);
    let (mut at, mut count, mut fields, mut names) = (0, 0, 0, false);
    while count < ROWS {
        let (read, complete) = rows.read(&head.as_bytes()[at..]).ok()?;
        at += read;
        if !complete {
            if whole {
                rows.finish().ok()?;
            }
            if !rows.is_complete() {
                break;
            }
        }
        if count == 0 {
            fields = rows.fields().count();
            names = are_names(&rows);
        }
        count += 1;
    }
    (count > 0).then_some((fields, count, names))
}

/// Whether every field is a short name of its own: it begins with a letter and has no stop at its end.
fn are_names(rows: &Rows) -> bool {
    let mut seen: Vec<&[u8]> = Vec::new();
    rows.fields().all(|field| {
        let text = std::str::from_utf8(field).unwrap_or_default();
        let named = text
            .chars()
            .next()
            .is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '#' | '@' | '$'));
        let unlike_prose = !text.ends_with(['.', '!', '?', ' ']) && text.chars().count() <= LONGEST_NAME;
        let fresh = !seen.contains(&field);
        seen.push(field);
        named && unlike_prose && fresh
    })
}

fn is_json(head: &str, whole: bool) -> bool {
    let text = head.trim_start();
    if whole {
        return text.starts_with(['[', '{']) && json::check(text.as_bytes()).is_ok();
    }
    let Some(inside) = text.strip_prefix('[') else {
        return false;
    };
    inside.trim_start().starts_with(['{', '[', '"'])
}

fn is_jsonl(head: &str, whole: bool) -> bool {
    let text = head.trim_start();
    if !text.starts_with(['{', '"', '[']) {
        return false;
    }
    let end = if whole {
        text.len()
    } else {
        text.rfind('\n').unwrap_or(0)
    };
    let mut lines = text[..end]
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    lines.peek().is_some() && lines.all(|line| json::check(line.as_bytes()).is_ok())
}
