//! Parses a FuseRequest from its bytes in one pass, without building values: it yields spans of strings, and
//! numbers. Every valid request is parsed, in whatever form it is written. Other code explains invalid ones.

pub mod analyzer;
pub mod corpus;
pub mod legs;
pub mod more;
pub mod named;
pub mod options;
pub mod rerank;
pub mod results;
pub mod settings;
pub mod unknown;
mod values;

use crate::json::{Label, Scanner, Span, Unfit};
use crate::tokens::tokenize::TOKENIZERS;
use more::More;
pub use options::{Doc, Method, Options};
use unknown::{Notes, Place, known_members, labelled_members};
use values::{NOWHERE, number, word};

const METHODS: [(&[u8], Method); 2] = [(b"maxnorm", Method::MaxNorm), (b"rrf", Method::Rrf)];

/// The lists of a body.
#[derive(Debug, Default)]
pub struct Lists {
    /// The docs.
    pub docs: Vec<Doc>,
    /// Surface forms of `entity_map`, none of them empty, and their substitutes.
    pub entities: Vec<(Span, Span)>,
    /// Members that few requests have.
    pub more: Option<Box<More>>,
}

impl Lists {
    /// Members that few requests have, created if absent.
    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// The lists without room for more, which longer requests before may have left.
    pub(super) fn shrunk(mut self) -> Self {
        self.docs.shrink_to_fit();
        self.entities.shrink_to_fit();
        self
    }

    /// Bytes of memory that the lists take.
    pub(super) fn bytes(&self) -> usize {
        self.docs.capacity() * size_of::<Doc>()
            + self.entities.capacity() * size_of::<(Span, Span)>()
            + self.more.as_ref().map_or(0, |more| more.bytes())
    }
}

const NAMES: [&[u8]; 25] = [
    b"query",
    b"docs",
    b"method",
    b"tokenizer",
    b"top_k",
    b"weights",
    b"k1",
    b"b",
    b"rrf_k",
    b"return_text",
    b"explain",
    b"embed_model",
    b"entity_map",
    b"analyzer",
    b"corpus",
    b"on_missing_dense",
    b"dense_kind",
    b"min_score",
    b"legs",
    b"boosts",
    b"collapse",
    b"diversify",
    b"highlight",
    b"learn",
    b"profile",
];
/// The bits of `query` and `docs`.
const REQUIRED: u32 = 0b11;
/// The bits of `weights` and `legs`: never both, as legs have their own weights.
const WEIGHTED_TWICE: u32 = 1 << 5 | 1 << 18;

const DOC_NAMES: [&[u8]; 6] = [b"id", b"text", b"dense_score", b"scores", b"values", b"group"];
/// Their labels, in the form and order of nearly every doc: those of the contract.
static DOC_LABELS: [Label; 6] = Label::of_members(DOC_NAMES);
/// The bits of `id` and `text`.
const DOC_REQUIRED: u32 = 0b11;

/// A parsed body, before its members are checked against each other.
#[derive(Debug, Clone, Copy)]
pub struct Said {
    options: Options,
    /// The bits of the members that it has.
    met: u32,
}

/// Parses `body`; its lists are written to `lists`. [`complete`] checks that the members fit together.
///
/// # Errors
/// The body is invalid by itself.
pub fn read(body: &[u8], lists: &mut Lists) -> Result<Said, Unfit> {
    lists.docs.clear();
    lists.entities.clear();
    lists.more = None;
    let mut options = Options::default();
    let mut scanner = Scanner::new(body)?;
    scanner.skip_space();
    let notes = Notes::default();
    let met = known_members(
        &mut scanner,
        (&notes, Place::Body),
        &NAMES,
        1,
        |scanner, place| {
            match NAMES[place] {
                b"query" => options.query = scanner.string()?,
                b"docs" => (options.all_dense, options.some_dense) = documents(scanner, lists, &notes)?,
                _ => setting(scanner, place, &mut options, lists, &notes)?,
            }
            Ok(())
        },
    )?;
    scanner.end()?;
    let complete = met & REQUIRED == REQUIRED && !lists.docs.is_empty();
    if !complete || met & WEIGHTED_TWICE == WEIGHTED_TWICE {
        return Err(Unfit);
    }
    let unknown = notes.into_inner();
    if !unknown.is_empty() {
        lists.more().unknown = unknown;
    }
    Ok(Said { options, met })
}

/// Fills in what depends on the whole request.
///
/// # Errors
/// Its members do not fit together.
pub fn complete(Said { mut options, .. }: Said, lists: &mut Lists) -> Result<Options, Unfit> {
    if let Some(more) = &mut lists.more {
        more.complete(&mut options, &mut lists.docs)?;
    }
    Ok(options)
}

