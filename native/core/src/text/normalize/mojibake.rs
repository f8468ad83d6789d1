//! Mojibake: text decoded with the wrong encoding, undone only if people would never write such text.
//!
//! The rules for such text and the order of the attempts follow ftfy 6.3 (Robyn Speer, Apache-2.0): its
//! published cases are this module's tests.

use super::edits::Edits;
use super::properties::{Kind, Properties, properties};
use crate::text::normalize_tables as tables;

/// Classes of characters, as bits; see the generator of the tables.
mod class {
    pub const COMMON: u16 = 1;
    pub const C1: u16 = 1 << 1;
    pub const BAD: u16 = 1 << 2;
    pub const LAW: u16 = 1 << 3;
    pub const CURRENCY: u16 = 1 << 4;
    pub const START: u16 = 1 << 5;
    pub const END: u16 = 1 << 6;
    pub const NUMERIC: u16 = 1 << 7;
    pub const FACE: u16 = 1 << 8;
    pub const UPPER: u16 = 1 << 9;
    pub const LOWER: u16 = 1 << 10;
    pub const UPPER_COMMON: u16 = 1 << 11;
    pub const LOWER_COMMON: u16 = 1 << 12;
    pub const BOX: u16 = 1 << 13;
    pub const ACCENTED: u16 = UPPER | LOWER;
    pub const AROUND_BAD: u16 = ACCENTED | BOX | START | END | CURRENCY | NUMERIC | LAW;
}

/// As bits: possible positions in a UTF-8 sequence of a character's byte in an encoding like Latin-1.
mod clue {
    pub const CONTINUES: u8 = 1;
    pub const CONTINUES_STRICTLY: u8 = 2;
    pub const FIRST_OF_2: u8 = 4;
    pub const FIRST_OF_3: u8 = 8;
    pub const FIRST_OF_4: u8 = 16;
}

/// Data of a character: its clues, and its byte in each encoding (0: none).
type Suspect = (u8, [u8; 10]);

/// Number of encodings that are tried.
const ENCODINGS: usize = tables::ENCODINGS.len();
/// The Windows encodings, in which U+FFFD stands for a lost byte.
const WINDOWS: std::ops::RangeInclusive<usize> = 1..=6;
const MACROMAN: usize = 8;
/// Used like an encoding's number: characters U+0080 to U+009F read as Windows-1252.
const CONTROLS: u8 = ENCODINGS as u8 + 1;
/// Most layers of mojibake to undo.
const LAYERS: usize = 16;

#[inline]
fn suspect(c: char) -> &'static Suspect {
    let code = c as usize;
    let place = if code < 0x1_0000 {
        tables::SUSPECT_PLACE[usize::from(tables::SUSPECT_PLACE_BLOCK[code >> 7])][code & 127]
    } else {
        0
    };
    &tables::SUSPECTS[usize::from(place)]
}

#[inline]
fn classes(c: char) -> u16 {
    if c.is_ascii() { 0 } else { properties(c).classes() }
}

/// A description of the encoding with which an edit's text was wrongly decoded.
#[must_use]
pub fn explain(encoding: u8) -> String {
    match encoding {
        0 => Kind::Mojibake.reason().to_owned(),
        CONTROLS => "Windows-1252 that was read as Latin-1".to_owned(),
        _ => format!(
            "UTF-8 that was read as {}",
            tables::ENCODINGS[usize::from(encoding) - 1]
        ),
    }
}

/// True if `line` contains text that people never write.
#[must_use]
pub fn is_bad(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut watch = Watch::default();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            watch.pass();
            at += crate::cpu::scan::ascii_length(&bytes[at..]);
            continue;
        }
        let Some(c) = line[at..].chars().next() else { break };
        if watch.sees_bad(line, at, c, properties(c)) {
            return true;
        }
        at += c.len_utf8();
    }
    false
}

