//! Edits of a text: non-overlapping replacements in order of place, and the merging of two rounds.

use std::iter::{Peekable, Take};

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

/// Edits of one text, in order. A text may have one for every other byte: each takes few bytes here, where an
/// [`Edit`] takes 40.
#[derive(Debug, Default, Clone)]
pub struct Edits {
    /// All edits but the last: their distance from the one before, their length, their replacement's length,
    /// and their kinds.
    written: Vec<u8>,
    /// End of the last of these.
    written_end: usize,
    /// The last edit, which the next one may extend.
    last: Option<Edit>,
    count: usize,
    /// All replacements, in order.
    text: Vec<u8>,
}

/// In place of a kind's number: an encoding added to this, and the set of kinds, follow.
const SET: u8 = 32;

impl Edits {
    /// The edits.
    #[must_use]
    pub fn list(&self) -> List<'_> {
        List {
            written: &self.written,
            last: self.last,
            end: 0,
            text: 0,
            left: self.count,
        }
    }

    /// Replacement text of one of these edits.
    #[must_use]
    pub fn replacement(&self, edit: &Edit) -> &[u8] {
        &self.text[edit.text..edit.text + edit.length]
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Total bytes of all replacements.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// End of the last edit; 0 if there are none.
    #[must_use]
    pub fn end(&self) -> usize {
        self.last.map_or(0, |edit| edit.end)
    }

    /// Adds an edit after all others. If it touches the last one and is of the same kind, both are merged.
    pub fn push(&mut self, start: usize, end: usize, replacement: &[u8], kind: Kind) {
        self.push_as(start, end, replacement, kind.bit(), 0);
    }

    /// As [`Edits::push`], with a set of kinds and an encoding.
    pub fn push_as(&mut self, start: usize, end: usize, replacement: &[u8], kinds: u32, encoding: u8) {
        if let Some(last) = &mut self.last
            && last.end == start
            && last.kinds == kinds
            && last.encoding == encoding
        {
            self.text.extend_from_slice(replacement);
            last.end = end;
            last.length += replacement.len();
            return;
        }
        self.add(start, end, replacement, (kinds, encoding));
    }

    /// As [`Edits::push`], but never merged.
    pub fn push_apart(&mut self, start: usize, end: usize, replacement: &[u8], kind: Kind) {
        self.add(start, end, replacement, (kind.bit(), 0));
    }

    fn add(&mut self, start: usize, end: usize, replacement: &[u8], (kinds, encoding): (u32, u8)) {
        debug_assert!(start < end && self.end() <= start);
        let text = self.text.len();
        self.text.extend_from_slice(replacement);
        self.keep(Edit {
            start,
            end,
            text,
            length: replacement.len(),
            kinds,
            encoding,
        });
    }

    /// Makes this edit, whose replacement is in place, the last one.
    fn keep(&mut self, edit: Edit) {
        if let Some(before) = self.last.replace(edit) {
            self.write(before);
        }
        self.count += 1;
    }

    fn write(&mut self, edit: Edit) {
        let Edit { start, end, .. } = edit;
        for number in [start - self.written_end, end - start, edit.length] {
            write_number(&mut self.written, number);
        }
        self.written_end = end;
        if edit.kinds.is_power_of_two() && edit.encoding == 0 {
            self.written.push(edit.kinds.trailing_zeros() as u8);
        } else {
            self.written.push(SET + edit.encoding);
            write_number(&mut self.written, edit.kinds as usize);
        }
    }

    /// Adds the edits of another list for the part of this text that begins at `offset`.
    pub fn append(&mut self, other: Edits, offset: usize) {
        if self.is_empty() && offset == 0 {
            *self = other;
            return;
        }
        for edit in other.list() {
            let (start, end) = (edit.start + offset, edit.end + offset);
            self.push_as(start, end, other.replacement(&edit), edit.kinds, edit.encoding);
        }
    }

    /// Appends `source` with the edits applied to `out`.
    pub fn apply(&self, source: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        for edit in self.list() {
            out.extend_from_slice(&source[at..edit.start]);
            out.extend_from_slice(self.replacement(&edit));
            at = edit.end;
        }
        out.extend_from_slice(&source[at..]);
    }

    /// These edits, made on `middle`, joined to the ones before them, which made `middle` of `source`.
    #[must_use]
    pub fn after(self, before: Option<&Edits>, source: &[u8], middle: &[u8]) -> Edits {
        match before {
            None => self,
            Some(before) => before.then(&self, source, middle),
        }
    }

    /// The edits equivalent to `self`, then `next`, which applies to `middle`, the text in between.
    #[must_use]
    pub fn then(&self, next: &Edits, source: &[u8], middle: &[u8]) -> Edits {
        let mut merged = Edits::default();
        let mut walk = Walk {
            first: Shifted::new(self),
            second: next.list().peekable(),
        };
        while let Some((group, end)) = walk.group() {
            let place = merged.text.len();
            let mut at = group.from;
            for edit in group.second {
                merged.text.extend_from_slice(&middle[at..edit.start]);
                merged.text.extend_from_slice(next.replacement(&edit));
                at = edit.end;
            }
            merged.text.extend_from_slice(&middle[at..group.to]);
            if merged.text[place..] == source[group.start..end] {
                merged.text.truncate(place);
                continue;
            }
            merged.keep(Edit {
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

/// Appends a number, seven bits a byte, the low ones first; the last byte is below 128.
fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number that [`write_number`] wrote.
fn read_number(from: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = from.split_first() {
        *from = rest;
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}

/// Edits in order, read where they are written.
#[derive(Debug, Clone)]
pub struct List<'a> {
    written: &'a [u8],
    last: Option<Edit>,
    /// End of the edit before.
    end: usize,
    /// End of its replacement in the list's text.
    text: usize,
    left: usize,
}

impl Iterator for List<'_> {
    type Item = Edit;

    fn next(&mut self) -> Option<Edit> {
        self.left = self.left.saturating_sub(1);
        if self.written.is_empty() {
            return self.last.take();
        }
        let start = self.end + read_number(&mut self.written);
        let end = start + read_number(&mut self.written);
        let (text, length) = (self.text, read_number(&mut self.written));
        let (&kind, rest) = self.written.split_first()?;
        self.written = rest;
        let (kinds, encoding) = match kind.checked_sub(SET) {
            None => (1 << kind, 0),
            Some(encoding) => (read_number(&mut self.written) as u32, encoding),
        };
        (self.end, self.text) = (end, text + length);
        Some(Edit {
            start,
            end,
            text,
            length,
            kinds,
            encoding,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for List<'_> {}

/// The edits of a first round, with their places in the edited text.
struct Shifted<'a> {
    rest: Peekable<List<'a>>,
    /// Offset from a place in the source, after the edits so far, to its place in the middle text.
    shift: isize,
}

impl<'a> Shifted<'a> {
    fn new(edits: &'a Edits) -> Self {
        Shifted {
            rest: edits.list().peekable(),
            shift: 0,
        }
    }

    /// The next edit's range in the middle text.
    fn peek(&mut self) -> Option<(usize, usize)> {
        let edit = self.rest.peek()?;
        let start = edit.start.wrapping_add_signed(self.shift);
        Some((start, start + edit.length))
    }

    fn take(&mut self) -> Option<Edit> {
        let edit = self.rest.next()?;
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
    second: Take<Peekable<List<'a>>>,
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
    second: Peekable<List<'a>>,
}

impl<'a> Walk<'a> {
    /// Range of the next group's first edit. If an edit of the first round leaves nothing, and one of the
    /// second begins at the same place, the former is a group of its own, empty in the middle text.
    fn start(&mut self) -> Option<(usize, usize)> {
        match (self.first.peek(), self.second.peek()) {
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
        let second = self.second.clone();
        let start = from.wrapping_add_signed(-self.first.shift);
        let mut group = Group {
            from,
            to,
            start,
            second: second.clone().take(0),
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
                group.join(&edit, end);
            } else if let Some(edit) = self.second.next_if(|edit| edit.start < group.to) {
                group.join(&edit, edit.end);
                taken += 1;
            } else {
                break;
            }
        }
        group.second = second.take(taken);
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

    #[test]
    fn an_edit_for_every_other_byte_takes_few_bytes() {
        let mut edits = Edits::default();
        (0..1000).for_each(|at| edits.push(2 * at + 1, 2 * at + 2, b"", Kind::Control));
        assert_eq!(edits.list().count(), 1000);
        assert!(edits.written.len() < 4 * 1000, "{}", edits.written.len());
    }

    proptest! {
        #[test]
        fn edits_are_read_as_they_were_added(
            steps in prop::collection::vec(
                (1usize..70_000, 1usize..70_000, ".{0,3}", 1u32..1 << 18, 0u8..90),
                0..9,
            ),
        ) {
            let (mut edits, mut at, mut text) = (Edits::default(), 0, 0);
            let mut added = Vec::new();
            for (gap, span, replacement, kinds, encoding) in &steps {
                let (start, end, length) = (at + gap, at + gap + span, replacement.len());
                edits.push_as(start, end, replacement.as_bytes(), *kinds, *encoding);
                added.push(Edit { start, end, text, length, kinds: *kinds, encoding: *encoding });
                (at, text) = (end, text + length);
                prop_assert_eq!(edits.end(), end);
            }
            prop_assert_eq!(edits.list().len(), added.len());
            for (edit, (_, _, replacement, ..)) in edits.list().zip(&steps) {
                prop_assert_eq!(edits.replacement(&edit), replacement.as_bytes());
            }
            prop_assert_eq!(edits.list().collect::<Vec<_>>(), added);
        }

        #[test]
        fn two_rounds_are_one(source in "[a-c]{0,24}", first in steps(), second in steps()) {
            let first = edits(&first, source.len());
            let middle = applied(&first, source.as_bytes());
            let second = edits(&second, middle.len());
            let both = first.then(&second, source.as_bytes(), &middle);
            prop_assert_eq!(applied(&both, source.as_bytes()), applied(&second, &middle));
            let places: Vec<usize> = both.list().flat_map(|edit| [edit.start, edit.end]).collect();
            prop_assert!(places.is_sorted());
            prop_assert!(both.list().all(|edit| edit.start < edit.end));
        }
    }
}
