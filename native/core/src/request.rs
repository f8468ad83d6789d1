//! Reading a FuseRequest out of its bytes in one pass, without building values: places of strings and
//! numbers.
//!
//! What is valid but unusual (a repeated or escaped member name) is left to the exact path, and
//! so is everything invalid: it names the errors.

use Stopped::Declined;

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
    /// Place of the name of the model that makes dense scores; nothing: the default one.
    pub embed_model: Option<Span>,
}

/// Why reading ended before the body did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The exact path must look at the body.
    Declined,
    /// A doc has no dense score, whatever the rest of the body is.
    Unscored,
}

impl From<Refusal> for Stopped {
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
            embed_model: None,
        }
    }
}

/// What a body lists.
#[derive(Debug, Default)]
pub struct Lists {
    /// The docs.
    pub docs: Vec<Doc>,
    /// Surface forms of `entity_map`, none of them empty, and their substitutes.
    pub entities: Vec<(Span, Span)>,
}

/// What a doc without a dense score means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unscored {
    /// Reading ends there: [`Stopped::Unscored`].
    Stops,
    /// It is noted.
    Noted,
}

/// Reads `body`; what it lists goes to `lists`.
///
/// # Errors
/// [`Stopped::Declined`] for whatever the exact path must look at.
pub fn read(body: &[u8], lists: &mut Lists, unscored: Unscored) -> Result<Options, Stopped> {
    lists.docs.clear();
    lists.entities.clear();
    let mut reader = Reader {
        body,
        scanner: Scanner::new(body)?,
        options: Options::default(),
        lists,
        unscored,
    };
    reader.scanner.skip_space();
    let mut seen = 0;
    reader.object(|reader, name| reader.member(name, &mut seen))?;
    reader.scanner.end()?;
    let complete = reader.options.query != NOWHERE && !reader.lists.docs.is_empty();
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
    lists: &'d mut Lists,
    unscored: Unscored,
}

/// Notes that a member was met; a second time is for the exact path, where the last one wins.
fn once(seen: &mut u32, bit: u32) -> Result<(), Stopped> {
    if *seen & (1 << bit) != 0 {
        return Err(Declined);
    }
    *seen |= 1 << bit;
    Ok(())
}

impl<'a> Reader<'a, '_> {
    /// Reads an object of known names and hands each of them to `member`, which reads the value.
    #[inline]
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        self.dictionary(|reader, name| {
            if name.escaped {
                return Err(Declined);
            }
            member(reader, &reader.body[name.start..name.end])
        })
    }

    /// Reads an object of any names.
    #[inline]
    fn dictionary(
        &mut self,
        mut member: impl FnMut(&mut Self, Span) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        self.scanner.expect(b'{')?;
        self.scanner.skip_space();
        if self.scanner.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.scanner.key()?;
            member(self, name)?;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                break;
            }
            self.scanner.skip_space();
        }
        Ok(self.scanner.expect(b'}')?)
    }

    fn member(&mut self, name: &[u8], seen: &mut u32) -> Result<(), Stopped> {
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
            b"embed_model" => self.options.embed_model = Some(self.scanner.string()?),
            _ => self.entity_map()?,
        }
        Ok(())
    }

    fn documents(&mut self) -> Result<(), Stopped> {
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
    fn document(&mut self) -> Result<(), Stopped> {
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
        if dense.is_none() && self.unscored == Unscored::Stops {
            return Err(Stopped::Unscored);
        }
        self.options.all_dense &= dense.is_some();
        self.lists.docs.push(Doc {
            id,
            text,
            dense: dense.unwrap_or(0.0),
        });
        Ok(())
    }

    /// A string without escapes, as its bytes.
    fn word(&mut self) -> Result<&'a [u8], Stopped> {
        let span = self.scanner.string()?;
        if span.escaped {
            Err(Declined)
        } else {
            Ok(&self.body[span.start..span.end])
        }
    }

    fn number(&mut self, least: f64, most: f64) -> Result<f64, Stopped> {
        let value = self.scanner.number()?;
        if (least..=most).contains(&value) {
            Ok(value + 0.0)
        } else {
            Err(Declined)
        }
    }

    fn boolean(&mut self) -> Result<bool, Stopped> {
        let value = self.scanner.peek() == Some(b't');
        self.scanner.literal(if value { b"true" } else { b"false" })?;
        Ok(value)
    }

    fn top_k(&mut self) -> Result<(), Stopped> {
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

    fn entity_map(&mut self) -> Result<(), Stopped> {
        if self.scanner.peek() == Some(b'n') {
            return Ok(self.scanner.literal(b"null")?);
        }
        self.dictionary(|reader, form| {
            let substitute = reader.scanner.string()?;
            reader.lists.entities.push((form, substitute));
            if form.start == form.end {
                Err(Declined)
            } else {
                Ok(())
            }
        })
    }

    fn weights(&mut self) -> Result<(), Stopped> {
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
