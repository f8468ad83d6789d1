//! Repair line by line: applies every row of the closed list in docs/normalize.md until nothing changes.
//!
//! A round scans the line once and collects edits that do not touch each other; a change that depends on
//! another edit of the round waits for the next round.

use super::edits::Edits;
use super::mojibake;
use super::properties::{Action, Kind, Properties, fraction_digit, latin, mapped, properties};

/// U+2044 FRACTION SLASH.
const SLASH: char = '\u{2044}';

/// U+2032 PRIME, used as an apostrophe between letters.
const PRIME: char = '\u{2032}';

/// The edits that repair a whole text. `contextual`: confusable letters map only inside words whose other
/// letters are Latin.
#[must_use]
pub fn text(source: &str, contextual: bool) -> Edits {
    let mut all = Edits::default();
    let mut at = plain_length(source.as_bytes());
    while at < source.len() {
        let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end =
            memchr::memchr(b'\n', &source.as_bytes()[at..]).map_or(source.len(), |length| at + length + 1);
        if let Some(edits) = line(&source[start..end], contextual) {
            all.append(edits, start);
        }
        at = end + plain_length(&source.as_bytes()[end..]);
    }
    all
}

/// The edits that repair `text`, repaired before `glosses` were applied: only in the lines that they touch.
#[must_use]
pub fn lines_of(text: &str, glosses: &Edits, contextual: bool) -> Edits {
    let mut all = Edits::default();
    let mut done = 0;
    let mut shift = 0isize;
    for edit in glosses.list() {
        let place = edit.start.wrapping_add_signed(shift);
        let end = place + glosses.replacement(&edit).len();
        shift += (end - place) as isize - (edit.end - edit.start) as isize;
        if end <= done {
            continue;
        }
        let mut at = text[done..place.max(done)]
            .rfind('\n')
            .map_or(done, |newline| done + newline + 1);
        done = memchr::memchr(b'\n', &text.as_bytes()[end..]).map_or(text.len(), |found| end + found + 1);
        // A gloss may contain line feeds.
        for touched in text[at..done].split_inclusive('\n') {
            if let Some(edits) = line(touched, contextual) {
                all.append(edits, at);
            }
            at += touched.len();
        }
    }
    all
}

/// Outcome of a round.
enum Found {
    Nothing,
    /// Text that people never write; the round does nothing else.
    Bad,
    Edits {
        edits: Edits,
        rest: Rest,
    },
}

/// Work left after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Only characters that no row changes, whatever their neighbours.
    Plain,
    /// The same, but with new neighbours they may be mojibake.
    Odd,
    /// There may be more to do.
    Unsure,
    /// The same, but marks with new neighbours compose first, as mojibake is detected in NFC.
    Uncomposed,
}

/// Length of the prefix of `text` without anything to repair: printable ASCII, line feeds and tabs.
#[must_use]
pub fn plain_length(text: &[u8]) -> usize {
    let odd = |byte: u8| !(0x20..0x7F).contains(&byte) && byte != b'\n' && byte != b'\t';
    let (blocks, _) = text.as_chunks::<64>();
    let plain = blocks
        .iter()
        .position(|block| block.iter().fold(false, |found, &byte| found | odd(byte)))
        .unwrap_or(blocks.len());
    let rest = &text[plain * 64..];
    plain * 64 + rest.iter().position(|&byte| odd(byte)).unwrap_or(rest.len())
}

/// Length of the printable ASCII at the start of `text`, at least 1.
#[inline]
fn plain_run(text: &[u8]) -> usize {
    let odd = |byte: &u8| !(0x20..0x7F).contains(byte);
    let near = &text[1..text.len().min(16)];
    match near.iter().position(odd) {
        Some(length) => length + 1,
        None if text.len() <= 16 => text.len(),
        None => 16 + plain_length(&text[16..]),
    }
}

