//! Obvious implementations for an audit: slow, on whole texts, sharing only the normalizer and the tables
//! with the fast ones.

use std::collections::HashSet;

use super::analyzers::{is_postgres_word, lowered};
use super::examine::{MODEL_PIECES, Verdict, is_unsegmented};
use super::format::{Fault, Format};
use super::records::{Batch, Records};
use super::{Audit, EXAMPLES, Findings, Issue};
use crate::text::normalize::edits::Edit;
use crate::text::normalize::properties::{Kind, properties};
use crate::text::normalize::{Mode, edits, spelling};
use crate::unicode::words;

fn normalized(text: &str, mode: Mode) -> (String, u32) {
    let edits = edits(text, mode, true, None);
    let mut out = Vec::new();
    edits.apply(text.as_bytes(), &mut out);
    let kinds = edits.list().fold(0, |set, edit| set | edit.kinds);
    (String::from_utf8(out).expect("whole characters"), kinds)
}

/// Maximal runs of word characters, folded.
fn words(text: &str) -> Vec<String> {
    let word = |c: char| words::kind(u32::from(c)) != words::Kind::Separator;
    text.split(|c| !word(c))
        .filter(|run| !run.is_empty())
        .map(|run| crate::unicode::fold::fold(run).into_owned())
        .collect()
}

/// The BM25 score (k1 1.5, b 0.75) of a query for a corpus of one text, over `ws` tokens.
fn bm25(query: &str, text: &str) -> f64 {
    let tokens = words(text);
    let terms = words(query);
    let score = |term: &String| {
        let tf = tokens.iter().filter(|token| *token == term).count() as f64;
        let df = f64::from(u8::from(tf > 0.0));
        let idf = (1.0 + (1.0 - df + 0.5) / (df + 0.5)).ln();
        idf * tf / (tf + 1.5)
    };
    terms.iter().map(score).sum()
}

