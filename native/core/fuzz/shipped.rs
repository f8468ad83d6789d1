//! The static model that ships, for requests whose docs have no dense scores,
//! and a workspace for each thread.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use fusegate_core::embed::dense::{Model, Models};
use fusegate_core::fuse::Workspace;

thread_local! {
    pub static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

pub static MODELS: LazyLock<Arc<Models>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = folder
        .ancestors()
        .find(|path| path.join("models/static-256").exists());
    let folder = root.expect("the repository").join("models/static-256");
    let model = Model::open_static("static-256".to_owned(), [0; 32], &folder)
        .expect("the model is kept with the code");
    Arc::new(Models::new(vec![model], Some(0), None))
});
