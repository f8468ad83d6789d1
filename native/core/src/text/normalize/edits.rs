//! Edits of a text: non-overlapping replacements in order of place, and the merging of two rounds.

use super::properties::Kind;

/// One replacement. Places are byte offsets in the text it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// First byte replaced.
    pub start: usize,
    /// Byte after the last one replaced; never `start`.
    pub end: usize,
    /// Offset of the replacement in the list's text.
    text: usize,
    /// The replacement's length.
    length: usize,
    /// The kinds that made it, as bits.
    pub kinds: u32,
    /// For mojibake, the encoding's number plus one; else 0.
    pub encoding: u8,
}

impl Edit {
    /// The first of its kinds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::ALL[self.kinds.trailing_zeros() as usize % Kind::ALL.len()]
    }
}

/// Edits of one text, in order.
#[derive(Debug, Default, Clone)]
pub struct Edits {
    list: Vec<Edit>,
    text: Vec<u8>,
}

impl Edits {
    /// The edits.
    #[must_use]
    pub fn list(&self) -> &[Edit] {
        &self.list
    }

    /// Replacement text of one of these edits.
    #[must_use]
    pub fn replacement(&self, edit: &Edit) -> &[u8] {
        &self.text[edit.text..edit.text + edit.length]
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Total bytes of all replacements.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// End of the last edit; 0 if there are none.
    #[must_use]
    pub fn end(&self) -> usize {
        self.list.last().map_or(0, |edit| edit.end)
    }

    /// Removes all edits.
    pub fn clear(&mut self) {
        self.list.clear();
        self.text.clear();
    }

    /// Adds an edit after all others. If it touches the last one and is of the same kind, both are merged.
    pub fn push(&mut self, start: usize, end: usize, replacement: &[u8], kind: Kind) {
        self.push_as(start, end, replacement, kind.bit(), 0);
    }

    /// As [`Edits::push`], with a set of kinds and an encoding.
    pub fn push_as(&mut self, start: usize, end: usize, replacement: &[u8], kinds: u32, encoding: u8) {
        debug_assert!(start < end && self.end() <= start);
        let text = self.text.len();
        self.text.extend_from_slice(replacement);
        if let Some(last) = self.list.last_mut()
            && last.end == start
            && last.kinds == kinds
            && last.encoding == encoding
            && last.text + last.length == text
        {
            last.end = end;
            last.length += replacement.len();
            return;
        }
        self.list.push(Edit {
            start,
            end,
            text,
            length: replacement.len(),
            kinds,
            encoding,
        });
    }

    /// As [`Edits::push`], but never merged.
    pub fn push_apart(&mut self, start: usize, end: usize, replacement: &[u8], kind: Kind) {
        debug_assert!(start < end && self.end() <= start);
        let text = self.text.len();
        self.text.extend_from_slice(replacement);
        self.list.push(Edit {
            start,
            end,
            text,
            length: replacement.len(),
            kinds: kind.bit(),
            encoding: 0,
        });
    }

    /// Adds the edits of another list for the part of this text that begins at `offset`.
    pub fn append(&mut self, other: &Edits, offset: usize) {
        for edit in &other.list {
            let (start, end) = (edit.start + offset, edit.end + offset);
            self.push_as(start, end, other.replacement(edit), edit.kinds, edit.encoding);
        }
    }

    /// Appends `source` with the edits applied to `out`.
    pub fn apply(&self, source: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        for edit in &self.list {
            out.extend_from_slice(&source[at..edit.start]);
            out.extend_from_slice(self.replacement(edit));
            at = edit.end;
        }
        out.extend_from_slice(&source[at..]);
    }

    /// The edits equivalent to `self`, then `next`, which applies to `middle`, the text in between.
    #[must_use]
    pub fn then(&self, next: &Edits, source: &[u8], middle: &[u8]) -> Edits {
        let mut merged = Edits::default();
        let mut walk = Walk {
            first: Shifted::new(self),
            second: &next.list,
        };
        while let Some((group, end)) = walk.group() {
            let place = merged.text.len();
            let mut at = group.from;
            for edit in group.second {
                merged.text.extend_from_slice(&middle[at..edit.start]);
                merged.text.extend_from_slice(next.replacement(edit));
                at = edit.end;
            }
            merged.text.extend_from_slice(&middle[at..group.to]);
            if merged.text[place..] == source[group.start..end] {
                merged.text.truncate(place);
                continue;
            }
            merged.list.push(Edit {
                start: group.start,
                end,
                text: place,
                length: merged.text.len() - place,
                kinds: group.kinds,
                encoding: group.encoding,
            });
        }
        merged
    }
}

/// The edits of a first round, with their places in the edited text.
struct Shifted<'a> {
    rest: &'a [Edit],
    /// Offset from a place in the source, after the edits so far, to its place in the middle text.
    shift: isize,
}

