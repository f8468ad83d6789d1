//! Writes the answer: ids and texts are copied as they are in the body.

use super::request::{Doc, Lists, Method, Options};
use super::{Source, Workspace, with_text};
use crate::embed::dense::MODEL_ID_BYTES;
use crate::json::Span;
use crate::tokens::tokenize::Tokenizer;
use crate::unicode::words;

const LEXICAL_EMPTY: &[u8] = b"{\"code\":\"lexical_leg_empty\",\"message\":\"\
No document contains a term of the query: every bm25_score is 0.\"}";
const LEXICAL_EMPTY_CJK: &[u8] = b"{\"code\":\"lexical_leg_empty\",\"message\":\"\
No document contains a term of the query: every bm25_score is 0. The texts hold Chinese, Japanese or Korean, \
which ws does not split into words: try tokenizer ngram.\"}";
const DENSE_FLAT: &[u8] = b"{\"code\":\"dense_leg_flat\",\"message\":\"\
All dense scores are equal: they do not change the order.\"}";
const REPLACED: &[u8] = b"{\"code\":\"dense_scores_replaced\",\"message\":\"\
Some docs came with a dense_score and some without: the model computed those of all docs. \
Set on_missing_dense to keep those that came.\"}";
const QUERY_BLIND: &[u8] = b"{\"code\":\"dense_leg_blind\",\"message\":\"\
The model does not know most words of the query, so that its scores say little. \
Name a model of the query's language, or send dense_score.\"}";
const DOCS_BLIND: &[u8] = b"{\"code\":\"dense_leg_blind\",\"message\":\"\
The model does not know most words of some texts. A text of which it knows no word counts as the least dense \
score of the others. Name a model of the texts' language, or send dense_score.\"}";
const TRUNCATED: &[u8] = b"{\"code\":\"truncated_input\",\"message\":\"\
The model read only the beginning of the query or of a text: they are longer than it takes.\"}";

/// Most bytes that the answer can take.
pub(super) fn room(options: &Options, lists: &Lists) -> usize {
    const NUMBER: usize = 25;
    const RESULT: usize = 80 + 3 * NUMBER + 10;
    const EXPLAIN: usize = 110 + 4 * NUMBER + 20;
    const NOTE: usize = 256;
    // A name of 64 characters has up to 768 bytes as escapes; the profile's member is counted separately.
    const REST: usize = 2048 + 128 + MODEL_ID_BYTES;
    let each = RESULT + if options.explain { EXPLAIN } else { 0 };
    let strings = |doc: &Doc| {
        let text = if options.return_text {
            doc.text.end - doc.text.start
        } else {
            0
        };
        doc.id.end - doc.id.start + text
    };
    let query = options.query.end - options.query.start;
    REST + NOTE + query + lists.docs.len() * each + lists.docs.iter().map(strings).sum::<usize>()
}

impl Workspace {
    /// Two warnings: no doc matched a term, and the dense scores of all docs are equal.
    pub(super) fn warnings(&self) -> (bool, bool) {
        let lexical_empty = self.matches.is_empty() && !self.bm25_unused;
        let first = self.lists.docs[0].dense;
        let several = self.lists.docs.len() > 1 && !self.dense_unused;
        let dense_flat = several && self.lists.docs.iter().all(|doc| doc.dense == first);
        (lexical_empty, dense_flat)
    }