/// Scans a line; the caller passes each character that is not ASCII. It checks closely only if two adjacent
/// ones can begin something bad, which is very rare in text that people write.
#[derive(Debug, Default)]
pub struct Watch {
    last: Option<(usize, char, u16)>,
}

impl Watch {
    /// ASCII follows.
    #[inline]
    pub fn pass(&mut self) {
        self.last = None;
    }

    /// True if something bad begins at the previous character, or at `c` alone.
    #[inline]
    pub fn sees_bad(&mut self, line: &str, at: usize, c: char, known: Properties) -> bool {
        let known = known.classes();
        let last = self.last.replace((at, c, known));
        if known == 0 {
            return false;
        }
        if let Some((place, before, classes)) = last
            && classes != 0
            && suspicious(before, classes, c, known)
            && is_bad_at(line, place, before)
        {
            return true;
        }
        known & class::C1 != 0 || matches!(c, 'Œ' | 'œ' | 'Ã' | 'Â') && is_bad_at(line, at, c)
    }
}

/// True if a character of these classes may be bad, alone or after some other one.
#[inline]
#[must_use]
pub fn is_odd(c: char, known: Properties) -> bool {
    use class::{FACE, LOWER_COMMON, UPPER_COMMON};
    let known = known.classes();
    known != 0 && (known & !(LOWER_COMMON | UPPER_COMMON | FACE) != 0 || matches!(c, '°' | 'Ђ' | 'ў'))
}

/// As [`is_bad`], with a full check of every place.
#[cfg(any(test, feature = "naive"))]
#[must_use]
pub fn is_bad_anywhere(line: &str) -> bool {
    line.char_indices()
        .any(|(at, c)| !c.is_ascii() && is_bad_at(line, at, c))
}

/// True if two adjacent characters can begin anything bad.
#[inline]
fn suspicious(first: char, classes: u16, second: char, next: u16) -> bool {
    use class::{BOX, FACE, LOWER_COMMON, UPPER_COMMON};
    next & !(LOWER_COMMON | UPPER_COMMON | FACE) != 0
        || second == '°'
        || classes & BOX != 0
        || matches!(first, 'в' | 'Г' | '‚' | '√')
}

