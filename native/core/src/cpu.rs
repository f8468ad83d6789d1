//! The vector instructions of the CPU, and the loops over bytes and bits that use them.

pub mod bits;
pub mod products;
pub mod scan;
pub mod simd;
