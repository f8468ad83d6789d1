//! Checks a request's body against its shape without building values, so that the cost depends on its bytes
//! alone, whatever their content. Writes the members that the shape knows, or lists every fault up to a
//! bound.
//!
//! The contract's interpreter (`src/contract/schema/explain.ts`) is the oracle: both find the same faults in
//! the same order.

pub mod fault;
mod maps;
mod names;

use std::io::Write;

use super::refusal::Refusal;
use super::scanner::{self, Scanner, Span};
use super::shape::{Member, Shape, What};
use super::text::{character_length, characters, write_text};
use fault::MAX_FAULTS;
pub(crate) use names::write_name;
use names::{Extras, Stranger, index_of, meant, plain};

/// Longest JSON (bytes, as written in the body) that a fault repeats. At most 256 bytes are repeated to the
/// client, each of which may be written as an escape of 6.
const INPUT_BYTES: usize = 2048;

/// Most members of an object among which a misspelt one is searched for.
const HINT_MEMBERS: usize = 50;

/// Longest name that a hint repeats (bytes).
const HINT_NAME_BYTES: usize = 64;

/// Items of a list or of a map that a brief reading retains: more than a fault can repeat.
const BRIEF_ITEMS: usize = 130;

/// Characters of a string that a brief reading retains: more than a fault can repeat.
const BRIEF_CHARACTERS: usize = 300;

/// A step of a location: a name, or an index.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Name(Vec<u8>),
    Index(usize),
}

/// Result of reading a body.
#[derive(Debug, Default, PartialEq)]
pub struct Reading {
    /// The faults as a JSON array of `{type, loc, actual, input}`: `actual` is a list's length, `input` is
    /// present if it is short. Empty if there is no fault.
    pub faults: Vec<u8>,
    /// If there is no fault: the body with only the members that its shape knows, each with its last value.
    /// A brief reading cuts strings, lists and maps that are longer than a fault can repeat.
    pub value: Vec<u8>,
    /// In a brief reading: the lists of objects among the body's members.
    pub lists: Vec<ListFacts>,
}

/// Facts about a list of objects.
#[derive(Debug, PartialEq)]
pub struct ListFacts {
    /// Its name.
    pub name: String,
    /// Number of its items.
    pub length: usize,
    /// Facts about each member that the items may have.
    pub members: Vec<MemberFacts>,
}

/// Facts about a member of a list's objects. A member with the value null counts as absent.
#[derive(Debug, Default, PartialEq)]
pub struct MemberFacts {
    /// Its name.
    pub name: String,
    /// Number of items that have it.
    pub items: usize,
    /// Index of the first item without it.
    pub first_without: Option<usize>,
    /// For a number: the least one, and the index of the first item that has it.
    pub least: Option<(f64, usize)>,
}

impl MemberFacts {
    fn of(member: &Member) -> Self {
        MemberFacts {
            name: member.name.clone(),
            ..MemberFacts::default()
        }
    }
}

/// Reads a body. `closed`: a member that the shape does not declare is a fault.
///
/// # Errors
/// It is not JSON.
pub fn read(body: &[u8], shape: &Shape, closed: bool, brief: bool) -> Result<Reading, Refusal> {
    scanner::check(body)?;
    let mut scanner = Scanner::new(body)?;
    scanner.skip_space();
    let mut walk = Walk::new(body, scanner, closed, brief);
    walk.value(shape)?;
    let Walk {
        count,
        mut faults,
        value,
        lists,
        ..
    } = walk;
    if count == 0 {
        return Ok(Reading {
            value,
            lists,
            ..Reading::default()
        });
    }
    faults.push(b']');
    Ok(Reading {
        faults,
        ..Reading::default()
    })
}

/// Longest number (bytes) that a value has as it was written.
const LONG_NUMBER: usize = 32;

/// A walk through a body that is known to be valid JSON.
struct Walk<'a> {
    body: &'a [u8],
    scanner: Scanner<'a>,
    closed: bool,
    brief: bool,
    place: Vec<Step>,
    count: usize,
    faults: Vec<u8>,
    value: Vec<u8>,
    lists: Vec<ListFacts>,
    /// Positions and values of the long numbers in this item of a list, which take long to read.
    long: Vec<(usize, f64)>,
}