/// Reads the value of the member at `place` in [`NAMES`], which is not the query or the docs.
fn setting(
    scanner: &mut Scanner,
    place: usize,
    options: &mut Options,
    lists: &mut Lists,
    notes: &Notes,
) -> Result<(), Unfit> {
    match NAMES[place] {
        b"method" => options.method = word(scanner, &METHODS)?,
        b"tokenizer" => options.tokenizer = word(scanner, &TOKENIZERS)?,
        b"top_k" => options.top_k = top_k(scanner)?,
        b"weights" => (options.bm25_weight, options.dense_weight) = weights(scanner, notes)?,
        b"k1" => options.k1 = number(scanner, 0.0, f64::MAX)?,
        b"b" => options.b = number(scanner, 0.0, 1.0)?,
        b"rrf_k" => options.rrf_k = number(scanner, 1.0, 1e6)?,
        b"return_text" => options.return_text = scanner.boolean()?,
        b"explain" => options.explain = scanner.boolean()?,
        b"embed_model" => options.embed_model = Some(scanner.string()?),
        b"entity_map" => entity_map(scanner, &mut lists.entities)?,
        name => lists.more().read(scanner, name, notes)?,
    }
    Ok(())
}

/// Reads the docs. Returns whether each has a dense score, and whether any has one.
fn documents(scanner: &mut Scanner, lists: &mut Lists, notes: &Notes) -> Result<(bool, bool), Unfit> {
    let (mut all_dense, mut some_dense) = (true, false);
    let Lists { docs, more, .. } = lists;
    docs.clear();
    if let Some(more) = more {
        more.forget_docs();
    }
    notes.borrow_mut().forget(Place::Docs);
    scanner.array(|scanner| {
        let (doc, dense) = document(scanner, (more, docs.len()), notes)?;
        all_dense &= dense;
        some_dense |= dense;
        docs.push(doc);
        Ok(())
    })?;
    Ok((all_dense, some_dense))
}

/// Reads the doc at index `place`. Returns whether it has a dense score.
#[inline]
fn document(
    scanner: &mut Scanner,
    (more, doc): (&mut Option<Box<More>>, usize),
    notes: &Notes,
) -> Result<(Doc, bool), Unfit> {
    let (mut id, mut text, mut dense) = (NOWHERE, NOWHERE, None);
    let names = (&DOC_NAMES, &DOC_LABELS[..]);
    let met = labelled_members(scanner, (notes, Place::Docs), names, 3, |scanner, place| {
        match place {
            0 => id = scanner.string()?,
            1 => text = scanner.string()?,
            // Adding 0 turns -0 into 0, which the answer must have.
            2 if !scanner.null()? => dense = Some(scanner.number()? + 0.0),
            2 => dense = None,
            _ => more.get_or_insert_default().read_of_doc(scanner, place, doc)?,
        }
        Ok(())
    })?;
    if met & DOC_REQUIRED != DOC_REQUIRED {
        return Err(Unfit);
    }
    let doc = Doc {
        id,
        text,
        dense: dense.unwrap_or(f64::NAN),
    };
    Ok((doc, dense.is_some()))
}

fn top_k(scanner: &mut Scanner) -> Result<usize, Unfit> {
    if scanner.null()? {
        return Ok(usize::MAX);
    }
    let value = number(scanner, 1.0, f64::MAX)?;
    // Saturates: no request has that many docs.
    if value.fract() == 0.0 {
        Ok(value as usize)
    } else {
        Err(Unfit)
    }
}

fn entity_map(scanner: &mut Scanner, entities: &mut Vec<(Span, Span)>) -> Result<(), Unfit> {
    entities.clear();
    if scanner.null()? {
        return Ok(());
    }
    scanner.pairs(2, entities)?;
    let empty = entities.iter().any(|(form, _)| form.start == form.end);
    if empty { Err(Unfit) } else { Ok(()) }
}

/// Reads both weights, and scales them to a sum of 1.
fn weights(scanner: &mut Scanner, notes: &Notes) -> Result<(f64, f64), Unfit> {
    const WEIGHTS: [&[u8]; 2] = [b"bm25", b"dense"];
    let mut weights = [0.0; 2];
    notes.borrow_mut().forget(Place::Weights);
    let met = known_members(scanner, (notes, Place::Weights), &WEIGHTS, 2, |scanner, place| {
        weights[place] = number(scanner, 0.0, f64::MAX)?;
        Ok(())
    })?;
    let [bm25, dense] = weights;
    let larger = bm25.max(dense);
    if met != 0b11 || larger == 0.0 {
        return Err(Unfit);
    }
    // Scaled by the larger before summing, so that the sum cannot overflow.
    let (bm25, dense) = (bm25 / larger, dense / larger);
    Ok((bm25 / (bm25 + dense), dense / (bm25 + dense)))
}
