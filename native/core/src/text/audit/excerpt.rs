//! Examples: the part of a record that shows an issue, before and after, with personal data masked.

use super::examine::{MODEL_PIECES, issue_of, unsegmented_at};
use super::html;
use super::issue::Issue;
use super::mask::{self, Masked};
use crate::text::normalize::edits::Edits;
use crate::text::normalize::properties::{Kind, properties};
use crate::text::normalize::{Mode, edits};

/// Characters shown on each side of the place.
const AROUND: usize = 60;

/// Bytes of a record examined around the place, so that masked data is seen whole.
const CONTEXT: usize = 4096;

/// A record's part before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The part before.
    pub before: String,
    /// The part after; for issues that normalization does not repair, what a search sees of it.
    pub after: String,
}

/// The part of a record that shows one of its issues.
#[must_use]
pub fn example(record: &str, issue: Issue) -> Example {
    let (record, all) = context(record, issue);
    let (start, end) = place(record, &all, issue);
    let from = back(record, start);
    let to = forward(record, end);
    let (from, to) = (outside(&all, from).0, outside(&all, to).1);
    let masked = mask::find(record);
    let before = shown(record, from, to, &masked);
    let after = match issue {
        Issue::Unsegmented => bigrams(&record[start..end]),
        Issue::Long => shown(record, from, start, &masked),
        _ => {
            let mut text = Vec::new();
            all.apply(record.as_bytes(), &mut text);
            let text = String::from_utf8(text).unwrap_or_default();
            // A keycap is no longer a number once its name stands between the digits.
            let moved_too = masked.iter().map(|each| moved_mask(&all, each));
            let masked = mask::merged(mask::find(&text).into_iter().chain(moved_too).collect());
            shown(&text, moved(&all, from), moved(&all, to), &masked)
        }
    };
    Example { before, after }
}

/// A place outside all edits, mapped to the edited text.
fn moved(all: &Edits, place: usize) -> usize {
    let before = all.list().iter().filter(|edit| edit.end <= place);
    before.fold(place, |at, edit| {
        at + all.replacement(edit).len() - (edit.end - edit.start)
    })
}

/// Masked ranges of a text, mapped to the edited text.
fn moved_mask(all: &Edits, masked: &Masked) -> Masked {
    Masked {
        start: moved(all, outside(all, masked.start).0),
        end: moved(all, outside(all, masked.end).1),
        label: masked.label,
    }
}

/// A place moved to the ends of the edit around it, so that it can be mapped to the edited text.
fn outside(all: &Edits, place: usize) -> (usize, usize) {
    let edit = all
        .list()
        .iter()
        .find(|edit| edit.start < place && place < edit.end);
    edit.map_or((place, place), |edit| (edit.start, edit.end))
}

/// The part of a long record around its first occurrence of an issue, and its edits.
fn context(record: &str, issue: Issue) -> (&str, Edits) {
    let all = edits(record, Mode::Augment, true, None);
    if record.len() <= 2 * CONTEXT {
        return (record, all);
    }
    let (start, end) = place(record, &all, issue);
    let from = floor(record, start.saturating_sub(CONTEXT));
    let to = floor(record, (end.min(start + CONTEXT) + CONTEXT).min(record.len()));
    let part = &record[from..to];
    (part, edits(part, Mode::Augment, true, None))
}

/// The range of a record that shows an issue.
fn place(record: &str, all: &Edits, issue: Issue) -> (usize, usize) {
    let whole = (0, forward(record, 0));
    let found = match issue {
        Issue::Html => html::find(record),
        Issue::Unsegmented => {
            unsegmented_at(record).map(|(start, end)| (start, end.min(forward(record, start))))
        }
        Issue::Long => Some(cut(record)),
        Issue::ExactCopy | Issue::RepairedCopy | Issue::Empty => None,
        _ => {
            let kinds = Kind::ALL
                .into_iter()
                .filter(|kind| issue_of(*kind) == Some(issue));
            let set = kinds.fold(0, |set, kind| set | kind.bit());
            let first = all.list().iter().find(|edit| edit.kinds & set != 0);
            first.map(|edit| (edit.start, edit.end.min(forward(record, edit.start))))
        }
    };
    found.unwrap_or(whole)
}

/// The place after which the model reads nothing.
fn cut(record: &str) -> (usize, usize) {
    let (mut words, mut han, mut inside) = (0, 0, false);
    for (at, c) in record.char_indices() {
        let known = properties(c);
        let word = c.is_ascii_alphanumeric() || known.word();
        words += usize::from(word && !inside);
        han += usize::from(known.han_or_kana());
        inside = word;
        if words > MODEL_PIECES || han > MODEL_PIECES {
            return (at, at);
        }
    }
    (record.len(), record.len())
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|&place| text.is_char_boundary(place))
        .unwrap_or(0)
}

fn back(text: &str, from: usize) -> usize {
    let place = text[..from].char_indices().rev().nth(AROUND - 1);
    place.map_or(0, |(at, _)| at)
}

fn forward(text: &str, from: usize) -> usize {
    let place = text[from..].char_indices().nth(AROUND);
    place.map_or(text.len(), |(at, _)| from + at)
}

/// A part of a text with masked ranges replaced by their labels, and with dots where it is cut.
fn shown(text: &str, from: usize, to: usize, masked: &[Masked]) -> String {
    let mut out = String::from(if from > 0 { "…" } else { "" });
    let mut at = from;
    for masked in masked {
        if masked.end <= from || masked.start >= to {
            continue;
        }
        out.push_str(&text[at..masked.start.max(at)]);
        out.push_str(masked.label);
        at = masked.end;
    }
    out.push_str(text.get(at..to).unwrap_or_default());
    if at.max(to) < text.len() {
        out.push('…');
    }
    out
}

/// A token cut by the tokenizer `ngram`.
fn bigrams(token: &str) -> String {
    let characters: Vec<char> = token.chars().collect();
    let pairs: Vec<String> = characters.windows(2).map(|pair| pair.iter().collect()).collect();
    pairs.join(" ")
}