    pub(super) fn write(&self, body: &[u8], options: &Options, source: &Source<'_>, out: &mut [u8]) -> usize {
        let mut writer = Writer { out, at: 0 };
        let copied = |span: Span| &body[span.start..span.end];
        writer.raw(b"{\"query\":\"");
        writer.raw(copied(options.query));
        writer.raw(match options.method {
            Method::MaxNorm => b"\",\"method\":\"maxnorm\",\"tokenizer\":\"" as &[u8],
            Method::Rrf => b"\",\"method\":\"rrf\",\"tokenizer\":\"",
        });
        writer.raw(options.tokenizer.name());
        writer.raw(b"\",\"dense_source\":\"");
        match &source.model {
            None if self.dense_unused => writer.raw(b"none"),
            None => writer.raw(b"caller"),
            Some(model) => {
                writer.raw(b"model:");
                writer.raw(model.as_bytes());
            }
        }
        writer.raw(b"\",\"results\":[");
        for (rank, &(_, place)) in self.order.iter().take(self.shown).enumerate() {
            let place = place as usize;
            let doc = &self.lists.docs[place];
            writer.raw(if rank == 0 { b"{\"id\":\"" } else { b",{\"id\":\"" });
            writer.raw(copied(doc.id));
            writer.raw(b"\",\"text\":\"");
            if options.return_text {
                writer.raw(copied(doc.text));
            }
            writer.number(b"\",\"dense_score\":", doc.dense);
            writer.number(b",\"bm25_score\":", self.bm25[place]);
            writer.number(b",\"fused_score\":", self.fused[place].score);
            writer.whole(b",\"rank\":", rank as u32 + 1);
            if options.explain {
                self.write_explain(place, self.pieces.get(rank), &mut writer);
            }
            writer.raw(self.highlights.get(rank));
            writer.raw(b"}");
        }
        writer.raw(b"]");
        if let Some((name, version, docs)) = self.told {
            writer.raw(b",\"corpus\":{\"name\":\"");
            writer.raw(copied(name));
            writer.number(b"\",\"version\":", f64::from(version));
            writer.number(b",\"docs\":", docs);
            writer.raw(b"}");
        }
        writer.raw(&self.profile);
        self.write_warnings(body, options, source, &mut writer);
        writer.raw(b"}");
        writer.at
    }

    fn write_explain(&self, place: usize, more: &[u8], writer: &mut Writer<'_>) {
        let fused = &self.fused[place];
        writer.number(b",\"explain\":{\"bm25_norm\":", fused.bm25_norm);
        writer.number(b",\"dense_norm\":", fused.dense_norm);
        writer.number(b",\"bm25_part\":", fused.bm25_part);
        writer.number(b",\"dense_part\":", fused.dense_part);
        writer.number(b",\"bm25_rank\":", f64::from(self.bm25_ranks[place]));
        writer.number(b",\"dense_rank\":", f64::from(self.dense_ranks[place]));
        writer.raw(more);
        writer.raw(b"}");
    }

    fn write_warnings(&self, body: &[u8], options: &Options, source: &Source<'_>, writer: &mut Writer<'_>) {
        let (lexical_empty, dense_flat) = self.warnings();
        let mut separator: &[u8] = b",\"warnings\":[";
        let mut warn = |warning: &[u8]| {
            writer.raw(separator);
            writer.raw(warning);
            separator = b",";
        };
        if lexical_empty {
            let cjk = options.tokenizer == Tokenizer::Ws
                && self.lists.docs.iter().any(|doc| has_cjk(body, doc.text));
            warn(if cjk { LEXICAL_EMPTY_CJK } else { LEXICAL_EMPTY });
        }
        if dense_flat {
            warn(DENSE_FLAT);
        }
        if source.model.is_some() && options.some_dense {
            warn(REPLACED);
        }
        if source.poor.query {
            warn(QUERY_BLIND);
        } else if source.poor.docs {
            warn(DOCS_BLIND);
        }
        if source.truncated {
            warn(TRUNCATED);
        }
        if let Some(notes) = self.notes.get(1..) {
            warn(notes);
        }
        if separator == b"," {
            writer.raw(b"]");
        }
    }
}

/// True if a string contains Chinese, Japanese or Korean characters.
pub(super) fn has_cjk(body: &[u8], span: Span) -> bool {
    with_text(body, span, &mut Vec::new(), |text, range, ascii| {
        !ascii && String::from_utf8_lossy(&text[range]).chars().any(words::is_cjk)
    })
}

/// The least numbers of more than three and of more than four digits.
const THREE_DIGITS: u32 = 1_000;
const FOUR_DIGITS: u32 = 10_000;