/// The classes that may not follow a character of these classes.
fn forbidden_after(first: u16) -> u16 {
    use class::*;
    let rules = [
        (BAD | AROUND_BAD, BAD),
        (BAD, AROUND_BAD),
        (LOWER | LOWER_COMMON | BOX | END | CURRENCY | NUMERIC, UPPER),
        (BOX | END | CURRENCY | NUMERIC, LOWER),
        (LOWER | BOX | END, CURRENCY),
        (UPPER | BOX, NUMERIC | LAW),
        (CURRENCY | NUMERIC | BOX, START),
        (BOX, FACE | END),
        (ACCENTED | CURRENCY | NUMERIC | START | END | LAW, BOX),
    ];
    rules
        .iter()
        .filter(|(before, _)| first & before != 0)
        .fold(0, |forbidden, (_, after)| forbidden | after)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// True if the sequence that begins with `c` at `at` is bad, given the characters before it.
fn is_bad_at(line: &str, at: usize, c: char) -> bool {
    use class::*;
    let mut after = line[at + c.len_utf8()..].chars();
    let (second, third) = (after.next(), after.next());
    let before = line[..at].chars().next_back();
    let (first, next, then) = (classes(c), second.map_or(0, classes), third.map_or(0, classes));
    let after_letter = before.is_some_and(|c| c.is_ascii_alphabetic());
    let after_small = before.is_some_and(|c| c.is_ascii_lowercase());
    first & C1 != 0
        || forbidden_after(first) & next != 0
        || first & UPPER != 0 && second == Some('°')
        || after_letter && first & (LOWER_COMMON | UPPER_COMMON) != 0 && next & BAD != 0
        || before.is_some_and(char::is_whitespace) && first & UPPER != 0 && next & CURRENCY != 0
        || first & (ACCENTED | BOX | CURRENCY | END) != 0 && next & START != 0 && then & NUMERIC != 0
        || first & (ACCENTED | CURRENCY | NUMERIC | BOX | LAW) != 0 && next & END != 0 && then & START != 0
        || after_small && first & UPPER != 0 && next & (START | CURRENCY) != 0
        || first & ACCENTED != 0 && next & (START | END) != 0 && third.is_some_and(is_word)
        || is_bad_sequence(line, at, c)
}

/// Sequences that mean common characters in one encoding or another, and that classes do not cover.
fn is_bad_sequence(line: &str, at: usize, c: char) -> bool {
    use class::*;
    let mut after = line[at + c.len_utf8()..].chars();
    let Some(second) = after.next() else {
        return is_bad_a(line, at, c, None);
    };
    let (third, next) = (after.next(), classes(second));
    let fourth = after.next();
    let between = C1 | BAD | START | END | CURRENCY;
    let arabic = |c: Option<char>| {
        c.is_some_and(|c| {
            classes(c) & (COMMON | CURRENCY | BAD | NUMERIC | START) != 0 || "ŸŠ®°µ»".contains(c)
        })
    };
    (match c {
        'Œ' | 'œ' => !second.is_ascii_alphabetic(),
        'Â' | 'Ã' | 'Î' | 'Ð' => {
            next & (START | END) != 0 || "€œŠš¢£Ÿž\u{A0}\u{AD}®©°·»–—´".contains(second)
        }
        '×' => "²³".contains(second),
        'Ø' | 'Ù' => arabic(Some(second)) && matches!(third, Some('Ø' | 'Ù')) && arabic(fourth),
        'à' => "²µ¹¼½¾".contains(second),
        '√' => "±∂†≠®™´≤≥¥µø".contains(second),
        '≈' => "°¢".contains(second),
        '‚' => {
            second == 'Ä' && third.is_some_and(|c| "ìîïòôúùû†°¢π".contains(c))
                || "âó".contains(second) && third.is_some_and(|c| "àä°ê".contains(c))
        }
        'в' => second == 'Ђ',
        'В' | 'Г' | 'Р' | 'С' => {
            (next & between != 0 || "°µ".contains(second)) && third.is_some_and(|c| "ВГРС".contains(c))
                || line[at..].starts_with("ГўВЂВ") && {
                    let mut after = line[at..].chars().skip(5);
                    after.next().is_some_and(|c| c != '\n')
                        && after.next().is_some_and(|c| c.is_ascii_alphabetic() || c == ' ')
                }
        }
        'Β' | 'Γ' | 'Ξ' | 'Ο' => {
            (next & between != 0 || second == '°') && third.is_some_and(|c| "ΒΓΞΟ".contains(c))
        }
        'β' => second == '€' && third.is_some_and(|c| "™\u{A0}Ά\u{AD}®°".contains(c)),
        'ā' => second == '€',
        _ => false,
    }) || is_bad_a(line, at, c, Some(second))
}

/// True if `c` is the Ã or Â that Windows-1252 shows for à, á or a no-break space.
fn is_bad_a(line: &str, at: usize, c: char, second: Option<char>) -> bool {
    if !matches!(c, 'Ã' | 'Â') {
        return false;
    }
    let mut before = line[..at].chars().rev();
    let (last, but_one) = (before.next(), before.next());
    let small = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
    let space = last.is_some_and(char::is_whitespace);
    match (c, second) {
        ('Ã', Some('\u{A0}' | '¡')) => true,
        (_, Some(' ')) if at == 0 || small(last) || space && small(but_one) => true,
        // A no-break space, or a sign whose second byte is the sign itself in Latin-1.
        ('Â', Some(second)) => {
            let sign = second == ' ' || classes(second) & (class::START | class::END) != 0;
            let ends = |c: char| c.is_ascii_lowercase() || ".,?!".contains(c) || classes(c) & class::END != 0;
            sign && last.is_some_and(ends)
        }
        _ => false,
    }
}

/// Undoes mojibake in `line`, layer after layer; `None` if there is nothing to undo. `work`: bytes of lines
/// that may still be decoded, 0 once they did not suffice. In a chain of sequences, each may show only after
/// the one before it is decoded.
#[must_use]
pub fn repair(line: &str, work: &mut usize) -> Option<Edits> {
    if line.is_ascii() {
        return None;
    }
    let mut all: Option<Edits> = None;
    let mut text = String::new();
    for _ in 0..LAYERS {
        let current: &str = if all.is_some() { &text } else { line };
        let Some(edits) = one_layer(current, work) else {
            break;
        };
        let mut next = Vec::new();
        edits.apply(current.as_bytes(), &mut next);
        let merged = edits.after(all.as_ref(), line.as_bytes(), current.as_bytes());
        // Edits replace whole characters by whole characters.
        text = String::from_utf8(next).ok()?;
        all = Some(merged);
    }
    all.filter(|edits| !edits.is_empty())
}

/// One layer: decodes the whole line from one encoding, or parts that look like UTF-8, or single controls.
fn one_layer(line: &str, work: &mut usize) -> Option<Edits> {
    if !is_bad(line) {
        return None;
    }
    *work = work.saturating_sub(line.len());
    if *work == 0 {
        return None;
    }
    let possible = possible_encodings(line);
    (0..ENCODINGS)
        .filter(|encoding| possible & 1 << encoding != 0)
        .find_map(|encoding| decode(line, encoding))
        .or_else(|| decode_parts(line, work))
        .or_else(|| decode_controls(line))
        .filter(|edits| !edits.is_empty())
}

/// The encodings that contain every character of the line, as bits.
fn possible_encodings(line: &str) -> u32 {
    let (mut possible, mut last) = ((1 << ENCODINGS) - 1, ' ');
    for c in line.chars() {
        if c == '\u{1A}' {
            // The byte stands for a lost character, which it cannot restore.
            possible &= !WINDOWS.fold(0, |bits, encoding| bits | 1 << encoding);
        } else if !c.is_ascii() && c != last {
            let bytes = &suspect(c).1;
            possible &= (0..ENCODINGS).fold(0, |bits, at| bits | u32::from(bytes[at] != 0) << at);
            last = c;
        }
        if possible == 0 {
            break;
        }
    }
    possible
}

/// More bytes than decoding looks at from any place on: the longest are of à, a space and the word after it.
const LOOKED_AT: usize = 8;

/// The next characters of a line as bytes of an encoding, with their places. Most lines are not UTF-8 in most
/// encodings, which their first characters show; and a long one takes no memory.
struct Encoded<'a> {
    rest: std::str::CharIndices<'a>,
    encoding: usize,
    /// Those before `at` are passed.
    bytes: Vec<u8>,
    places: Vec<usize>,
    at: usize,
}

