//! A quick check of a token: most cannot be a term of the query.

/// For each of a token's first three bytes: bits of the terms that may have this low and this high half-byte
/// there. The terms share eight bits, so a set bit is only a hint, and a missing one is certain.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) low: [[u8; 16]; 3],
    pub(crate) high: [[u8; 16]; 3],
}

impl Filter {
    /// Admits every token.
    pub(super) const ALL: Filter = Filter {
        low: [[u8::MAX; 16]; 3],
        high: [[u8::MAX; 16]; 3],
    };

    /// Admits every byte at this place, for a term by its bit.
    fn admit_any(&mut self, place: usize, bit: u8) {
        let halves = self.low[place].iter_mut().chain(&mut self.high[place]);
        halves.for_each(|half| *half |= bit);
    }

    /// Admits the tokens that may have a form, by the rule of `Forms::keeps_beginnings`.
    pub(super) fn add_beginning(&mut self, form: &[u8], term: usize) {
        let bit = 1 << (term % 8);
        for place in 0..3 {
            let mut admit = |byte: u8| {
                for byte in [byte, byte.to_ascii_uppercase()] {
                    self.low[place][usize::from(byte & 15)] |= bit;
                    self.high[place][usize::from(byte >> 4)] |= bit;
                }
            };
            match form.get(place) {
                Some(&byte) if place < 2 || form.len() > 3 => {
                    admit(byte);
                    if place == 1 && form.len() == 3 && form.ends_with(b"ie") {
                        admit(b'y');
                    }
                }
                _ => self.admit_any(place, bit),
            }
        }
    }

    pub(super) fn add(&mut self, folded: &[u8], term: usize) {
        // A term with other characters cannot occur in an ASCII text.
        if !folded.is_ascii() {
            return;
        }
        let bit = 1 << (term % 8);
        for place in 0..3 {
            let mut admit = |byte: u8| {
                self.low[place][usize::from(byte & 15)] |= bit;
                self.high[place][usize::from(byte >> 4)] |= bit;
            };
            match folded.get(place) {
                Some(&byte) => {
                    admit(byte);
                    admit(byte.to_ascii_uppercase());
                }
                // The byte after a term is not a letter or a digit, of which each half-byte is in some.
                None => self.admit_any(place, bit),
            }
        }
    }
}