/// The digits of each number of at most three, the first one lowest, and how many they are, highest.
static DIGITS: [u32; THREE_DIGITS as usize] = {
    let mut table = [0; THREE_DIGITS as usize];
    let mut value = 0;
    while value < THREE_DIGITS {
        let (text, length) = four_digits(value);
        table[value as usize] = text | (length as u32) << 24;
        value += 1;
    }
    table
};

/// The digits of a number of at most four, the first one lowest, and how many they are.
#[inline(always)]
const fn four_digits(value: u32) -> (u32, usize) {
    // By the quotients of 100 and of 10; the leading zeros are shifted out.
    let hundreds = (value * 5243) >> 19;
    let pairs = hundreds | (value - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000F_000F;
    let digits = tens | (pairs - tens * 10) << 8;
    let zeros = (digits | 1 << 24).trailing_zeros() / 8;
    ((digits | 0x3030_3030) >> (8 * zeros), 4 - zeros as usize)
}

/// The same, of most numbers by the table.
#[inline(always)]
fn few_digits(value: u32) -> (u32, usize) {
    match DIGITS.get(value as usize) {
        Some(&digits) => (digits & 0x00FF_FFFF, (digits >> 24) as usize),
        None => four_digits(value),
    }
}

/// Writes into room that is known to be large enough.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) at: usize,
}

impl Writer<'_> {
    #[inline]
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Writes `before` and a whole number. There must be room for ten digits, whatever the number.
    #[inline(always)]
    pub(super) fn whole(&mut self, before: &[u8], value: u32) {
        self.raw(before);
        if value >= FOUR_DIGITS {
            self.raw(value.to_string().as_bytes());
            return;
        }
        let (text, length) = few_digits(value);
        self.out[self.at..self.at + 4].copy_from_slice(&text.to_le_bytes());
        self.at += length;
    }

    /// Two whole numbers in brackets, and a comma. There is room for 24 bytes, whatever the numbers.
    #[inline(always)]
    pub(super) fn span(&mut self, start: u32, end: u32) {
        if start.max(end) >= FOUR_DIGITS {
            self.whole(b"[", start);
            self.whole(b",", end);
            return self.raw(b"],");
        }
        let (first, length) = few_digits(start);
        let first = u64::from(first) << 8 | u64::from(b'[') | u64::from(b',') << (8 + 8 * length);
        let (second, other) = few_digits(end);
        let second = u64::from(second) | u64::from(u16::from_le_bytes(*b"],")) << (8 * other);
        // Each at once, with zeros after it, which what comes next takes the place of.
        let room = &mut self.out[self.at..self.at + 16];
        room[..8].copy_from_slice(&first.to_le_bytes());
        room[length + 2..length + 10].copy_from_slice(&second.to_le_bytes());
        self.at += length + other + 4;
    }

    /// Ends a JSON list whose items are each followed by a comma. `filled`: it has an item.
    #[inline]
    pub(super) fn end_list(&mut self, filled: bool) {
        self.at -= usize::from(filled);
        self.raw(b"]");
    }

    /// Writes `before` and a number as ECMAScript's Number::toString does.
    #[inline]
    pub(super) fn number(&mut self, before: &[u8], value: f64) {
        self.raw(before);
        self.raw(ryu_js::Buffer::new().format_finite(value).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_they_are_read() {
        let few = 0..=10_100_u32;
        for value in few.chain([99_999, 1_000_000, u32::MAX]) {
            let mut out = [0; 16];
            let mut writer = Writer { out: &mut out, at: 0 };
            writer.whole(b"[", value);
            let end = writer.at;
            assert_eq!(out[..end], *format!("[{value}").as_bytes());
        }
    }

    #[test]
    fn spans_are_written_as_they_are_read() {
        let values = [0, 7, 10, 99, 100, 123, 999, 1000, 9999, 10_000, 123_456, u32::MAX];
        for start in values {
            for end in values {
                let mut out = [0; 32];
                let mut writer = Writer { out: &mut out, at: 0 };
                writer.span(start, end);
                let length = writer.at;
                assert_eq!(out[..length], *format!("[{start},{end}],").as_bytes());
            }
        }
    }
}
