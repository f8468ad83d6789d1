//! The vectors of fragments: the file that has them, the exact scan, the index of all states of the log, and
//! walks between fragments.

pub mod clusters;
pub mod explored;
pub mod hidden;
pub mod nearest;
pub mod regions;
pub mod vectors;
