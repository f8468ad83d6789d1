//! Resources of the system: files that processes map, also in blocks, sockets that one passes to another, the
//! priority of threads, and the end of a process.

pub(crate) mod blocks;
pub(crate) mod mapped;
pub mod priority;
pub mod process;
pub mod sockets;
