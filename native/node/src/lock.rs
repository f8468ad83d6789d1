//! Locks a file for the life of this process (flock on Unix, LockFileEx on Windows).

use std::fs::{OpenOptions, TryLockError};
use std::io::{Read, Write};

use napi_derive::napi;

/// Takes an exclusive lock on the file at `path`, creating it if absent, and writes `text` into it. The lock
/// lasts until this process ends for any reason. Returns null if it was taken, else the text of the current
/// holder. Throws if the file cannot be opened, locked or written.
#[napi]
pub fn lock_file(path: String, text: String) -> napi::Result<Option<String>> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder)?;
            return Ok(Some(holder));
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // The lock lasts as long as the file is open: never closed, it ends with the process.
    std::mem::forget(file);
    Ok(None)
}
