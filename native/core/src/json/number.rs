//! Short numbers of JSON, by arithmetic on all of their bytes at once (Lemire, 2018): how many digits they
//! have cannot be predicted, and a mispredicted branch costs more than all of it.

/// Bytes that [`short`] looks at: a sign, and 16 others, of which the last ones come after the number.
pub(super) const BYTES: usize = 17;

use crate::cpu::scan::sixteen;

/// The number that eight digits are, the first one lowest, each the value of its byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// A number that begins a text: its digits without the point, how many of them are a fraction, its sign, and
/// its length in bytes. Only one of at most 15 bytes after its sign, without an exponent; none for any other
/// text.
#[inline(always)]
pub(super) fn short(text: &[u8; BYTES]) -> Option<(u64, usize, bool, usize)> {
    let is_negative = text[0] == b'-';
    let first = usize::from(is_negative);
    let bytes = u128::from_le_bytes(*text[first..].first_chunk()?);
    let digits = bytes ^ sixteen(b'0');
    // The high bits of the bytes that are no digits.
    let others = (((digits & sixteen(0x7F)) + sixteen(0x7F - 9)) | digits) & sixteen(0x80);
    let whole = others.trailing_zeros() as usize / 8;
    let after = (others & others.wrapping_sub(1)).trailing_zeros() as usize / 8;
    let has_point = text[(first + whole).min(BYTES - 1)] == b'.';
    let end = if has_point { after } else { whole };
    let next = text[(first + end).min(BYTES - 1)];
    let is_json = (whole == 1 || whole > 1 && digits as u8 != 0) && (!has_point || after > whole + 1);
    if end > 15 || !is_json || matches!(next, b'.' | b'e' | b'E') {
        return None;
    }
    // The digits after the point move to its place, and then all to the end.
    let before = (1 << (8 * whole)) - 1;
    let joined = digits & before | digits >> 8 & !before;
    let fraction = if has_point { end - whole - 1 } else { 0 };
    let aligned = joined << (8 * (16 - whole - fraction));
    let value = eight_digits(aligned as u64) * 100_000_000 + eight_digits((aligned >> 64) as u64);
    Some((value, fraction, is_negative, first + end))
}
