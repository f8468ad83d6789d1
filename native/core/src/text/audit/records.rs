//! Cuts a text into records: CSV (RFC 4180), JSON and JSON Lines (RFC 8259), or lines. It is read in order
//! and in bounded memory, at any length; faults name their place.

use std::io::Read;

use super::csv::{Rows, Separator};
use super::detect;
use super::format::{Fault, Format, LONGEST_RECORD, LONGEST_TOKEN};
use crate::json::{Refusal, Scanner, unescape};

/// Bytes read at once.
const CHUNK: usize = 256 << 10;

/// Most bytes read of a text's first line to distinguish JSON Lines from JSON.
const LONGEST_FIRST_LINE: usize = 8 << 20;

/// Records, concatenated in memory.
#[derive(Debug, Default, Clone)]
pub struct Batch {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    /// Adds a record.
    pub fn push(&mut self, record: &str) {
        self.text.extend_from_slice(record.as_bytes());
        self.end();
    }

    /// Makes a record of the text added since the last end.
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Drops the text added since the last end.
    fn drop_open(&mut self) {
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Adds words to the open record, separated from its text.
    fn join(&mut self, words: &[u8]) {
        let start = self.ends.last().copied().unwrap_or(0);
        if self.text.len() > start && !words.is_empty() {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(words);
    }

    /// Number of its records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of its records.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The record at a place.
    #[must_use]
    pub fn record(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        // Records are cut at character boundaries of validated text.
        simdutf8::basic::from_utf8(&self.text[start..self.ends[at]]).unwrap_or_default()
    }

    /// Its records in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.record(at))
    }
}

/// State of the reading.
enum State {
    Lines,
    Csv(Box<Rows>),
    Jsonl,
    Json(Array),
}

/// Position of the next value in a JSON text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Array {
    /// Before the text's only value.
    Before,
    /// After `[`.
    First,
    /// After a value of the array.
    Next,
    /// After the text's value.
    After,
}

/// Cuts a text into records.
pub struct Records<R> {
    source: R,
    /// Bytes read; up to `at` they are records already, up to `whole` they are complete characters.
    held: Vec<u8>,
    at: usize,
    whole: usize,
    /// Bytes of the text before `held`.
    passed: u64,
    /// The line that begins at `at`, from 1.
    line: u64,
    ended: bool,
    state: State,
    /// Records cut so far.
    records: u64,
}

impl<R: Read> Records<R> {
    /// Reads the beginning of a text and detects its format, unless one is given.
    ///
    /// # Errors
    /// The beginning cannot be read, or is not in the given format.
    pub fn open(source: R, format: Option<Format>) -> Result<Self, Fault> {
        let mut records = Records {
            source,
            held: Vec::new(),
            at: 0,
            whole: 0,
            passed: 0,
            line: 1,
            ended: false,
            state: State::Lines,
            records: 0,
        };
        records.more()?;
        // The format is recognised from the first piece, or from the first line.
        while format.is_none()
            && !records.ended
            && records.held.len() < LONGEST_FIRST_LINE
            && detect::is_open(&records.held)
        {
            records.more()?;
        }
        if records.held.starts_with(b"\xEF\xBB\xBF") {
            records.at = 3;
        }
        let head = &records.held[records.at..records.whole];
        let head = simdutf8::basic::from_utf8(head).unwrap_or_default();
        let format = format.unwrap_or_else(|| detect::format(head, records.ended));
        records.state = match format {
            Format::Lines => State::Lines,
            Format::Csv => State::Csv(Box::new(Rows::new(detect::separator(head, records.ended)))),
            Format::Jsonl => State::Jsonl,
            Format::Json => State::Json(Array::Before),
        };
        Ok(records)
    }

