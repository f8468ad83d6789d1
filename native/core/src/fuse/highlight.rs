//! Fragments of results' texts around the query's terms, in code points of the text as sent.

use super::cut::{Any, Ascii, Text};
use super::pieces::Pieces;
use super::request::Options;
use super::request::results::Highlight;
use super::spans::with_text;
use super::window::{Value, Window};
use super::workspace::Workspace;
use super::writer::Writer;
use crate::cpu::simd::Path;
use crate::tokens::ascii::count_ws_ascii;
use crate::tokens::terms::{Located, Use};
use crate::tokens::tokenize::{self, Tokenizer};

/// A fragment, and the range of its matches among all.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    start: u32,
    end: u32,
    first: usize,
    after: usize,
}

/// Buffers that each text reuses.
#[derive(Debug)]
struct Room {
    chosen: Vec<Fragment>,
    window: Window,
}

impl Workspace {
    /// Writes the fragments of each result, until they are longer than an answer may be.
    pub(super) fn highlight(&mut self, body: &[u8], options: &Options, highlight: Highlight) {
        let mut pieces = std::mem::take(&mut self.highlights);
        let terms = self.frequencies(options).len();
        self.hits.met.begin_places();
        let mut room = Room {
            chosen: Vec::new(),
            window: Window::new(Path::best(), terms),
        };
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
            if pieces.len() > self.most_details {
                break;
            }
        }
        self.highlights = pieces;
    }

    /// Writes the fragments of an ASCII text.
    fn highlight_ascii(&mut self, text: &[u8], doc: usize, how: (Highlight, &mut Room), pieces: &mut Pieces) {
        if self.hits.met.kept(doc).is_none() {
            count_ws_ascii(text, 0, text.len(), &self.terms, &mut self.hits);
            // The counts are known already.
            self.hits.drain(|_, _| ());
        }
        let met = &self.hits.met;
        write(&Ascii(text), met.kept(doc).unwrap_or(met.located()), how, pieces);
    }

    /// Records where a text has terms of the query.
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
                hits.met.note(start, end, term);
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

    /// Writes the fragments of a text whose terms are recorded.
    fn highlight_any(&mut self, text: &str, how: (Highlight, &mut Room), pieces: &mut Pieces) {
        let text = Any(text.chars().map(tokenize::is_in_token).collect());
        write(&text, self.hits.met.located(), how, pieces);
    }
}

/// Most bytes of a fragment, and of the list, without matches.
const FRAGMENT_BYTES: usize = 80;
/// Most bytes of a match.
const MATCH_BYTES: usize = 32;

/// Writes the fragments of a text with its matches in order.
fn write(
    text: &impl Text,
    located: Located<'_>,
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
            write_spans(located, fragment, writer);
            writer.raw(b"},");
        }
        writer.end_list(!room.chosen.is_empty());
    });
}

/// Writes the spans of a fragment's matches, merged if they overlap, as bigrams of one run do.
fn write_spans(located: Located<'_>, fragment: &Fragment, writer: &mut Writer) {
    let mut matches = located.among(fragment.first, fragment.after);
    if let Some((mut start, mut end)) = matches.next() {
        for (next, after) in matches {
            if next >= end {
                writer.span(start, end);
                (start, end) = (next, after);
            }
            end = end.max(after);
        }
        writer.span(start, end);
    }
    writer.end_list(fragment.first < fragment.after);
}

/// Chooses the best fragments, in the order of the text: those with the most different terms, then the most
/// matches, then the first. Without a match, the beginning.
fn choose(text: &impl Text, located: Located<'_>, highlight: Highlight, room: &mut Room) {
    let most = highlight.characters as u32;
    let Room { chosen, window } = room;
    chosen.clear();
    for _ in 0..highlight.fragments {
        let Some((first, after)) = best_free(window, located, most, chosen) else {
            break;
        };
        let window = (located.start(first), located.end(after - 1));
        let lower = chosen.iter().filter(|one| one.first < first).map(|one| one.end);
        let upper = chosen.iter().filter(|one| one.first > first).map(|one| one.start);
        let bounds = (lower.max().unwrap_or(0), upper.min().unwrap_or(text.length()));
        let (start, end) = around(text, window, bounds, most);
        chosen.push(Fragment {
            start,
            end,
            first,
            after,
        });
    }
    if chosen.is_empty() && text.length() > 0 {
        let (start, end) = around(text, (0, 0), (0, text.length()), most);
        chosen.push(Fragment {
            start,
            end,
            first: 0,
            after: 0,
        });
    }
    chosen.sort_unstable_by_key(|fragment| fragment.start);
}

