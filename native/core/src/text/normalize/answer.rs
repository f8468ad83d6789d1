//! The writer of a NormalizeResponse.

use std::fmt::Write as _;

use super::edits::{Edit, Edits, applied, checked};
use super::mode::Mode;
use super::mojibake;
use super::properties::Kind;

/// The answer while it is written to the caller's buffer. At the first piece that does not fit, all of it
/// moves to its own memory.
pub struct Answer<'a> {
    room: &'a mut [u8],
    written: usize,
    beside: Option<Vec<u8>>,
}

impl<'a> Answer<'a> {
    /// An empty answer.
    pub fn new(room: &'a mut [u8]) -> Self {
        Self {
            room,
            written: 0,
            beside: None,
        }
    }

    /// The number of bytes in the buffer, or the answer in its own memory.
    pub fn done(self) -> Result<usize, Vec<u8>> {
        self.beside.map_or(Ok(self.written), Err)
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.written + bytes.len();
        if let Some(place) = self.room.get_mut(self.written..end) {
            place.copy_from_slice(bytes);
        } else {
            self.bytes_beside(bytes);
        }
        self.written = end;
    }

    #[cold]
    fn bytes_beside(&mut self, bytes: &[u8]) {
        let beside = self
            .beside
            .get_or_insert_with(|| self.room[..self.written].to_vec());
        beside.extend_from_slice(bytes);
        // Later pieces must go there, too: a short one could still fit in the buffer.
        self.room = &mut [];
    }

    /// Writes text that needs no escapes.
    pub fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes the text before a member's number, then the number.
    pub fn number(&mut self, before: &str, value: u64) {
        self.raw(before);
        let (mut digits, mut at, mut rest) = ([0; 20], 20, value);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes(&digits[at..]);
    }

    /// Writes a string's characters, escaped as JSON requires (RFC 8259 section 7).
    pub fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let (stop, _) = crate::cpu::scan::string_stop(bytes, at);
            self.bytes(&bytes[at..stop]);
            let Some(&byte) = bytes.get(stop) else { return };
            match byte {
                b'"' | b'\\' => self.bytes(&[b'\\', byte]),
                b'\n' => self.bytes(b"\\n"),
                b'\t' => self.bytes(b"\\t"),
                b'\r' => self.bytes(b"\\r"),
                _ => {
                    let _ = write!(self, "\\u{byte:04x}");
                }
            }
            at = stop + 1;
        }
    }

    /// Writes the text as the request has it (`raw`), the text with edits, and the mode.
    pub fn head(&mut self, raw: &[u8], text: &str, edits: &Edits, mode: Mode) {
        self.raw("{\"text\":\"");
        self.bytes(raw);
        self.raw("\",\"normalized\":\"");
        if edits.is_empty() {
            self.bytes(raw);
        } else {
            self.string(checked(&applied(text, edits)));
        }
        let changed = !edits.is_empty();
        let _ = write!(self, "\",\"mode\":\"{}\",\"changed\":{changed}", mode.name());
    }

    /// Writes the list of at most `most` changes.
    pub fn changes(&mut self, text: &str, edits: &Edits, most: usize) {
        self.raw(",\"changes\":[");
        let (mut at, mut place) = (0, 0);
        for (number, edit) in edits.list().take(most).enumerate() {
            let points = |from, to| crate::cpu::scan::code_points(&text.as_bytes()[from..to]);
            let start = place + points(at, edit.start);
            let end = start + points(edit.start, edit.end);
            (at, place) = (edit.end, end);
            self.raw(if number == 0 { "{" } else { ",{" });
            self.number("\"start\":", start);
            self.number(",\"end\":", end);
            self.raw(",\"original\":\"");
            self.string(&text[edit.start..edit.end]);
            self.raw("\",\"replacement\":\"");
            self.string(checked(edits.replacement(&edit)));
            self.raw("\",\"kind\":\"");
            self.raw(edit.kind().name());
            self.raw("\",\"reason\":\"");
            self.reason(&edit);
            self.raw("\"}");
        }
        self.raw("]");
        if edits.list().len() > most {
            self.raw(",\"changes_truncated\":true");
        }
    }

    /// Writes the reasons of all kinds that took part in a change.
    fn reason(&mut self, edit: &Edit) {
        let kinds = Kind::ALL.into_iter().filter(|kind| edit.kinds & kind.bit() != 0);
        for (number, kind) in kinds.enumerate() {
            self.raw(if number == 0 { "" } else { "; " });
            match kind {
                Kind::Mojibake => self.raw(&mojibake::explain(edit.encoding)),
                _ => self.raw(kind.reason()),
            }
        }
    }

    /// Writes the number of changes of each kind.
    pub fn stats(&mut self, edits: &Edits) {
        self.raw(",\"stats\":{");
        let mut counts = [0usize; Kind::ALL.len()];
        edits.list().for_each(|edit| counts[edit.kind() as usize] += 1);
        let counted = Kind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        for (number, (kind, count)) in counted.enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(self, "{comma}\"{}\":{count}", kind.name());
        }
        self.raw("}");
    }
}

impl std::fmt::Write for Answer<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.raw(text);
        Ok(())
    }
}