impl<'a> Walk<'a> {
    fn new(body: &'a [u8], scanner: Scanner<'a>, closed: bool, brief: bool) -> Self {
        Walk {
            body,
            scanner,
            closed,
            brief,
            place: Vec::new(),
            count: 0,
            faults: Vec::new(),
            value: Vec::new(),
            lists: Vec::new(),
            long: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.count >= MAX_FAULTS
    }

    /// Adds a fault of the value from `start` to `end`.
    fn report(&mut self, kind: &str, start: usize, end: usize, actual: usize) {
        self.faults.push(if self.count == 0 { b'[' } else { b',' });
        self.count += 1;
        // Writing to memory does not fail.
        let _ = write!(
            self.faults,
            "{{\"type\":\"{kind}\",\"actual\":{actual},\"loc\":[\"body\""
        );
        for step in &self.place {
            self.faults.push(b',');
            match step {
                Step::Name(name) => write_name(name, &mut self.faults),
                Step::Index(index) => {
                    let _ = write!(self.faults, "{index}");
                }
            }
        }
        self.faults.push(b']');
        if end - start <= INPUT_BYTES {
            self.faults.extend_from_slice(b",\"input\":");
            self.faults.extend_from_slice(&self.body[start..end]);
        }
        self.faults.push(b'}');
    }

    /// Writes to the value that is returned, which is not needed once there is a fault.
    fn keep(&mut self, bytes: &[u8]) {
        if self.count == 0 {
            self.value.extend_from_slice(bytes);
        }
    }

    fn keep_from(&mut self, start: usize) {
        if self.count == 0 {
            self.value
                .extend_from_slice(&self.body[start..self.scanner.position()]);
        }
    }

    /// Skips the next value, which is a fault.
    fn wrong(&mut self, kind: &str) -> Result<(), Refusal> {
        let start = self.scanner.position();
        self.scanner.skip_value(0)?;
        self.report(kind, start, self.scanner.position(), 0);
        Ok(())
    }

    /// Reads the next value.
    fn value(&mut self, shape: &Shape) -> Result<(), Refusal> {
        let next = self.scanner.peek();
        if next == Some(b'n') && shape.nullable {
            self.scanner.literal(b"null")?;
            self.keep(b"null");
            return Ok(());
        }
        match (&shape.what, next) {
            (What::Boolean, Some(b't' | b'f')) => {
                let start = self.scanner.position();
                self.scanner.skip_value(0)?;
                self.keep_from(start);
                Ok(())
            }
            (What::Text { min, max }, Some(b'"')) => self.text(*min, *max),
            (What::Number { whole, min, max }, Some(b'-' | b'0'..=b'9')) => self.number(*whole, *min, *max),
            (What::Word(words), Some(b'"')) => self.word(words),
            (What::List { items, min, max }, Some(b'[')) => self.list(items, *min, *max),
            (What::Map(values), Some(b'{')) => self.map(values),
            (What::Object(members), Some(b'{')) => self.object(members).map(|_| ()),
            (What::OneOf(shapes), _) => {
                let own = shapes.iter().find(|shape| shape.what.begins_with(next));
                match own.or(shapes.first()) {
                    Some(shape) => self.value(shape),
                    None => self.wrong(fault::OBJECT),
                }
            }
            (What::Boolean, _) => self.wrong(fault::BOOLEAN),
            (What::Text { .. }, _) => self.wrong(fault::TEXT),
            (What::Number { whole: true, .. }, _) => self.wrong(fault::WHOLE),
            (What::Number { .. }, _) => self.wrong(fault::NUMBER),
            (What::Word(_), _) => self.wrong(fault::WORD),
            (What::List { .. }, _) => self.wrong(fault::LIST),
            (What::Map(_), _) => self.wrong(fault::MAP),
            (What::Object(_), _) => self.wrong(fault::OBJECT),
        }
    }

    fn text(&mut self, min: f64, max: f64) -> Result<(), Refusal> {
        let start = self.scanner.position();
        let span = self.scanner.string()?;
        let bytes = self.scanner.bytes(span);
        // A character has at least one byte, and at most the bytes of an escaped pair.
        let bound = bytes.len() as f64;
        if bound > max || bound < 12.0 * min {
            let length = characters(bytes) as f64;
            if length > max || length < min {
                let kind = if length > max {
                    fault::LONG_TEXT
                } else {
                    fault::SHORT_TEXT
                };
                self.report(kind, start, self.scanner.position(), 0);
                return Ok(());
            }
        }
        self.keep_text(span);
        Ok(())
    }

    /// Writes a string; in a brief reading, its first characters.
    fn keep_text(&mut self, span: Span) {
        let bytes = self.scanner.bytes(span);
        self.keep(b"\"");
        let end = if self.brief {
            first_characters(bytes)
        } else {
            bytes.len()
        };
        self.keep(&bytes[..end]);
        self.keep(b"\"");
    }

    fn number(&mut self, whole: bool, min: f64, max: f64) -> Result<(), Refusal> {
        let start = self.scanner.position();
        let value = self.scanner.number()?;
        let end = self.scanner.position();
        if end - start > LONG_NUMBER {
            self.long.push((start, value));
        }
        if whole && value.fract() != 0.0 {
            self.report(fault::WHOLE, start, end, 0);
        } else if value < min {
            self.report(fault::LOW, start, end, 0);
        } else if value > max {
            self.report(fault::HIGH, start, end, 0);
        } else if end - start <= LONG_NUMBER {
            self.keep_from(start);
        } else {
            // The body may write it at any length; this is the shortest form that reads as the same number.
            self.keep(format!("{value:e}").as_bytes());
        }
        Ok(())
    }

    fn word(&mut self, words: &[String]) -> Result<(), Refusal> {
        let start = self.scanner.position();
        let span = self.scanner.string()?;
        let known: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        match self.scanner.place(span, &known) {
            Some(at) => {
                self.keep(b"\"");
                self.keep(known[at]);
                self.keep(b"\"");
            }
            None => self.report(fault::WORD, start, self.scanner.position(), 0),
        }
        Ok(())
    }

    /// Counts the items of the next array; the scanner is then after it.
    fn items(&mut self) -> Result<usize, Refusal> {
        let mut count = 0;
        self.scanner.expect(b'[')?;
        self.scanner.skip_space();
        if self.scanner.take(b']') {
            return Ok(0);
        }
        loop {
            self.scanner.skip_value(0)?;
            count += 1;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                self.scanner.expect(b']')?;
                return Ok(count);
            }
            self.scanner.skip_space();
        }
    }

