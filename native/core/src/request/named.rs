//! Numbers that docs bring by names of the caller's: each name is kept once, each number with its doc.

use std::collections::HashMap;

use super::number;
use crate::json::{Scanner, Span, Unfit, unescape};

/// Most absolute value of such a number, so that no sum of them overflows; the contract says the same.
pub(crate) const MOST_NUMBER: f64 = 1e300;

/// Different names that are kept. A request knows far fewer: those beyond are unknown ones among thousands.
const KEPT_NAMES: usize = 4096;

/// A number of a doc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// The doc's place.
    pub doc: u32,
    /// The name's place.
    pub name: u32,
    /// Its value.
    pub value: f64,
}

/// The numbers of all docs, doc after doc.
#[derive(Debug, Default)]
pub struct Named {
    names: Vec<Vec<u8>>,
    places: HashMap<Vec<u8>, u32>,
    numbers: Vec<Number>,
    /// Of each name the place in `numbers` of its last number.
    last: Vec<usize>,
}

impl Named {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Named::default();
    }

    /// The names, in the order in which they were met.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The numbers, doc after doc.
    pub fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// Place of a name.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.places.get(name).copied()
    }

    /// Reads an object of numbers, in the place of what the doc had before.
    pub(super) fn read(&mut self, scanner: &mut Scanner, doc: usize) -> Result<(), Unfit> {
        let doc = doc as u32;
        while self.numbers.last().is_some_and(|number| number.doc == doc) {
            self.numbers.pop();
        }
        let mut next = 0;
        scanner.values(4, |scanner, span| {
            let value = number(scanner, -MOST_NUMBER, MOST_NUMBER)?;
            let bytes = scanner.bytes(span);
            // Docs list their names in one order, nearly always.
            let name = if !span.escaped && self.names.get(next).is_some_and(|name| name == bytes) {
                next as u32
            } else {
                match self.place(bytes, span) {
                    Some(name) => name,
                    None => return Ok(()),
                }
            };
            next = name as usize + 1;
            self.put(Number { doc, name, value });
            Ok(())
        })
    }

    /// Place of a name as it stands in the body; nothing where too many are known.
    fn place(&mut self, bytes: &[u8], span: Span) -> Option<u32> {
        let mut text = Vec::new();
        let name = if span.escaped {
            unescape(bytes, &mut text);
            &text[..]
        } else {
            bytes
        };
        if let Some(&place) = self.places.get(name) {
            return Some(place);
        }
        let place = self.names.len();
        if place == KEPT_NAMES {
            return None;
        }
        self.places.insert(name.to_vec(), place as u32);
        self.names.push(name.to_vec());
        self.last.push(usize::MAX);
        Some(place as u32)
    }

    /// Files a number; of a repeated name the last one counts.
    fn put(&mut self, number: Number) {
        let last = &mut self.last[number.name as usize];
        match self.numbers.get_mut(*last) {
            Some(known) if (known.doc, known.name) == (number.doc, number.name) => *known = number,
            _ => {
                *last = self.numbers.len();
                self.numbers.push(number);
            }
        }
    }
}
