//! Writes JSON into a buffer that is known to suffice.

/// The least numbers with more than three and with more than four digits.
const THREE_DIGITS: u32 = 1_000;
const FOUR_DIGITS: u32 = 10_000;

/// The ASCII digits of each number below 1000, the first one lowest, and their count in the highest byte.
static DIGITS: [u32; THREE_DIGITS as usize] = {
    let mut table = [0; THREE_DIGITS as usize];
    let mut value = 0;
    while value < THREE_DIGITS {
        let (text, length) = four_digits(value);
        table[value as usize] = text | (length as u32) << 24;
        value += 1;
    }
    table
};

/// The ASCII digits of a number below 10,000, the first one lowest, and their count.
#[inline(always)]
const fn four_digits(value: u32) -> (u32, usize) {
    // Divides by 100, then by 10; the leading zeros are shifted out.
    let hundreds = (value * 5243) >> 19;
    let pairs = hundreds | (value - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000F_000F;
    let digits = tens | (pairs - tens * 10) << 8;
    let zeros = (digits | 1 << 24).trailing_zeros() / 8;
    ((digits | 0x3030_3030) >> (8 * zeros), 4 - zeros as usize)
}

/// As [`four_digits`], mostly by the table.
#[inline(always)]
fn few_digits(value: u32) -> (u32, usize) {
    match DIGITS.get(value as usize) {
        Some(&digits) => (digits & 0x00FF_FFFF, (digits >> 24) as usize),
        None => four_digits(value),
    }
}

/// Writes into a buffer that is known to be large enough.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) at: usize,
}

impl Writer<'_> {
    #[inline]
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Writes `before` and a whole number. There must be room for ten digits, whatever the number.
    #[inline(always)]
    pub(super) fn whole(&mut self, before: &[u8], value: u32) {
        self.raw(before);
        if value >= FOUR_DIGITS {
            self.raw(value.to_string().as_bytes());
            return;
        }
        let (text, length) = few_digits(value);
        self.out[self.at..self.at + 4].copy_from_slice(&text.to_le_bytes());
        self.at += length;
    }

    /// Writes two whole numbers in brackets, and a comma. There must be room for 24 bytes, whatever they are.
    #[inline(always)]
    pub(super) fn span(&mut self, start: u32, end: u32) {
        if start.max(end) >= FOUR_DIGITS {
            self.whole(b"[", start);
            self.whole(b",", end);
            return self.raw(b"],");
        }
        let (first, length) = few_digits(start);
        let first = u64::from(first) << 8 | u64::from(b'[') | u64::from(b',') << (8 + 8 * length);
        let (second, other) = few_digits(end);
        let second = u64::from(second) | u64::from(u16::from_le_bytes(*b"],")) << (8 * other);
        // Each is written at once, with zeros after it, which the next bytes overwrite.
        let room = &mut self.out[self.at..self.at + 16];
        room[..8].copy_from_slice(&first.to_le_bytes());
        room[length + 2..length + 10].copy_from_slice(&second.to_le_bytes());
        self.at += length + other + 4;
    }

    /// Ends a JSON list whose items are each followed by a comma. `filled`: it has an item.
    #[inline]
    pub(super) fn end_list(&mut self, filled: bool) {
        self.at -= usize::from(filled);
        self.raw(b"]");
    }

    /// Writes `before` and a number as ECMAScript's Number::toString does.
    #[inline]
    pub(super) fn number(&mut self, before: &[u8], value: f64) {
        self.raw(before);
        self.raw(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_they_are_read() {
        let few = 0..=10_100_u32;
        for value in few.chain([99_999, 1_000_000, u32::MAX]) {
            let mut out = [0; 16];
            let mut writer = Writer { out: &mut out, at: 0 };
            writer.whole(b"[", value);
            let end = writer.at;
            assert_eq!(out[..end], *format!("[{value}").as_bytes());
        }
    }

    #[test]
    fn spans_are_written_as_they_are_read() {
        let values = [0, 7, 10, 99, 100, 123, 999, 1000, 9999, 10_000, 123_456, u32::MAX];
        for start in values {
            for end in values {
                let mut out = [0; 32];
                let mut writer = Writer { out: &mut out, at: 0 };
                writer.span(start, end);
                let length = writer.at;
                assert_eq!(out[..length], *format!("[{start},{end}],").as_bytes());
            }
        }
    }
}
