//! Names in a body's check: unknown ones, the ones that were probably meant, and their form in a fault's
//! location.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::fault::MAX_FAULTS;
use crate::json;
use crate::json::shape::{Member, Shape, What};

/// Most characters of a name in a fault's location.
const NAME_CHARACTERS: usize = 256;

/// The first unknown members of an object, in JavaScript's order: names that are array indexes by their
/// value, then the others in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Extras {
    indexes: BTreeMap<u32, usize>,
    names: HashMap<Vec<u8>, (usize, usize)>,
}

impl Extras {
    pub(super) fn add(&mut self, name: Vec<u8>, at: usize) {
        if let Some(index) = index_of(&name) {
            self.indexes.insert(index, at);
            if self.indexes.len() > MAX_FAULTS {
                self.indexes.pop_last();
            }
            return;
        }
        let order = self.names.len();
        match self.names.entry(name) {
            Entry::Occupied(mut entry) => entry.get_mut().1 = at,
            Entry::Vacant(entry) if order < MAX_FAULTS => {
                entry.insert((order, at));
            }
            Entry::Vacant(_) => {}
        }
    }

    pub(super) fn in_order(self) -> impl Iterator<Item = (Vec<u8>, usize)> {
        let mut names: Vec<_> = self.names.into_iter().collect();
        names.sort_unstable_by_key(|(_, (order, _))| *order);
        let indexes = self.indexes.into_iter();
        let indexes = indexes.map(|(index, at)| (index.to_string().into_bytes(), at));
        indexes.chain(names.into_iter().map(|(name, (_, at))| (name, at)))
    }
}

/// The index of a name that JavaScript takes for an array index (ECMAScript, array index).
pub(super) fn index_of(name: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(name).ok()?;
    let index: u32 = text.parse().ok()?;
    (index < u32::MAX && index.to_string() == text).then_some(index)
}

pub(super) fn plain(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    json::unescape(name, &mut text);
    text
}

/// An unknown member: its name, and the first byte of its value.
pub(super) type Stranger = (Vec<u8>, Option<u8>);

/// The member that was probably meant for a missing one: the only stranger with a similar name, else the only
/// stranger of its type.
pub(super) fn meant<'a>(strangers: &'a [Stranger], missing: &Member) -> Option<&'a [u8]> {
    let wanted = near_name(missing.name.as_bytes());
    let only = |fits: &dyn Fn(&Stranger) -> bool| {
        let mut found = strangers.iter().filter(|stranger| fits(stranger));
        (found.next(), found.next().is_some())
    };
    let found = match only(&|(name, _)| near_name(name) == wanted) {
        (None, _) => only(&|(_, first)| may_be(*first, &missing.shape)),
        named => named,
    };
    match found {
        (Some((name, _)), false) => Some(name),
        _ => None,
    }
}

/// A name in lower case, without `_`, `-` and the s of a plural.
fn near_name(name: &[u8]) -> Vec<u8> {
    let mut near: Vec<u8> = name
        .iter()
        .filter(|byte| !b"_-".contains(byte))
        .map(u8::to_ascii_lowercase)
        .collect();
    if near.last() == Some(&b's') {
        near.pop();
    }
    near
}

/// True if a value that begins with `first` is of the JSON type that a shape takes.
fn may_be(first: Option<u8>, shape: &Shape) -> bool {
    match &shape.what {
        What::Word(_) | What::OneOf(_) => first == Some(b'"'),
        What::Number { .. } => matches!(first, Some(b'-' | b'0'..=b'9')),
        what => what.begins_with(first),
    }
}

/// Writes a name as a JSON string, cut if it is long.
pub(crate) fn write_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let text = String::from_utf8_lossy(name);
    match text.char_indices().nth(NAME_CHARACTERS) {
        Some((cut, _)) => {
            json::write_text(&text.as_bytes()[..cut], out);
            out.extend_from_slice("…".as_bytes());
        }
        None => json::write_text(name, out),
    }
    out.push(b'"');
}
