//! Strings of JSON: their escapes, their characters, and writing them.

use crate::cpu::scan;

/// Value of each hex digit; 0xFF for every other byte.
static HEX: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        table[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// The UTF-16 unit of four hex digits.
#[inline]
pub(super) fn unit(digits: &[u8; 4]) -> Option<u32> {
    let [first, second, third, fourth] = digits.map(|digit| u32::from(HEX[usize::from(digit)]));
    let unit = first << 12 | second << 8 | third << 4 | fourth;
    ((first | second | third | fourth) < 16).then_some(unit)
}

/// The UTF-16 unit of the escape at the beginning of a text, if it is written in hex digits.
#[inline]
pub(super) fn unit_escape(text: &[u8]) -> Option<u32> {
    match text.first_chunk() {
        Some([b'\\', b'u', first, second, third, fourth]) => unit(&[*first, *second, *third, *fourth]),
        _ => None,
    }
}

/// True if a checked string means `word`, which is ASCII.
pub(super) fn means(mut text: &[u8], word: &[u8]) -> bool {
    for &byte in word {
        let (code, length) = match text.first() {
            Some(b'\\') => escaped(text),
            Some(&plain) => (u32::from(plain), 1),
            None => return false,
        };
        if code != u32::from(byte) {
            return false;
        }
        text = &text[length..];
    }
    text.is_empty()
}

/// Appends the characters of a checked string to `out` as UTF-8, escapes resolved (RFC 8259 section 7).
pub fn unescape(mut text: &[u8], out: &mut Vec<u8>) {
    // No escape is shorter than its character.
    out.reserve(text.len());
    while let Some(plain) = scan::backslash(text) {
        out.extend_from_slice(&text[..plain]);
        text = &text[plain..];
        while text.first() == Some(&b'\\') {
            let (code, length) = escaped(text);
            push(code, out);
            text = &text[length..];
        }
    }
    out.extend_from_slice(text);
}

/// Number of characters that a checked string means.
#[must_use]
pub fn characters(mut text: &[u8]) -> u64 {
    let mut count = 0;
    while let Some(plain) = scan::backslash(text) {
        count += scan::code_points(&text[..plain]);
        text = &text[plain..];
        while text.first() == Some(&b'\\') {
            let (_, length) = escaped(text);
            count += 1;
            text = &text[length..];
        }
    }
    count + scan::code_points(text)
}

/// Bytes of the first character of a checked string, which must not be empty.
#[must_use]
pub fn character_length(text: &[u8]) -> usize {
    match text.first() {
        Some(b'\\') => escaped(text).1,
        Some(0xC0..0xE0) => 2,
        Some(0xE0..0xF0) => 3,
        Some(0xF0..) => 4,
        _ => 1,
    }
}

/// Appends UTF-8 as the contents of a string, escaped as ECMAScript's JSON.stringify does.
pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    loop {
        let (stop, _) = scan::string_stop(text, at);
        out.extend_from_slice(&text[at..stop]);
        let Some(&byte) = text.get(stop) else { return };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x8 => out.extend_from_slice(b"\\b"),
            0xC => out.extend_from_slice(b"\\f"),
            _ => {
                let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
            }
        }
        at = stop + 1;
    }
}

/// Appends a character as UTF-8 (RFC 3629).
#[inline]
fn push(code: u32, out: &mut Vec<u8>) {
    let low = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
    match code {
        ..0x80 => out.push(code as u8),
        0x80..0x800 => out.extend_from_slice(&[0xC0 | (code >> 6) as u8, low(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[0xE0 | (code >> 12) as u8, low(6), low(0)]),
        _ => out.extend_from_slice(&[0xF0 | (code >> 18) as u8, low(12), low(6), low(0)]),
    }
}

/// The code point of a checked escape, and the escape's length in bytes.
#[inline]
fn escaped(text: &[u8]) -> (u32, usize) {
    match text.get(1) {
        Some(b'u') => match unit_escape(text).unwrap_or(0) {
            high @ 0xD800..=0xDBFF => {
                let low = unit_escape(&text[6..]).unwrap_or(0);
                (0x1_0000 + ((high & 0x3FF) << 10 | low & 0x3FF), 12)
            }
            code => (code, 6),
        },
        Some(b'b') => (0x8, 2),
        Some(b'f') => (0xC, 2),
        Some(b'n') => (0xA, 2),
        Some(b'r') => (0xD, 2),
        Some(b't') => (0x9, 2),
        Some(&byte) => (u32::from(byte), 2),
        None => (u32::from(b'\\'), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A character as JSON may write it: itself, or as an escape.
    fn written() -> impl Strategy<Value = (char, String)> {
        let plain = prop_oneof![
            any::<char>(),
            prop::char::range(' ', '~'),
            prop::char::range('\0', '\u{900}')
        ];
        (plain, any::<bool>(), any::<bool>()).prop_map(|(c, escapes, upper)| {
            if !escapes {
                let json = serde_json::to_string(&c).expect("JSON");
                return (c, json[1..json.len() - 1].to_owned());
            }
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            let hex = |unit: &u16| {
                if upper {
                    format!("\\u{unit:04X}")
                } else {
                    format!("\\u{unit:04x}")
                }
            };
            (c, units.iter().map(hex).collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn strings_mean_what_the_standard_library_reads(
            parts in prop::collection::vec(written(), 0..20),
        ) {
            let meant: String = parts.iter().map(|(c, _)| *c).collect();
            let text: String = parts.iter().map(|(_, json)| json.as_str()).collect();
            let text = text.as_bytes();
            let read: String = serde_json::from_slice(&[b"\"", text, b"\""].concat()).expect("a string");
            assert_eq!(read, meant);

            let mut plain = Vec::new();
            unescape(text, &mut plain);
            assert_eq!(plain, meant.as_bytes());
            assert_eq!(characters(text), meant.chars().count() as u64);
            let mut at = 0;
            for (_, json) in &parts {
                assert_eq!(character_length(&text[at..]), json.len());
                at += json.len();
            }

            let mut out = Vec::new();
            write_text(meant.as_bytes(), &mut out);
            let json = serde_json::to_string(&meant).expect("JSON");
            assert_eq!(out, &json.as_bytes()[1..json.len() - 1]);
            if meant.is_ascii() {
                assert!(means(text, meant.as_bytes()));
                assert!(!means(text, &[meant.as_bytes(), b"x"].concat()));
                assert!(!means(&[text, b"x"].concat(), meant.as_bytes()));
            }
        }
    }

    #[test]
    fn four_hex_digits_are_a_unit() {
        for (digits, expected) in [
            (b"0000", Some(0)),
            (b"09aF", Some(0x09AF)),
            (b"fFfF", Some(0xFFFF)),
            (b"g000", None),
            (b"0:00", None),
            (b"00@0", None),
            (b"000/", None),
        ] {
            assert_eq!(unit(digits), expected);
        }
    }
}
