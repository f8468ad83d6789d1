//! Who may call, and how often: keys, limits in a file that all workers map, and the decision by both.

pub mod admission;
pub mod keys;
pub mod limits;
