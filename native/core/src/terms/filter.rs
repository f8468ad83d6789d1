//! A hint by a token's first bytes whether it can be a term.

/// For each of a token's first three bytes: bits of the terms that can have this low, this high half-byte
/// there. The terms share eight bits, so that a set bit is a hint; a missing one is certain.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) low: [[u8; 16]; 3],
    pub(crate) high: [[u8; 16]; 3],
}

impl Filter {
    /// Lets every token through.
    pub(super) const ALL: Filter = Filter {
        low: [[u8::MAX; 16]; 3],
        high: [[u8::MAX; 16]; 3],
    };

    /// Lets the tokens through that [`Forms::keeps_beginnings`](crate::analyzer::Forms::keeps_beginnings)
    /// allows a form to have.
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
                Some(&byte) if place < 2 => {
                    admit(byte);
                    if place == 1 && form.len() == 3 && form.ends_with(b"ie") {
                        admit(b'y');
                    }
                }
                _ => (0..=255u8).for_each(admit),
            }
        }
    }

    pub(super) fn add(&mut self, folded: &[u8], term: usize) {
        // A term with other characters cannot stand in an ASCII text.
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
                // The byte after a term is no letter and no digit; bytes further on can be anything.
                None if place == folded.len() => {
                    (0..=255u8)
                        .filter(|byte| !byte.is_ascii_alphanumeric())
                        .for_each(admit);
                }
                None => (0..=255u8).for_each(admit),
            }
        }
    }
}
