//! Work on dedicated threads at a lower priority, apart from the thread pool's work, which requests await.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use fusegate_core::system::priority::lower_this_thread;
use napi::Env;
use napi::bindgen_prelude::{Error, Object, Result, ToNapiValue};

type Job = Box<dyn FnOnce() + Send>;

/// A job that does some work and settles a promise with its result, and that promise.
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

/// Does some work on a new thread, which then ends. The promise settles with the result.
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

/// A thread that runs jobs one at a time. It starts with the first job, and ends once this is dropped.
pub struct Background {
    name: &'static str,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Background {
    /// `name`: the thread's name in listings of the process's threads.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            jobs: Mutex::new(None),
        }
    }

    /// Queues some work for the thread. The promise settles with the result.
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
                // Before each job: a process gives all its threads the usual priority after its start.
                lower_this_thread();
                job();
            }
        })?;
        Ok(sender)
    }
}
