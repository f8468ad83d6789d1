//! Resources that processes share: files that they map, in blocks too, sockets that one passes to another,
//! and the priority of their threads.

pub(crate) mod blocks;
pub(crate) mod mapped;
pub mod priority;
pub mod process;
pub mod sockets;
