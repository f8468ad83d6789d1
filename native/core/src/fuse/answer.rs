//! Writes the answer: ids and texts are copied as they are in the body.

use super::request::{Method, Options};
use super::spans::with_text;
use super::workspace::{Source, Workspace};
use super::writer::Writer;
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

impl Workspace {
    /// Flags of two warnings: no doc matched a term, and the dense scores of all docs are equal.
    pub(super) fn warnings(&self) -> (bool, bool) {
        let lexical_empty = self.matches.is_empty() && !self.bm25_unused;
        let first = self.lists.docs[0].dense;
        let several = self.lists.docs.len() > 1 && !self.dense_unused;
        let dense_flat = several && self.lists.docs.iter().all(|doc| doc.dense == first);
        (lexical_empty, dense_flat)
    }

    /// Writes the answer; the pieces of its results are freed meanwhile.
    pub(super) fn write(
        &mut self,
        body: &[u8],
        options: &Options,
        source: &Source<'_>,
        out: &mut [u8],
    ) -> usize {
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
        for rank in 0..self.shown {
            let place = self.order[rank].1 as usize;
            self.pieces.free_before(rank);
            self.highlights.free_before(rank);
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
