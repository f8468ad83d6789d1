//! One record: which issues it shows, and whether the words that find it change.

use siphasher::sip::SipHasher13;

use super::{Issue, html};
use crate::normalize::properties::{Kind, properties};
use crate::normalize::{Mode, edits, repair};
use crate::tokenize;

/// Word pieces that the embedding model reads of a text: 256 less the two that mark its ends
/// (all-MiniLM-L6-v2). A text has at least as many of them as words, and as Han characters.
pub const MODEL_PIECES: usize = 254;

/// Han and kana in one token from which it is more than a word.
const LONG_RUN: usize = 4;

/// What was found in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Bits of [`Issue`]; copies are not among them.
    pub issues: u16,
    /// Whether its `ws` tokens change under normalization (mode `augment`).
    pub changed: bool,
    /// Whether they change under repair alone.
    pub repaired: bool,
    /// Hashes of the text and of the repaired text.
    pub texts: [u64; 2],
}

/// The issue that an edit of a kind tells of; quotes, dashes and spaces keep words apart as before.
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

/// Room that one thread keeps from record to record.
#[derive(Debug, Default)]
pub struct Examiner {
    normalized: Vec<u8>,
    repaired: Vec<u8>,
    before: Vec<u8>,
    after: Vec<u8>,
    token: Vec<u8>,
}

fn hash(text: &[u8]) -> u64 {
    SipHasher13::new().hash(text)
}

impl Examiner {
    /// Looks at a record.
    pub fn examine(&mut self, text: &str) -> Verdict {
        let source = text.as_bytes();
        let exact = hash(source);
        let mut verdict = Verdict {
            issues: 0,
            changed: false,
            repaired: false,
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

    /// Looks at a record that is more than printable ASCII.
    fn examine_odd(&mut self, text: &str, verdict: &mut Verdict) {
        let source = text.as_bytes();
        let all = edits(text, Mode::Augment, true, None);
        let kinds = all.list().iter().fold(0, |set, edit| set | edit.kinds);
        let of_kinds = |kind: &Kind| kinds & kind.bit() != 0;
        for issue in Kind::ALL.into_iter().filter(of_kinds).filter_map(issue_of) {
            verdict.issues |= issue.bit();
        }
        let mut words = survey(text);
        if kinds != 0 {
            self.normalized.clear();
            all.apply(source, &mut self.normalized);
            words.tokens = survey(simdutf8::basic::from_utf8(&self.normalized).unwrap_or_default()).tokens;
            tokens(source, &mut self.before, &mut self.token);
            tokens(&self.normalized, &mut self.after, &mut self.token);
            verdict.changed = self.before != self.after;
            verdict.repaired = verdict.changed;
            if kinds & (Kind::Emoji.bit() | Kind::Symbol.bit()) != 0 {
                verdict.repaired = self.changed_by_repair(text);
            } else {
                std::mem::swap(&mut self.repaired, &mut self.normalized);
            }
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

    /// Repairs a text into `repaired`; whether its tokens, which are in `before`, change.
    fn changed_by_repair(&mut self, text: &str) -> bool {
        let repairs = repair::text(text, true);
        self.repaired.clear();
        repairs.apply(text.as_bytes(), &mut self.repaired);
        if repairs.is_empty() {
            return false;
        }
        tokens(&self.repaired, &mut self.after, &mut self.token);
        self.before != self.after
    }
}

/// What the words of a text tell.
#[derive(Debug, Default)]
struct Words {
    tokens: usize,
    han: usize,
    unsegmented: bool,
}

impl Words {
    /// A run has ended.
    fn end(&mut self, run: &mut Run) {
        self.tokens += 1;
        self.han += run.han;
        self.unsegmented |= run.is_unsegmented();
        *run = Run::default();
    }

    /// At least so many word pieces.
    fn pieces(&self) -> usize {
        self.tokens.max(self.han)
    }
}

/// Writes the `ws` tokens of a text, each with a mark after it.
fn tokens(text: &[u8], out: &mut Vec<u8>, token: &mut Vec<u8>) {
    out.clear();
    tokenize::ws(text, token, |each| {
        out.extend_from_slice(each);
        // No byte of UTF-8.
        out.push(0xFF);
    });
}

/// Looks at the runs of letters, numbers and marks of a text, which its tokens are.
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

    /// Whether it is more than a word: words in katakana alone are written apart from others, and may be
    /// long.
    fn is_unsegmented(&self) -> bool {
        is_unsegmented(self.han + self.hiragana, self.katakana)
    }
}

/// Whether so many characters of Han and hiragana, and of katakana, are more than a word.
#[must_use]
pub fn is_unsegmented(han_and_hiragana: usize, katakana: usize) -> bool {
    han_and_hiragana > 0 && han_and_hiragana + katakana >= LONG_RUN
}

/// The first token of a text that has more Han and kana than a word: where it stands.
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

/// How many words ASCII text has.
fn ascii_words(text: &[u8]) -> usize {
    // Blocks whose count fits a byte, which is what lets the compiler count many bytes at once.
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
