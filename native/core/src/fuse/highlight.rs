//! Fragments of results' texts around the query's terms, in code points of the text as it came.

use super::answer::Writer;
use super::explain::Pieces;
use super::{Workspace, with_text};
use crate::ascii::count_ws_ascii;
use crate::request::Options;
use crate::request::results::Highlight;
use crate::terms::{Located, Use};
use crate::tokenize::{self, Tokenizer};

/// A fragment, and the places of its matches among all.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    start: u32,
    end: u32,
    first: usize,
    after: usize,
}

/// Room for what one text needs after the other.
#[derive(Debug, Default)]
struct Room {
    chosen: Vec<Fragment>,
    window: Window,
}

/// The matches that the best window is looked for among, one after the other. Each has a number of its own,
/// from 1 on, so that nothing is cleared between texts.
#[derive(Debug, Default)]
struct Window {
    /// Number of the last match of each term.
    last: Vec<u64>,
    /// Number of matches in the windows before.
    before: u64,
}

/// The rank of a window: more different terms win, then more matches.
type Value = (usize, usize);

/// A text as its fragments need it.
struct Text<Joined> {
    /// Code points.
    length: u32,
    /// True where the code points before and at a place stand in one token.
    joined: Joined,
}

impl Workspace {
    /// Writes the fragments of each result.
    pub(super) fn highlight(&mut self, body: &[u8], options: &Options, highlight: Highlight) {
        let mut pieces = std::mem::take(&mut self.highlights);
        let mut room = Room::default();
        room.window.last.resize(self.frequencies(options).len(), 0);
        for rank in 0..self.shown {
            let doc = self.order[rank].1 as usize;
            let span = self.lists.docs[doc].text;
            let mut unescaped = std::mem::take(&mut self.unescaped);
            with_text(body, span, &mut unescaped, |text, range, ascii| {
                self.hits.met.begin(Use::Locate);
                if ascii && options.tokenizer == Tokenizer::Ws {
                    self.highlight_ascii(&text[range], doc, (highlight, &mut room), &mut pieces);
                } else {
                    // Spans lie between ASCII quotes of UTF-8.
                    let text = std::str::from_utf8(&text[range]).unwrap_or_default();
                    self.locate(text, options.tokenizer);
                    self.highlight_any(text, (highlight, &mut room), &mut pieces);
                }
                self.hits.met.begin(Use::Count);
            });
            self.unescaped = unescaped;
            pieces.end();
        }
        self.highlights = pieces;
    }

    /// Writes the fragments of a text of which each byte is a code point.
    fn highlight_ascii(&mut self, text: &[u8], doc: usize, how: (Highlight, &mut Room), pieces: &mut Pieces) {
        if self.hits.met.kept(doc).is_none() {
            count_ws_ascii(text, 0, text.len(), &self.terms, &mut self.hits);
            // The counts are known already.
            self.hits.drain(|_, _| ());
        }
        let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let joined = |at: u32| at > 0 && letter(at as usize - 1) && letter(at as usize);
        let text = Text {
            length: text.len() as u32,
            joined,
        };
        let met = &self.hits.met;
        write(&text, met.kept(doc).unwrap_or(met.located()), how, pieces);
    }

    /// Notes where a text has terms of the query.
    fn locate(&mut self, text: &str, tokenizer: Tokenizer) {
        let Workspace {
            terms,
            bigrams,
            hits,
            token,
            ..
        } = self;
        let mut note = |term: Option<u32>, start, end| {
            if let Some(term) = term {
                hits.met.note(Located { start, end, term });
            }
        };
        match tokenizer {
            Tokenizer::Ws => tokenize::ws_places(text, token, |token, start, end| {
                // Tokens are made of whole characters.
                let token = std::str::from_utf8(token).unwrap_or_default();
                note(terms.find_form(token), start, end);
            }),
            Tokenizer::Keyed(cut) => cut.places(text, |key, start, end| {
                note(bigrams.find_key(key), start, end);
            }),
        }
    }

