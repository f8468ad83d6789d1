//! The slow implementation of the repair for tests and fuzzers: applies every row at every character of the
//! line, composes the whole line, and repeats until nothing changes.

use super::edits::Edits;
use super::mojibake;
use super::properties::{Action, Kind, fraction_digit, greek_symbol, latin, mapped, properties};
use super::{Mode, edits, gloss::Glosses};
use unicode_normalization::UnicodeNormalization;

/// Replacement of a row at a place of a line; `None` leaves the character.
type Row = fn(&[char], usize) -> Option<String>;

fn action(c: char) -> Action {
    properties(c).action()
}

/// Replaces characters one by one: `rule` gets the line and an index; `None` leaves the character.
fn each(line: &[char], rule: impl Fn(&[char], usize) -> Option<String>) -> Vec<char> {
    let replaced = |at: usize| rule(line, at).unwrap_or_else(|| line[at].to_string());
    (0..line.len())
        .flat_map(|at| replaced(at).chars().collect::<Vec<_>>())
        .collect()
}

fn visible(c: &&char) -> bool {
    action(**c) != Action::Invisible
}

fn before(line: &[char], at: usize) -> Option<char> {
    line[..at].iter().rev().take(4).find(visible).copied()
}

fn after(line: &[char], at: usize) -> Option<char> {
    line[at + 1..].iter().take(4).find(visible).copied()
}

fn written_out(c: char) -> bool {
    matches!(
        action(c),
        Action::Fraction | Action::Enclosed | Action::Superscript | Action::Subscript
    )
}

fn spaced(line: &[char], at: usize) -> Option<String> {
    let c = line[at];
    let clings = |c: char| match action(line[at]) {
        Action::Fraction => properties(c).digit(),
        _ => properties(c).word(),
    };
    if !matches!(action(c), Action::Fraction | Action::Enclosed) {
        return None;
    }
    let form = |c: char| match action(c) {
        Action::Map => mapped(c).map_or(c.to_string(), |(form, _)| form.to_owned()),
        _ => c.to_string(),
    };
    let led =
        before(line, at).is_some_and(|c| written_out(c) || clings(form(c).chars().next_back().unwrap_or(c)));
    let followed =
        after(line, at).is_some_and(|c| !written_out(c) && clings(form(c).chars().next().unwrap_or(c)));
    let space = |wanted| if wanted { " " } else { "" };
    Some(format!("{}{}{}", space(led), mapped(c)?.0, space(followed)))
}

fn prime(line: &[char], at: usize) -> Option<String> {
    let letter = |c: Option<&char>| c.is_some_and(|c| properties(*c).letter());
    let before = at.checked_sub(1).and_then(|at| line.get(at));
    (line[at] == '\u{2032}' && letter(before) && letter(line.get(at + 1))).then(|| "'".to_owned())
}

fn slash(line: &[char], at: usize) -> Option<String> {
    let between = |at: usize| at > 0 && at + 1 < line.len();
    (line[at] == '\u{2044}' && between(at) && fraction_digit(line[at - 1]) && fraction_digit(line[at + 1]))
        .then(|| "/".to_owned())
}

fn script(line: &[char], at: usize) -> Option<String> {
    let sign = match action(line[at]) {
        Action::Superscript => "^",
        Action::Subscript => "_",
        _ => return None,
    };
    let other = |c: &char| action(*c) != action(line[at]);
    let start = line[..at].iter().rposition(other).map_or(0, |place| place + 1);
    let end = line[at..]
        .iter()
        .position(other)
        .map_or(line.len(), |length| at + length);
    let digits = line[start..end].iter().all(|c| fraction_digit(*c));
    let denominator = digits && start > 0 && slash(line, start - 1).is_some();
    let numerator = digits && end < line.len() && slash(line, end).is_some();
    let led = match line[..start].last() {
        _ if denominator => "",
        Some(c) if numerator && properties(*c).digit() => " ",
        Some(c) if numerator && !properties(*c).word() && *c != ')' && *c != ']' => "",
        None if numerator => "",
        _ => sign,
    };
    let followed = denominator && line.get(end).is_some_and(|c| properties(*c).digit());
    Some(format!(
        "{}{}{}",
        if at == start { led } else { "" },
        mapped(line[at])?.0,
        if followed && at + 1 == end { " " } else { "" },
    ))
}

