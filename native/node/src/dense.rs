//! Binding of the models that compute dense scores.

use std::path::Path;
use std::sync::Arc;

use fusegate_core::embed::dense::{Kind, Model, Models};
use fusegate_core::embed::embeddings;
use fusegate_core::embed::static_model::{Scratch, quantized};
use napi::bindgen_prelude::{Buffer, Error, Result};
use napi_derive::napi;

/// Creates the cache of embeddings at `path`, empty, unless it exists with this size. `bytes`: most bytes of
/// the file; `dimension`: largest dimension of a vector. Throws if it cannot be created.
#[napi]
pub fn prepare_embeddings(path: String, bytes: f64, dimension: u32) -> Result<()> {
    let path = Path::new(&path);
    Ok(embeddings::Embeddings::prepare(
        path,
        bytes as u64,
        dimension as usize,
    )?)
}

/// An installed model.
#[napi(object)]
pub struct DenseModel {
    /// Its id: ASCII letters, digits, `.`, `_`, `-` and `/`.
    pub id: String,
    /// The hub's name for it, `owner/name`; absent if it did not come from a hub.
    pub hub_name: Option<String>,
    /// SHA-256 of its files.
    pub digest: Buffer,
    /// Length of a vector: its number of components.
    pub dimension: u32,
    /// Folder of a static model, whose vectors are computed here; absent for others.
    pub static_folder: Option<String>,
    /// Prefixes of a computed model, for a query and for a doc's text.
    pub query_prefix: Option<String>,
    /// See `queryPrefix`.
    pub document_prefix: Option<String>,
}

fn model_of(model: DenseModel) -> Result<Model> {
    let digest: [u8; 32] = model
        .digest
        .as_ref()
        .try_into()
        .map_err(|_| Error::from_reason("a digest has 32 bytes"))?;
    let made = match model.static_folder {
        Some(folder) => Model::open_static(model.id, digest, Path::new(&folder)),
        None => {
            let kind = Kind::Computed {
                query_prefix: model.query_prefix.unwrap_or_default(),
                document_prefix: model.document_prefix.unwrap_or_default(),
            };
            Model::new(model.id, digest, model.dimension as usize, kind)
        }
    };
    Ok(made?.known_on_hub_as(model.hub_name))
}

/// Number of texts that this process looked up in the cache of embeddings.
#[napi(object)]
pub struct Lookups {
    /// Found.
    pub hits: f64,
    /// Not found.
    pub misses: f64,
}

/// The installed models for fusion.
#[napi]
pub struct DenseModels {
    pub(crate) inner: Arc<Models>,
}

#[napi]
impl DenseModels {
    /// Opens models with different ids. `fallback`: id of the model for requests that name none; `cache`: the
    /// file that `prepareEmbeddings` made. Throws if one cannot be opened.
    #[napi(constructor)]
    pub fn new(models: Vec<DenseModel>, fallback: Option<String>, cache: Option<String>) -> Result<Self> {
        let place = models
            .iter()
            .position(|model| Some(&model.id) == fallback.as_ref());
        let models = models.into_iter().map(model_of).collect::<Result<Vec<_>>>()?;
        let cache = cache
            .map(|path| embeddings::Embeddings::open(Path::new(&path)))
            .transpose()?;
        let inner = Arc::new(Models::new(models, place, cache));
        Ok(Self { inner })
    }

    /// Hits and misses of the cache.
    #[napi]
    pub fn lookups(&self) -> Lookups {
        let (hits, misses) = self.inner.lookups();
        Lookups {
            hits: hits as f64,
            misses: misses as f64,
        }
    }

    /// True if a request may use this name for a model: its id or its hub's name, in any letter case.
    #[napi]
    pub fn knows(&self, name: String) -> bool {
        self.inner.find(Some(&name)).is_some()
    }

    /// The vector of a text by a static model: int8 numbers, all 0 if it has no words. Throws if no such
    /// model is installed.
    #[napi]
    pub fn embed_static(&self, model: String, text: String) -> Result<Buffer> {
        let found = self
            .inner
            .find(Some(&model))
            .and_then(|place| self.inner.get(place)?.as_static());
        let unknown = || Error::from_reason("no such static model is installed");
        let sums = found.ok_or_else(unknown)?.embed(&text, &mut Scratch::default());
        Ok(quantized(&sums).map(|one| one as u8).to_vec().into())
    }
}
