//! Writes the answers to rerank requests of other interfaces: indexes and scores in [0, 1], by descending
//! score.

use super::request::rerank::{Asked, IGNORED, NAME_BYTES, Shape};
use super::request::{Doc, Options};
use super::spans::with_str;
use super::workspace::{Source, Workspace};
use super::writer::Writer;
use crate::json::Span;

/// Lower than every fused score: docs without text rank last.
const LAST: f64 = -2.0;

/// Docs per search unit, as with Cohere.
const UNIT_DOCS: usize = 100;

fn is_empty(span: Span) -> bool {
    span.start == span.end
}

/// True if a string has nothing but white space. A model has a vector for that too, which says nothing.
fn is_blank(body: &[u8], span: Span, unescaped: &mut Vec<u8>) -> bool {
    match body[span.start..span.end].first() {
        None => true,
        // Most texts begin with a letter.
        Some(b'!'..=b'[' | b']'..=b'~') => false,
        Some(_) => with_str(body, span, unescaped, |text| text.trim_start().is_empty()),
    }
}

impl Workspace {
    /// Ranks docs without text last. If the query has no text, docs stay in their order.
    pub(super) fn lower_empty(&mut self, body: &[u8], options: &Options) {
        let no_query = is_blank(body, options.query, &mut self.unescaped);
        for (doc, fused) in self.lists.docs.iter().zip(&mut self.fused) {
            if no_query {
                fused.score = 0.0;
            } else if is_blank(body, doc.text, &mut self.unescaped) {
                fused.score = LAST;
            }
        }
    }

    fn relevance(&self, asked: &Asked, place: usize) -> f64 {
        let score = self.fused[place].score;
        if score == LAST {
            0.0
        } else if asked.raw_scores {
            score
        } else {
            score.clamp(0.0, 1.0)
        }
    }

    /// Number of tokens of the query and of the texts, as counted.
    fn tokens(&self, options: &Options) -> (u64, u64) {
        let query = self
            .frequencies(options)
            .iter()
            .map(|&count| u64::from(count))
            .sum();
        let texts = self.lengths.iter().map(|&(_, length)| length as u64).sum();
        (query, texts)
    }

    pub(super) fn write_rerank(
        &self,
        body: &[u8],
        asked: &Asked,
        source: &Source<'_>,
        out: &mut [u8],
    ) -> usize {
        let mut writer = Writer { out, at: 0 };
        let model = source.model.as_deref().unwrap_or_default().as_bytes();
        let (query_tokens, text_tokens) = self.tokens(&asked.options);
        // Each text counts together with the query.
        let tokens = query_tokens * self.lists.docs.len() as u64 + text_tokens;
        writer.raw(match asked.shape {
            Shape::V2 | Shape::V1 => b"{\"id\":\"" as &[u8],
            Shape::Voyage => b"{\"object\":\"list\",\"data\":",
            Shape::Tei => b"",
        });
        if matches!(asked.shape, Shape::V2 | Shape::V1) {
            writer.raw(asked.id.as_bytes());
            if asked.shape == Shape::V1 {
                writer.raw(b"\",\"model\":\"");
                writer.raw(model);
            }
            writer.raw(b"\",\"results\":");
        }
        self.write_results(body, asked, &mut writer);
        match asked.shape {
            Shape::Tei => return writer.at,
            Shape::V2 => {}
            Shape::V1 => {
                writer.number(b",\"usage\":{\"total_tokens\":", tokens as f64);
                writer.number(b",\"prompt_tokens\":", tokens as f64);
                writer.raw(b"}");
            }
            Shape::Voyage => {
                writer.raw(b",\"model\":\"");
                writer.raw(model);
                writer.number(b"\",\"usage\":{\"total_tokens\":", tokens as f64);
                writer.raw(b"}");
            }
        }
        self.write_meta(body, asked, source, tokens, &mut writer);
        writer.raw(b"}");
        writer.at
    }