/// Passed bytes that are kept until they are removed together.
const PASSED: usize = 1024;

impl<'a> Encoded<'a> {
    fn new(line: &'a str, encoding: usize) -> Self {
        Self {
            rest: line.char_indices(),
            encoding,
            bytes: Vec::new(),
            places: Vec::new(),
            at: 0,
        }
    }

    /// The next bytes; none at the end.
    fn next_bytes(&mut self) -> &[u8] {
        while self.bytes.len() < self.at + LOOKED_AT
            && let Some((place, c)) = self.rest.next()
        {
            let byte = if c.is_ascii() {
                c as u8
            } else {
                suspect(c).1[self.encoding]
            };
            self.bytes.push(byte);
            self.places.push(place);
        }
        &self.bytes[self.at..]
    }

    /// Passes bytes that [`Encoded::next_bytes`] returned; returns the place after them in the line.
    fn pass(&mut self, length: usize) -> usize {
        self.at += length;
        let place = self.places.get(self.at).copied();
        if self.at >= PASSED {
            self.bytes.drain(..self.at);
            self.places.drain(..self.at);
            self.at = 0;
        }
        place.unwrap_or(self.rest.offset())
    }
}

/// Decodes the line's bytes in `encoding` as UTF-8; `None` if they are not UTF-8.
fn decode(line: &str, encoding: usize) -> Option<Edits> {
    let mut encoded = Encoded::new(line, encoding);
    let windows = WINDOWS.contains(&encoding);
    let mut edits = Edits::default();
    let (mut start, mut buffer) = (0, [0; 4]);
    while let bytes = encoded.next_bytes()
        && let Some(first) = bytes.first()
    {
        if first.is_ascii() {
            start = encoded.pass(1);
            continue;
        }
        let (c, length) = altered(bytes, encoding != MACROMAN)
            .or_else(|| if windows { lossy(bytes) } else { None })
            .or_else(|| sequence(bytes))?;
        let replacement = c.encode_utf8(&mut buffer).as_bytes();
        let end = encoded.pass(length);
        edits.push_as(start, end, replacement, Kind::Mojibake.bit(), encoding as u8 + 1);
        start = end;
    }
    Some(edits)
}

fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// A UTF-8 sequence (RFC 3629), or a variant: surrogates in six bytes (CESU-8), NUL in two (Java).
fn sequence(bytes: &[u8]) -> Option<(char, usize)> {
    let length = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        0xC0 if bytes.get(1) == Some(&0x80) => return Some(('\0', 2)),
        _ => return None,
    };
    if let Some(c) = bytes
        .get(..length)
        .and_then(|part| std::str::from_utf8(part).ok()?.chars().next())
    {
        return Some((c, length));
    }
    match *bytes.first_chunk::<6>()? {
        [0xED, a @ 0xA0..=0xAF, b, 0xED, c @ 0xB0..=0xBF, d] if continues(b) && continues(d) => {
            let bits = |byte: u8, mask: u8| u32::from(byte & mask);
            let high = bits(a, 0x0F) << 16 | bits(b, 0x3F) << 10;
            let c = char::from_u32(0x1_0000 + high + (bits(c, 0x0F) << 6 | bits(d, 0x3F)))?;
            Some((c, 6))
        }
        _ => None,
    }
}

/// A sequence whose no-break space (A0) has become a space; restored if that gives likely characters.
fn altered(bytes: &[u8], wanted: bool) -> Option<(char, usize)> {
    if !wanted {
        return None;
    }
    let later = |byte: u8| continues(byte) && byte != 0x85 && byte != 0xA0;
    match *bytes {
        [0xC3, b' ', ref rest @ ..] if !begins_with_a_grave_word(rest) => Some(('à', 1)),
        [first @ (0xC2 | 0xC3 | 0xC5 | 0xCE | 0xD0 | 0xD9), b' ', ..] => sequence(&[first, 0xA0]),
        [first @ (0xE2 | 0xE3), b' ', third, ..] if later(third) => sequence(&[first, 0xA0, third]),
        [first @ 0xE0..=0xE3, second, b' ', ..] if later(second) => sequence(&[first, second, 0xA0]),
        [0xF0, b' ', third, fourth, ..] if continues(third) && continues(fourth) => {
            sequence(&[0xF0, 0xA0, third, fourth])
        }
        [0xF0, second, b' ', fourth, ..] if continues(second) && continues(fourth) => {
            sequence(&[0xF0, second, 0xA0, fourth])
        }
        [0xF0, second, third, b' ', ..] if continues(second) && continues(third) => {
            sequence(&[0xF0, second, third, 0xA0])
        }
        _ => None,
    }
}

/// True if à continues as one word in Portuguese (àquele, às), so that the space after it was part of it.
fn begins_with_a_grave_word(rest: &[u8]) -> bool {
    [" ", "quele", "quela", "quilo", "s "]
        .iter()
        .any(|word| rest.starts_with(word.as_bytes()))
}

