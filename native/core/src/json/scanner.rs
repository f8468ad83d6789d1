//! Strict JSON (RFC 8259) over bytes: a scanner, and a closed list of refusals with their byte offsets.
//!
//! Stricter than the RFC where it leaves a choice: UTF-8 only, no byte order mark, no lone surrogates, no
//! number beyond finite binary64, nesting of at most [`MAX_DEPTH`]. The same rules apply to ignored members.

use super::number;
use super::refusal::{Reason, Refusal, Unfit};
use super::text::{means, unit, unit_escape};
use crate::cpu::scan;

/// Greatest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 128;

/// The range of a string in the body, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte after the opening quote.
    pub start: usize,
    /// The closing quote's offset.
    pub end: usize,
    /// True if it contains an escape.
    pub escaped: bool,
    /// True if all its bytes are ASCII (escapes may still mean other characters).
    pub ascii: bool,
}

/// A few bytes that [`Scanner::take_label`] looks for.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    word: u128,
    /// The bits of the bytes; 0 if there are none or too many, so that no text begins with the word.
    mask: u128,
    length: usize,
}

impl Label {
    /// Of no bytes, or of more than 16, it is a label that no text begins with.
    #[must_use]
    pub const fn of(bytes: &[u8]) -> Self {
        let (mut word, mut mask, length) = (0, 0, bytes.len());
        if length == 0 || length > 16 {
            let word = 1;
            return Self { word, mask, length };
        }
        let mut at = 0;
        while at < length {
            word |= (bytes[at] as u128) << (8 * at);
            mask |= 0xFF << (8 * at);
            at += 1;
        }
        Self { word, mask, length }
    }

    /// The label of a member: its name in quotes, and the colon.
    #[must_use]
    pub const fn of_member(name: &[u8]) -> Self {
        let (mut text, length) = ([0; 16], name.len());
        if length + 3 > text.len() {
            return Self::of(b"");
        }
        text[0] = b'"';
        let mut at = 0;
        while at < length {
            text[at + 1] = name[at];
            at += 1;
        }
        text[length + 1] = b'"';
        text[length + 2] = b':';
        Self::of(text.split_at(length + 3).0)
    }

    /// The label of each member.
    #[must_use]
    pub const fn of_members<const COUNT: usize>(names: [&[u8]; COUNT]) -> [Self; COUNT] {
        let (mut labels, mut at) = ([Self::of(b""); COUNT], 0);
        while at < COUNT {
            labels[at] = Self::of_member(names[at]);
            at += 1;
        }
        labels
    }
}

/// Checks a whole body: one JSON value with only white space around it.
///
/// # Errors
/// The first fault: a byte order mark, then invalid UTF-8 anywhere, then the others in byte order.
pub fn check(body: &[u8]) -> Result<(), Refusal> {
    let mut scanner = Scanner::new(body)?;
    scanner.skip_space();
    scanner.skip_value(0)?;
    scanner.end()
}

/// Reads one value at an offset of a text; returns the offset after it.
///
/// # Errors
/// The first fault, in byte order.
pub fn value_end(text: &str, at: usize) -> Result<usize, Refusal> {
    let mut scanner = Scanner::of(text);
    scanner.at = at;
    scanner.skip_value(0)?;
    Ok(scanner.at)
}

