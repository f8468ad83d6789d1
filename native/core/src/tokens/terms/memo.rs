//! Forms of tokens, cached from one request to the next.

use super::key::{Key, MIX};

/// Forms of the last tokens, of this request and of earlier ones: most words occur again, and stemming costs
/// many times a lookup. A token whose slot was taken by another one is stemmed again.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Empty until an analyzer needs them.
    pub(super) slots: Vec<Remembered>,
    /// Number of the request: terms of other requests do not count.
    pub(super) round: u32,
    /// The last tokens of this request, in little enough memory to stay in the CPU's cache.
    recent: Recents,
}

/// Tokens with their terms, by a cheap hash.
#[derive(Debug)]
struct Recents([Recent; 1 << RECENT_BITS]);

/// Bits of a slot's index among the recent tokens.
const RECENT_BITS: u32 = 8;

impl Default for Recents {
    fn default() -> Self {
        Recents([Recent::default(); 1 << RECENT_BITS])
    }
}

/// A token of at most 16 bytes, and its term in a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recent {
    first: u64,
    last: u64,
    /// The number of the request, from 1 on, and the token's length: 32 and 8 bits.
    tag: u64,
    pub(super) term: u32,
}

impl Recent {
    /// True if it is this token, in the request with this number.
    #[inline(always)]
    pub(super) fn is(&self, token: Key, round: u32) -> bool {
        let tag = u64::from(round) << 8 | token.length as u64;
        (self.first ^ token.first) | (self.last ^ token.last) | (self.tag ^ tag) == 0
    }

    /// Replaces the token and its term.
    pub(super) fn set(&mut self, token: Key, round: u32, term: u32) {
        *self = Recent {
            first: token.first,
            last: token.last,
            tag: u64::from(round) << 8 | token.length as u64,
            term,
        };
    }
}

/// A token and its form, each of at most 16 bytes, so that the two words of a key are all its bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Remembered {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The token's length, the [`Forms::number`] of the rules, and the request that last looked the form up
    /// among its terms: 8, 24 and 32 bits. 0: the slot is empty.
    pub(super) tag: u64,
    /// The term in that request.
    pub(super) term: u32,
    pub(super) form_length: u8,
    pub(super) form_first: u64,
    pub(super) form_last: u64,
}

impl Remembered {
    /// A token with its form, and no term yet.
    pub(super) fn new(token: Key, form: Key) -> Self {
        Remembered {
            first: token.first,
            last: token.last,
            form_first: form.first,
            form_last: form.last,
            form_length: form.length as u8,
            ..Remembered::default()
        }
    }

    #[inline]
    pub(super) fn tag(token: Key, forms: u16, round: u32) -> u64 {
        u64::from(round) << 32 | u64::from(forms) << 8 | token.length as u64
    }

    /// True if the slot has the token's form, and the form's term in this request.
    #[inline]
    pub(super) fn is_known(&self, token: Key, tag: u64) -> bool {
        (self.first ^ token.first) | (self.last ^ token.last) | (self.tag ^ tag) == 0
    }

    /// True if the slot has the token's form. `tag`: of any request.
    #[inline]
    pub(super) fn is(&self, token: Key, tag: u64) -> bool {
        (self.first, self.last, self.tag as u32) == (token.first, token.last, tag as u32)
    }

    #[inline]
    pub(super) fn form(&self) -> Key {
        Key {
            prefix: self.form_first,
            first: self.form_first,
            last: self.form_last,
            length: usize::from(self.form_length),
        }
    }
}

impl Memo {
    /// Tokens that are cached at a time: 512 KiB.
    const SIZE: usize = 1 << 13;

    /// Forgets which terms the forms are.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.clear();
            self.recent = Recents::default();
            self.round = 1;
        }
    }

    /// The slot of a token among the recent ones.
    #[inline(always)]
    pub(super) fn recent(&mut self, token: Key) -> &mut Recent {
        let mixed = (token.first ^ token.last.rotate_left(29)).wrapping_mul(MIX);
        &mut self.recent.0[(mixed >> (64 - RECENT_BITS)) as usize]
    }

    /// The slot of a token, by its hash.
    #[inline]
    pub(super) fn slot(&mut self, hash: u64) -> &mut Remembered {
        if self.slots.len() < Memo::SIZE {
            self.slots.resize(Memo::SIZE, Remembered::default());
        }
        &mut self.slots[hash as usize & (Memo::SIZE - 1)]
    }
}