impl<'a> Shifted<'a> {
    fn new(edits: &'a Edits) -> Self {
        Shifted {
            rest: &edits.list,
            shift: 0,
        }
    }

    /// The next edit's range in the middle text.
    fn peek(&self) -> Option<(usize, usize)> {
        let edit = self.rest.first()?;
        let start = edit.start.wrapping_add_signed(self.shift);
        Some((start, start + edit.length))
    }

    fn take(&mut self) -> Option<&'a Edit> {
        let (edit, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.shift += edit.length as isize - (edit.end - edit.start) as isize;
        Some(edit)
    }
}

/// Overlapping edits of both rounds, merged.
struct Group<'a> {
    /// Its range in the middle text.
    from: usize,
    to: usize,
    /// Its start in the source.
    start: usize,
    second: &'a [Edit],
    kinds: u32,
    encoding: u8,
}

impl Group<'_> {
    fn join(&mut self, edit: &Edit, to: usize) {
        self.to = self.to.max(to);
        self.kinds |= edit.kinds;
        if self.encoding == 0 {
            self.encoding = edit.encoding;
        }
    }
}

struct Walk<'a> {
    first: Shifted<'a>,
    second: &'a [Edit],
}

impl<'a> Walk<'a> {
    /// Range of the next group's first edit. If an edit of the first round leaves nothing, and one of the
    /// second begins at the same place, the former is a group of its own, empty in the middle text.
    fn start(&self) -> Option<(usize, usize)> {
        match (self.first.peek(), self.second.first()) {
            (None, None) => None,
            (Some((start, end)), None) => Some((start, end)),
            (None, Some(edit)) => Some((edit.start, edit.end)),
            (Some((start, end)), Some(edit)) if start <= edit.start => Some((start, end)),
            (_, Some(edit)) => Some((edit.start, edit.end)),
        }
    }

    /// The next group of overlapping edits, and the place after them in the source.
    fn group(&mut self) -> Option<(Group<'a>, usize)> {
        let (from, to) = self.start()?;
        let second = self.second;
        let start = from.wrapping_add_signed(-self.first.shift);
        let mut group = Group {
            from,
            to,
            start,
            second: &[],
            kinds: 0,
            encoding: 0,
        };
        let inside =
            |place: usize, group: &Group<'_>| place < group.to || (group.kinds == 0 && place == group.from);
        let mut taken = 0;
        loop {
            if let Some((place, end)) = self.first.peek()
                && inside(place, &group)
                && let Some(edit) = self.first.take()
            {
                group.join(edit, end);
            } else if let Some(edit) = self.second.get(taken)
                && edit.start < group.to
            {
                group.join(edit, edit.end);
                taken += 1;
            } else {
                break;
            }
        }
        group.second = &second[..taken];
        self.second = &second[taken..];
        let end = group.to.wrapping_add_signed(-self.first.shift);
        Some((group, end))
    }
}

/// A text after edits.
pub fn applied(text: &str, edits: &Edits) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    edits.apply(text.as_bytes(), &mut out);
    out
}

/// Edited bytes as text: edits replace whole characters by whole characters.
pub fn checked(bytes: &[u8]) -> &str {
    simdutf8::basic::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Edits of a text of `length` bytes from (gap, length, replacement) steps.
    fn edits(steps: &[(usize, usize, String)], length: usize) -> Edits {
        let mut edits = Edits::default();
        let mut at = 0;
        for (gap, span, replacement) in steps {
            let (start, end) = (at + gap, at + gap + span);
            if end > length {
                break;
            }
            edits.push(start, end, replacement.as_bytes(), Kind::Quote);
            at = end;
        }
        edits
    }

    fn applied(edits: &Edits, source: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        edits.apply(source, &mut out);
        out
    }

    prop_compose! {
        fn steps()(steps in prop::collection::vec((0usize..4, 1usize..4, "[a-c]{0,3}"), 0..8))
            -> Vec<(usize, usize, String)> { steps }
    }

    proptest! {
        #[test]
        fn two_rounds_are_one(source in "[a-c]{0,24}", first in steps(), second in steps()) {
            let first = edits(&first, source.len());
            let middle = applied(&first, source.as_bytes());
            let second = edits(&second, middle.len());
            let both = first.then(&second, source.as_bytes(), &middle);
            prop_assert_eq!(applied(&both, source.as_bytes()), applied(&second, &middle));
            let places: Vec<usize> = both.list().iter().flat_map(|edit| [edit.start, edit.end]).collect();
            prop_assert!(places.is_sorted());
            prop_assert!(both.list().iter().all(|edit| edit.start < edit.end));
        }
    }
}
