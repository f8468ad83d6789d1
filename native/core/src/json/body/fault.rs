//! The names of faults on the wire, and how many are listed.

/// Most faults that are listed.
pub const MAX_FAULTS: usize = 100;

/// A member is missing.
pub const MISSING: &str = "missing";
/// A member that the shape does not declare.
pub const EXTRA: &str = "extra_forbidden";
/// Not a string.
pub const TEXT: &str = "string_type";
/// A string of too many characters.
pub const LONG_TEXT: &str = "string_too_long";
/// A string of too few.
pub const SHORT_TEXT: &str = "string_too_short";
/// Not one of the allowed words.
pub const WORD: &str = "literal_error";
/// Not a whole number.
pub const WHOLE: &str = "int_type";
/// Not a number.
pub const NUMBER: &str = "float_type";
/// Below the least value.
pub const LOW: &str = "greater_than_equal";
/// Above the greatest.
pub const HIGH: &str = "less_than_equal";
/// Not a boolean.
pub const BOOLEAN: &str = "bool_type";
/// Not a list.
pub const LIST: &str = "list_type";
/// A list of too many items.
pub const LONG_LIST: &str = "too_long";
/// A list of too few.
pub const SHORT_LIST: &str = "too_short";
/// Not a dictionary.
pub const MAP: &str = "dict_type";
/// Not an object.
pub const OBJECT: &str = "model_attributes_type";
