//! Binding of `fusegate_core::text::normalize`.

use std::cell::RefCell;
use std::sync::Arc;

use fusegate_core::forms::Pairs;
use fusegate_core::text::normalize::gloss::{Bounds, Glosses, Refused};
use fusegate_core::text::normalize::properties::Kind;
use fusegate_core::text::normalize::stream::{Fault, Piece, Settings};
use fusegate_core::text::normalize::{Mode, Outcome, Workspace};
use napi::bindgen_prelude::{AsyncTask, Buffer, Float64ArraySlice, Uint8ArraySlice};
use napi::{Env, Result, Task};
use napi_derive::napi;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Outcome of a NormalizeRequest's bytes.
#[napi]
pub enum NormalizeOutcome {
    /// The answer was written.
    Written,
    /// The answer needs more room.
    NeedsRoom,
    /// The bytes are not a valid request.
    Invalid,
    /// The glosses make the text too long.
    LongText,
    /// The search for the surface forms would take too long.
    LongForm,
    /// The body is too long for the event loop, unless its text is plain.
    LongBody,
}

/// An outcome, the answer's bytes (written, or needed), and the characters that it counts for.
fn told(outcome: &Outcome) -> (NormalizeOutcome, f64, f64) {
    match outcome {
        Outcome::Written { length, characters } => {
            (NormalizeOutcome::Written, *length as f64, *characters as f64)
        }
        Outcome::NeedsRoom { answer, characters } => (
            NormalizeOutcome::NeedsRoom,
            answer.len() as f64,
            *characters as f64,
        ),
        Outcome::Invalid => (NormalizeOutcome::Invalid, 0.0, 0.0),
        Outcome::Refused(Refused::Text) => (NormalizeOutcome::LongText, 0.0, 0.0),
        Outcome::Refused(Refused::Forms) => (NormalizeOutcome::LongForm, 0.0, 0.0),
        Outcome::Refused(Refused::Body) => (NormalizeOutcome::LongBody, 0.0, 0.0),
    }
}

/// Answers a NormalizeRequest's bytes into `out`, which must not overlap them, and sets `facts` to the
/// answer's length (written, or needed) and the characters that it counts for. `LongText`, `LongForm` and
/// `LongBody` mean that the work would take too long on the event loop.
#[napi]
pub fn normalize(
    body: &[u8],
    mut out: Uint8ArraySlice<'_>,
    mut facts: Float64ArraySlice<'_>,
) -> NormalizeOutcome {
    // SAFETY: the caller keeps `out` apart from `body`; no JavaScript runs before this function returns, so
    // nothing else reads or writes either array meanwhile.
    let (out, facts) = unsafe { (out.as_mut(), facts.as_mut()) };
    let outcome = WORKSPACE.with_borrow_mut(|workspace| workspace.normalize(body, out, Bounds::BRIEF));
    let (outcome, length, characters) = told(&outcome);
    if let [first, second, ..] = facts {
        (*first, *second) = (length, characters);
    }
    outcome
}

/// Result of [`normalize_async`].
#[napi(object)]
pub struct NormalizeResult {
    /// Outcome of the body; never `NeedsRoom` or `LongBody`.
    pub outcome: NormalizeOutcome,
    /// Bytes of the answer.
    pub length: f64,
    /// Characters it counts for.
    pub characters: f64,
    /// The answer, if `out` had no room for it.
    pub beside: Option<Buffer>,
}

/// A normalize request in the thread pool.
pub struct NormalizeTask {
    body: Buffer,
    out: Buffer,
}

impl Task for NormalizeTask {
    type Output = Outcome;
    type JsValue = NormalizeResult;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(WORKSPACE
            .with_borrow_mut(|workspace| workspace.normalize(&self.body, &mut self.out, Bounds::REQUEST)))
    }

    fn resolve(&mut self, _: Env, answered: Self::Output) -> Result<Self::JsValue> {
        let (mut outcome, length, characters) = told(&answered);
        let mut beside = None;
        if let Outcome::NeedsRoom { answer, .. } = answered {
            outcome = NormalizeOutcome::Written;
            beside = Some(Buffer::from(answer));
        }
        Ok(NormalizeResult {
            outcome,
            length,
            characters,
            beside,
        })
    }
}

