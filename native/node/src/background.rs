//! Work on threads of its own at a lower priority, beside that of the thread pool, which requests await.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use fusegate_core::system::priority::lower_this_thread;
use napi::Env;
use napi::bindgen_prelude::{Error, Object, Result, ToNapiValue};

type Job = Box<dyn FnOnce() + Send>;

/// A job that settles a promise with the result of some work, and that promise.
fn promised<'env, Value>(
    env: &'env Env,
    work: impl FnOnce() -> io::Result<Value> + Send + 'static,
) -> Result<(Job, Object<'env>)>
where
    Value: ToNapiValue + Send + 'static,
{
    let (deferred, promise) = env.create_deferred()?;
    let job = move || match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => deferred.resolve(move |_| Ok(value)),
        Ok(Err(error)) => deferred.reject(error.into()),
        Err(_) => deferred.reject(Error::from_reason("the work in the background failed")),
    };
    Ok((Box::new(job), promise))
}

/// Does some work on a thread that ends with it.
pub fn run_once<'env, Value>(
    env: &'env Env,
    name: &str,
    work: impl FnOnce() -> io::Result<Value> + Send + 'static,
) -> Result<Object<'env>>
where
    Value: ToNapiValue + Send + 'static,
{
    let (job, promise) = promised(env, work)?;
    Builder::new().name(name.to_owned()).spawn(|| {
        lower_this_thread();
        job();
    })?;
    Ok(promise)
}

/// A thread that does one piece of work after the other. It begins with the first, and ends when this is
/// dropped.
pub struct Background {
    name: &'static str,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Background {
    /// The thread is named in listings of the process's threads.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            jobs: Mutex::new(None),
        }
    }

    /// Does some work after the work that it has already; the promise is that of its result.
    pub fn run<'env, Value>(
        &self,
        env: &'env Env,
        work: impl FnOnce() -> io::Result<Value> + Send + 'static,
    ) -> Result<Object<'env>>
    where
        Value: ToNapiValue + Send + 'static,
    {
        let (job, promise) = promised(env, work)?;
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match jobs.take() {
            Some(sender) => sender,
            None => self.begin()?,
        };
        let sent = sender.send(job);
        *jobs = Some(sender);
        sent.map_err(|_| Error::from_reason("the thread in the background has ended"))?;
        Ok(promise)
    }

    fn begin(&self) -> io::Result<Sender<Job>> {
        let (sender, jobs) = channel::<Job>();
        Builder::new().name(self.name.to_owned()).spawn(move || {
            for job in jobs {
                // Again each time: a process that ends its start gives all of its threads the usual priority.
                lower_this_thread();
                job();
            }
        })?;
        Ok(sender)
    }
}
