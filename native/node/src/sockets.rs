//! Binding of the sockets that one process passes to the next.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fusegate_core::system::sockets;
use napi::bindgen_prelude::{AsyncTask, Error, Result};
use napi::{Env, Task};
use napi_derive::napi;

fn port_of(port: u32) -> Result<u16> {
    u16::try_from(port).map_err(|_| Error::from_reason("a port is at most 65535"))
}

/// Descriptors of this process that listen on a TCP port, in ascending order. Throws except on Linux.
#[napi]
pub fn listening_on(port: u32) -> Result<Vec<i32>> {
    Ok(sockets::listening_on(port_of(port)?)?)
}

/// Replaces this process's only socket that listens on `port` with another listening socket, under the same
/// descriptor; the replaced socket is closed. Users of that descriptor use the new socket from then on.
/// `descriptor` itself is closed.
#[napi]
pub fn put_in_place(descriptor: i32, port: u32) -> Result<()> {
    Ok(sockets::put_in_place(descriptor, port_of(port)?)?)
}

/// Sends up to 64 descriptors with a text to the inbox at `path`. This process's own stay open.
#[napi]
pub fn send_descriptors(path: String, text: String, descriptors: Vec<i32>) -> Result<()> {
    Ok(sockets::send(Path::new(&path), &text, &descriptors)?)
}

/// Received descriptors; the receiver must close them.
#[napi(object)]
pub struct Delivery {
    /// The text that describes them.
    pub text: String,
    /// In the order sent.
    pub descriptors: Vec<i32>,
}

/// A Unix socket that receives descriptors.
#[napi]
pub struct Inbox {
    inner: Arc<sockets::Inbox>,
}

#[napi]
impl Inbox {
    /// Listens at `path`; an existing file there is removed. Throws if it cannot.
    #[napi(constructor)]
    pub fn new(path: String) -> Result<Self> {
        let inner = Arc::new(sockets::Inbox::bind(Path::new(&path))?);
        Ok(Self { inner })
    }

    /// Waits in the thread pool for the next delivery; null if none arrives in time.
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