fn wide(line: &[char], at: usize) -> Option<String> {
    let passed = |c: &&char| properties(**c).wide_neighbour();
    let counts = |c: Option<&char>| c.is_some_and(|c| properties(*c).han_or_kana());
    let stays = counts(line[..at].iter().rev().take(64).find(|c| !passed(c)))
        || counts(line[at + 1..].iter().take(64).find(|c| !passed(c)));
    (action(line[at]) == Action::Wide && !stays).then(|| mapped(line[at]).map(|(to, _)| to.to_owned()))?
}

fn control(line: &[char], at: usize) -> Option<String> {
    match line[at] {
        '\n' | '\t' => None,
        '\r' if line.get(at + 1) == Some(&'\n') => Some(String::new()),
        '\u{B}' | '\u{C}' | '\r' => Some(" ".to_owned()),
        c if action(c) == Action::Control => Some(String::new()),
        _ => None,
    }
}

fn joiner(line: &[char], at: usize) -> Option<String> {
    if action(line[at]) != Action::Joiner {
        return None;
    }
    let (before, after) = (before(line, at), after(line, at));
    let joining = |c: Option<char>| c.is_some_and(|c| properties(c).joining());
    let both = joining(before) && joining(after);
    let part = |c: char| properties(c).emoji() || matches!(action(c), Action::Variation | Action::Tag);
    let emoji = before.is_some_and(part) && after.is_some_and(|c| properties(c).pictograph());
    let joins = if line[at] == '\u{200D}' {
        joining(before) || joining(after) || emoji
    } else {
        both
    };
    (!joins).then(String::new)
}

fn selector(line: &[char], at: usize) -> Option<String> {
    if action(line[at]) != Action::Variation {
        return None;
    }
    let kept = at > 0 && {
        let c = line[at - 1];
        let keycap = (c.is_ascii_digit() || c == '#' || c == '*') && line.get(at + 1) == Some(&'\u{20E3}');
        keycap || properties(c).emoji() && action(c) == Action::None
    };
    (!kept).then(String::new)
}

fn tag(line: &[char], at: usize) -> Option<String> {
    let is_tag = |c: &char| action(*c) == Action::Tag;
    if !is_tag(&line[at]) {
        return None;
    }
    let start = line[..at]
        .iter()
        .rposition(|c| !is_tag(c))
        .map_or(0, |place| place + 1);
    let end = line[at..]
        .iter()
        .position(|c| !is_tag(c))
        .map_or(line.len(), |length| at + length);
    let run = &line[start..end];
    let ends = run.iter().filter(|c| **c == '\u{E007F}').count() == 1 && run.last() == Some(&'\u{E007F}');
    let based = start > 0 && properties(line[start - 1]).emoji();
    (!(ends && based && run.len() > 1 && !run.contains(&'\u{E0001}'))).then(String::new)
}

fn map(line: &[char], at: usize) -> Option<String> {
    let c = line[at];
    match action(c) {
        Action::Map => mapped(c).map(|(to, _)| to.to_owned()),
        Action::Invisible => Some(String::new()),
        _ => None,
    }
}

fn confusable(line: &[char], at: usize) -> Option<String> {
    let known = properties(line[at]);
    if action(line[at]) != Action::Confusable || known.latin() {
        return None;
    }
    let in_word = |c: &char| properties(*c).word();
    let start = line[..at]
        .iter()
        .rposition(|c| !in_word(c))
        .map_or(0, |place| place + 1);
    let end = line[at..]
        .iter()
        .position(|c| !in_word(c))
        .map_or(line.len(), |length| at + length);
    let letters = line[start..end]
        .iter()
        .map(|c| properties(*c))
        .filter(|known| known.letter());
    let others: Vec<_> = letters
        .filter(|known| !known.neutral() && (known.latin() || known.action() != Action::Confusable))
        .collect();
    let all_latin = !others.is_empty() && others.iter().all(|known| known.latin());
    let small_latin = |c: Option<&char>| {
        c.is_some_and(|c| properties(*c).letter() && properties(*c).latin() && c.is_lowercase())
    };
    let led = line[..at].iter().rev().take(4).find(|c| !greek_symbol(**c));
    let followed = line[at + 1..].iter().take(4).find(|c| !greek_symbol(**c));
    let hides = small_latin(led) && small_latin(followed);
    if all_latin && (hides || !greek_symbol(line[at])) {
        latin(line[at]).map(String::from)
    } else {
        None
    }
}

