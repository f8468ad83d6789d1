//! Maps in a body's check: objects with arbitrary names whose values have one form.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::fault::MAX_FAULTS;
use super::{BRIEF_ITEMS, Step, Walk, first_characters, index_of, plain};
use crate::json::shape::{Shape, What};
use crate::json::{self, Refusal, Span};

/// The last member with a name.
struct Last {
    /// Position of its name among those of the map, in JavaScript's order.
    order: u64,
    /// Position of its name's quote in the body.
    name: usize,
    /// True if its value does not fit.
    unfit: bool,
}

impl Walk<'_> {
    /// Reads an object with arbitrary names whose values have one form.
    pub(super) fn map(&mut self, values: &Shape) -> Result<(), Refusal> {
        let start = self.scanner.position();
        let mut all_fit = true;
        let mut kept = 0;
        let mut brief = Vec::new();
        let is_numbers = matches!(values.what, What::Number { .. });
        if matches!(values.what, What::Object(_)) {
            return self.object_map(start, values);
        }
        self.members(|walk, name| {
            all_fit &= walk.fits(values);
            // The empty name is retained, as a rule refers to it.
            if walk.brief && !is_numbers && (kept < BRIEF_ITEMS || name.start == name.end) {
                kept += 1;
                brief.push((name, walk.scanner.position()));
            }
        })?;
        let end = self.scanner.position();
        let had = self.count;
        if !all_fit {
            self.unfit_values(start, values)?;
        }
        self.scanner.stand_at(end);
        if self.count > had {
            return Ok(());
        }
        // The last value of a repeated name counts, for the reader of the value as well.
        if !self.brief {
            self.keep_from(start);
        } else if is_numbers {
            self.brief_numbers(start, values)?;
        } else {
            self.brief_map(brief)?;
        }
        self.scanner.stand_at(end);
        Ok(())
    }

    /// True if the next value is valid in the map; the scanner does not move.
    fn fits(&mut self, values: &Shape) -> bool {
        let next = self.scanner.peek();
        match values.what {
            What::Number { whole, min, max } if matches!(next, Some(b'-' | b'0'..=b'9')) => {
                let start = self.scanner.position();
                let value = self.scanner.number();
                self.scanner.stand_at(start);
                value.is_ok_and(|value| (!whole || value.fract() == 0.0) && value >= min && value <= max)
            }
            What::Number { .. } => false,
            _ => values.what.begins_with(next),
        }
    }

    fn brief_map(&mut self, mut pairs: Vec<(Span, usize)>) -> Result<(), Refusal> {
        // The last one of the empty names, of which there may be any number.
        let last_empty = pairs.iter().rposition(|(name, _)| name.start == name.end);
        let mut at = 0;
        pairs.retain(|(name, value)| {
            at += 1;
            let fits = self.body.get(*value) == Some(&b'"');
            fits && (name.start < name.end || last_empty == Some(at - 1))
        });
        self.keep(b"{");
        for (at, (name, value)) in pairs.into_iter().enumerate() {
            if at > 0 {
                self.keep(b",");
            }
            self.keep_text(name);
            self.keep(b":");
            self.scanner.stand_at(value);
            let value = self.scanner.string()?;
            self.keep_text(value);
        }
        self.keep(b"}");
        Ok(())
    }

    /// Writes the greatest numbers of a map: if a rule bounds them, these are the ones that break it.
    fn brief_numbers(&mut self, start: usize, values: &Shape) -> Result<(), Refusal> {
        let mut greatest: BinaryHeap<(Reverse<u64>, u64, usize)> = BinaryHeap::new();
        self.each_last(start, values, |walk, Last { order, name, .. }| {
            walk.scanner.stand_at(name);
            walk.scanner.key()?;
            let value = walk.scanner.number()? + 0.0;
            // Maps the order of floats to the order of integers.
            let bits = value.to_bits();
            let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            greatest.push((Reverse(ascending), order, name));
            if greatest.len() > BRIEF_ITEMS {
                greatest.pop();
            }
            Ok(())
        })?;
        let mut kept: Vec<_> = greatest.into_iter().collect();
        kept.sort_unstable_by_key(|&(value, order, _)| (order, value));
        // Names with the same beginning are equal once they are cut: the greatest value represents all.
        let mut written: Vec<(&[u8], Reverse<u64>, usize)> = Vec::new();
        for (value, _, place) in kept {
            self.scanner.stand_at(place);
            let name = self.scanner.string()?;
            let bytes = &self.body[name.start..name.end];
            let cut = &bytes[..first_characters(bytes)];
            match written.iter_mut().find(|(known, ..)| *known == cut) {
                Some(known) if known.1 <= value => {}
                Some(known) => *known = (cut, value, place),
                None => written.push((cut, value, place)),
            }
        }
        self.keep(b"{");
        for (at, (cut, _, place)) in written.into_iter().enumerate() {
            self.keep(if at == 0 { b"\"" } else { b",\"" });
            self.keep(cut);
            self.keep(b"\":");
            self.scanner.stand_at(place);
            self.scanner.key()?;
            self.value(values)?;
        }
        self.keep(b"}");
        Ok(())
    }

    /// Reports the unfit values of a map, only the last one of a repeated name, in JavaScript's order of
    /// names.
    fn unfit_values(&mut self, start: usize, values: &Shape) -> Result<(), Refusal> {
        // The first ones in the order of names.
        let mut first: BinaryHeap<(u64, usize)> = BinaryHeap::new();
        self.each_last(start, values, |_, Last { order, name, unfit }| {
            if unfit {
                first.push((order, name));
                if first.len() > MAX_FAULTS {
                    first.pop();
                }
            }
            Ok(())
        })?;
        for (_, name) in first.into_sorted_vec() {
            if self.is_full() {
                break;
            }
            self.enter(name)?;
            self.value(values)?;
            self.place.pop();
        }
        Ok(())
    }

    /// Reads the name whose quote is at `name` and enters it as a step; its value follows.
    fn enter(&mut self, name: usize) -> Result<Span, Refusal> {
        self.scanner.stand_at(name);
        let name = self.scanner.key()?;
        self.place.push(Step::Name(plain(self.scanner.bytes(name))));
        Ok(name)
    }

    /// Calls `met` with the last member of each name of the map at `start`, in no particular order.
    fn each_last(
        &mut self,
        start: usize,
        values: &Shape,
        mut met: impl FnMut(&mut Self, Last) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let seed = RandomState::new();
        // A hash of the name, the position of its quote, and true if its value does not fit: 8 bytes for a
        // member. The shortest one has 5 bytes in the body.
        let mut all: Vec<u64> = Vec::new();
        let mut text = Vec::new();
        self.scanner.stand_at(start);
        self.members(|walk, name| {
            let unfit = u64::from(!walk.fits(values));
            text.clear();
            json::unescape(walk.scanner.bytes(name), &mut text);
            let hash = seed.hash_one(&text) >> 32;
            all.push(hash << 32 | ((name.start - 1) as u64) << 1 | unfit);
        })?;
        all.sort_unstable();
        for same_hash in all.chunk_by(|left, right| left >> 32 == right >> 32) {
            self.each_last_of(same_hash, &mut met)?;
        }
        Ok(())
    }

    /// As [`Walk::each_last`], for members whose names have the same hash.
    fn each_last_of(
        &mut self,
        same_hash: &[u64],
        met: &mut impl FnMut(&mut Self, Last) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        // Nearly always one name; different names share a hash only by chance.
        let mut names: Vec<(Vec<u8>, (usize, usize, bool))> = Vec::new();
        let mut text = Vec::new();
        for entry in same_hash {
            let (at, unfit) = ((entry & 0xFFFF_FFFF) as usize >> 1, entry & 1 == 1);
            self.scanner.stand_at(at);
            let name = self.scanner.string()?;
            text.clear();
            json::unescape(self.scanner.bytes(name), &mut text);
            // Sorted by position: a later one has the later value.
            match names.iter_mut().find(|(known, _)| *known == text) {
                Some((_, (_, last, last_unfit))) => (*last, *last_unfit) = (at, unfit),
                None => names.push((text.clone(), (at, at, unfit))),
            }
        }
        for (name, (begin, last, unfit)) in names {
            let order = index_of(&name).map_or((1 << 32) + begin as u64, u64::from);
            let name = last;
            met(self, Last { order, name, unfit })?;
        }
        Ok(())
    }

    /// Reads the values of a map of objects, only the last one of a repeated name, in JavaScript's order of
    /// names, up to a number that exceeds what a request may have.
    fn object_map(&mut self, start: usize, values: &Shape) -> Result<(), Refusal> {
        let mut first: BinaryHeap<(u64, usize)> = BinaryHeap::new();
        self.each_last(start, values, |_, Last { order, name, .. }| {
            first.push((order, name));
            if first.len() > BRIEF_ITEMS {
                first.pop();
            }
            Ok(())
        })?;
        self.scanner.stand_at(start);
        self.scanner.skip_value(0)?;
        let end = self.scanner.position();
        let mut separator: &[u8] = b"{";
        for (_, name) in first.into_sorted_vec() {
            if self.is_full() {
                break;
            }
            let name = self.enter(name)?;
            self.keep(separator);
            separator = b",";
            self.keep_text(name);
            self.keep(b":");
            self.value(values)?;
            self.place.pop();
        }
        self.keep(if separator == b"{" { b"{}" } else { b"}" });
        self.scanner.stand_at(end);
        Ok(())
    }
}
