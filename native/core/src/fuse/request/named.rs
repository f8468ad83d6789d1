//! Docs' numbers under names that callers choose: each name is stored once, each number with its doc.

use std::collections::HashMap;

use super::values::number;
use crate::json::{Label, Scanner, Span, Unfit, unescape};

/// Greatest absolute value of such a number, so that no sum overflows; the contract has the same bound.
pub(crate) const MOST_NUMBER: f64 = 1e300;

/// Most distinct names that are stored. A request with more is refused, as it may use sixteen: these are
/// enough for all errors that are listed.
const KEPT_NAMES: usize = 256;

/// A number of a doc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// The doc's index.
    pub doc: u32,
    /// The name's index.
    pub name: u32,
    /// Its value.
    pub value: f64,
}

/// A name as written in the body.
#[derive(Debug)]
struct Written {
    /// With quotes; empty if it is written with escapes.
    quoted: Vec<u8>,
    /// The same and the colon, which nearly always follows at once.
    label: Label,
}

/// The numbers of all docs, in the order of the docs.
#[derive(Debug, Default)]
pub struct Named {
    names: Vec<Vec<u8>>,
    /// The names as written in the body.
    written: Vec<Written>,
    places: HashMap<Vec<u8>, u32>,
    numbers: Vec<Number>,
    /// For each name, the index in `numbers` of its last number.
    last: Vec<usize>,
}

impl Named {
    /// Removes everything.
    pub(super) fn clear(&mut self) {
        *self = Named::default();
    }

    /// The names, in the order of their first occurrence.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// About the bytes of memory that they take: each name is there three times.
    pub(super) fn bytes(&self) -> usize {
        let name = |name: &Vec<u8>| 3 * (size_of::<Vec<u8>>() + name.len()) + size_of::<Label>();
        self.names.iter().map(name).sum::<usize>() + size_of_val(&*self.numbers)
    }

