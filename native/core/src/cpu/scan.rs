//! Finds the end of a plain stretch of a JSON string (RFC 8259 section 7), 64 bytes at a time if the CPU can.

#[cfg(target_arch = "x86_64")]
use super::simd::Level;
use super::simd::Path;

/// The same byte sixteen times, for arithmetic on sixteen bytes at once.
pub(crate) const fn sixteen(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// The first offset from `at` on that ends a string's plain stretch (a quote, a backslash, a control
/// character, or the end of `bytes`), and true if all bytes from `at` to it are ASCII.
#[inline]
pub fn string_stop(bytes: &[u8], at: usize) -> (usize, bool) {
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = sse2::near_stop(bytes, at) {
        return found;
    }
    string_stop_by(Path::best(), bytes, at)
}

/// [`string_stop`] on a given path.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
#[inline]
fn string_stop_by(path: Path, bytes: &[u8], at: usize) -> (usize, bool) {
    #[cfg(target_arch = "x86_64")]
    if path.level() >= Level::Avx2 {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        return unsafe { avx2::string_stop(bytes, at) };
    }
    portable_string_stop(bytes, at)
}

/// Offset of the first backslash.
#[inline]
pub fn backslash(text: &[u8]) -> Option<usize> {
    // If every character is escaped, the next escape follows at once.
    if text.first() == Some(&b'\\') {
        Some(0)
    } else {
        memchr::memchr(b'\\', text)
    }
}

/// Length of the ASCII prefix of `text`.
#[inline]
pub fn ascii_length(text: &[u8]) -> usize {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let (words, _) = text.as_chunks::<8>();
    let plain = words
        .iter()
        .position(|word| u64::from_le_bytes(*word) & HIGH_BITS != 0)
        .unwrap_or(words.len());
    let rest = &text[plain * 8..];
    plain * 8
        + rest
            .iter()
            .position(|byte| !byte.is_ascii())
            .unwrap_or(rest.len())
}

/// Number of characters of UTF-8 `text`: bytes that are not continuation bytes.
pub fn code_points(text: &[u8]) -> u64 {
    // The count of a block fits a byte, so that the compiler can count many bytes at once.
    let block = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|&byte| u8::from(byte & 0xC0 != 0x80))
            .sum::<u8>()
    };
    text.chunks(192).map(|bytes| u64::from(block(bytes))).sum()
}

fn portable_string_stop(bytes: &[u8], at: usize) -> (usize, bool) {
    let stops = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.iter().position(|&byte| stops(byte)).unwrap_or(rest.len());
    (at + length, rest[..length].is_ascii())
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    /// As [`super::string_stop`], if the stop is within sixteen bytes, as for most names: no call is made.
    #[inline]
    pub fn near_stop(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
        let block = bytes.get(at..)?.first_chunk()?;
        // SAFETY: every CPU of this architecture has SSE2.
        let (stops, outside) = unsafe { stops(block) };
        if stops == 0 {
            return None;
        }
        let length = stops.trailing_zeros();
        let before = outside & ((1 << length) - 1);
        Some((at + length as usize, before == 0))
    }

    /// Bitmasks of the bytes that end a plain stretch, and of those that are not ASCII.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn stops(block: &[u8; 16]) -> (u32, u32) {
        // SAFETY: the block is 16 bytes long; the load needs no alignment.
        let text = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
        let quote = _mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8));
        let slash = _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1F)), text);
        let stops = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
        (stops as u32, _mm_movemask_epi8(text) as u32)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// As [`super::string_stop`].
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub fn string_stop(bytes: &[u8], mut at: usize) -> (usize, bool) {
        let start = at;
        let mut seen = _mm256_setzero_si256();
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
            let (low, high) = load(block);
            let stops = u64::from(stops(low)) | u64::from(stops(high)) << 32;
            if stops != 0 {
                let length = stops.trailing_zeros();
                let outside = u64::from(sign_bits(low)) | u64::from(sign_bits(high)) << 32;
                let before = outside & ((1 << length) - 1);
                return (at + length as usize, before == 0 && sign_bits(seen) == 0);
            }
            seen = _mm256_or_si256(seen, _mm256_or_si256(low, high));
            at += 64;
        }
        let (stop, ascii) = super::portable_string_stop(bytes, at);
        (stop, ascii && (at == start || sign_bits(seen) == 0))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(block: &[u8; 64]) -> (__m256i, __m256i) {
        let from = block.as_ptr().cast::<__m256i>();
        // SAFETY: the block is 64 bytes long; the loads need no alignment.
        unsafe { (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn stops(bytes: __m256i) -> u32 {
        let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8));
        let slash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8));
        let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1F)), bytes);
        sign_bits(_mm256_or_si256(_mm256_or_si256(quote, slash), control))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sign_bits(bytes: __m256i) -> u32 {
        _mm256_movemask_epi8(bytes) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious implementation, byte by byte.
    fn naive_string_stop(bytes: &[u8], at: usize) -> (usize, bool) {
        let mut stop = at;
        while stop < bytes.len() && bytes[stop] >= 0x20 && bytes[stop] != b'"' && bytes[stop] != b'\\' {
            stop += 1;
        }
        (stop, bytes[at..stop].iter().all(|&byte| byte < 0x80))
    }

    proptest! {
        #[test]
        fn stops_where_the_naive_reading_does(
            mut bytes in prop::collection::vec(prop_oneof![50 => 0x20..0x7Fu8, 1 => any::<u8>()], 0..300),
            at in 0usize..300,
        ) {
            let at = at.min(bytes.len());
            let expected = naive_string_stop(&bytes, at);
            for path in Path::all() {
                prop_assert_eq!(string_stop_by(path, &bytes, at), expected, "{:?}", path);
            }
            prop_assert_eq!(string_stop(&bytes, at), expected);
            bytes.retain(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
            let at = at.min(bytes.len());
            let expected = naive_string_stop(&bytes, at);
            for path in Path::all() {
                prop_assert_eq!(string_stop_by(path, &bytes, at), expected, "{:?}", path);
            }
            prop_assert_eq!(string_stop(&bytes, at), expected);
        }
    }
}