/// The same as [`normalize`], in the thread pool, for bodies that would block the event loop. `body` must not
/// change and `out` must not be read until the promise settles; they must not overlap.
#[napi(ts_return_type = "Promise<NormalizeResult>")]
pub fn normalize_async(body: Buffer, out: Buffer) -> AsyncTask<NormalizeTask> {
    AsyncTask::new(NormalizeTask { body, out })
}

/// A surface form and its gloss.
#[napi(object)]
pub struct GlossPair {
    /// The form to replace.
    pub surface: String,
    /// Its gloss.
    pub gloss: String,
}

/// Number of changes of a kind.
#[napi(object)]
pub struct KindCount {
    /// The kind's name in answers.
    pub kind: String,
    /// Number of its changes.
    pub count: f64,
}

/// A normalized piece of text.
#[napi(object)]
pub struct NormalizedText {
    /// The text; empty if the piece could not be normalized.
    pub text: Buffer,
    /// Number of changes by kind, for kinds that occur.
    pub counts: Vec<KindCount>,
    /// Offset of the first byte that is not UTF-8; null if all are.
    pub invalid_at: Option<f64>,
    /// True if the glosses make the piece longer than its limit.
    pub too_long: bool,
}

/// Normalizes text piece by piece, outside the event loop.
#[napi]
pub struct TextNormalizer {
    settings: Arc<Settings>,
}

#[napi]
impl TextNormalizer {
    /// `mode`, `contextual` and glosses as in a NormalizeRequest. Throws on an unknown mode.
    #[napi(constructor)]
    pub fn new(mode: String, contextual: bool, glosses: Vec<GlossPair>) -> Result<Self> {
        let mode =
            Mode::named(&mode).ok_or_else(|| napi::Error::from_reason(format!("{mode} is no mode")))?;
        let pairs: Pairs = glosses
            .iter()
            .map(|pair| (pair.surface.as_str(), pair.gloss.as_str()))
            .collect();
        let glosses = (!pairs.is_empty()).then(|| Glosses::new(pairs, contextual));
        let settings = Settings {
            mode,
            contextual,
            glosses,
            bounds: Bounds::PIECE,
        };
        Ok(Self {
            settings: Arc::new(settings),
        })
    }

    /// Normalizes a piece of UTF-8 on `threads` threads. Pieces must be cut after line feeds, since whole
    /// lines are repaired. `text` must not change until the promise settles.
    #[napi(ts_return_type = "Promise<NormalizedText>")]
    pub fn normalize(&self, text: Buffer, threads: u32) -> AsyncTask<PieceTask> {
        AsyncTask::new(PieceTask {
            settings: Arc::clone(&self.settings),
            text,
            threads,
        })
    }
}

/// A piece in the thread pool.
pub struct PieceTask {
    settings: Arc<Settings>,
    text: Buffer,
    threads: u32,
}

impl Task for PieceTask {
    type Output = std::result::Result<Piece, Fault>;
    type JsValue = NormalizedText;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(self.settings.piece(&self.text, self.threads as usize))
    }

    fn resolve(&mut self, _: Env, piece: Self::Output) -> Result<Self::JsValue> {
        let too_long = matches!(piece, Err(Fault::TooLong));
        let invalid_at = match piece {
            Err(Fault::NotUtf8(at)) => Some(at as f64),
            _ => None,
        };
        let Piece { text, counts } = piece.unwrap_or_default();
        let counts = Kind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        let counts = counts.map(|(kind, count)| KindCount {
            kind: kind.name().to_owned(),
            count: count as f64,
        });
        Ok(NormalizedText {
            text: text.into(),
            counts: counts.collect(),
            invalid_at,
            too_long,
        })
    }
}
