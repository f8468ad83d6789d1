//! Arrays and objects of JSON: the scanner passes each item or member to a function that reads it.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use super::refusal::Unfit;
use super::scanner::{Label, Scanner, Span};
use super::text::unescape;

/// The known members found in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Members {
    /// The bits of the names found.
    pub met: u32,
    /// The bits of those whose last value is unfit.
    pub unfit: u32,
}

impl Scanner<'_> {
    /// Reads an array, or with braces as `brackets` an object. Calls `item` at the start of each item to read
    /// it.
    ///
    /// # Errors
    /// Another value, or an error of `item`.
    #[inline]
    fn items(
        &mut self,
        brackets: [u8; 2],
        mut item: impl FnMut(&mut Self) -> Result<(), Unfit>,
    ) -> Result<(), Unfit> {
        self.expect(brackets[0])?;
        self.skip_space();
        if self.take(brackets[1]) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if !self.take(b',') {
                break;
            }
            self.skip_space();
        }
        Ok(self.expect(brackets[1])?)
    }

    /// Reads an array, each item by `item`.
    ///
    /// # Errors
    /// Another value, or an error of `item`.
    #[inline]
    pub fn array(&mut self, item: impl FnMut(&mut Self) -> Result<(), Unfit>) -> Result<(), Unfit> {
        self.items(*b"[]", item)
    }

    /// Reads an object with any names: `value` gets each member's name and reads its value.
    ///
    /// # Errors
    /// Another value, or an error of `value`.
    #[inline]
    pub fn dictionary(
        &mut self,
        mut value: impl FnMut(&mut Self, Span) -> Result<(), Unfit>,
    ) -> Result<(), Unfit> {
        self.items(*b"{}", |scanner| {
            let name = scanner.key()?;
            value(scanner, name)
        })
    }

    /// Reads an object with known `names`, in ASCII: `value` gets the index of a name and reads its value.
    /// Unknown members are skipped. The last of repeated members counts (as in ECMAScript's JSON.parse), so
    /// `value` must forget what it read for the same name before. A value that it finds unfit is skipped, and
    /// is an error only if no fitting one follows.
    ///
    /// `inside`: how many arrays and objects are open within it, itself included. Returns the bits of the
    /// names found.
    ///
    /// # Errors
    /// Another value, malformed JSON, or a member whose last value is unfit.
    #[inline]
    pub fn members<const COUNT: usize>(
        &mut self,
        names: &[&[u8]; COUNT],
        inside: usize,
        value: impl FnMut(&mut Self, usize) -> Result<(), Unfit>,
    ) -> Result<u32, Unfit> {
        let members = self.members_told((names, &[]), inside, value, |_, _| ())?;
        if members.unfit == 0 {
            Ok(members.met)
        } else {
            Err(Unfit)
        }
    }

    /// As [`Scanner::members`], but returns the unfit members, and passes the name of each unknown member to
    /// `unknown`. `labels`: those of `names`, if most objects have many of them in this order; else none. The
    /// label after the last member's is tried first, then that one again: less work than reading a name.
    ///
    /// # Errors
    /// Another value, or malformed JSON.
    #[inline]
    pub fn members_told<const COUNT: usize>(
        &mut self,
        (names, labels): (&[&[u8]; COUNT], &[Label]),
        inside: usize,
        mut value: impl FnMut(&mut Self, usize) -> Result<(), Unfit>,
        mut unknown: impl FnMut(&Self, Span),
    ) -> Result<Members, Unfit> {
        let (mut met, mut unfit, mut next) = (0, 0, 0usize);
        self.items(*b"{}", |scanner| {
            // The next name of the order, or the last one again.
            let labelled = [next, next.wrapping_sub(1)]
                .into_iter()
                .find(|&place| labels.get(place).is_some_and(|label| scanner.take_label(label)));
            let place = if let Some(place) = labelled {
                scanner.skip_space();
                place
            } else {
                let name = scanner.key()?;
                let Some(place) = scanner.place(name, names) else {
                    unknown(scanner, name);
                    return Ok(scanner.skip_value(inside)?);
                };
                place
            };
            next = place + 1;
            let (start, bit) = (scanner.at, 1 << place);
            met |= bit;
            unfit &= !bit;
            if value(scanner, place).is_err() {
                unfit |= bit;
                scanner.at = start;
                scanner.skip_value(inside)?;
            }
            Ok(())
        })?;
        Ok(Members { met, unfit })
    }

    /// Reads an object with any names whose values are strings; the ranges of both go to `pairs`, repeated
    /// names included. `inside` and repeated names as for [`Scanner::members`].
    ///
    /// # Errors
    /// Another value, malformed JSON, or a name whose last value is not a string.
    pub fn pairs(&mut self, inside: usize, pairs: &mut Vec<(Span, Span)>) -> Result<(), Unfit> {
        // Names whose value is not a string, and the number of pairs before each.
        let mut unfit = Vec::new();
        pairs.clear();
        self.dictionary(|scanner, name| {
            let start = scanner.at;
            match scanner.string() {
                Ok(value) => pairs.push((name, value)),
                Err(_) => {
                    scanner.at = start;
                    scanner.skip_value(inside)?;
                    unfit.push((name, pairs.len()));
                }
            }
            Ok(())
        })?;
        if unfit.is_empty() {
            return Ok(());
        }
        let plain = |name: Span| {
            let mut text = Vec::new();
            unescape(self.bytes(name), &mut text);
            text
        };
        let last: HashMap<Vec<u8>, usize> = (0..pairs.len()).map(|at| (plain(pairs[at].0), at)).collect();
        let follows = |&(name, before)| last.get(&plain(name)).is_some_and(|&at| at >= before);
        if unfit.iter().all(follows) {
            Ok(())
        } else {
            Err(Unfit)
        }
    }

    /// Reads an object with any names, each value by `value`. The last value of a repeated name counts.
    /// `inside` as for [`Scanner::members`].
    ///
    /// # Errors
    /// Another value, malformed JSON, or a name whose last value is unfit.
    pub(crate) fn values(
        &mut self,
        inside: usize,
        mut value: impl FnMut(&mut Self, Span) -> Result<(), Unfit>,
    ) -> Result<(), Unfit> {
        // Hashes of the names whose last value so far is unfit. For n such names, another name has one of
        // these hashes with a probability of n / 2^64.
        let mut unfit: HashSet<u64> = HashSet::new();
        let mut text = Vec::new();
        self.dictionary(|scanner, name| {
            let at = scanner.at;
            let fits = value(scanner, name).is_ok();
            if !fits {
                scanner.at = at;
                scanner.skip_value(inside)?;
            }
            if !fits || !unfit.is_empty() {
                text.clear();
                unescape(scanner.bytes(name), &mut text);
                let hash = unfit.hasher().hash_one(&text);
                if fits {
                    unfit.remove(&hash);
                } else {
                    unfit.insert(hash);
                }
            }
            Ok(())
        })?;
        if unfit.is_empty() { Ok(()) } else { Err(Unfit) }
    }
}
