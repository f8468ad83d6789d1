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

/// True if the absolute value of a JSON number is certainly below 10 to the `power`.
pub(super) fn is_below_power(text: &[u8], power: usize) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let exponent = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let exponent = exponent.map_or(&b"0"[..], |at| &text[at + 1..]);
    let digits = |digits: &[u8]| {
        let digit = |sum: usize, byte: &u8| sum.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
        digits.iter().fold(0_usize, digit)
    };
    match exponent {
        [b'-', below @ ..] => whole <= power.saturating_add(digits(below)),
        [b'+', above @ ..] | above => whole.saturating_add(digits(above)) <= power,
    }
}

#[cfg(test)]
mod tests {
    use super::is_below_power;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn a_number_below_a_power_is_finite(
            text in "-?(0|[1-9][0-9]{0,320})(\\.[0-9]{1,40})?([eE][-+]?0{0,3}[0-9]{1,4})?",
        ) {
            let value: f64 = text.parse().expect("a JSON number");
            if is_below_power(text.as_bytes(), 308) {
                prop_assert!(value.is_finite(), "{text}");
            }
            // It says so of all that are well below.
            if value.abs() < 1e200 && !text.contains(['.', 'e', 'E']) {
                prop_assert!(is_below_power(text.as_bytes(), 308), "{text}");
            }
        }
    }

    #[test]
    fn powers_by_hand() {
        for (text, is_below) in [
            ("0", true),
            ("-1.5e307", true),
            ("1e308", false),
            ("1e+99999999999999999999999", false),
            ("1e-99999999999999999999999", true),
            ("0.0000001e310", false),
            ("123E306", false),
        ] {
            assert_eq!(is_below_power(text.as_bytes(), 308), is_below, "{text}");
        }
        let digits = |count: usize| "9".repeat(count);
        assert!(is_below_power(digits(308).as_bytes(), 308));
        assert!(!is_below_power(digits(309).as_bytes(), 308));
        assert!(is_below_power(format!("{}e-9", digits(317)).as_bytes(), 308));
    }
}
