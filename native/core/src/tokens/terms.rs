//! The query's terms and the number of their occurrences in a text, as BM25 needs them. No token is stored.

pub(crate) mod batch;
mod beginnings;
mod bigrams;
mod collect;
mod collected;
mod distinct;
mod filter;
mod forms;
mod hits;
mod key;
mod meet;
mod memo;
mod met;
mod short_terms;
mod table;

pub use bigrams::Bigrams;
pub(crate) use bigrams::text_of as bigram_text;
pub(crate) use distinct::Distinct;
#[cfg(target_arch = "x86_64")]
pub(crate) use filter::Filter;
pub use hits::Hits;
#[cfg(test)]
pub(crate) use met::Met;
pub(crate) use met::{Located, Places, SLACK, Use};
pub use table::Terms;