struct Round<'a> {
    line: &'a str,
    contextual: bool,
    edits: Edits,
    /// Edits of confusable letters, for a round without other edits.
    letters: Edits,
    /// End of the last word whose confusable letters were checked.
    word_end: usize,
    /// True if the current word has a letter that is neither Latin nor resembles one. It stays true until the
    /// word ends, so that no word is searched twice.
    foreign: bool,
    /// True if something was left that may change after its neighbours have.
    waits: bool,
    /// True if there was a letter that may be confusable in another word.
    met_letters: bool,
    /// True if an edit changed what a mark composes with.
    uncomposed: bool,
    /// True if an edit may have changed word boundaries.
    moved_words: bool,
    /// True if a remaining character may be mojibake next to other characters.
    odd: bool,
}

impl<'a> Round<'a> {
    /// One round over a line. `watch`: the round ends at text that people never write.
    fn over(line: &'a str, contextual: bool, watch: bool) -> Found {
        let mut round = Round::new(line, contextual);
        if round.walk(watch) {
            return Found::Bad;
        }
        round.found()
    }

    /// A round that only composes.
    fn composing(line: &'a str) -> Found {
        let mut round = Round::new(line, false);
        let mut next = 0;
        for (at, c) in line.char_indices().filter(|(_, c)| composes(*c)) {
            if at >= next {
                next = round.compose(at, properties(c).action() == Action::Compose);
            }
        }
        if round.edits.is_empty() {
            Found::Nothing
        } else {
            let (edits, rest) = (round.edits, Rest::Unsure);
            Found::Edits { edits, rest }
        }
    }

