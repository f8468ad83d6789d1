//! Fragments of results' texts around the query's terms, in code points of the text as it came.

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
    counts: Vec<u32>,
}

/// A text as its fragments need it.
struct Text<'a> {
    /// Code points.
    length: u32,
    /// True where the code points before and at a place stand in one token.
    joined: &'a dyn Fn(u32) -> bool,
}

impl Workspace {
    /// Writes the fragments of each result.
    pub(super) fn highlight(&mut self, body: &[u8], options: &Options, highlight: Highlight) {
        let mut pieces = std::mem::take(&mut self.highlights);
        let mut room = Room::default();
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
        }
        let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let joined = |at: u32| at > 0 && letter(at as usize - 1) && letter(at as usize);
        let text = Text {
            length: text.len() as u32,
            joined: &joined,
        };
        let met = &self.hits.met;
        write(&text, met.kept(doc).unwrap_or(&met.located), how, pieces);
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
        let located = &mut hits.met.located;
        let mut note = |term: Option<u32>, start, end| {
            if let Some(term) = term {
                located.push(Located { start, end, term });
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
            joined: &joined,
        };
        write(&text, &self.hits.met.located, how, pieces);
    }
}

/// Writes the fragments of a text with its matches in order.
fn write(text: &Text, located: &[Located], (highlight, room): (Highlight, &mut Room), pieces: &mut Pieces) {
    choose(text, located, highlight, room);
    pieces.raw(b",\"highlights\":[");
    for (number, fragment) in room.chosen.iter().enumerate() {
        pieces.raw(if number == 0 { b"{" } else { b",{" });
        pieces.whole(b"\"start\":", fragment.start);
        pieces.whole(b",\"end\":", fragment.end);
        pieces.raw(b",\"matches\":[");
        write_spans(&located[fragment.first..fragment.after], pieces);
        pieces.raw(b"]}");
    }
    pieces.raw(b"]");
}

/// Writes the spans of matches; those that overlap, as bigrams of one run do, are one.
fn write_spans(located: &[Located], pieces: &mut Pieces) {
    let mut before: &[u8] = b"[";
    let mut matches = located.iter().peekable();
    while let Some(one) = matches.next() {
        let mut end = one.end;
        while let Some(other) = matches.next_if(|other| other.start < end) {
            end = end.max(other.end);
        }
        pieces.whole(before, one.start);
        pieces.whole(b",", end);
        pieces.raw(b"]");
        before = b",[";
    }
}

/// Chooses the best fragments, in the order of the text: those of the most different terms, then of the most
/// matches, then the first. Without a match, the beginning.
fn choose(text: &Text, located: &[Located], highlight: Highlight, room: &mut Room) {
    let most = highlight.characters as u32;
    let Room { chosen, counts } = room;
    chosen.clear();
    for _ in 0..highlight.fragments {
        let Some((first, after)) = best_window(located, most, chosen, counts) else {
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

/// The matches, from one up to another, that one more fragment can hold best.
fn best_window(
    located: &[Located],
    most: u32,
    chosen: &[Fragment],
    counts: &mut Vec<u32>,
) -> Option<(usize, usize)> {
    if chosen.is_empty() {
        return best_of(located, most, counts, |one| one.end - one.start <= most);
    }
    best_of(located, most, counts, |one| {
        let apart = |fragment: &Fragment| one.end <= fragment.start || one.start >= fragment.end;
        one.end - one.start <= most && chosen.iter().all(apart)
    })
}

/// The same among the matches that are free.
#[inline]
fn best_of(
    located: &[Located],
    most: u32,
    counts: &mut Vec<u32>,
    free: impl Fn(&Located) -> bool,
) -> Option<(usize, usize)> {
    let mut best: Option<((usize, usize), (usize, usize))> = None;
    let terms = located.iter().map(|one| one.term + 1).max().unwrap_or(0);
    counts.clear();
    counts.resize(terms as usize, 0);
    let (mut after, mut different) = (0, 0);
    for first in 0..located.len() {
        if after <= first {
            (after, different) = (first, 0);
            counts.fill(0);
        }
        if !free(&located[first]) {
            continue;
        }
        let end = located[first].start + most;
        while let Some(one) = located.get(after)
            && one.end <= end
            && free(one)
        {
            let count = &mut counts[one.term as usize];
            different += usize::from(*count == 0);
            *count += 1;
            after += 1;
        }
        let value = (different, after - first);
        if best.is_none_or(|(known, _)| value > known) {
            best = Some((value, (first, after)));
        }
        let count = &mut counts[located[first].term as usize];
        *count -= 1;
        different -= usize::from(*count == 0);
    }
    best.map(|(_, window)| window)
}

/// A fragment with a window of matches in its middle, within bounds; it cuts no token outside the window.
fn around(text: &Text, window: (u32, u32), bounds: (u32, u32), most: u32) -> (u32, u32) {
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