    fn list(&mut self, items: &Shape, min: f64, max: f64) -> Result<(), Refusal> {
        let start = self.scanner.position();
        let count = self.items()?;
        let end = self.scanner.position();
        if count as f64 > max || (count as f64) < min {
            let kind = if count as f64 > max {
                fault::LONG_LIST
            } else {
                fault::SHORT_LIST
            };
            self.report(kind, start, end, count);
            return Ok(());
        }
        self.scanner.stand_at(start + 1);
        self.keep(b"[");
        let mut facts: Vec<MemberFacts> = match &items.what {
            What::Object(members) => members.iter().map(MemberFacts::of).collect(),
            _ => Vec::new(),
        };
        for index in 0..count {
            if self.is_full() {
                break;
            }
            self.scanner.skip_space();
            self.item(items, index, &mut facts)?;
            self.scanner.skip_space();
            self.scanner.take(b',');
        }
        self.scanner.stand_at(end);
        self.keep(b"]");
        if let (true, What::Object(_), [Step::Name(name)]) = (self.brief, &items.what, &self.place[..]) {
            self.lists.push(ListFacts {
                name: String::from_utf8_lossy(name).into_owned(),
                length: count,
                members: facts,
            });
        }
        Ok(())
    }

    /// Reads an item; for an object, adds to the facts about its members.
    fn item(&mut self, items: &Shape, index: usize, facts: &mut [MemberFacts]) -> Result<(), Refusal> {
        self.place.push(Step::Index(index));
        let kept = self.value.len();
        if index > 0 {
            self.keep(b",");
        }
        match (&items.what, self.scanner.peek()) {
            (What::Object(members), Some(b'{')) => {
                let places = self.object(members)?;
                if self.brief {
                    self.note(members, &places, index, facts)?;
                }
            }
            _ => self.value(items)?,
        }
        if self.brief && index >= BRIEF_ITEMS {
            self.value.truncate(kept);
        }
        self.place.pop();
        Ok(())
    }

    /// Adds to the facts about an item's members. `places`: positions of their values.
    fn note(
        &mut self,
        members: &[Member],
        places: &[Option<usize>],
        index: usize,
        facts: &mut [MemberFacts],
    ) -> Result<(), Refusal> {
        let end = self.scanner.position();
        for ((member, at), facts) in members.iter().zip(places).zip(facts) {
            let Some(at) = *at else {
                facts.first_without.get_or_insert(index);
                continue;
            };
            facts.items += 1;
            if let (What::Number { .. }, Some(b'-' | b'0'..=b'9')) = (&member.shape.what, self.body.get(at)) {
                let known = self.long.iter().find(|(place, _)| *place == at);
                let value = match known {
                    Some(&(_, value)) => value,
                    None => {
                        self.scanner.stand_at(at);
                        self.scanner.number()?
                    }
                };
                if facts.least.is_none_or(|(least, _)| value < least) {
                    facts.least = Some((value, index));
                }
            }
        }
        self.long.clear();
        self.scanner.stand_at(end);
        Ok(())
    }

