//! Rows of CSV (RFC 4180) by csv-core, with two strict rules: all rows have as many fields as the header, and
//! quotes are closed.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::format::Fault;

/// Separators of a row's fields.
pub type Separator = u8;

/// Parses rows from bytes.
pub struct Rows {
    reader: Reader,
    separator: Separator,
    /// Text of the row so far, and the ends of its fields.
    text: Vec<u8>,
    ends: Vec<usize>,
    text_length: usize,
    fields: usize,
    /// Number of fields of the header; 0 before it was read.
    width: usize,
    /// Line on which the row begins, from 1, and the current line.
    line: u64,
    next_line: u64,
    /// True if a byte of the row was read.
    begun: bool,
    complete: bool,
    header: bool,
}

impl Rows {
    /// Nothing read yet.
    #[must_use]
    pub fn new(separator: Separator) -> Self {
        Rows {
            reader: ReaderBuilder::new().delimiter(separator).build(),
            separator,
            text: vec![0; 4096],
            ends: vec![0; 64],
            text_length: 0,
            fields: 0,
            width: 0,
            line: 1,
            next_line: 1,
            begun: false,
            complete: false,
            header: false,
        }
    }

    /// The separator of the fields.
    #[must_use]
    pub fn separator(&self) -> Separator {
        self.separator
    }

    /// Reads at most one row; returns the number of bytes read, and true if the row is complete.
    ///
    /// # Errors
    /// [`Fault::Ragged`]
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, bool), Fault> {
        if self.complete {
            self.complete = false;
            (self.text_length, self.fields) = (0, 0);
            self.begun = false;
        }
        let skipped = if self.begun { 0 } else { self.begin(input) };
        let outcome = self.read_on(&input[skipped..]);
        let length = skipped + outcome.as_ref().map_or(0, |(read, _)| *read);
        self.next_line += memchr::memchr_iter(b'\n', &input[skipped..length]).count() as u64;
        outcome.map(|(_, complete)| (length, complete))
    }

    /// Skips the blank lines before a row; returns their length.
    fn begin(&mut self, input: &[u8]) -> usize {
        let blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let length = input.iter().take_while(blank).count();
        self.next_line += memchr::memchr_iter(b'\n', &input[..length]).count() as u64;
        self.line = self.next_line;
        self.begun = length < input.len();
        length
    }

    fn read_on(&mut self, input: &[u8]) -> Result<(usize, bool), Fault> {
        let mut at = 0;
        // Empty input would mean the end of the text.
        while at < input.len() {
            let (outcome, read, written, ended) = self.reader.read_record(
                &input[at..],
                &mut self.text[self.text_length..],
                &mut self.ends[self.fields..],
            );
            at += read;
            self.text_length += written;
            self.fields += ended;
            match outcome {
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => return self.end_row().map(|()| (at, true)),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => break,
            }
        }
        Ok((at, false))
    }

    fn end_row(&mut self) -> Result<(), Fault> {
        self.complete = true;
        self.header = self.width == 0;
        if self.header {
            self.width = self.fields;
        }
        if self.fields == self.width {
            return Ok(());
        }
        Err(Fault::Ragged {
            line: self.line,
            fields: self.fields,
            header: self.width,
        })
    }

    /// Ends the last row, if the text does not end with a line feed; true if that made a record.
    ///
    /// # Errors
    /// [`Fault::UnclosedQuote`]
    pub fn finish(&mut self) -> Result<bool, Fault> {
        if self.complete {
            return Ok(false);
        }
        // A line feed ends a row, unless a quote is open.
        if self.begun && self.read_on(b"\n")?.1 {
            return Ok(self.is_record());
        }
        if self.begun {
            return Err(Fault::UnclosedQuote(self.line));
        }
        Ok(false)
    }

    /// True if a row was just completed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// True if the completed row is not the header.
    #[must_use]
    pub fn is_record(&self) -> bool {
        self.complete && !self.header
    }

    /// Bytes of the unfinished row.
    #[must_use]
    pub fn open_bytes(&self) -> usize {
        if self.complete { 0 } else { self.text_length }
    }

    /// The fields of the completed row.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let places = starts.zip(self.ends.iter().copied()).take(self.fields);
        places.map(|(start, end)| &self.text[start..end])
    }
}