    /// The format of the text.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.state {
            State::Lines => Format::Lines,
            State::Csv(_) => Format::Csv,
            State::Jsonl => Format::Jsonl,
            State::Json(_) => Format::Json,
        }
    }

    /// The separator of a row's fields, if there are rows.
    #[must_use]
    pub fn separator(&self) -> Option<Separator> {
        match &self.state {
            State::Csv(rows) => Some(rows.separator()),
            _ => None,
        }
    }

    /// Bytes of the text that have become records.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.passed + self.at as u64
    }

    /// Adds records to a batch until it holds `bytes` bytes; adds none at the end of the text. Empty records
    /// count one byte, so that every batch ends.
    ///
    /// # Errors
    /// The next part of the text is not in the format.
    pub fn fill(&mut self, batch: &mut Batch, bytes: usize) -> Result<(), Fault> {
        loop {
            let before = batch.len();
            let done = match self.format() {
                Format::Lines | Format::Jsonl => self.lines(batch, bytes)?,
                Format::Csv => self.rows(batch, bytes)?,
                Format::Json => self.values(batch, bytes)?,
            };
            self.records += (batch.len() - before) as u64;
            if done || batch.bytes() + batch.len() >= bytes {
                return Ok(());
            }
            self.more()?;
        }
    }

    /// Reads as many bytes as are uncut, at least [`CHUNK`].
    fn more(&mut self) -> Result<(), Fault> {
        let open = self.held.len() - self.at;
        if open > LONGEST_RECORD {
            return Err(Fault::TooLong(self.position()));
        }
        self.held.drain(..self.at);
        self.passed += self.at as u64;
        self.whole -= self.at;
        self.at = 0;
        let wanted = CHUNK.max(open);
        let read = (&mut self.source).take(wanted as u64).read_to_end(&mut self.held);
        let read = read.map_err(|error| Fault::Unreadable(error.to_string()))?;
        self.ended = read < wanted;
        self.check()
    }

    /// Advances `whole` over valid UTF-8.
    fn check(&mut self) -> Result<(), Fault> {
        if self.passed == 0 && matches!(self.held[..], [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) {
            return Err(Fault::Utf16);
        }
        let fresh = &self.held[self.whole..];
        if simdutf8::basic::from_utf8(fresh).is_ok() {
            self.whole = self.held.len();
            return Ok(());
        }
        let Err(error) = std::str::from_utf8(fresh) else {
            return Ok(());
        };
        self.whole += error.valid_up_to();
        if error.error_len().is_some() || self.ended {
            return Err(Fault::NotUtf8(self.passed + self.whole as u64));
        }
        Ok(())
    }

    /// Cuts lines; true at the end of the text.
    fn lines(&mut self, batch: &mut Batch, bytes: usize) -> Result<bool, Fault> {
        while batch.bytes() + batch.len() < bytes {
            let rest = &self.held[self.at..self.whole];
            let end = match memchr::memchr(b'\n', rest) {
                Some(length) => length,
                None if !self.ended => return Ok(false),
                None if rest.is_empty() => return Ok(true),
                None => rest.len(),
            };
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            if !line.trim_ascii().is_empty() {
                if matches!(self.state, State::Lines) {
                    batch.text.extend_from_slice(line);
                } else {
                    json_line(line, batch).map_err(|fault| match fault {
                        NotAValue::Json => Fault::NotJsonLine(self.line),
                        NotAValue::Text => Fault::NotText(self.records + batch.len() as u64 + 1),
                    })?;
                }
                batch.end();
            }
            self.at = (self.at + end + 1).min(self.whole);
            self.line += 1;
        }
        Ok(false)
    }

    /// Cuts rows; true at the end of the text.
    fn rows(&mut self, batch: &mut Batch, bytes: usize) -> Result<bool, Fault> {
        let State::Csv(rows) = &mut self.state else {
            return Ok(true);
        };
        // `rows` itself holds an incomplete row.
        while batch.bytes() + batch.len() < bytes {
            let rest = &self.held[self.at..self.whole];
            if rest.is_empty() && self.ended {
                if rows.finish()? {
                    rows.fields().for_each(|field| batch.join(field));
                    batch.end();
                }
                return Ok(true);
            }
            let (length, complete) = rows.read(rest)?;
            self.at += length;
            if !complete {
                let open = rows.open_bytes();
                if open > LONGEST_RECORD {
                    return Err(Fault::TooLong(self.position() - open as u64));
                }
                return Ok(false);
            }
            if rows.is_record() {
                rows.fields().for_each(|field| batch.join(field));
                batch.end();
            }
        }
        Ok(false)
    }

    /// Cuts the values of a JSON text; true at the end of the text.
    fn values(&mut self, batch: &mut Batch, bytes: usize) -> Result<bool, Fault> {
        let State::Json(mut array) = self.state else {
            return Ok(true);
        };
        let text = simdutf8::basic::from_utf8(&self.held[self.at..self.whole]).unwrap_or_default();
        let mut scanner = Scanner::of(text);
        let mut cut = 0;
        let outcome = loop {
            let full = batch.bytes() + batch.len() >= bytes;
            if full {
                break Ok(false);
            }
            match value(&mut scanner, &mut array, batch) {
                Ok(()) => cut = scanner.position(),
                Err(Wrong::Ended) => {
                    cut = scanner.position();
                    break Ok(true);
                }
                Err(wrong) => break Err(wrong),
            }
        };
        batch.drop_open();
        let start = self.position();
        let length = text.len();
        self.at += cut;
        self.state = State::Json(array);
        match outcome {
            Ok(done) => Ok(done && self.ended),
            Err(Wrong::Text) => Err(Fault::NotText(self.records + batch.len() as u64 + 1)),
            // A value at the end of the bytes read so far may be incomplete.
            Err(Wrong::Json(refusal)) if !self.ended && refusal.offset + LONGEST_TOKEN >= length => Ok(false),
            Err(Wrong::Json(refusal)) => Err(Fault::NotJson(start + refusal.offset as u64)),
            Err(Wrong::Ended) => Ok(true),
        }
    }
}

