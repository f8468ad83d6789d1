//! Strict JSON (RFC 8259) over bytes: a scanner, and checks of bodies against a shape without building
//! values.

pub mod body;
mod members;
mod number;
mod refusal;
mod scanner;
pub mod shape;
mod text;

pub use members::Members;
pub use refusal::{Reason, Refusal, Unfit};
pub use scanner::{Label, MAX_DEPTH, Scanner, Span, check, value_end};
pub use text::{character_length, characters, unescape, write_text};
