//! The formats that a text may have, and why it is not in one.

use std::fmt;

/// Most bytes of a record; a longer one counts as a mistake, such as a quote that is never closed.
pub const LONGEST_RECORD: usize = 64 << 20;

/// Bytes of the longest JSON token that is refused at its start if cut: a pair of escaped surrogates.
pub(super) const LONGEST_TOKEN: usize = 12;

/// Ways to cut a text into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A record a line; blank lines are skipped.
    Lines,
    /// A record a row after the header, its fields joined.
    Csv,
    /// A JSON value a line.
    Jsonl,
    /// The elements of one JSON array, or one value.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Lines, Format::Csv, Format::Jsonl, Format::Json];

    /// Its name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
            Format::Json => "json",
        }
    }

    /// The format with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Why a text cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Begins with a byte order mark of UTF-16.
    Utf16,
    /// The byte at this place is not UTF-8 (RFC 3629).
    NotUtf8(u64),
    /// A quoted field of the row that begins on this line is not closed.
    UnclosedQuote(u64),
    /// A row has another number of fields than the header.
    Ragged {
        /// Line on which the row begins, from 1.
        line: u64,
        /// Fields of the row.
        fields: usize,
        /// Fields of the header.
        header: usize,
    },
    /// Not JSON at this byte.
    NotJson(u64),
    /// This line is not JSON.
    NotJsonLine(u64),
    /// The record with this number, from 1, is a number or a boolean.
    NotText(u64),
    /// A record is over [`LONGEST_RECORD`]; it begins at this byte.
    TooLong(u64),
    /// The text cannot be read.
    Unreadable(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Utf16 => write!(to, "this is UTF-16; save it as UTF-8"),
            Fault::NotUtf8(at) => write!(to, "not UTF-8 at byte {at}"),
            Fault::UnclosedQuote(line) => {
                write!(
                    to,
                    "not CSV: a quoted field of the row on line {line} is not closed"
                )
            }
            Fault::Ragged { line, fields, header } => write!(
                to,
                "not CSV: the row on line {line} has {fields} fields, the header has {header}"
            ),
            Fault::NotJson(at) => write!(to, "not JSON at byte {at}"),
            Fault::NotJsonLine(line) => write!(to, "not JSON Lines: line {line} is not a JSON value"),
            Fault::NotText(record) => {
                write!(
                    to,
                    "record {record} is neither text nor an object or array that holds some"
                )
            }
            Fault::TooLong(at) => write!(to, "the record at byte {at} is over {} MiB", LONGEST_RECORD >> 20),
            Fault::Unreadable(why) => write!(to, "it cannot be read ({why})"),
        }
    }
}
