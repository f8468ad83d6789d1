//! Reading a FuseRequest out of its bytes in one pass, without building values: places of strings and
//! numbers.
//!
//! What is valid but unusual (a repeated or escaped member name) is left to the exact path, and
//! so is everything invalid: it names the errors.

use crate::json::{Refusal, Scanner, Span};

/// How the two lists become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Each list divided by its largest absolute value, then summed.
    MaxNorm,
    /// Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009).
    Rrf,
}

/// How texts become tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// Runs of letters, numbers and marks.
    Ws,
    /// Character bigrams inside those runs.
    Ngram,
}

/// One candidate document.
#[derive(Debug, Clone, Copy)]
pub struct Doc {
    /// Place of the id.
    pub id: Span,
    /// Place of the text.
    pub text: Span,
    /// The caller's similarity; never -0.
    pub dense: f64,
}

/// What the body says besides its docs, defaults filled in.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Place of the query.
    pub query: Span,
    /// `method`
    pub method: Method,
    /// `tokenizer`
    pub tokenizer: Tokenizer,
    /// `top_k`, or all.
    pub top_k: usize,
    /// Weight of the lexical list after normalisation; both sum to 1.
    pub bm25_weight: f64,
    /// Weight of the dense list.
    pub dense_weight: f64,
    /// BM25's k1.
    pub k1: f64,
    /// BM25's b.
    pub b: f64,
    /// Rank constant of `rrf`.
    pub rrf_k: f64,
    /// Whether texts come back.
    pub return_text: bool,
    /// Whether each result tells how its score came about.
    pub explain: bool,
    /// Whether every doc came with a dense score.
    pub all_dense: bool,
}

/// Why the fast path leaves a body to the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined;

impl From<Refusal> for Declined {
    fn from(_: Refusal) -> Self {
        Declined
    }
}

const NOWHERE: Span = Span {
    start: usize::MAX,
    end: usize::MAX,
    escaped: false,
    ascii: true,
};

impl Default for Options {
    fn default() -> Self {
        Options {
            query: NOWHERE,
            method: Method::MaxNorm,
            tokenizer: Tokenizer::Ws,
            top_k: usize::MAX,
            bm25_weight: 0.5,
            dense_weight: 0.5,
            k1: 1.5,
            b: 0.75,
            rrf_k: 60.0,
            return_text: true,
            explain: false,
            all_dense: true,
        }
    }
}

/// Reads `body`; its docs go to `docs`.
///
/// # Errors
/// [`Declined`] for whatever the exact path must look at.
pub fn read(body: &[u8], docs: &mut Vec<Doc>) -> Result<Options, Declined> {
    docs.clear();
    let mut reader = Reader {
        body,
        scanner: Scanner::new(body)?,
        options: Options::default(),
        docs,
    };
    reader.scanner.skip_space();
    let mut seen = 0;
    reader.object(|reader, name| reader.member(name, &mut seen))?;
    reader.scanner.end()?;
    let complete = reader.options.query != NOWHERE && !reader.docs.is_empty();
    if complete {
        Ok(reader.options)
    } else {
        Err(Declined)
    }
}

struct Reader<'a, 'd> {
    body: &'a [u8],
    scanner: Scanner<'a>,
    options: Options,
    docs: &'d mut Vec<Doc>,
}

/// Notes that a member was met; a second time is for the exact path, where the last one wins.
fn once(seen: &mut u32, bit: u32) -> Result<(), Declined> {
    if *seen & (1 << bit) != 0 {
        return Err(Declined);
    }
    *seen |= 1 << bit;
    Ok(())
}

