//! Reads short JSON numbers by arithmetic on all of their bytes at once (Lemire, 2018): the number of digits
//! cannot be predicted, and a mispredicted branch costs more than all of this.

/// Bytes that [`short`] reads: a sign, and 16 others, the last of which come after the number.
pub(super) const BYTES: usize = 17;

use crate::cpu::scan::sixteen;

/// The number with these eight digits, one in each byte, the first in the lowest.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// The number at the beginning of `text`: its digits without the point, how many of them are a fraction, true
/// if it is negative, and its length in bytes. `None` unless it has at most 15 bytes after its sign, and no
/// exponent.
#[inline(always)]
pub(super) fn short(text: &[u8; BYTES]) -> Option<(u64, usize, bool, usize)> {
    let is_negative = text[0] == b'-';
    let first = usize::from(is_negative);
    let bytes = u128::from_le_bytes(*text[first..].first_chunk()?);
    let digits = bytes ^ sixteen(b'0');
    // The high bits of the bytes that are not digits.
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
    // The fraction moves over the point, and then all digits to the highest bytes.
    let before = (1 << (8 * whole)) - 1;
    let joined = digits & before | digits >> 8 & !before;
    let fraction = if has_point { end - whole - 1 } else { 0 };
    let aligned = joined << (8 * (16 - whole - fraction));
    let value = eight_digits(aligned as u64) * 100_000_000 + eight_digits((aligned >> 64) as u64);
    Some((value, fraction, is_negative, first + end))
}