    /// Reads an object of known members; returns the position of each member's value that is present and not
    /// null.
    fn object(&mut self, members: &[Member]) -> Result<Vec<Option<usize>>, Refusal> {
        let start = self.scanner.position();
        let (found, extras) = self.places(members)?;
        let end = self.scanner.position();
        let kept = self.value.len();
        let mut separator: &[u8] = b"{";
        let mut strangers: Option<Vec<Stranger>> = None;
        for (member, at) in members.iter().zip(&found) {
            if self.is_full() {
                break;
            }
            self.place.push(Step::Name(member.name.as_bytes().to_vec()));
            match *at {
                Some(at) => {
                    self.keep(separator);
                    separator = b",";
                    self.keep(b"\"");
                    self.keep(member.name.as_bytes());
                    self.keep(b"\":");
                    self.scanner.stand_at(at);
                    self.value(&member.shape)?;
                }
                None if member.required => {
                    if strangers.is_none() {
                        strangers = Some(self.strangers(start, members)?);
                    }
                    self.report(fault::MISSING, start, end, 0);
                    self.name_meant(strangers.as_deref().and_then(|known| meant(known, member)));
                }
                None => {}
            }
            self.place.pop();
        }
        self.keep(if separator == b"{" { b"{}" } else { b"}" });
        for (name, at) in extras.into_iter().flat_map(Extras::in_order) {
            if self.is_full() {
                break;
            }
            self.place.push(Step::Name(name));
            self.scanner.stand_at(at);
            self.wrong(fault::EXTRA)?;
            self.place.pop();
        }
        self.scanner.stand_at(end);
        let is_member = !self.place.is_empty() && self.place.iter().all(|step| matches!(step, Step::Name(_)));
        if is_member && self.count == 0 && end - start <= INPUT_BYTES {
            // Keeps the unknown members too: an error of a rule repeats the whole object. Not within lists,
            // which may have any number of items.
            self.value.truncate(kept);
            self.keep_from(start);
        }
        let has_value = |at: &usize| self.body.get(*at) != Some(&b'n');
        Ok(found.into_iter().map(|at| at.filter(has_value)).collect())
    }

    /// The unknown members of the object at `start`, each with the first byte of its (last) value. Empty if
    /// the object has too many members for a hint.
    fn strangers(&mut self, start: usize, members: &[Member]) -> Result<Vec<Stranger>, Refusal> {
        let back = self.scanner.position();
        let mut seen: Vec<Stranger> = Vec::new();
        let mut has_many = false;
        self.scanner.stand_at(start);
        self.members(|walk, name| {
            if has_many {
                return;
            }
            let first = walk.scanner.peek();
            let name = plain(walk.scanner.bytes(name));
            match seen.iter().position(|(other, _)| *other == name) {
                Some(at) => seen[at].1 = first,
                None if seen.len() == HINT_MEMBERS => has_many = true,
                None => seen.push((name, first)),
            }
        })?;
        self.scanner.stand_at(back);
        if has_many {
            return Ok(Vec::new());
        }
        seen.retain(|(name, _)| members.iter().all(|member| member.name.as_bytes() != *name));
        Ok(seen)
    }

    /// Adds to the last fault the member that was probably meant.
    fn name_meant(&mut self, meant: Option<&[u8]>) {
        let Some(name) = meant.filter(|name| name.len() <= HINT_NAME_BYTES) else {
            return;
        };
        self.faults.pop();
        self.faults.extend_from_slice(b",\"meant\":\"");
        write_text(name, &mut self.faults);
        self.faults.extend_from_slice(b"\"}");
    }

    /// Finds where the last value of each known member of the next object begins; the scanner is then after
    /// the object.
    fn places(&mut self, members: &[Member]) -> Result<(Vec<Option<usize>>, Option<Extras>), Refusal> {
        let mut found = vec![None; members.len()];
        let mut extras = self.closed.then(Extras::default);
        let names: Vec<&[u8]> = members.iter().map(|member| member.name.as_bytes()).collect();
        self.members(|walk, name| {
            let at = walk.scanner.position();
            match walk.scanner.place(name, &names) {
                Some(place) => found[place] = Some(at),
                None => {
                    if let Some(extras) = &mut extras {
                        extras.add(plain(walk.scanner.bytes(name)), at);
                    }
                }
            }
        })?;
        Ok((found, extras))
    }

    /// Calls `met` with each name of the next object, with the scanner at that name's value.
    fn members(&mut self, mut met: impl FnMut(&mut Self, Span)) -> Result<(), Refusal> {
        self.scanner.expect(b'{')?;
        self.scanner.skip_space();
        if self.scanner.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.scanner.key()?;
            met(self, name);
            self.scanner.skip_value(0)?;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                return self.scanner.expect(b'}');
            }
            self.scanner.skip_space();
        }
    }
}

/// Bytes of the first [`BRIEF_CHARACTERS`] characters of a checked string; escapes and pairs stay whole.
fn first_characters(text: &[u8]) -> usize {
    let mut at = 0;
    for _ in 0..BRIEF_CHARACTERS {
        if at == text.len() {
            break;
        }
        at += character_length(&text[at..]);
    }
    at
}