    /// The numbers, in the order of the docs.
    pub fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// Index of a name.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.places.get(name).copied()
    }

    /// Reads an object of numbers, which replaces earlier numbers of the doc.
    pub(super) fn read(&mut self, scanner: &mut Scanner, doc: usize) -> Result<(), Unfit> {
        let doc = doc as u32;
        while self.numbers.last().is_some_and(|number| number.doc == doc) {
            self.numbers.pop();
        }
        if self.read_alike(scanner, doc) {
            return Ok(());
        }
        let mut next = 0;
        scanner.values(4, |scanner, span| {
            let value = number(scanner, -MOST_NUMBER, MOST_NUMBER)?;
            let bytes = scanner.bytes(span);
            // Nearly always, docs have their names in the same order.
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

    /// Reads an object that has every known name once, in their order, as nearly every doc after the first
    /// has. For any other value it returns false, and the scanner does not move.
    fn read_alike(&mut self, scanner: &mut Scanner, doc: u32) -> bool {
        let (start, before) = (scanner.position(), self.numbers.len());
        let read = self.read_in_order(scanner, doc);
        if !read {
            scanner.stand_at(start);
            self.numbers.truncate(before);
        }
        read
    }

    /// True if such an object was read. If not, some numbers may have been added.
    fn read_in_order(&mut self, scanner: &mut Scanner, doc: u32) -> bool {
        if self.names.is_empty() || !scanner.take(b'{') {
            return false;
        }
        let Named {
            written,
            numbers,
            last,
            ..
        } = self;
        for (name, Written { quoted, label }) in written.iter().enumerate() {
            scanner.skip_space();
            if !scanner.take_label(label) {
                if quoted.is_empty() || !scanner.take_all(quoted) {
                    return false;
                }
                scanner.skip_space();
                if !scanner.take(b':') {
                    return false;
                }
            }
            scanner.skip_space();
            let Ok(value) = number(scanner, -MOST_NUMBER, MOST_NUMBER) else {
                return false;
            };
            scanner.skip_space();
            last[name] = numbers.len();
            let name = name as u32;
            numbers.push(Number { doc, name, value });
            let is_last = name as usize + 1 == last.len();
            if !scanner.take(if is_last { b'}' } else { b',' }) {
                return false;
            }
        }
        true
    }

    /// Index of a name as written in the body; `None` if too many are known.
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
        // A name with escapes is read by `values`.
        let (quoted, label) = if span.escaped {
            (Vec::new(), Label::of(b""))
        } else {
            ([b"\"", name, b"\""].concat(), Label::of_member(name))
        };
        self.written.push(Written { quoted, label });
        self.last.push(usize::MAX);
        Some(place as u32)
    }

    /// Adds a number; the last one of a repeated name counts.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Values = BTreeMap<String, f64>;

    /// The values of each doc after reading.
    fn read_all(docs: &[String]) -> Vec<Option<Values>> {
        let mut named = Named::default();
        let mut fits = Vec::new();
        for (doc, body) in docs.iter().enumerate() {
            let mut scanner = Scanner::of(body);
            fits.push(named.read(&mut scanner, doc).is_ok() && scanner.end().is_ok());
        }
        let values = |doc: usize| -> Values {
            let own = named.numbers().iter().filter(|number| number.doc as usize == doc);
            own.map(|number| {
                let name = named.names()[number.name as usize].clone();
                (String::from_utf8(name).expect("checked text"), number.value)
            })
            .collect()
        };
        (0..docs.len())
            .map(|doc| fits[doc].then(|| values(doc)))
            .collect()
    }

    /// Objects of numbers: most have the same names in one order, without escapes.
    fn object() -> impl Strategy<Value = String> {
        let numbers = prop::sample::select(vec!["1", "-0.5", "12.25", "1e3", "1e301", "\"1\"", "null"]);
        let name = prop::sample::select(vec!["a", "b", "\\u0061", "x\\\"y", "ab", "é"]);
        let any = prop::collection::vec((name, numbers), 0..4);
        let usual =
            (0..100_u32, 0..100_u32).prop_map(|(one, other)| format!("{{\"a\":{one},\"b\":{other}.5}}"));
        let written = any.prop_map(|members| {
            let members: Vec<_> = members
                .iter()
                .map(|(name, number)| format!("\"{name}\" : {number}"))
                .collect();
            format!("{{{}}}", members.join(" , "))
        });
        let others = prop::sample::select(vec![
            "{",
            "[]",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{:1}",
            "{:1,:2}",
            "{\"a\":1,\"b\":2;",
        ]);
        prop_oneof![4 => usual, 3 => written, 1 => others.prop_map(str::to_owned)]
    }

    #[test]
    fn a_request_knows_nothing_of_an_earlier_one() {
        let mut named = Named::default();
        for name in ["a", "b"] {
            let object = format!("{{\"{name}\":1}}");
            let mut scanner = Scanner::of(&object);
            named.read(&mut scanner, 0).expect("an object of numbers");
            assert_eq!(named.names(), [name.as_bytes()]);
            assert_eq!((named.find(name.as_bytes()), named.numbers().len()), (Some(0), 1));
            named.clear();
            assert!(named.names().is_empty() && named.numbers().is_empty());
            assert_eq!(named.find(name.as_bytes()), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]
        #[test]
        fn numbers_are_those_of_serde_json(docs in prop::collection::vec(object(), 1..6)) {
            let naive = docs.iter().map(|doc| {
                let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(doc).ok()?;
                let is_near = |value: &f64| value.abs() <= MOST_NUMBER;
                let number = |value: &serde_json::Value| value.as_f64().filter(is_near);
                members.iter().map(|(name, value)| Some((name.clone(), number(value)?))).collect()
            });
            prop_assert_eq!(read_all(&docs), naive.collect::<Vec<Option<Values>>>());
        }
    }
}