/// The words that people type without a break, with their first and last place in the text (in characters).
fn typed(text: &[char], inside: &dyn Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let word = |at: usize| {
        text.get(at)
            .is_some_and(|c| words::kind(u32::from(*c)) != words::Kind::Separator)
    };
    let letter = |at: usize| {
        text.get(at)
            .is_some_and(|c| c.is_ascii_alphabetic() || properties(*c).letter())
    };
    let digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
    let part = |at: usize| {
        let (led, next) = (at > 0 && word(at - 1), at + 1);
        match text[at] {
            _ if word(at) => true,
            '\'' => at > 0 && letter(at - 1) && letter(next),
            '/' => inside(at) && at > 0 && digit(at - 1) && digit(next),
            '_' => inside(at) && led && word(next),
            '^' => inside(at) && led && (word(next) || text.get(next) == Some(&'-') && word(next + 1)),
            '-' => inside(at) && at > 0 && text[at - 1] == '^' && word(next),
            _ => false,
        }
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in (0..text.len()).filter(|at| part(*at)) {
        match found.last_mut() {
            Some(last) if last.1 == at => last.1 = at + 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

/// True if a word of the record, as people type it, scores 0 in it and more than 0 after normalization: first
/// for all words, then for words that are not names of emoji or symbols.
fn gains(text: &str) -> (bool, bool) {
    let after = normalized(text, Mode::Augment).0;
    let repairs = edits(text, Mode::Repair, true, None);
    let repaired = normalized(text, Mode::Repair).0;
    let spelled = spelling::of(&repairs, text, &repaired);
    let place = |byte: usize| repaired[..byte].chars().count();
    let (mut shift, mut ranges) = (0isize, Vec::new());
    for edit in repairs.list() {
        let from = edit.start.wrapping_add_signed(shift);
        let to = from + repairs.replacement(&edit).len();
        shift += (to - from) as isize - (edit.end - edit.start) as isize;
        ranges.push((place(from), place(to)));
    }
    let characters: Vec<char> = repaired.chars().collect();
    let inside = |at: usize| ranges.iter().any(|(from, to)| (*from..*to).contains(&at));
    let asked = |query: &str| bm25(query, text) == 0.0 && bm25(query, &after) > 0.0;
    let own = typed(&characters, &inside).into_iter().any(|(start, end)| {
        let touches = ranges.iter().any(|(from, to)| *from <= end && *to >= start);
        let plain = spelled
            .iter()
            .find(|each| place(each.start) < end && place(each.end) > start);
        let word: String = characters[start..end].iter().collect();
        touches && asked(plain.map_or(&word, |each| &each.plain))
    });
    let all = edits(text, Mode::Augment, true, None);
    let named = |edit: &Edit| edit.kinds & (Kind::Emoji.bit() | Kind::Symbol.bit()) != 0;
    let names = all.list().filter(named).any(|edit| {
        let name = String::from_utf8_lossy(all.replacement(&edit)).into_owned();
        words(&name).iter().any(|word| asked(word))
    });
    (own || names, own)
}

/// The issue bits of one record without copies, true if a word of it is found only after normalization, and
/// true if such a word is not a name.
#[must_use]
pub fn verdict(text: &str) -> (u16, bool, bool) {
    let (augmented, kinds) = normalized(text, Mode::Augment);
    let has = |wanted: &[Kind]| wanted.iter().any(|kind| kinds & kind.bit() != 0);
    let compatibility = [Kind::Compatibility, Kind::Script, Kind::Fraction, Kind::Enclosed];
    let before = words(text);
    let han_or_kana = |word: &String| word.chars().filter(|c| properties(*c).han_or_kana()).count();
    let katakana =
        |c: &char| matches!(c, '\u{30A0}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}');
    let hiragana = |c: &char| matches!(c, '\u{3040}'..='\u{309F}');
    let of = |word: &String, wanted: &dyn Fn(&char) -> bool| {
        word.chars()
            .filter(|c| properties(*c).han_or_kana() && wanted(c))
            .count()
    };
    let unsegmented = before.iter().any(|word| {
        let kata = of(word, &katakana);
        is_unsegmented(han_or_kana(word) - kata, kata)
    });
    let han: usize = before
        .iter()
        .map(|word| of(word, &|c| !katakana(c) && !hiragana(c)))
        .sum();
    let long = words(&augmented).len().max(han) > MODEL_PIECES;
    let found = [
        (Issue::Mojibake, has(&[Kind::Mojibake])),
        (Issue::Invisible, has(&[Kind::Invisible])),
        (Issue::Confusable, has(&[Kind::Confusable])),
        (Issue::Compatibility, has(&compatibility)),
        (Issue::Emoji, has(&[Kind::Emoji, Kind::Symbol])),
        (Issue::Decomposed, has(&[Kind::Composition])),
        (Issue::Control, has(&[Kind::Control])),
        (Issue::Html, super::html::find(text).is_some()),
        (Issue::Empty, words(&augmented).is_empty()),
        (Issue::Unsegmented, unsegmented),
        (Issue::Long, long),
    ];
    let bits = found
        .iter()
        .filter(|(_, is)| *is)
        .fold(0, |set, (issue, _)| set | issue.bit());
    let (any, own) = gains(text);
    (bits, any, own)
}

/// Compares the findings in some records with [`verdict`] of each.
///
/// # Panics
/// If they differ.
pub fn assert_found(records: &[&str], findings: &Findings) {
    let mut expected = Findings {
        records: records.len() as u64,
        sampled: records.len() as u64,
        ..Findings::default()
    };
    let (mut exact, mut repaired) = (HashSet::new(), HashSet::new());
    for record in records {
        let (bits, gains, own) = verdict(record);
        expected.characters += record.chars().count() as u64;
        expected.gains += u64::from(gains);
        expected.gains_own += u64::from(own);
        for issue in Issue::ALL {
            expected.counts[issue as usize] += u64::from(bits & issue.bit() != 0);
        }
        let fresh_repaired = repaired.insert(normalized(record, Mode::Repair).0);
        if !exact.insert(*record) {
            expected.counts[Issue::ExactCopy as usize] += 1;
        } else if !fresh_repaired {
            expected.counts[Issue::RepairedCopy as usize] += 1;
        }
    }
    let examples = &findings.examples;
    for issue in Issue::ALL {
        let count = expected.counts[issue as usize];
        let wanted = EXAMPLES.min(usize::try_from(count).unwrap_or(EXAMPLES));
        assert_eq!(examples[issue as usize].len(), wanted, "{issue:?}");
    }
    let without = Findings {
        examples: Findings::default().examples,
        ..findings.clone()
    };
    assert_eq!(without, expected);
}

/// Characters of the tag or entity at the start of some; 0 if there is none.
fn markup(chars: &[char]) -> usize {
    let begins = |more: char| {
        chars
            .get(1)
            .is_some_and(|c| c.is_ascii_alphabetic() || *c == more)
    };
    let length = match chars[0] {
        '<' if begins('/') => chars.iter().position(|c| *c == '>'),
        '&' if begins('#') => {
            let inside = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '&' | '#');
            let end = chars.iter().position(|c| !inside(c));
            end.filter(|end| chars[*end] == ';')
        }
        _ => None,
    };
    length.map_or(0, |length| length + 1)
}

/// The terms of a text in PostgreSQL, character by character.
#[must_use]
pub fn postgres(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let plain = |at: usize| chars.get(at).is_some_and(char::is_ascii_alphanumeric);
    let (mut terms, mut word, mut at) = (Vec::new(), String::new(), 0);
    while let Some(c) = chars.get(at) {
        let inside = !word.is_empty() && word.is_ascii() && plain(at - 1) && plain(at + 1);
        if is_postgres_word(*c) || inside && matches!(c, '.' | '/') {
            word.push(*c);
            at += 1;
        } else {
            terms.push(lowered(&std::mem::take(&mut word)));
            at += markup(&chars[at..]).max(1);
        }
    }
    terms.push(lowered(&word));
    terms.retain(|term| !term.is_empty());
    terms
}

/// True if a verdict equals the obvious one.
#[must_use]
pub fn agrees(text: &str, fast: &Verdict) -> bool {
    verdict(text) == (fast.issues, fast.gains, fast.gains_own)
}

/// A text that is read in pieces of `bytes` bytes.
pub struct Pieces<'a> {
    /// The unread rest.
    pub text: &'a [u8],
    /// Bytes of a piece.
    pub bytes: usize,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let length = room.len().min(self.bytes).min(self.text.len());
        room[..length].copy_from_slice(&self.text[..length]);
        self.text = &self.text[length..];
        Ok(length)
    }
}

/// Audits a text in every way: the records must not depend on how it is read or cut, nor the findings on the
/// threads, and both must equal the obvious ones. Returns the records, or why it cannot be cut.
///
/// # Errors
/// As for [`Records::fill`].
///
/// # Panics
/// If something differs.
pub fn assert_audited(text: &[u8], format: Option<Format>) -> Result<Vec<String>, Fault> {
    let read = |bytes: usize, batch_bytes: usize| -> Result<(Format, Vec<Batch>), Fault> {
        let mut records = Records::open(Pieces { text, bytes }, format)?;
        let mut batches = Vec::new();
        loop {
            let mut batch = Batch::default();
            records.fill(&mut batch, batch_bytes)?;
            if batch.is_empty() {
                assert_eq!(records.position(), text.len() as u64, "all of it was read");
                return Ok((records.format(), batches));
            }
            batches.push(batch);
        }
    };
    let flat = |batches: &[Batch]| -> Vec<String> {
        batches
            .iter()
            .flat_map(|batch| batch.iter().map(str::to_owned))
            .collect()
    };
    let whole = read(usize::MAX, usize::MAX);
    for other in [read(1, 1), read(7, 64), read(1000, 100)] {
        match (&whole, &other) {
            (Ok((format, batches)), Ok((other_format, others))) => {
                assert_eq!((format, flat(batches)), (other_format, flat(others)));
            }
            _ => assert_eq!(whole.as_ref().err(), other.as_ref().err()),
        }
    }
    let (_, batches) = whole?;
    let records = flat(&batches);
    let (_, small) = read(usize::MAX, 16)?;
    let texts: Vec<&str> = records.iter().map(String::as_str).collect();
    for threads in [1, 3] {
        let mut audit = Audit::default();
        audit.add(&small, threads);
        assert_found(&texts, &audit.findings());
    }
    Ok(records)
}
