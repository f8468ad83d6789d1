//! Examples: the part of a record that shows an issue, before and after, with personal data masked.

use std::borrow::Cow;

use super::examine::{MODEL_PIECES, issue_of, unsegmented_at};
use super::html;
use super::issue::Issue;
use super::mask::{self, Masked};
use crate::text::normalize::edits::{Edit, Edits};
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

/// The edits of a record, for all of its examples.
#[must_use]
pub fn edited(record: &str) -> Edits {
    edits(record, Mode::Augment, true, None)
}

/// The part of a record that shows one of its issues. `all`: the record's edits.
#[must_use]
pub fn example(record: &str, all: &Edits, issue: Issue) -> Example {
    let (record, all) = context(record, all, issue);
    let (start, end) = place(record, &all, issue);
    let from = back(record, start);
    let to = forward(record, end);
    let moves = Moves::new(&all);
    let (from, to) = (moves.outside(from).0, moves.outside(to).1);
    let masked = mask::find(record);
    let before = shown(record, from, to, &masked);
    let after = match issue {
        Issue::Unsegmented => bigrams(record, start, end, &masked),
        Issue::Long => shown(record, from, start, &masked),
        _ => {
            let mut text = Vec::new();
            all.apply(record.as_bytes(), &mut text);
            let text = String::from_utf8(text).unwrap_or_default();
            // A keycap is no longer a number once its name stands between the digits.
            let moved_too = masked.iter().map(|each| moves.mask(each));
            let masked = mask::merged(mask::find(&text).into_iter().chain(moved_too).collect());
            shown(&text, moves.moved(from), moves.moved(to), &masked)
        }
    };
    Example { before, after }
}

/// The way of places to the edited text: a text may have thousands of edits, and of masked ranges.
struct Moves {
    edits: Vec<Edit>,
    /// The move of the text after each edit.
    after: Vec<isize>,
}

impl Moves {
    fn new(all: &Edits) -> Self {
        let moves = all.list().scan(0, |sum, edit| {
            *sum += all.replacement(&edit).len() as isize - (edit.end - edit.start) as isize;
            Some(*sum)
        });
        Moves {
            after: moves.collect(),
            edits: all.list().collect(),
        }
    }

    /// Number of edits that end at a place or before.
    fn passed(&self, place: usize) -> usize {
        self.edits.partition_point(|edit| edit.end <= place)
    }

    /// A place outside all edits, mapped to the edited text.
    fn moved(&self, place: usize) -> usize {
        let last = self.passed(place).checked_sub(1);
        place.wrapping_add_signed(last.map_or(0, |last| self.after[last]))
    }

    /// A masked range of the text, mapped to the edited text.
    fn mask(&self, masked: &Masked) -> Masked {
        Masked {
            start: self.moved(self.outside(masked.start).0),
            end: self.moved(self.outside(masked.end).1),
            label: masked.label,
        }
    }

    /// A place moved to the ends of the edit around it, so that it can be mapped to the edited text.
    fn outside(&self, place: usize) -> (usize, usize) {
        let edit = self.edits.get(self.passed(place));
        edit.filter(|edit| edit.start < place)
            .map_or((place, place), |edit| (edit.start, edit.end))
    }
}

/// The part of a long record around its first occurrence of an issue, and its edits.
fn context<'a>(record: &'a str, all: &'a Edits, issue: Issue) -> (&'a str, Cow<'a, Edits>) {
    if record.len() <= 2 * CONTEXT {
        return (record, Cow::Borrowed(all));
    }
    let (start, end) = place(record, all, issue);
    let from = floor(record, start.saturating_sub(CONTEXT));
    let to = floor(record, (end.min(start + CONTEXT) + CONTEXT).min(record.len()));
    let part = &record[from..to];
    (part, Cow::Owned(edited(part)))
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
            let first = all.list().find(|edit| edit.kinds & set != 0);
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

/// A token cut by the tokenizer `ngram`, without the pairs that have a part of a masked range.
fn bigrams(text: &str, from: usize, to: usize, masked: &[Masked]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let cut = |part: &str, parts: &mut Vec<String>| {
        let characters: Vec<char> = part.chars().collect();
        parts.extend(characters.windows(2).map(|pair| pair.iter().collect()));
    };
    let mut at = from;
    for masked in masked.iter().filter(|each| each.end > from && each.start < to) {
        cut(&text[at..masked.start.max(at)], &mut parts);
        parts.push(masked.label.to_owned());
        at = masked.end;
    }
    cut(text.get(at..to).unwrap_or_default(), &mut parts);
    parts.join(" ")
}