/// Checks the encoding: no byte order mark, UTF-8 throughout.
fn check_encoding(body: &[u8]) -> Result<(), Refusal> {
    if body.starts_with(b"\xEF\xBB\xBF") {
        return Err(Refusal {
            offset: 0,
            reason: Reason::ByteOrderMark,
        });
    }
    if simdutf8::basic::from_utf8(body).is_ok() {
        return Ok(());
    }
    let Err(error) = std::str::from_utf8(body) else {
        return Ok(());
    };
    let offset = error.valid_up_to();
    let reason = match body[offset..] {
        [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => Reason::LoneSurrogate,
        _ => Reason::Utf8,
    };
    Err(Refusal { offset, reason })
}

/// A cursor over a body with a valid encoding.
#[derive(Debug)]
pub struct Scanner<'a> {
    body: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    /// Checks the encoding of `body` and starts at its first byte.
    ///
    /// # Errors
    /// A byte order mark or invalid UTF-8.
    pub fn new(body: &'a [u8]) -> Result<Self, Refusal> {
        check_encoding(body)?;
        Ok(Scanner { body, at: 0 })
    }

    /// Starts at the first byte of a text.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        let body = text.as_bytes();
        Scanner { body, at: 0 }
    }

    /// The offset of the next byte.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Moves to an offset at which a value or a name of a checked body begins or ends.
    pub fn stand_at(&mut self, at: usize) {
        self.at = at;
    }

    /// The bytes of a string in the body, with its escapes.
    #[must_use]
    pub fn bytes(&self, span: Span) -> &'a [u8] {
        &self.body[span.start..span.end]
    }

    /// The bytes between two offsets of the body.
    #[must_use]
    pub fn between(&self, start: usize, end: usize) -> &'a [u8] {
        &self.body[start..end]
    }

    /// The next byte, or `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    #[inline]
    fn refuse<T>(&self, reason: Reason) -> Result<T, Refusal> {
        Err(Refusal {
            offset: self.at,
            reason,
        })
    }

    /// Skips white space.
    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips `byte`, which must come next.
    ///
    /// # Errors
    /// Another byte, or the end.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Result<(), Refusal> {
        if self.peek() != Some(byte) {
            return self.refuse(Reason::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips `byte` if it comes next; true if it did.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips `bytes` if they come next; true if they did.
    #[inline]
    pub fn take_all(&mut self, bytes: &[u8]) -> bool {
        let found = self.body[self.at..].starts_with(bytes);
        self.at += if found { bytes.len() } else { 0 };
        found
    }

    /// Skips the bytes of a label if they come next; true if they did. Always false if fewer than 16 bytes
    /// are left.
    #[inline]
    pub fn take_label(&mut self, label: &Label) -> bool {
        let next = self.body[self.at..].first_chunk();
        let found = next.is_some_and(|bytes| u128::from_le_bytes(*bytes) & label.mask == label.word);
        self.at += if found { label.length } else { 0 };
        found
    }

    /// Checks that only white space follows.
    ///
    /// # Errors
    /// Anything else.
    pub fn end(&mut self) -> Result<(), Refusal> {
        self.skip_space();
        if self.at == self.body.len() {
            Ok(())
        } else {
            self.refuse(Reason::Syntax)
        }
    }

    /// Reads a string; its opening quote comes next.
    ///
    /// # Errors
    /// No quote, a control character, a bad escape, a lone surrogate, no end.
    #[inline]
    pub fn string(&mut self) -> Result<Span, Refusal> {
        self.expect(b'"')?;
        let start = self.at;
        let mut span = Span {
            start,
            end: start,
            escaped: false,
            ascii: true,
        };
        loop {
            let (at, ascii) = scan::string_stop(self.body, self.at);
            self.at = at;
            span.ascii &= ascii;
            match self.peek() {
                Some(b'"') => {
                    span.end = at;
                    self.at = at + 1;
                    return Ok(span);
                }
                Some(b'\\') => {
                    span.escaped = true;
                    // If every character is escaped, the next escape follows at once.
                    while self.peek() == Some(b'\\') {
                        self.escape()?;
                    }
                }
                _ => return self.refuse(Reason::Syntax),
            }
        }
    }

    /// Skips one escape; its backslash comes next. A surrogate pair is one escape.
    #[inline]
    fn escape(&mut self) -> Result<(), Refusal> {
        let text = &self.body[self.at..];
        if let Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') = text.get(1) {
            self.at += 2;
            return Ok(());
        }
        match unit_escape(text) {
            Some(0..0xD800 | 0xE000..) => {
                self.at += 6;
                Ok(())
            }
            _ => self.surrogates(),
        }
    }

    /// Skips a surrogate pair in two escapes; refuses any other escape that is no character.
    fn surrogates(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        self.at += 1;
        self.expect(b'u')?;
        let high = self.hex4()?;
        if matches!(high, 0xD800..=0xDBFF) && self.body[self.at..].starts_with(b"\\u") {
            self.at += 2;
            if matches!(self.hex4()?, 0xDC00..=0xDFFF) {
                return Ok(());
            }
        }
        Err(Refusal {
            offset: start,
            reason: Reason::LoneSurrogate,
        })
    }

    #[inline]
    fn hex4(&mut self) -> Result<u32, Refusal> {
        if let Some(unit) = self.body[self.at..].first_chunk().and_then(unit) {
            self.at += 4;
            return Ok(unit);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            self.at += 1;
        }
        self.refuse(Reason::Syntax)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// Not in the grammar, or beyond finite binary64.
    pub fn number(&mut self) -> Result<f64, Refusal> {
        if let Some(value) = self.short_number() {
            return Ok(value);
        }
        let start = self.at;
        self.skip_number_text()?;
        // The grammar allows only ASCII that `parse` accepts, so neither step can fail.
        let text = std::str::from_utf8(&self.body[start..self.at]).unwrap_or("");
        let value: f64 = text.parse().unwrap_or(f64::INFINITY);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(Refusal {
                offset: start,
                reason: Reason::Number,
            })
        }
    }

    /// Skips a number. It is read only where its power of ten may be beyond finite binary64: reading one of
    /// hundreds of digits takes long.
    fn skip_number(&mut self) -> Result<(), Refusal> {
        if self.short_number().is_some() {
            return Ok(());
        }
        let start = self.at;
        self.skip_number_text()?;
        if number::is_below_power(&self.body[start..self.at], 308) {
            return Ok(());
        }
        self.at = start;
        self.number().map(|_| ())
    }

    /// Reads a number with few digits and no exponent; `None` for any other. Its digits are a whole number
    /// that binary64 represents exactly, as is the power of ten, so a single division rounds correctly
    /// (Clinger, 1990).
    #[inline]
    fn short_number(&mut self) -> Option<f64> {
        const POWERS: [f64; 16] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
        ];
        let text = self.body[self.at..].first_chunk()?;
        let (digits, fraction, is_negative, length) = number::short(text)?;
        self.at += length;
        let value = digits as f64 / POWERS[fraction % 16];
        Some(if is_negative { -value } else { value })
    }

    fn skip_digits(&mut self) -> Result<(), Refusal> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.refuse(Reason::Syntax);
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn skip_number_text(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        if self.take(b'-') && self.body[self.at..].starts_with(b"Infinity") {
            return Err(Refusal {
                offset: start,
                reason: Reason::Infinity,
            });
        }
        if !self.take(b'0') {
            self.skip_digits()?;
        }
        if self.take(b'.') {
            self.skip_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    /// Skips a literal such as `true`.
    ///
    /// # Errors
    /// At the first byte that differs.
    pub fn literal(&mut self, word: &[u8]) -> Result<(), Refusal> {
        for &byte in word {
            self.expect(byte)?;
        }
        Ok(())
    }

    /// Skips a value that is neither an array nor an object.
    fn skip_scalar(&mut self) -> Result<(), Refusal> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            Some(b'-' | b'0'..=b'9') => self.skip_number(),
            _ if self.body[self.at..].starts_with(b"NaN") => self.refuse(Reason::NotANumber),
            _ if self.body[self.at..].starts_with(b"Infinity") => self.refuse(Reason::Infinity),
            _ => self.refuse(Reason::Syntax),
        }
    }

    /// Skips any value inside `depth` arrays and objects. Not recursive: the kinds of the open brackets are
    /// the bits of one number.
    ///
    /// # Errors
    /// The first fault in it.
    pub fn skip_value(&mut self, depth: usize) -> Result<(), Refusal> {
        let mut objects: u128 = 0;
        let mut open = 0;
        loop {
            // One value starts here.
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    if depth + open == MAX_DEPTH {
                        return self.refuse(Reason::Depth);
                    }
                    self.at += 1;
                    open += 1;
                    objects = objects << 1 | u128::from(bracket == b'{');
                    self.skip_space();
                    let close = if bracket == b'{' { b'}' } else { b']' };
                    if self.peek() != Some(close) {
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => self.skip_scalar()?,
            }
            // A value ended, or the inside of a bracket: close brackets, or continue after a comma.
            loop {
                if open == 0 {
                    return Ok(());
                }
                self.skip_space();
                let object = objects & 1 == 1;
                if self.take(b',') {
                    self.skip_space();
                    if object {
                        self.key()?;
                    }
                    break;
                }
                self.expect(if object { b'}' } else { b']' })?;
                objects >>= 1;
                open -= 1;
            }
        }
    }

    /// Continues at an offset of a body that was checked before.
    pub(crate) fn again(body: &'a [u8], at: usize) -> Self {
        Scanner { body, at }
    }

    /// Index of a string among ASCII words.
    #[inline]
    pub fn place(&self, text: Span, words: &[&[u8]]) -> Option<usize> {
        let bytes = self.bytes(text);
        if text.escaped {
            return words.iter().position(|word| means(bytes, word));
        }
        words.iter().position(|word| *word == bytes)
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// Another value.
    pub fn boolean(&mut self) -> Result<bool, Unfit> {
        let value = self.peek() == Some(b't');
        self.literal(if value { b"true" } else { b"false" })?;
        Ok(value)
    }

    /// Skips `null` if it comes next; true if it did.
    ///
    /// # Errors
    /// A text that begins like it and is not JSON.
    pub fn null(&mut self) -> Result<bool, Unfit> {
        let null = self.peek() == Some(b'n');
        if null {
            self.literal(b"null")?;
        }
        Ok(null)
    }

    /// Reads a member's name and skips its colon and the white space around it.
    ///
    /// # Errors
    /// No string or no colon.
    #[inline]
    pub fn key(&mut self) -> Result<Span, Refusal> {
        let name = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        self.skip_space();
        Ok(name)
    }
}

#[cfg(test)]
mod tests;