impl<'a> Reader<'a, '_> {
    /// Reads an object and hands each member's name to `member`, which reads the value.
    #[inline]
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Declined>,
    ) -> Result<(), Declined> {
        self.scanner.expect(b'{')?;
        self.scanner.skip_space();
        if self.scanner.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.scanner.key()?;
            if name.escaped {
                return Err(Declined);
            }
            member(self, &self.body[name.start..name.end])?;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                break;
            }
            self.scanner.skip_space();
        }
        Ok(self.scanner.expect(b'}')?)
    }

    fn member(&mut self, name: &[u8], seen: &mut u32) -> Result<(), Declined> {
        const NAMES: [&[u8]; 13] = [
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
        ];
        let Some(place) = NAMES.iter().position(|known| *known == name) else {
            return Ok(self.scanner.skip_value(1)?);
        };
        once(seen, place as u32)?;
        match name {
            b"query" => self.options.query = self.scanner.string()?,
            b"docs" => self.documents()?,
            b"method" => {
                self.options.method = match self.word()? {
                    b"maxnorm" => Method::MaxNorm,
                    b"rrf" => Method::Rrf,
                    _ => return Err(Declined),
                }
            }
            b"tokenizer" => {
                self.options.tokenizer = match self.word()? {
                    b"ws" => Tokenizer::Ws,
                    b"ngram" => Tokenizer::Ngram,
                    _ => return Err(Declined),
                }
            }
            b"top_k" => self.top_k()?,
            b"weights" => self.weights()?,
            b"k1" => self.options.k1 = self.number(0.0, f64::MAX)?,
            b"b" => self.options.b = self.number(0.0, 1.0)?,
            b"rrf_k" => self.options.rrf_k = self.number(1.0, 1e6)?,
            b"return_text" => self.options.return_text = self.boolean()?,
            b"explain" => self.options.explain = self.boolean()?,
            b"embed_model" => {
                self.scanner.string()?;
            }
            _ => self.entity_map()?,
        }
        Ok(())
    }

    fn documents(&mut self) -> Result<(), Declined> {
        self.scanner.expect(b'[')?;
        self.scanner.skip_space();
        if self.scanner.take(b']') {
            return Ok(());
        }
        loop {
            self.document()?;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                break;
            }
            self.scanner.skip_space();
        }
        Ok(self.scanner.expect(b']')?)
    }

    #[inline]
    fn document(&mut self) -> Result<(), Declined> {
        let (mut id, mut text, mut dense) = (NOWHERE, NOWHERE, None);
        let mut seen = 0;
        self.object(|reader, name| {
            match name {
                b"id" => {
                    once(&mut seen, 0)?;
                    id = reader.scanner.string()?;
                }
                b"text" => {
                    once(&mut seen, 1)?;
                    text = reader.scanner.string()?;
                }
                b"dense_score" => {
                    once(&mut seen, 2)?;
                    match reader.scanner.peek() {
                        Some(b'n') => reader.scanner.literal(b"null")?,
                        // Adding 0 turns -0 into 0, which is what the answer must say.
                        _ => dense = Some(reader.scanner.number()? + 0.0),
                    }
                }
                _ => reader.scanner.skip_value(3)?,
            }
            Ok(())
        })?;
        if id == NOWHERE || text == NOWHERE {
            return Err(Declined);
        }
        self.options.all_dense &= dense.is_some();
        self.docs.push(Doc {
            id,
            text,
            dense: dense.unwrap_or(0.0),
        });
        Ok(())
    }

    /// A string without escapes, as its bytes.
    fn word(&mut self) -> Result<&'a [u8], Declined> {
        let span = self.scanner.string()?;
        if span.escaped {
            Err(Declined)
        } else {
            Ok(&self.body[span.start..span.end])
        }
    }

    fn number(&mut self, least: f64, most: f64) -> Result<f64, Declined> {
        let value = self.scanner.number()?;
        if (least..=most).contains(&value) {
            Ok(value + 0.0)
        } else {
            Err(Declined)
        }
    }

    fn boolean(&mut self) -> Result<bool, Declined> {
        let value = self.scanner.peek() == Some(b't');
        self.scanner.literal(if value { b"true" } else { b"false" })?;
        Ok(value)
    }

    fn top_k(&mut self) -> Result<(), Declined> {
        if self.scanner.peek() == Some(b'n') {
            return Ok(self.scanner.literal(b"null")?);
        }
        let value = self.number(1.0, f64::MAX)?;
        if value.fract() != 0.0 {
            return Err(Declined);
        }
        // Saturates: no request has that many docs.
        self.options.top_k = value as usize;
        Ok(())
    }

    /// Checked and left alone: it serves embed mode only.
    fn entity_map(&mut self) -> Result<(), Declined> {
        if self.scanner.peek() == Some(b'n') {
            return Ok(self.scanner.literal(b"null")?);
        }
        self.object(|reader, name| {
            reader.scanner.string()?;
            if name.is_empty() { Err(Declined) } else { Ok(()) }
        })
    }

    fn weights(&mut self) -> Result<(), Declined> {
        let (mut bm25, mut dense, mut seen) = (f64::NAN, f64::NAN, 0);
        self.object(|reader, name| {
            match name {
                b"bm25" => {
                    once(&mut seen, 0)?;
                    bm25 = reader.number(0.0, f64::MAX)?;
                }
                b"dense" => {
                    once(&mut seen, 1)?;
                    dense = reader.number(0.0, f64::MAX)?;
                }
                _ => reader.scanner.skip_value(2)?,
            }
            Ok(())
        })?;
        let larger = bm25.max(dense);
        if bm25.is_nan() || dense.is_nan() || larger == 0.0 {
            return Err(Declined);
        }
        // Scaled by the larger before summing, so that the sum cannot overflow.
        let (bm25, dense) = (bm25 / larger, dense / larger);
        self.options.bm25_weight = bm25 / (bm25 + dense);
        self.options.dense_weight = dense / (bm25 + dense);
        Ok(())
    }
}