/// The range of matches that is best for one more fragment.
fn best_free(
    window: &mut Window,
    located: Located<'_>,
    most: u32,
    chosen: &[Fragment],
) -> Option<(usize, usize)> {
    let Located { first, after, .. } = located;
    if chosen.is_empty() {
        return window.best(located, (first, after), most).map(|(_, found)| found);
    }
    let is_free = |&at: &usize| {
        let (start, end) = (located.start(at), located.end(at));
        let apart = |fragment: &Fragment| end <= fragment.start || start >= fragment.end;
        chosen.iter().all(apart)
    };
    let mut best: Option<(Value, (usize, usize))> = None;
    let mut start = first;
    while start < after {
        // No chosen fragment lies between matches of one run.
        let run = (start..after).take_while(is_free).count();
        if let Some((value, found)) = window.best(located, (start, start + run), most)
            && best.is_none_or(|(known, _)| value > known)
        {
            best = Some((value, found));
        }
        start += run.max(1);
    }
    best.map(|(_, found)| found)
}

/// A fragment with `window` in its middle, within `bounds`; it cuts no token outside the window.
fn around(text: &impl Text, window: (u32, u32), bounds: (u32, u32), most: u32) -> (u32, u32) {
    let slack = most.saturating_sub(window.1 - window.0);
    let start = window.0.saturating_sub(slack / 2).max(bounds.0);
    let end = (start + most).min(bounds.1);
    let start = end.saturating_sub(most).max(bounds.0).min(start);
    let first = text.cut_after(start, window.0);
    let last = text.cut_before(end, window.1);
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
    use crate::tokens::terms::Met;
    use proptest::prelude::*;

    /// A match by its start, its end and its term.
    type Match = (u32, u32, u32);

    /// The best window, by trying all: the first one with the best value.
    fn naive(located: &[Match], most: u32, chosen: &[(u32, u32)]) -> Option<(usize, usize)> {
        let free = |&(start, end, _): &Match| chosen.iter().all(|own| end <= own.0 || start >= own.1);
        let mut best: Option<(Value, (usize, usize))> = None;
        for first in 0..located.len() {
            for after in first + 1..=located.len() {
                let window = &located[first..after];
                if window[window.len() - 1].1 - window[0].0 > most || !window.iter().all(free) {
                    break;
                }
                let mut terms: Vec<u32> = window.iter().map(|one| one.2).collect();
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
    fn matches(steps: &[(u32, u32, u32)], bigrams: bool) -> Vec<Match> {
        let mut at = 0;
        let each = steps.iter().map(|&(gap, length, term)| {
            let start = at + gap;
            let end = start + if bigrams { 2 } else { length };
            at = if bigrams { start + 1 } else { end + 1 };
            (start, end, term)
        });
        each.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn the_best_window_is_that_of_all_windows(
            texts in prop::collection::vec(
                prop::collection::vec((0..12_u32, 1..30_u32, 0..100_u32), 0..60), 1..4),
            terms in prop::sample::select(vec![1_u32, 5, 32, 40, 64, 65, 100]),
            far in 1..4_u32,
            bigrams in any::<bool>(),
            most in 20..160_u32,
            fragments in 1..4,
        ) {
            for path in Path::all() {
                let mut window = Window::new(path, terms as usize);
                let mut met = Met::default();
                met.begin_places();
                for steps in &texts {
                    // Some far from each other, and some so near that many are in one window.
                    let steps: Vec<_> = steps.iter()
                        .map(|&(gap, length, term)| (gap / far, (length / far).max(1), term % terms))
                        .collect();
                    let located = matches(&steps, bigrams);
                    met.begin(Use::Locate);
                    located.iter().for_each(|&(start, end, term)| met.note(start, end, term));
                    let (places, mut chosen, mut taken) = (met.located(), Vec::new(), Vec::new());
                    for _ in 0..fragments {
                        let found = best_free(&mut window, places, most, &chosen);
                        let own = found.map(|(first, after)| (first - places.first, after - places.first));
                        prop_assert_eq!(own, naive(&located, most, &taken));
                        let (Some((first, after)), Some((from, to))) = (found, own) else { break };
                        // Wider than its matches, as fragments are, but not over others.
                        let (start, end) = (located[from].0.saturating_sub(2), located[to - 1].1 + 2);
                        chosen.push(Fragment { start, end, first, after });
                        taken.push((start, end));
                    }
                }
            }
        }
    }
}
