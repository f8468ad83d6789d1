//! Members that are not declared: they are ignored, and named in the answer's warnings.

use std::cell::RefCell;

use crate::json::{Label, Scanner, Span, Unfit, unescape};

/// Most unknown members that are named.
const NAMED: usize = 10;
/// Most bytes of a name that is compared and shown.
const NAME_BYTES: usize = 64;

/// Objects with declared members, in the order in which their unknown members are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The body.
    Body,
    /// A doc.
    Docs,
    /// `weights`
    Weights,
    /// `analyzer`
    Analyzer,
    /// One of `legs`.
    Legs,
    /// One of `boosts`.
    Boosts,
    /// `collapse`
    Collapse,
    /// `diversify`
    Diversify,
    /// `highlight`
    Highlight,
}

impl Place {
    /// Its name in a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Place::Body => "the request",
            Place::Docs => "a doc",
            Place::Weights => "weights",
            Place::Analyzer => "analyzer",
            Place::Legs => "a leg",
            Place::Boosts => "a boost",
            Place::Collapse => "collapse",
            Place::Diversify => "diversify",
            Place::Highlight => "highlight",
        }
    }
}

/// An unknown member.
#[derive(Debug)]
pub struct Stranger {
    /// Its owner.
    pub place: Place,
    /// Its name; `…` for a long one.
    pub name: String,
    /// The declared members of its owner.
    known: &'static [&'static [u8]],
}

impl Stranger {
    /// The nearest declared name, if one is near.
    pub fn meant(&self) -> Option<&'static str> {
        nearest(self.name.as_bytes(), self.known)
    }
}

/// The unknown members of one object, or of all docs, in the order in which they occur.
#[derive(Debug)]
struct Owned {
    place: Place,
    /// The number of the leg, from 1; 0 outside legs.
    owner: usize,
    met: Vec<Stranger>,
}

/// The unknown members of a request.
#[derive(Debug, Default)]
pub struct Unknown {
    owners: Vec<Owned>,
    /// The number of the leg that is read, as in [`Owned`].
    owner: usize,
}

/// Shared by the functions that read nested objects.
pub(crate) type Notes = RefCell<Unknown>;

/// Reads an object as [`Scanner::members`] does, and records its unknown members.
#[inline]
pub(crate) fn known_members<const COUNT: usize>(
    scanner: &mut Scanner,
    (notes, place): (&Notes, Place),
    names: &'static [&'static [u8]; COUNT],
    inside: usize,
    value: impl FnMut(&mut Scanner, usize) -> Result<(), Unfit>,
) -> Result<u32, Unfit> {
    labelled_members(scanner, (notes, place), (names, &[]), inside, value)
}

/// As [`known_members`], with labels as for [`Scanner::members_told`].
#[inline]
pub(crate) fn labelled_members<const COUNT: usize>(
    scanner: &mut Scanner,
    (notes, place): (&Notes, Place),
    (names, labels): (&'static [&'static [u8]; COUNT], &[Label]),
    inside: usize,
    value: impl FnMut(&mut Scanner, usize) -> Result<(), Unfit>,
) -> Result<u32, Unfit> {
    let members = scanner.members_told((names, labels), inside, value, |scanner, span| {
        notes.borrow_mut().note(scanner, span, place, names);
    })?;
    if members.unfit == 0 {
        Ok(members.met)
    } else {
        Err(Unfit)
    }
}

impl Unknown {
    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Removes the members of an object whose value is read again.
    pub(crate) fn forget(&mut self, place: Place) {
        self.owners.retain(|owned| owned.place != place);
    }

    /// Moves to the leg `number`, whose earlier value no longer counts; 0: leaves the legs.
    pub(crate) fn go_to_leg(&mut self, number: usize) {
        self.owner = number;
        self.owners
            .retain(|owned| (owned.place, owned.owner) != (Place::Legs, number));
    }

    /// The members met of the object that is read.
    fn met(&mut self, place: Place) -> &mut Vec<Stranger> {
        let owner = self.owner;
        let found = self
            .owners
            .iter()
            .position(|owned| (owned.place, owned.owner) == (place, owner));
        let at = found.unwrap_or_else(|| {
            let met = Vec::new();
            self.owners.push(Owned { place, owner, met });
            self.owners.len() - 1
        });
        &mut self.owners[at].met
    }