fn confusable_by_itself(line: &[char], at: usize) -> Option<String> {
    if action(line[at]) == Action::Confusable {
        latin(line[at]).map(String::from)
    } else {
        None
    }
}

fn undo_mojibake(line: &str) -> String {
    // A line without anything bad at any place has nothing to undo.
    if !mojibake::is_bad_anywhere(line) {
        assert!(mojibake::repair(line, &mut { usize::MAX }).is_none(), "{line:?}");
        return line.to_owned();
    }
    let mut out = Vec::new();
    mojibake::repair(line, &mut { usize::MAX })
        .unwrap_or_default()
        .apply(line.as_bytes(), &mut out);
    String::from_utf8(out).expect("text")
}

fn repaired_line(line: &str, contextual: bool) -> String {
    let undone = undo_mojibake(line);
    if undone != line {
        return repaired_line(&undone, contextual);
    }
    let rows: &[Row] = &[
        spaced, script, slash, prime, wide, control, joiner, selector, tag, map,
    ];
    let chars: Vec<char> = line.chars().collect();
    // Rows see the neighbours of a place as they were before.
    let chars = each(&chars, |line, at| rows.iter().find_map(|row| row(line, at)));
    let next: String = chars.into_iter().nfc().collect();
    if next != line {
        return repaired_line(&next, contextual);
    }
    // A letter's neighbours count after everything else is repaired.
    let chars: Vec<char> = line.chars().collect();
    let letters = each(
        &chars,
        if contextual {
            confusable
        } else {
            confusable_by_itself
        },
    );
    if letters == chars {
        next
    } else {
        repaired_line(&letters.iter().collect::<String>(), contextual)
    }
}

/// A text repaired row by row.
#[must_use]
pub fn repaired(text: &str, contextual: bool) -> String {
    text.split_inclusive('\n')
        .map(|line| repaired_line(line, contextual))
        .collect()
}

/// Checks everything that must hold for any text; returns it normalized.
///
/// # Panics
/// If something does not hold.
pub fn assert_sound(text: &str, mode: Mode, contextual: bool, glosses: Option<&Glosses>) -> String {
    let changes = edits(text, mode, contextual, glosses);
    let normalized = applied(text, &changes);
    let (mut back, mut shift) = (normalized.clone(), 0isize);
    let mut places = Vec::new();
    for edit in changes.list() {
        let replacement = std::str::from_utf8(changes.replacement(&edit)).expect("whole characters");
        assert!(edit.start < edit.end && places.last().is_none_or(|end| *end <= edit.start));
        assert_ne!(
            &text[edit.start..edit.end],
            replacement,
            "a change that changes nothing"
        );
        places.push(edit.end);
    }
    for edit in changes.list().collect::<Vec<_>>().into_iter().rev() {
        shift = isize::try_from(changes.replacement(&edit).len()).expect("a length");
        let before = applied_length(&changes, edit.start);
        back.replace_range(
            before..before.wrapping_add_signed(shift),
            &text[edit.start..edit.end],
        );
    }
    assert_eq!(back, text, "applied backwards ({shift})");
    let again = edits(&normalized, Mode::Repair, contextual, None);
    assert!(
        again.is_empty(),
        "{text:?} became {normalized:?}, and then {:?}",
        applied(&normalized, &again)
    );
    if mode == Mode::Repair {
        assert_eq!(normalized, repaired(text, contextual), "out of {text:?}");
    }
    assert!(
        !changes
            .list()
            .any(|edit| mode == Mode::Repair && edit.kind() == Kind::Gloss)
    );
    normalized
}

/// The place in the edited text of a place in the source, after all earlier edits.
fn applied_length(changes: &Edits, place: usize) -> usize {
    changes
        .list()
        .filter(|edit| edit.end <= place)
        .fold(place, |at, edit| {
            at + changes.replacement(&edit).len() - (edit.end - edit.start)
        })
}

fn applied(text: &str, changes: &Edits) -> String {
    let mut out = Vec::new();
    changes.apply(text.as_bytes(), &mut out);
    String::from_utf8(out).expect("whole characters")
}