    /// Writes the fragments of a text whose terms are noted.
    fn highlight_any(&mut self, text: &str, how: (Highlight, &mut Room), pieces: &mut Pieces) {
        let kinds: Vec<bool> = text.chars().map(tokenize::is_in_token).collect();
        let letter = |at: usize| kinds.get(at).is_some_and(|&letter| letter);
        let joined = |at: u32| at > 0 && letter(at as usize - 1) && letter(at as usize);
        let text = Text {
            length: kinds.len() as u32,
            joined,
        };
        write(&text, self.hits.met.located(), how, pieces);
    }
}

/// Most bytes of a fragment and of the list, their matches left out.
const FRAGMENT_BYTES: usize = 80;
/// Most bytes of a match.
const MATCH_BYTES: usize = 32;

/// Writes the fragments of a text with its matches in order.
fn write(
    text: &Text<impl Fn(u32) -> bool>,
    located: &[Located],
    (highlight, room): (Highlight, &mut Room),
    pieces: &mut Pieces,
) {
    choose(text, located, highlight, room);
    let matches: usize = room.chosen.iter().map(|one| one.after - one.first).sum();
    let most = FRAGMENT_BYTES * (room.chosen.len() + 1) + MATCH_BYTES * matches;
    pieces.write(most, |writer| {
        writer.raw(b",\"highlights\":[");
        for fragment in &room.chosen {
            writer.whole(b"{\"start\":", fragment.start);
            writer.whole(b",\"end\":", fragment.end);
            writer.raw(b",\"matches\":[");
            write_spans(&located[fragment.first..fragment.after], writer);
            writer.raw(b"},");
        }
        writer.end_list(!room.chosen.is_empty());
    });
}

/// Writes the spans of matches; those that overlap, as bigrams of one run do, are one.
fn write_spans(located: &[Located], writer: &mut Writer) {
    let mut matches = located.iter().peekable();
    while let Some(one) = matches.next() {
        let mut end = one.end;
        while let Some(other) = matches.next_if(|other| other.start < end) {
            end = end.max(other.end);
        }
        writer.whole(b"[", one.start);
        writer.whole(b",", end);
        writer.raw(b"],");
    }
    writer.end_list(!located.is_empty());
}

/// Chooses the best fragments, in the order of the text: those of the most different terms, then of the most
/// matches, then the first. Without a match, the beginning.
fn choose(text: &Text<impl Fn(u32) -> bool>, located: &[Located], highlight: Highlight, room: &mut Room) {
    let most = highlight.characters as u32;
    let Room { chosen, window } = room;
    chosen.clear();
    for _ in 0..highlight.fragments {
        let Some((first, after)) = window.best_free(located, most, chosen) else {
            break;
        };
        let window = (located[first].start, located[after - 1].end);
        let lower = chosen.iter().filter(|one| one.first < first).map(|one| one.end);
        let upper = chosen.iter().filter(|one| one.first > first).map(|one| one.start);
        let bounds = (lower.max().unwrap_or(0), upper.min().unwrap_or(text.length));
        let (start, end) = around(text, window, bounds, most);
        chosen.push(Fragment {
            start,
            end,
            first,
            after,
        });
    }
    if chosen.is_empty() && text.length > 0 {
        let (start, end) = around(text, (0, 0), (0, text.length), most);
        chosen.push(Fragment {
            start,
            end,
            first: 0,
            after: 0,
        });
    }
    chosen.sort_unstable_by_key(|fragment| fragment.start);
}

impl Window {
    /// The matches, from one up to another, that one more fragment can hold best.
    fn best_free(&mut self, located: &[Located], most: u32, chosen: &[Fragment]) -> Option<(usize, usize)> {
        if chosen.is_empty() {
            return self.best(located, most).map(|(_, window)| window);
        }
        let is_free = |one: &Located| {
            let apart = |fragment: &Fragment| one.end <= fragment.start || one.start >= fragment.end;
            chosen.iter().all(apart)
        };
        let mut best: Option<(Value, (usize, usize))> = None;
        let mut start = 0;
        while start < located.len() {
            // No fragment that is chosen stands between matches of one run.
            let run = located[start..].iter().take_while(|one| is_free(one)).count();
            if let Some((value, (first, after))) = self.best(&located[start..start + run], most)
                && best.is_none_or(|(known, _)| value > known)
            {
                best = Some((value, (start + first, start + after)));
            }
            start += run.max(1);
        }
        best.map(|(_, window)| window)
    }

