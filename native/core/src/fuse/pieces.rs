//! Parts of an answer that are written before it, so that their length is known.

use super::writer::Writer;

/// Pieces of JSON to insert into the answer, one for each result.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// A buffer, of which `written` bytes are used.
    bytes: Vec<u8>,
    written: usize,
    ends: Vec<usize>,
}

impl Pieces {
    /// Removes all pieces.
    pub(super) fn clear(&mut self) {
        self.written = 0;
        self.ends.clear();
    }

    /// Bytes of all pieces.
    pub(super) fn len(&self) -> usize {
        self.written
    }

    /// Bytes of memory held.
    pub(super) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// The piece at index `number`; empty if there is none.
    pub(super) fn get(&self, number: usize) -> &[u8] {
        let Some(&end) = self.ends.get(number) else {
            return &[];
        };
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..end]
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.write(bytes.len(), |writer| writer.raw(bytes));
    }

    pub(super) fn number(&mut self, before: &[u8], value: f64) {
        self.raw(before);
        self.raw(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }

    /// Adds a piece that `write` writes, of at most `most` bytes.
    #[inline]
    pub(super) fn write(&mut self, most: usize, write: impl FnOnce(&mut Writer)) {
        let needed = self.written + most;
        if self.bytes.len() < needed {
            self.bytes.resize(2 * needed, 0);
        }
        let out = &mut self.bytes[self.written..needed];
        let mut writer = Writer { out, at: 0 };
        write(&mut writer);
        self.written += writer.at;
    }

    pub(super) fn end(&mut self) {
        self.ends.push(self.written);
    }
}
