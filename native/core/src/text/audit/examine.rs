//! One record: its issues, and whether normalization changes the words that find it.

use siphasher::sip::SipHasher13;

use super::analyzers::Analyzer;
use super::asked::Asked;
use super::html;
use super::issue::Issue;
use crate::text::normalize::edits::Edits;
use crate::text::normalize::properties::{Kind, properties};
use crate::text::normalize::{Mode, edits, repair, spelling};

/// Word pieces that the embedding model reads of a text: 256 minus the two that mark its ends
/// (all-MiniLM-L6-v2). A text has at least one piece for each word, and for each Han character.
pub const MODEL_PIECES: usize = 254;

/// Number of Han and kana in one token from which it is more than a word.
const LONG_RUN: usize = 4;

/// Findings in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Bits of [`Issue`]; copies are not among them.
    pub issues: u16,
    /// True if one of its words, as people type it, is found only after normalization (mode `augment`).
    pub gains: bool,
    /// True if such a word is not just the name of an emoji or symbol.
    pub gains_own: bool,
    /// Hashes of the text and of the repaired text.
    pub texts: [u64; 2],
}

/// The issue that a kind of edit indicates; quotes, dashes and spaces separate words as before.
#[must_use]
pub fn issue_of(kind: Kind) -> Option<Issue> {
    match kind {
        Kind::Mojibake => Some(Issue::Mojibake),
        Kind::Invisible => Some(Issue::Invisible),
        Kind::Confusable => Some(Issue::Confusable),
        Kind::Compatibility | Kind::Script | Kind::Fraction | Kind::Enclosed => Some(Issue::Compatibility),
        Kind::Emoji | Kind::Symbol => Some(Issue::Emoji),
        Kind::Composition => Some(Issue::Decomposed),
        Kind::Control => Some(Issue::Control),
        Kind::Gloss | Kind::Space | Kind::Quote | Kind::Dash => None,
    }
}

/// Buffers that one thread reuses from record to record.
#[derive(Debug, Default)]
pub struct Examiner {
    normalized: Vec<u8>,
    repaired: Vec<u8>,
    asked: Asked,
}

fn hash(text: &[u8]) -> u64 {
    SipHasher13::new().hash(text)
}

impl Examiner {
    /// An examiner by the rules of an analyzer.
    #[must_use]
    pub fn new(analyzer: Analyzer) -> Self {
        Examiner {
            asked: Asked::new(analyzer),
            ..Examiner::default()
        }
    }

    /// Examines a record.
    pub fn examine(&mut self, text: &str) -> Verdict {
        let source = text.as_bytes();
        let exact = hash(source);
        let mut verdict = Verdict {
            issues: 0,
            gains: false,
            gains_own: false,
            texts: [exact, exact],
        };
        if html::find(text).is_some() {
            verdict.issues |= Issue::Html.bit();
        }
        if repair::plain_length(source) == source.len() {
            if !source.iter().any(u8::is_ascii_alphanumeric) {
                verdict.issues |= Issue::Empty.bit();
            }
            if source.len() > 2 * MODEL_PIECES && ascii_words(source) > MODEL_PIECES {
                verdict.issues |= Issue::Long.bit();
            }
            return verdict;
        }
        self.examine_odd(text, &mut verdict);
        verdict
    }

    /// Examines a record with other characters than printable ASCII.
    fn examine_odd(&mut self, text: &str, verdict: &mut Verdict) {
        let source = text.as_bytes();
        let all = edits(text, Mode::Augment, true, None);
        let kinds = all.list().fold(0, |set, edit| set | edit.kinds);
        let of_kinds = |kind: &Kind| kinds & kind.bit() != 0;
        for issue in Kind::ALL.into_iter().filter(of_kinds).filter_map(issue_of) {
            verdict.issues |= issue.bit();
        }
        let mut words = survey(text);
        if kinds != 0 {
            self.normalized.clear();
            all.apply(source, &mut self.normalized);
            words.tokens = survey(checked(&self.normalized)).tokens;
            self.look(text, &all, verdict);
            verdict.texts[1] = hash(&self.repaired);
        }
        if words.tokens == 0 {
            verdict.issues |= Issue::Empty.bit();
        }
        if words.unsegmented {
            verdict.issues |= Issue::Unsegmented.bit();
        }
        if words.pieces() > MODEL_PIECES {
            verdict.issues |= Issue::Long.bit();
        }
    }