/// A sequence with a lost byte, shown as U+FFFD (byte 1A here) or a question mark: its rest becomes U+FFFD.
fn lossy(bytes: &[u8]) -> Option<(char, usize)> {
    let lost = |byte: u8| byte == 0x1A || byte == b'?';
    let kept = |byte: u8| byte == 0x1A || continues(byte);
    let length = match *bytes {
        [0xC2..=0xDF, 0x1A, ..] | [0xC2 | 0xC3, b'?', ..] => 2,
        [0xED, 0xA0..=0xAF, b, 0xED, 0xB0..=0xBF, d, ..]
            if (lost(b) || continues(b)) && (lost(d) || continues(d)) && (lost(b) || lost(d)) =>
        {
            6
        }
        [0xE0..=0xEF, b, c, ..] if lost(b) && kept(c) || kept(b) && lost(c) => 3,
        [0xF0..=0xF4, b, c, d, ..]
            if lost(b) && kept(c) && kept(d)
                || kept(b) && lost(c) && kept(d)
                || kept(b) && kept(c) && lost(d) =>
        {
            4
        }
        _ => return None,
    };
    Some(('\u{FFFD}', length))
}

/// Decodes the parts of the line that look like UTF-8 and are bad by themselves.
fn decode_parts(line: &str, work: &mut usize) -> Option<Edits> {
    let mut edits = Edits::default();
    let mut at = 0;
    let mut strict = false;
    while let Some(c) = line[at..].chars().next() {
        let length = if strict { 0 } else { looks_like_utf8(&line[at..]) };
        if length == 0 {
            strict = !c.is_ascii() && suspect(c).0 & clue::CONTINUES_STRICTLY != 0;
            at += c.len_utf8();
            continue;
        }
        let part = &line[at..at + length];
        // The whole line was tried before; shorter parts end the recursion.
        if length < line.len()
            && let Some(found) = repair(part, work)
        {
            edits.append(found, at);
        }
        let last = part.chars().next_back().unwrap_or(' ');
        strict = !last.is_ascii() && suspect(last).0 & clue::CONTINUES_STRICTLY != 0;
        at += length;
    }
    Some(edits).filter(|edits| !edits.is_empty())
}

/// Length in bytes of the UTF-8 sequences, in an encoding like Latin-1, at the start of `text`.
fn looks_like_utf8(text: &str) -> usize {
    let mut at = 0;
    'sequences: loop {
        let mut rest = text[at..].chars();
        let clues = rest.next().filter(|c| !c.is_ascii()).map_or(0, |c| suspect(c).0);
        let kinds = [
            (clue::FIRST_OF_2, 1),
            (clue::FIRST_OF_3, 2),
            (clue::FIRST_OF_4, 3),
        ];
        for (_, count) in kinds.into_iter().filter(|(kind, _)| clues & kind != 0) {
            let mut rest = rest.clone();
            let mut followers = rest.by_ref().take(count);
            let continues = |c: char| c == ' ' || !c.is_ascii() && suspect(c).0 & clue::CONTINUES != 0;
            if followers.by_ref().filter(|&c| continues(c)).count() == count {
                at = text.len() - rest.as_str().len();
                continue 'sequences;
            }
        }
        return at;
    }
}

/// Decodes the remaining C1 controls as Windows-1252, their likely encoding.
fn decode_controls(line: &str) -> Option<Edits> {
    let mut edits = Edits::default();
    for (at, c) in line
        .char_indices()
        .filter(|(_, c)| ('\u{80}'..='\u{9F}').contains(c))
    {
        let to = tables::WINDOWS_1252[c as usize - 0x80];
        if to != c {
            let mut buffer = [0; 4];
            let replacement = to.encode_utf8(&mut buffer).as_bytes();
            edits.push_as(at, at + c.len_utf8(), replacement, Kind::Mojibake.bit(), CONTROLS);
        }
    }
    Some(edits).filter(|edits| !edits.is_empty())
}
