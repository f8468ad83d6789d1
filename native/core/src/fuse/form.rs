//! The forms of answers, and the most bytes that one can take.

use super::request::rerank::{Asked, NAME_BYTES, NAMED_UNKNOWN};
use super::request::{Doc, Lists, Options};
use crate::embed::dense::MODEL_ID_BYTES;

/// Form of the answer: that of /v1/fuse, or that of a rerank interface.
pub(super) enum Form {
    Fuse,
    Rerank(Box<Asked>),
}

impl Form {
    /// Most bytes that the answer can take.
    pub(super) fn room(&self, options: &Options, lists: &Lists) -> usize {
        match self {
            Form::Fuse => room(options, lists),
            Form::Rerank(asked) => rerank_room(asked, lists),
        }
    }
}

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
    let shown = lists.docs.len().min(options.top_k);
    REST + NOTE + query + shown * each + lists.docs.iter().map(strings).sum::<usize>()
}

/// As [`room`], for the answer to a rerank request.
fn rerank_room(asked: &Asked, lists: &Lists) -> usize {
    const NUMBER: usize = 25;
    const RESULT: usize = 80 + 2 * NUMBER;
    const WARNINGS: usize = 2048 + (NAMED_UNKNOWN + 1) * (NAME_BYTES + 8);
    const REST: usize = 512 + 4 * NUMBER + MODEL_ID_BYTES;
    let document = |doc: &Doc| (doc.id.end - doc.id.start).max(doc.text.end - doc.text.start);
    let documents = if asked.return_documents {
        lists.docs.iter().map(document).sum()
    } else {
        0
    };
    REST + WARNINGS + asked.id.len() + 2 * MODEL_ID_BYTES + lists.docs.len() * RESULT + documents
}
