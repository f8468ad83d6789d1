//! Binding of the sockets that one process leaves to the next.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fusegate_core::sockets;
use napi::bindgen_prelude::{AsyncTask, Error, Result};
use napi::{Env, Task};
use napi_derive::napi;

fn port_of(port: u32) -> Result<u16> {
    u16::try_from(port).map_err(|_| Error::from_reason("a port is at most 65535"))
}

/// Descriptors of this process that listen on a TCP port, in ascending order. Throws where the system, unlike
/// Linux, does not say.
#[napi]
pub fn listening_on(port: u32) -> Result<Vec<i32>> {
    Ok(sockets::listening_on(port_of(port)?)?)
}

/// Puts a listening socket in the place of this process's only one that listens on `port`, which is closed.
/// Whoever has that one under its descriptor has the other from then on. `descriptor` itself is closed.
#[napi]
pub fn put_in_place(descriptor: i32, port: u32) -> Result<()> {
    Ok(sockets::put_in_place(descriptor, port_of(port)?)?)
}

/// Sends up to 64 descriptors with a text to the inbox at `path`. This process keeps its own.
#[napi]
pub fn send_descriptors(path: String, text: String, descriptors: Vec<i32>) -> Result<()> {
    Ok(sockets::send(Path::new(&path), &text, &descriptors)?)
}

/// Descriptors that came, which are the receiver's to close.
#[napi(object)]
pub struct Delivery {
    /// The text that describes them.
    pub text: String,
    /// In the order in which they were sent.
    pub descriptors: Vec<i32>,
}

/// A Unix socket at which descriptors come in.
#[napi]
pub struct Inbox {
    inner: Arc<sockets::Inbox>,
}

#[napi]
impl Inbox {
    /// Listens at `path`; what lies there is removed. Throws where it cannot.
    #[napi(constructor)]
    pub fn new(path: String) -> Result<Self> {
        let inner = Arc::new(sockets::Inbox::bind(Path::new(&path))?);
        Ok(Self { inner })
    }

    /// Waits in the thread pool for the next delivery; null where none came in time.
    #[napi(ts_return_type = "Promise<Delivery | null>")]
    pub fn receive(&self, wait_ms: u32) -> AsyncTask<ReceiveTask> {
        let wait = Duration::from_millis(u64::from(wait_ms));
        let inner = Arc::clone(&self.inner);
        AsyncTask::new(ReceiveTask { inner, wait })
    }
}

/// A wait for a delivery.
pub struct ReceiveTask {
    inner: Arc<sockets::Inbox>,
    wait: Duration,
}

impl Task for ReceiveTask {
    type Output = Option<sockets::Delivery>;
    type JsValue = Option<Delivery>;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(self.inner.receive(self.wait)?)
    }

    fn resolve(&mut self, _: Env, delivery: Self::Output) -> Result<Self::JsValue> {
        Ok(delivery.map(|sockets::Delivery { text, descriptors }| Delivery { text, descriptors }))
    }
}