enum NotAValue {
    Json,
    Text,
}

/// Adds the text of a line's value to the batch.
fn json_line(line: &[u8], batch: &mut Batch) -> Result<(), NotAValue> {
    let text = simdutf8::basic::from_utf8(line).unwrap_or_default();
    let mut scanner = Scanner::of(text);
    scanner.skip_space();
    let read = record(&mut scanner, batch).and_then(|()| Ok(scanner.end()?));
    read.map_err(|wrong| {
        batch.drop_open();
        match wrong {
            Wrong::Text => NotAValue::Text,
            _ => NotAValue::Json,
        }
    })
}

/// Why there is no next value.
enum Wrong {
    Json(Refusal),
    /// A value without text.
    Text,
    /// The text has ended properly.
    Ended,
}

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Self {
        Wrong::Json(refusal)
    }
}

/// Reads the next value of a JSON text into the batch. `array` advances only together with the scanner.
fn value(scanner: &mut Scanner<'_>, array: &mut Array, batch: &mut Batch) -> Result<(), Wrong> {
    scanner.skip_space();
    match *array {
        Array::Before if scanner.take(b'[') => {
            *array = Array::First;
            return Ok(());
        }
        Array::Before => {
            record(scanner, batch)?;
            batch.end();
            *array = Array::After;
            return Ok(());
        }
        Array::After => {
            scanner.end()?;
            return Err(Wrong::Ended);
        }
        Array::First | Array::Next if scanner.take(b']') => {
            *array = Array::After;
            return Ok(());
        }
        Array::First => {}
        Array::Next => {
            scanner.expect(b',')?;
            scanner.skip_space();
        }
    }
    record(scanner, batch)?;
    batch.end();
    *array = Array::Next;
    Ok(())
}

/// Adds the strings of one value to the batch's open record: null and empty values have none.
fn record(scanner: &mut Scanner<'_>, batch: &mut Batch) -> Result<(), Wrong> {
    match scanner.peek() {
        Some(b'"' | b'{' | b'[') => Ok(strings(scanner, 0, batch)?),
        Some(b'n') => Ok(scanner.skip_value(1)?),
        _ => {
            scanner.skip_value(1)?;
            Err(Wrong::Text)
        }
    }
}

/// Adds every string inside a value, in order, without member names.
fn strings(scanner: &mut Scanner<'_>, depth: usize, batch: &mut Batch) -> Result<(), Refusal> {
    let close = match scanner.peek() {
        Some(b'"') => {
            let span = scanner.string()?;
            let start = batch.ends.last().copied().unwrap_or(0);
            if batch.text.len() > start && span.start < span.end {
                batch.text.push(b' ');
            }
            unescape(scanner.bytes(span), &mut batch.text);
            return Ok(());
        }
        Some(b'{') => b'}',
        Some(b'[') => b']',
        _ => return scanner.skip_value(depth),
    };
    // The deepest level is skipped; the scanner refuses any below.
    if depth > crate::json::MAX_DEPTH - 2 {
        return scanner.skip_value(depth);
    }
    scanner.take(if close == b'}' { b'{' } else { b'[' });
    scanner.skip_space();
    if scanner.take(close) {
        return Ok(());
    }
    loop {
        if close == b'}' {
            scanner.key()?;
        }
        strings(scanner, depth + 1, batch)?;
        scanner.skip_space();
        if !scanner.take(b',') {
            return scanner.expect(close);
        }
        scanner.skip_space();
    }
}
