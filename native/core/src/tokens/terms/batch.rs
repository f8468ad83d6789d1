//! Tokens of a text that are collected before they are looked up.

/// Tokens collected before they are looked up.
pub(crate) const BATCH: usize = 256;
/// Most places that a block adds, plus those written beyond them.
const SPARE: usize = 32 + 16;

/// Length of each list of a batch: a power of two, so that masked indexes need no check.
pub(crate) const ROOM: usize = (BATCH + SPARE).next_power_of_two();

/// Places in a text.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) list: [u32; ROOM],
    pub(crate) count: usize,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            list: [0; ROOM],
            count: 0,
        }
    }
}

impl Places {
    /// Adds the places of the set bits of `bits`, counted from `base`. Writes eight at a time even if fewer
    /// are set, so that few branches depend on the number of bits.
    #[inline(always)]
    pub(crate) fn add(&mut self, base: usize, mut bits: u64) {
        let count = bits.count_ones() as usize;
        let mut written = 0;
        while let Some(eight) = self.list[self.count + written..].first_chunk_mut::<8>() {
            for place in eight {
                *place = base as u32 + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            written += 8;
            if written >= count {
                break;
            }
        }
        self.count += count;
    }
}

/// Tokens of one text, in order, before they are looked up. Reused from text to text, since clearing it would
/// take longer than filling it.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) starts: Places,
    /// The ends of the tokens, by token number.
    pub(crate) ends: Places,
    /// Tokens to look up again, by number or by index in `found`.
    pub(crate) longer: Places,
    /// The tokens that were found among the terms.
    pub(crate) found: Found,
}

/// Tokens that were found, in order: where they begin and end, and which terms they are, as
/// `ShortTerms::find_or` writes them.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) starts: [u32; ROOM],
    pub(crate) ends: [u32; ROOM],
    pub(crate) terms: [u32; ROOM],
}

impl Default for Found {
    fn default() -> Self {
        Found {
            starts: [0; ROOM],
            ends: [0; ROOM],
            terms: [0; ROOM],
        }
    }
}

impl Batch {
    /// Start and end of a token.
    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> (usize, usize) {
        let number = number % ROOM;
        (self.starts.list[number] as usize, self.ends.list[number] as usize)
    }

    /// Forgets the tokens with known ends.
    #[inline]
    pub(crate) fn keep_last(&mut self) {
        let Batch { starts, ends, .. } = self;
        starts.list[0] = starts.list[ends.count];
        starts.count -= ends.count;
        ends.count = 0;
    }
}