    #[cold]
    fn note(&mut self, scanner: &Scanner, span: Span, place: Place, known: &'static [&'static [u8]]) {
        let met = self.met(place);
        if met.len() == NAMED {
            return;
        }
        let bytes = scanner.bytes(span);
        // An empty name has no memory, which takes a processor long to compare with AVX-512.
        let is_met = |Stranger { name, .. }: &Stranger| {
            name.len() == bytes.len() && (name.is_empty() || name.as_bytes() == bytes)
        };
        if !span.escaped && met.iter().any(is_met) {
            return;
        }
        // In the body a character has at most 12 bytes, as an escaped pair.
        let cut = bytes.get(..12 * NAME_BYTES).unwrap_or(bytes);
        let whole = cut.len() == bytes.len();
        let mut text = Vec::new();
        if whole {
            unescape(bytes, &mut text);
        }
        let name = if whole && text.len() <= NAME_BYTES {
            String::from_utf8_lossy(&text).into_owned()
        } else {
            "…".to_owned()
        };
        if met.iter().all(|stranger| stranger.name != name) {
            met.push(Stranger { place, name, known });
        }
    }

    /// The members that are named, each name once.
    pub(crate) fn named(&mut self) -> Vec<&Stranger> {
        self.owners.sort_by_key(|owned| (owned.place, owned.owner));
        let mut named: Vec<&Stranger> = Vec::new();
        for stranger in self.owners.iter().flat_map(|owned| &owned.met) {
            if named.len() < NAMED && named.iter().all(|other| other.name != stranger.name) {
                named.push(stranger);
            }
        }
        named
    }
}

/// A name in lower case, without `_` and `-`.
fn plain(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let kept = name.iter().filter(|byte| !b"_-".contains(byte));
    plain.extend(kept.map(u8::to_ascii_lowercase));
    plain
}

/// The declared name with the fewest edits, the first of equal ones; `None` if these are half of the longer
/// name or more.
fn nearest(name: &[u8], known: &[&'static [u8]]) -> Option<&'static str> {
    let name = plain(name);
    let near = |known: &&'static [u8]| {
        let other = plain(known);
        let is_near = |changes: usize| 2 * changes < name.len().max(other.len());
        // Most names have little in common, which this shows in less time.
        if !is_near(least_changes(&name, &other)) {
            return None;
        }
        let changes = changes(&name, &other);
        is_near(changes).then_some((changes, *known))
    };
    let found = known.iter().filter_map(near).min_by_key(|&(changes, _)| changes);
    found.and_then(|(_, known)| std::str::from_utf8(known).ok())
}

/// A lower bound of [`changes`]: the lengths' difference, or the number of bytes that only one name has.
fn least_changes(one: &[u8], other: &[u8]) -> usize {
    // The bit of a byte, shared by bytes with the same low five bits.
    let bit = |byte: &u8| 1u32 << (byte & 31);
    let missing = |of: &[u8], bits: u32| of.iter().filter(|byte| bits & bit(byte) == 0).count();
    let bits = |of: &[u8]| of.iter().map(bit).fold(0, std::ops::BitOr::bitor);
    let lengths = one.len().abs_diff(other.len());
    lengths
        .max(missing(one, bits(other)))
        .max(missing(other, bits(one)))
}

/// Levenshtein distance: bytes to insert, delete or replace.
fn changes(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to, right) in other.iter().enumerate() {
            let changed = before + usize::from(left != right);
            before = row[to + 1];
            row[to + 1] = changed.min(before + 1).min(row[to] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_changes_is_never_too_high() {
        let mut words = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..4 {
            let longest = from..words.len();
            from = words.len();
            for at in longest {
                // `A` shares its low five bits with `a`.
                words.extend(b"abA".map(|byte| [words[at].as_slice(), &[byte]].concat()));
            }
        }
        for one in &words {
            for other in &words {
                let (least, all) = (least_changes(one, other), changes(one, other));
                assert!(least <= all, "{one:?} {other:?}");
            }
        }
        assert_eq!(least_changes(b"abcd", b"cdx"), 2);
        assert_eq!(least_changes(b"ab", b"abcde"), 3);
    }
}