    fn write_results(&self, body: &[u8], asked: &Asked, writer: &mut Writer<'_>) {
        let tei = asked.shape == Shape::Tei;
        let score: &[u8] = if tei {
            b",\"score\":"
        } else {
            b",\"relevance_score\":"
        };
        writer.raw(b"[");
        for (rank, &(_, place)) in self.order.iter().take(asked.options.top_k).enumerate() {
            let place = place as usize;
            let before: &[u8] = if rank == 0 {
                b"{\"index\":"
            } else {
                b",{\"index\":"
            };
            writer.number(before, place as f64);
            writer.number(score, self.relevance(asked, place));
            if asked.return_documents {
                write_document(body, asked.shape, &self.lists.docs[place], writer);
            }
            writer.raw(b"}");
        }
        writer.raw(b"]");
    }

    fn write_meta(
        &self,
        body: &[u8],
        asked: &Asked,
        source: &Source<'_>,
        tokens: u64,
        writer: &mut Writer<'_>,
    ) {
        let version: &[u8] = if asked.shape == Shape::V2 { b"2" } else { b"1" };
        writer.raw(b",\"meta\":{\"api_version\":{\"version\":\"");
        writer.raw(version);
        let units = self.lists.docs.len().div_ceil(UNIT_DOCS);
        writer.number(
            b"\",\"is_experimental\":false},\"billed_units\":{\"search_units\":",
            units as f64,
        );
        writer.number(b"},\"tokens\":{\"input_tokens\":", tokens as f64);
        writer.raw(b",\"output_tokens\":0}");
        self.write_notes(body, asked, source, writer);
        writer.raw(b"}");
    }

    /// Writes sentences about members that were ignored, and about reasons why the ranking may be weak.
    fn write_notes(&self, body: &[u8], asked: &Asked, source: &Source<'_>, writer: &mut Writer<'_>) {
        let copied = |span: Span| &body[span.start..span.end];
        let mut separator: &[u8] = b",\"warnings\":[\"";
        let mut warn = |parts: &[&[u8]]| {
            writer.raw(separator);
            parts.iter().for_each(|part| writer.raw(part));
            separator = b"\",\"";
        };
        if let Some(name) = asked.unknown_model {
            let name = if name.end - name.start <= NAME_BYTES {
                copied(name)
            } else {
                b"so named"
            };
            let model = source.model.as_deref().unwrap_or_default().as_bytes();
            warn(&[
                b"No model ",
                name,
                b" is installed here: ",
                model,
                b" made the scores.",
            ]);
        }
        for (place, name) in IGNORED.iter().enumerate() {
            if asked.ignored >> place & 1 == 1 {
                warn(&[name, b" is not used."]);
            }
        }
        for &name in &asked.unknown {
            warn(&[copied(name), b" is not known here, and was ignored."]);
        }
        if asked.more_unknown {
            warn(&[b"Other members are not known here, and were ignored."]);
        }
        let (lexical_empty, dense_flat) = self.warnings();
        if lexical_empty {
            warn(&[b"No document contains a word of the query: the model alone decided the order."]);
        }
        if dense_flat {
            warn(&[b"The model scores all documents alike: the words of the query alone decided the order."]);
        }
        if source.poor.query {
            warn(&[b"The model does not know most words of the query: its scores say little."]);
        } else if source.poor.docs {
            warn(&[b"The model does not know most words of some documents."]);
        }
        if source.truncated {
            warn(&[b"The model read only the beginning of the query or of a document."]);
        }
        if separator == b"\",\"" {
            writer.raw(b"\"]");
        }
    }
}

/// Writes a document in the form of the interface: a text, or an object, copied as it was sent.
fn write_document(body: &[u8], shape: Shape, doc: &Doc, writer: &mut Writer<'_>) {
    let copied = |span: Span| &body[span.start..span.end];
    match shape {
        Shape::V1 | Shape::V2 if !is_empty(doc.id) => {
            writer.raw(b",\"document\":");
            writer.raw(copied(doc.id));
        }
        Shape::V1 | Shape::V2 => {
            writer.raw(b",\"document\":{\"text\":\"");
            writer.raw(copied(doc.text));
            writer.raw(b"\"}");
        }
        Shape::Voyage | Shape::Tei => {
            let name: &[u8] = if shape == Shape::Tei {
                b",\"text\":\""
            } else {
                b",\"document\":\""
            };
            writer.raw(name);
            writer.raw(copied(doc.text));
            writer.raw(b"\"");
        }
    }
}