    fn new(line: &'a str, contextual: bool) -> Round<'a> {
        Round {
            line,
            contextual,
            edits: Edits::default(),
            letters: Edits::default(),
            word_end: 0,
            foreign: false,
            waits: false,
            met_letters: false,
            uncomposed: false,
            moved_words: false,
            odd: false,
        }
    }

    /// Visits every character; if `watch`, returns true at text that people never write.
    fn walk(&mut self, watch: bool) -> bool {
        let bytes = self.line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] < 0x20 || bytes[at] == 0x7F {
                self.foreign = false;
                self.control(at);
                at += 1;
            } else if bytes[at].is_ascii() {
                let end = at + plain_run(&bytes[at..]);
                self.foreign = self.foreign && bytes[at..end].iter().all(u8::is_ascii_alphanumeric);
                at = end;
            } else {
                match self.walk_run(at, watch) {
                    Some(end) => at = end,
                    None => return true,
                }
            }
        }
        false
    }

    /// Visits the non-ASCII characters from `at` on; returns their end, or `None` at bad text.
    fn walk_run(&mut self, at: usize, watch: bool) -> Option<usize> {
        let line = self.line;
        let mut watched = mojibake::Watch::default();
        let mut next = at;
        for (offset, c) in line[at..].char_indices() {
            let place = at + offset;
            if c.is_ascii() {
                return Some(place);
            }
            let known = properties(c);
            if watch && watched.sees_bad(line, place, c, known) {
                return None;
            }
            self.foreign &= known.word();
            if place < next {
                continue;
            }
            if known.inert() {
                self.odd |= mojibake::is_odd(c, known);
            } else {
                next = self.act(place, c, known);
            }
        }
        Some(line.len())
    }

    fn found(self) -> Found {
        // A letter's neighbours count after everything else is repaired.
        let (edits, rest) = if self.edits.is_empty() {
            (self.letters, Rest::Unsure)
        } else if self.uncomposed {
            (self.edits, Rest::Uncomposed)
        } else if self.waits || !self.letters.is_empty() || self.met_letters && self.moved_words {
            (self.edits, Rest::Unsure)
        } else {
            (self.edits, if self.odd { Rest::Odd } else { Rest::Plain })
        };
        if edits.is_empty() {
            Found::Nothing
        } else {
            Found::Edits { edits, rest }
        }
    }

    fn before(&self, at: usize) -> Option<char> {
        self.line[..at].chars().next_back()
    }

    fn after(&self, at: usize) -> Option<char> {
        self.line[at..].chars().next()
    }

    /// Adds an edit. `words`: it may change word boundaries.
    fn put(&mut self, start: usize, end: usize, replacement: &str, kind: Kind, words: bool) {
        self.moved_words |= words;
        if !replacement.is_ascii() {
            self.waits |= !replacement.chars().all(|c| properties(c).inert());
            self.uncomposed |= replacement.chars().any(composes);
            self.odd = true;
        }
        self.edits.push(start, end, replacement.as_bytes(), kind);
    }

    fn remove(&mut self, start: usize, end: usize, kind: Kind) {
        self.put(start, end, "", kind, true);
    }

    /// Replaces a character by its fixed replacement.
    fn map(&mut self, at: usize, c: char) {
        if let Some((to, kind)) = mapped(c) {
            let words = properties(c).word() || kind == Kind::Compatibility;
            self.put(at, at + c.len_utf8(), to, kind, words);
        }
    }

    /// Performs a character's action; returns where to continue, at the latest after the character.
    fn act(&mut self, at: usize, c: char, known: Properties) -> usize {
        let next = at + c.len_utf8();
        if self.edits.end() > at {
            self.waits = true;
            return self.edits.end();
        }
        match known.action() {
            Action::None => {}
            Action::Map => self.map(at, c),
            Action::Compose => return self.compose(at, true),
            Action::Mark => return self.compose(at, false),
            Action::Confusable => self.confusable(at, c, known),
            Action::Invisible => self.remove(at, next, Kind::Invisible),
            Action::Control => self.remove(at, next, Kind::Control),
            Action::Joiner if !self.joins(at, next, c) => self.remove(at, next, Kind::Invisible),
            Action::Variation if !self.selects(at, next) => self.remove(at, next, Kind::Invisible),
            Action::Joiner | Action::Variation => self.waits = true,
            Action::Tag => return self.tags(at),
            Action::Superscript | Action::Subscript => return self.script(at, known.action()),
            Action::Fraction => self.spaced(at, c, Kind::Fraction, Properties::digit),
            Action::Enclosed => {
                let (_, kind) = mapped(c).unwrap_or(("", Kind::Enclosed));
                self.spaced(at, c, kind, Properties::word);
            }
            Action::Wide if self.beside_han_or_kana(at, next) => self.waits = true,
            Action::Wide => self.map(at, c),
            Action::Slash if self.divides(at) => self.put(at, next, "/", Kind::Fraction, true),
            Action::Slash if self.is_apostrophe(at, c) => self.put(at, next, "'", Kind::Quote, true),
            Action::Slash => {
                self.waits = true;
                self.odd |= mojibake::is_odd(c, known);
            }
        }
        next
    }

    /// Handles an ASCII control character: white space becomes a space, others are removed, and so is a
    /// carriage return before a line feed.
    fn control(&mut self, at: usize) {
        let byte = self.line.as_bytes()[at];
        match byte {
            b'\n' | b'\t' => {}
            b'\r' if self.line[at + 1..].starts_with('\n') => self.remove(at, at + 1, Kind::Control),
            0x0B | 0x0C | b'\r' => self.put(at, at + 1, " ", Kind::Space, false),
            _ => self.remove(at, at + 1, Kind::Control),
        }
    }

    /// Brings the characters around `at` into NFC; returns their end. `unsure`: more than their order may
    /// have to change.
    fn compose(&mut self, at: usize, unsure: bool) -> usize {
        self.waits = true;
        self.uncomposed |= !self.edits.is_empty() && self.edits.end() == at;
        if !unsure && compose::in_order(self.line, at) {
            return at;
        }
        let (start, end) = compose::around(self.line, at);
        if start < self.edits.end() {
            self.uncomposed = true;
        } else if let Some((kept, text)) = compose::composed(&self.line[start..end]) {
            // An earlier character that has an edit of its own stays out of this one.
            self.put(start + kept, end, &text, Kind::Composition, true);
        }
        end
    }

    /// Maps the confusable letters of the word around `at`, or only this one if words do not matter.
    fn confusable(&mut self, at: usize, c: char, known: Properties) {
        if !self.contextual {
            if let Some(to) = latin(c) {
                self.map_letter(at, c, to);
            }
            return;
        }
        self.met_letters |= !known.latin();
        self.odd |= mojibake::is_odd(c, known);
        if known.latin() || self.foreign || at < self.word_end {
            return;
        }
        let in_word = |c: char| properties(c).word();
        let before = self.line[..at].char_indices().rev();
        let start = before
            .take_while(|(_, c)| in_word(*c))
            .last()
            .map_or(at, |(place, _)| place);
        let (end, others) = others_in_word(&self.line[start..]);
        self.word_end = start + end;
        self.foreign = others == Others::Foreign;
        if others != Others::Latin {
            return;
        }
        let line = self.line;
        for (place, c) in line[at..self.word_end].char_indices() {
            let known = properties(c);
            if known.action() == Action::Confusable
                && !known.latin()
                && let Some(to) = latin(c)
                && !stands_for_itself(line, at + place, c)
            {
                self.map_letter(at + place, c, to);
            }
        }
    }

    fn map_letter(&mut self, at: usize, c: char, to: char) {
        let mut buffer = [0; 4];
        let to = to.encode_utf8(&mut buffer).as_bytes();
        self.letters.push(at, at + c.len_utf8(), to, Kind::Confusable);
    }

    /// The nearest character before `at` that is not removed anyway.
    fn visible_before(&self, at: usize) -> Option<char> {
        let removed = |c: &char| properties(*c).action() == Action::Invisible;
        self.line[..at]
            .chars()
            .rev()
            .take(NEIGHBOUR_DISTANCE)
            .find(|c| !removed(c))
    }

    fn visible_after(&self, at: usize) -> Option<char> {
        let removed = |c: &char| properties(*c).action() == Action::Invisible;
        self.line[at..]
            .chars()
            .take(NEIGHBOUR_DISTANCE)
            .find(|c| !removed(c))
    }

    /// True if a joiner or non-joiner from `at` to `next` has a meaning there: between letters of a script
    /// that joins or stacks, for a joiner also at their edge; between two parts of an emoji.
    fn joins(&self, at: usize, next: usize, c: char) -> bool {
        let before = self.visible_before(at).map(properties);
        let after = self.visible_after(next).map(properties);
        let joining = |known: Option<Properties>| known.is_some_and(Properties::joining);
        if c != '\u{200D}' {
            return joining(before) && joining(after);
        }
        if joining(before) || joining(after) {
            return true;
        }
        let part =
            |known: Properties| known.emoji() || matches!(known.action(), Action::Variation | Action::Tag);
        before.is_some_and(part) && after.is_some_and(Properties::pictograph)
    }

    /// True if a variation selector from `at` to `next` belongs to an emoji or a keycap.
    fn selects(&self, at: usize, next: usize) -> bool {
        let Some(c) = self.before(at) else { return false };
        let keycap = matches!(c, '0'..='9' | '#' | '*') && self.after(next) == Some('\u{20E3}');
        let known = properties(c);
        keycap || known.emoji() && known.inert()
    }

    /// Leaves a run of tags that properly ends a flag's emoji sequence, and removes any other.
    fn tags(&mut self, at: usize) -> usize {
        let is_tag = |c: char| properties(c).action() == Action::Tag;
        let length = self.line[at..]
            .find(|c| !is_tag(c))
            .unwrap_or(self.line.len() - at);
        let run = &self.line[at..at + length];
        let based = self.before(at).is_some_and(|c| properties(c).emoji());
        let ended = run.ends_with('\u{E007F}') && run.matches('\u{E007F}').count() == 1;
        if !(based && ended && run.chars().count() > 1 && !run.contains('\u{E0001}')) {
            self.remove(at, at + length, Kind::Invisible);
        } else {
            self.waits = true;
        }
        at + length
    }

    /// True if there is a fraction slash at `at`, between the digits of a fraction.
    fn divides(&self, at: usize) -> bool {
        self.line[at..].strip_prefix(SLASH).is_some_and(|after| {
            self.before(at).is_some_and(fraction_digit) && after.chars().next().is_some_and(fraction_digit)
        })
    }

    /// True if there is a prime at `at`, between letters.
    fn is_apostrophe(&self, at: usize, c: char) -> bool {
        let letter = |c: Option<char>| c.is_some_and(|c| properties(c).letter());
        c == PRIME && letter(self.before(at)) && letter(self.after(at + PRIME.len_utf8()))
    }

    /// Text around the plain form of a run of superscripts or subscripts. Before a numerator: a space after a
    /// digit, the sign after another base, else nothing. After a denominator: a space before a digit.
    /// Otherwise the sign comes first.
    fn around_script(&self, at: usize, end: usize, sign: &'static str) -> (&'static str, &'static str, Kind) {
        let before = self.before(at);
        let whole = self.line[at..end].chars().all(fraction_digit);
        let denominator = whole && before == Some(SLASH) && self.divides(at - SLASH.len_utf8());
        if denominator {
            let digit = self.after(end).is_some_and(|c| properties(c).digit());
            return ("", if digit { " " } else { "" }, Kind::Fraction);
        }
        if !(whole && self.divides(end)) {
            return (sign, "", Kind::Script);
        }
        let led = match before {
            Some(c) if properties(c).digit() => " ",
            Some(c) if properties(c).word() || matches!(c, ')' | ']') => sign,
            _ => "",
        };
        (led, "", Kind::Fraction)
    }

    /// Writes a run of superscripts as `^…`, of subscripts as `_…`, and those of a fraction as numbers.
    fn script(&mut self, at: usize, action: Action) -> usize {
        let length = self.line[at..]
            .find(|c| properties(c).action() != action)
            .unwrap_or(self.line.len() - at);
        let sign = if action == Action::Superscript { "^" } else { "_" };
        let (led, followed, kind) = self.around_script(at, at + length, sign);
        let mut replacement = String::from(led);
        let forms = self.line[at..at + length].chars().filter_map(mapped);
        forms.for_each(|(form, _)| replacement.push_str(form));
        replacement.push_str(followed);
        self.put(at, at + length, &replacement, kind, true);
        at + length
    }

    /// Writes out a fraction or enclosed character, with a space next to a neighbour that it would run into
    /// by `clings`, or that is also written out.
    fn spaced(&mut self, at: usize, c: char, kind: Kind, clings: fn(Properties) -> bool) {
        let Some((form, _)) = mapped(c) else { return };
        let written = |known: Properties| {
            use Action::{Enclosed, Fraction, Subscript, Superscript};
            matches!(known.action(), Enclosed | Fraction | Superscript | Subscript)
        };
        let edge = |c: char, last: bool| {
            let form = mapped(c)
                .filter(|_| properties(c).action() == Action::Map)
                .map(|(form, _)| form);
            let edge = form.and_then(|form| {
                if last {
                    form.chars().next_back()
                } else {
                    form.chars().next()
                }
            });
            clings(properties(edge.unwrap_or(c)))
        };
        let before = self.visible_before(at);
        let after = self.visible_after(at + c.len_utf8());
        let mut replacement = String::new();
        if before.is_some_and(|c| edge(c, true) || written(properties(c))) {
            replacement.push(' ');
        }
        replacement.push_str(form);
        // A neighbour that is also written out adds the space itself.
        if after.is_some_and(|c| edge(c, false) && !written(properties(c))) {
            replacement.push(' ');
        }
        self.put(at, at + c.len_utf8(), &replacement, kind, true);
    }

    /// True if the nearest character on either side, apart from wide punctuation, is Han or kana.
    fn beside_han_or_kana(&self, at: usize, next: usize) -> bool {
        let counts = |c: Option<char>| c.is_some_and(|c| properties(c).han_or_kana());
        let passed = |c: &char| properties(*c).wide_neighbour();
        counts(self.line[..at].chars().rev().take(64).find(|c| !passed(c)))
            || counts(self.line[next..].chars().take(64).find(|c| !passed(c)))
    }
}

mod compose;
mod settle;
mod words;

use compose::composes;
pub use settle::line;
use words::{NEIGHBOUR_DISTANCE, Others, others_in_word, stands_for_itself};

#[cfg(test)]
mod tests;
