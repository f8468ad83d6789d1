//! The parts of a receipt: a fragment's accepted strings, their digests and seal, and the tree of the public
//! log.

pub mod canonical;
pub mod digest;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod previews;
pub mod shards;
pub mod tree;
