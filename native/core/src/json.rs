//! Strict JSON (RFC 8259) over bytes: what is refused, and at which byte.

/// Why a body is not JSON that Fusegate accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Byte offset of the first byte that cannot stand.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// The closed list of reasons (`ctx.error` of a `json_invalid`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Not in the grammar.
    Syntax,
}