    /// Checks if the edits `all` of a text make words findable; writes the repaired text to `repaired`.
    fn look(&mut self, text: &str, all: &Edits, verdict: &mut Verdict) {
        let named = Kind::Emoji.bit() | Kind::Symbol.bit();
        let glossed = named | Kind::Script.bit();
        // Without glosses all edits are the repair's.
        let own;
        let repairs = if all.list().any(|edit| edit.kinds & glossed != 0) {
            own = repair::text(text, true);
            &own
        } else {
            all
        };
        self.repaired.clear();
        repairs.apply(text.as_bytes(), &mut self.repaired);
        let repaired = checked(&self.repaired);
        self.asked.clear();
        self.asked
            .repaired(repairs, repaired, &spelling::of(repairs, text, repaired));
        for edit in all.list().filter(|edit| edit.kinds & named != 0) {
            self.asked.named(checked(all.replacement(&edit)));
        }
        if !self.asked.is_empty() {
            (verdict.gains, verdict.gains_own) = self.asked.gains(text, checked(&self.normalized));
        }
    }
}

/// Edited bytes as text: edits replace whole characters by whole characters.
fn checked(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}

/// Facts about the words of a text.
#[derive(Debug, Default)]
struct Words {
    tokens: usize,
    han: usize,
    unsegmented: bool,
}

impl Words {
    /// Ends a run.
    fn end(&mut self, run: &mut Run) {
        self.tokens += 1;
        self.han += run.han;
        self.unsegmented |= run.is_unsegmented();
        *run = Run::default();
    }

    /// Least number of word pieces.
    fn pieces(&self) -> usize {
        self.tokens.max(self.han)
    }
}

/// Examines the runs of letters, numbers and marks of a text; these are its tokens.
fn survey(text: &str) -> Words {
    let mut words = Words::default();
    let mut run = Run::default();
    let mut inside = false;
    for c in text.chars() {
        let word = if c.is_ascii() {
            c.is_ascii_alphanumeric()
        } else {
            let known = properties(c);
            if known.han_or_kana() {
                run.add(c);
            }
            known.word()
        };
        if inside && !word {
            words.end(&mut run);
        }
        inside = word;
    }
    if inside {
        words.end(&mut run);
    }
    words
}

/// Han and kana of one run.
#[derive(Debug, Default)]
struct Run {
    han: usize,
    hiragana: usize,
    katakana: usize,
}

impl Run {
    fn add(&mut self, character: char) {
        match character {
            '\u{30A0}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' => self.katakana += 1,
            '\u{3040}'..='\u{309F}' => self.hiragana += 1,
            _ => self.han += 1,
        }
    }

    /// True if it is more than a word. Words purely in katakana are written separately and may be long.
    fn is_unsegmented(&self) -> bool {
        is_unsegmented(self.han + self.hiragana, self.katakana)
    }
}

/// True if a run with these numbers of Han and hiragana, and of katakana, is more than a word.
#[must_use]
pub fn is_unsegmented(han_and_hiragana: usize, katakana: usize) -> bool {
    han_and_hiragana > 0 && han_and_hiragana + katakana >= LONG_RUN
}

/// Range of a text's first token with more Han and kana than a word has.
#[must_use]
pub fn unsegmented_at(text: &str) -> Option<(usize, usize)> {
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if properties(c).word() {
            start.get_or_insert(at);
        } else if let Some(from) = start.take()
            && survey(&text[from..at]).unsegmented
        {
            return Some((from, at));
        }
    }
    None
}

/// Number of words in ASCII text.
fn ascii_words(text: &[u8]) -> usize {
    // The count of a block fits a byte, so that the compiler can count many bytes at once.
    let starts = |before: &[u8], here: &[u8]| {
        let pairs = before.iter().zip(here);
        let start = |(before, here): (&u8, &u8)| {
            u8::from(!before.is_ascii_alphanumeric() & here.is_ascii_alphanumeric())
        };
        pairs.map(start).sum::<u8>()
    };
    let Some((first, rest)) = text.split_first() else {
        return 0;
    };
    let blocks = text.chunks(192).zip(rest.chunks(192));
    let inside: usize = blocks
        .map(|(before, here)| usize::from(starts(before, here)))
        .sum();
    inside + usize::from(first.is_ascii_alphanumeric())
}
