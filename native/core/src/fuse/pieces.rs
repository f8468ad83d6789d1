//! Parts of an answer that are written before it, so that their length is known.

use super::writer::Writer;

/// Bytes of a block from which on the next piece begins another one.
const BLOCK: usize = 1 << 20;

/// Pieces of JSON to insert into the answer, one for each result. In blocks, so that none is copied as they
/// grow, and each can be freed as soon as the answer has it.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Blocks that take no further piece.
    full: Vec<Vec<u8>>,
    /// The last block, of which `written` bytes are used.
    bytes: Vec<u8>,
    written: usize,
    /// Bytes of the pieces in full blocks.
    before: usize,
    /// The block and the end in it of each piece.
    ends: Vec<(usize, usize)>,
}

impl Pieces {
    /// Removes all pieces.
    pub(super) fn clear(&mut self) {
        self.full.clear();
        (self.written, self.before) = (0, 0);
        self.ends.clear();
    }

    /// Bytes of all pieces, also of the one that is being written.
    pub(super) fn len(&self) -> usize {
        self.before + self.written
    }

    /// Bytes of memory held.
    pub(super) fn room(&self) -> usize {
        self.full.iter().map(Vec::capacity).sum::<usize>() + self.bytes.capacity()
    }

    /// The piece at index `number`; empty if there is none.
    pub(super) fn get(&self, number: usize) -> &[u8] {
        let Some(&(block, end)) = self.ends.get(number) else {
            return &[];
        };
        let last = number.checked_sub(1).map(|before| self.ends[before]);
        let start = last.filter(|&(of, _)| of == block).map_or(0, |(_, end)| end);
        &self.full.get(block).unwrap_or(&self.bytes)[start..end]
    }

    /// Frees the full blocks before that of the piece at index `number`: their pieces were read.
    #[inline]
    pub(super) fn free_before(&mut self, number: usize) {
        if self.full.is_empty() {
            return;
        }
        let block = self.ends.get(number).and_then(|&(block, _)| block.checked_sub(1));
        // Each block has a piece: the blocks before this one were freed before its pieces.
        if let Some(done) = block.and_then(|before| self.full.get_mut(before)) {
            *done = Vec::new();
        }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.write(bytes.len(), |writer| writer.raw(bytes));
    }

    pub(super) fn number(&mut self, before: &[u8], value: f64) {
        self.raw(before);
        self.raw(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }

    /// Writes more of a piece, of at most `most` bytes.
    #[inline]
    pub(super) fn write(&mut self, most: usize, write: impl FnOnce(&mut Writer)) {
        let needed = self.written + most;
        if self.bytes.len() < needed {
            let least = if self.full.is_empty() { 0 } else { BLOCK };
            let spare = if needed < BLOCK / 2 { needed } else { needed / 4 };
            self.bytes.resize(needed.max(least) + spare, 0);
        }
        let out = &mut self.bytes[self.written..needed];
        let mut writer = Writer { out, at: 0 };
        write(&mut writer);
        self.written += writer.at;
    }

    pub(super) fn end(&mut self) {
        self.ends.push((self.full.len(), self.written));
        if self.written >= BLOCK {
            self.bytes.truncate(self.written);
            self.bytes.shrink_to_fit();
            self.before += self.written;
            self.written = 0;
            self.full.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_are_read_as_they_are_written() {
        let lengths = [
            0,
            5,
            BLOCK / 2,
            BLOCK / 2,
            0,
            7,
            3 * BLOCK + 1,
            1,
            BLOCK - 1,
            BLOCK,
            0,
            9,
        ];
        let mut pieces = Pieces::default();
        for round in 0..2 {
            pieces.clear();
            for (number, &length) in lengths.iter().enumerate() {
                // As most pieces are, of several parts.
                pieces.raw(&vec![number as u8 + round; length / 2]);
                pieces.raw(&vec![number as u8 + round; length.div_ceil(2)]);
                pieces.end();
            }
            assert_eq!(pieces.len(), lengths.iter().sum::<usize>());
            let before = pieces.room();
            assert!(before < pieces.len() + 3 * BLOCK, "{before}");
            for (number, &length) in lengths.iter().enumerate() {
                pieces.free_before(number);
                assert_eq!(pieces.get(number), vec![number as u8 + round; length], "{number}");
            }
            assert!(pieces.get(lengths.len()).is_empty());
            assert!(pieces.room() < 3 * BLOCK, "{}", pieces.room());
        }
    }
}