    /// The same among matches that are free: of each match the widest window that ends with it. A longer
    /// match than a fragment is in none.
    fn best(&mut self, located: &[Located], most: u32) -> Option<(Value, (usize, usize))> {
        let Window { last, before } = self;
        let (mut best, mut window) = ((0, 0), (0, 0));
        let (mut first, mut different) = (0, 0);
        for (at, one) in located.iter().enumerate() {
            let number = |at: usize| *before + at as u64 + 1;
            let known = &mut last[one.term as usize];
            different += usize::from(*known < number(first));
            *known = number(at);
            let least = one.end.saturating_sub(most);
            while first <= at && located[first].start < least {
                different -= usize::from(last[located[first].term as usize] == number(first));
                first += 1;
            }
            let value = (different, at + 1 - first);
            if value > best {
                (best, window) = (value, (first, at + 1));
            }
        }
        *before += located.len() as u64;
        (best != (0, 0)).then_some((best, window))
    }
}

/// A fragment with a window of matches in its middle, within bounds; it cuts no token outside the window.
fn around(
    text: &Text<impl Fn(u32) -> bool>,
    window: (u32, u32),
    bounds: (u32, u32),
    most: u32,
) -> (u32, u32) {
    let slack = most.saturating_sub(window.1 - window.0);
    let start = window.0.saturating_sub(slack / 2).max(bounds.0);
    let end = (start + most).min(bounds.1);
    let start = end.saturating_sub(most).max(bounds.0).min(start);
    let mut first = start;
    while first < window.0 && (text.joined)(first) {
        first += 1;
    }
    let mut last = end;
    while last > window.1 && (text.joined)(last) {
        last -= 1;
    }
    // A text that is one long token is cut.
    if last <= first {
        (first, end)
    } else {
        (first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The best window by trying all: the first of those of the best value.
    fn naive(located: &[Located], most: u32, chosen: &[Fragment]) -> Option<(usize, usize)> {
        let free = |one: &Located| {
            chosen
                .iter()
                .all(|own| one.end <= own.start || one.start >= own.end)
        };
        let mut best: Option<(Value, (usize, usize))> = None;
        for first in 0..located.len() {
            for after in first + 1..=located.len() {
                let window = &located[first..after];
                if window[window.len() - 1].end - window[0].start > most || !window.iter().all(free) {
                    break;
                }
                let mut terms: Vec<u32> = window.iter().map(|one| one.term).collect();
                terms.sort_unstable();
                terms.dedup();
                let value = (terms.len(), window.len());
                if best.is_none_or(|(known, _)| value > known) {
                    best = Some((value, (first, after)));
                }
            }
        }
        best.map(|(_, window)| window)
    }

    /// Matches by their distances, lengths and terms: words apart, or bigrams that share a character.
    fn matches(steps: &[(u32, u32, u32)], bigrams: bool) -> Vec<Located> {
        let mut at = 0;
        let each = steps.iter().map(|&(gap, length, term)| {
            let start = at + gap;
            let end = start + if bigrams { 2 } else { length };
            at = if bigrams { start + 1 } else { end + 1 };
            Located { start, end, term }
        });
        each.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn the_best_window_is_that_of_all_windows(
            texts in prop::collection::vec(
                prop::collection::vec((0..12_u32, 1..30_u32, 0..5_u32), 0..30), 1..4),
            bigrams in any::<bool>(),
            most in 20..60_u32,
            fragments in 1..4,
        ) {
            let mut window = Window { last: vec![0; 5], before: 0 };
            for steps in texts {
                let located = matches(&steps, bigrams);
                let mut chosen = Vec::new();
                for _ in 0..fragments {
                    let found = window.best_free(&located, most, &chosen);
                    prop_assert_eq!(found, naive(&located, most, &chosen));
                    let Some((first, after)) = found else { break };
                    // Wider than its matches, as fragments are, but not over others.
                    let start = located[first].start.saturating_sub(2);
                    let end = located[after - 1].end + 2;
                    chosen.push(Fragment { start, end, first, after });
                }
            }
        }
    }
}
