//! Binding of `fusegate_core::json::body`.

use std::sync::Arc;

use fusegate_core::json::body::{self, Reading};
use fusegate_core::json::shape::Shape;
use napi::bindgen_prelude::{AsyncTask, Buffer};
use napi::{Env, Error, Result, Task};
use napi_derive::napi;

use crate::JsonRefusal;

/// Facts of a member of a list's items. A null value counts as absent.
#[napi(object)]
pub struct MemberFacts {
    /// The member.
    pub name: String,
    /// Number of items with it.
    pub items: f64,
    /// Index of the first item without it.
    pub first_without: Option<f64>,
    /// Its least value, if it is a number.
    pub least: Option<f64>,
    /// Index of the first item with the least value.
    pub least_at: Option<f64>,
}

/// A list of objects among a body's members.
#[napi(object)]
pub struct ListFacts {
    /// The list's name.
    pub name: String,
    /// Number of its items.
    pub length: f64,
    /// Its items' members.
    pub members: Vec<MemberFacts>,
}

/// Outcome of a body: why it is not JSON, or its faults, or its value.
#[napi(object)]
pub struct BodyReading {
    /// Why and where it is not JSON; null if it is.
    pub refusal: Option<JsonRefusal>,
    /// A JSON array of `{type, loc, actual, input}`; null if there is no fault.
    pub faults: Option<String>,
    /// The members known to its shape, as JSON; null if something is wrong.
    pub value: Option<String>,
    /// Its lists of objects, if `brief`.
    pub lists: Vec<ListFacts>,
}

type Outcome = std::result::Result<Reading, JsonRefusal>;

fn read(body: &[u8], shape: &Shape, closed: bool, brief: bool) -> Outcome {
    body::read(body, shape, closed, brief).map_err(|refusal| JsonRefusal::new(refusal, body))
}

fn told(outcome: Outcome) -> BodyReading {
    let text = |bytes: Vec<u8>| Some(String::from_utf8(bytes).unwrap_or_default());
    match outcome {
        Err(refusal) => BodyReading {
            refusal: Some(refusal),
            faults: None,
            value: None,
            lists: Vec::new(),
        },
        Ok(Reading { faults, .. }) if !faults.is_empty() => BodyReading {
            refusal: None,
            faults: text(faults),
            value: None,
            lists: Vec::new(),
        },
        Ok(Reading { value, lists, .. }) => BodyReading {
            refusal: None,
            faults: None,
            value: text(value),
            lists: lists
                .into_iter()
                .map(|list| ListFacts {
                    name: list.name,
                    length: list.length as f64,
                    members: list
                        .members
                        .into_iter()
                        .map(|member| MemberFacts {
                            name: member.name,
                            items: member.items as f64,
                            first_without: member.first_without.map(|index| index as f64),
                            least: member.least.map(|(value, _)| value),
                            least_at: member.least.map(|(_, index)| index as f64),
                        })
                        .collect(),
                })
                .collect(),
        },
    }
}

/// Validates bodies of one shape without building their values.
#[napi]
pub struct BodyReader {
    shape: Arc<Shape>,
    closed: bool,
}

#[napi]
impl BodyReader {
    /// A reader for a shape in words (see `json::shape` of the core). `closed`: unknown members are faults.
    #[napi(constructor)]
    pub fn new(shape: Vec<String>, closed: bool) -> Result<Self> {
        let shape = Shape::read(&mut shape.iter().map(String::as_str));
        let shape = Arc::new(shape.ok_or_else(|| Error::from_reason("these words are no shape"))?);
        Ok(BodyReader { shape, closed })
    }

    /// Reads a body. `brief`: truncates strings, lists and maps to the length that a fault repeats.
    #[napi]
    pub fn read(&self, body: &[u8], brief: bool) -> BodyReading {
        told(read(body, &self.shape, self.closed, brief))
    }

    /// The same as `read`, in the thread pool. `body` must not change until the promise settles.
    #[napi(ts_return_type = "Promise<BodyReading>")]
    pub fn read_async(&self, body: Buffer, brief: bool) -> AsyncTask<ReadTask> {
        AsyncTask::new(ReadTask {
            shape: Arc::clone(&self.shape),
            closed: self.closed,
            body,
            brief,
        })
    }
}

/// A body in the thread pool.
pub struct ReadTask {
    shape: Arc<Shape>,
    closed: bool,
    body: Buffer,
    brief: bool,
}

impl Task for ReadTask {
    type Output = Outcome;
    type JsValue = BodyReading;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(read(&self.body, &self.shape, self.closed, self.brief))
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        Ok(told(outcome))
    }
}
