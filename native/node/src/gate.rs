//! A gate of a folder that many processes pass together, or one passes alone (flock on Unix, LockFileEx on
//! Windows). The operating system releases it when a process ends for any reason.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use napi_derive::napi;

/// One process's place at the gate. No call blocks: false means that it is not possible now, and may be tried
/// again.
#[napi]
pub struct Gate {
    files: Option<Files>,
}

struct Files {
    /// Locked for a moment by each process that enters; locked for long by one that wants to be alone.
    turnstile: File,
    /// Locked by every process that is inside.
    room: File,
}

fn open(folder: &Path, name: &str) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(folder.join(name))
}

fn taken(attempt: Result<(), TryLockError>) -> napi::Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

#[napi]
impl Gate {
    /// A place at the gate of an existing folder; its two files are created if missing. Throws if they cannot
    /// be opened.
    #[napi(constructor)]
    pub fn new(folder: String) -> napi::Result<Self> {
        let folder = Path::new(&folder);
        let files = Files {
            turnstile: open(folder, "gate.turnstile")?,
            room: open(folder, "gate.room")?,
        };
        Ok(Self { files: Some(files) })
    }

    fn files(&self) -> napi::Result<&Files> {
        self.files
            .as_ref()
            .ok_or_else(|| napi::Error::from_reason("This place in the queue was released"))
    }

    /// Enters together with others; false while a process is alone inside, or waits to be.
    #[napi]
    pub fn try_enter(&self) -> napi::Result<bool> {
        let Files { turnstile, room } = self.files()?;
        if !taken(turnstile.try_lock_shared())? {
            return Ok(false);
        }
        let entered = taken(room.try_lock_shared());
        turnstile.unlock()?;
        entered
    }

    /// Keeps all others from entering from now on; false while another process does so, or is entering.
    #[napi]
    pub fn try_close(&self) -> napi::Result<bool> {
        taken(self.files()?.turnstile.try_lock())
    }

    /// After `tryClose`: true once all others have left, and this process is alone.
    #[napi]
    pub fn try_be_alone(&self) -> napi::Result<bool> {
        taken(self.files()?.room.try_lock())
    }

    /// Leaves, and reopens the gate if this process had closed it.
    #[napi]
    pub fn leave(&self) -> napi::Result<()> {
        let Files { turnstile, room } = self.files()?;
        room.unlock()?;
        Ok(turnstile.unlock()?)
    }

    /// Gives up the place and closes its files; every later call throws.
    #[napi]
    pub fn close(&mut self) {
        self.files = None;
    }
}
