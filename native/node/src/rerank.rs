//! Paths and refusals of rerank requests, which `fuse` answers.

use fusegate_core::fuse::request::rerank::{Api, Refused as Unranked, Shape, Wrong};
use napi::bindgen_prelude::{Error, Result};
use napi_derive::napi;

/// The path that a rerank request was sent to.
#[napi]
#[derive(Clone, Copy)]
pub enum RerankPath {
    /// `/v2/rerank`
    V2,
    /// `/v1/rerank`
    V1,
    /// `/rerank`
    Bare,
    /// `/voyage/v1/rerank`
    Voyage,
}

impl From<RerankPath> for Api {
    fn from(path: RerankPath) -> Self {
        match path {
            RerankPath::V2 => Api::V2,
            RerankPath::V1 => Api::V1,
            RerankPath::Bare => Api::Bare,
            RerankPath::Voyage => Api::Voyage,
        }
    }
}

/// Why a rerank request is invalid.
#[napi(object)]
pub struct RerankRefusal {
    /// A sentence that says what to do.
    pub detail: String,
    /// True if its list of documents is empty.
    pub empty: bool,
    /// True if the server has no model.
    pub no_model: bool,
    /// True if the request has the form of text-embeddings-inference.
    pub tei: bool,
}

impl From<Unranked> for RerankRefusal {
    fn from(Unranked { shape, wrong }: Unranked) -> Self {
        Self {
            detail: wrong.text(),
            empty: matches!(wrong, Wrong::Empty(_)),
            no_model: wrong == Wrong::NoModel,
            tei: shape == Shape::Tei,
        }
    }
}

/// The retained refusal. Throws if there is none.
pub(crate) fn refusal(unranked: Option<Unranked>) -> Result<RerankRefusal> {
    unranked
        .map(RerankRefusal::from)
        .ok_or_else(|| Error::from_reason("nothing was refused"))
}
