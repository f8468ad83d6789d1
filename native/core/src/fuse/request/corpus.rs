//! Statistics of a collection, inline or by name in a request.

use super::values::{NOWHERE, number, whole};
use crate::json::{Scanner, Span, Unfit};

/// Statistics of a collection.
#[derive(Debug, Clone, Copy)]
pub struct Corpus {
    /// Number of its docs.
    pub docs: f64,
    /// Their mean length in tokens.
    pub average_length: f64,
    /// Position in the body of the object that maps terms to numbers of docs.
    pub(crate) frequencies: usize,
}

/// A reference to named statistics.
#[derive(Debug, Clone, Copy)]
pub struct NamedCorpus {
    /// Span of the name.
    pub(in crate::fuse) name: Span,
    /// The requested version; `None`: the newest.
    pub(in crate::fuse) version: Option<f64>,
}

/// `corpus` as a request gives it.
pub(super) enum Given {
    Inline(Corpus),
    Named(NamedCorpus),
}

/// Most docs of a collection; the contract has the same bound.
const MOST_DOCS: f64 = 1e15;

/// Reads inline statistics.
///
/// # Errors
/// They are invalid, or a name is given instead.
pub(crate) fn corpus(scanner: &mut Scanner) -> Result<Corpus, Unfit> {
    match given(scanner)? {
        Given::Inline(corpus) => Ok(corpus),
        Given::Named(_) => Err(Unfit),
    }
}

/// Reads `corpus`. The frequencies are only checked here, and looked up once the query's terms are known, as
/// a collection has many more terms.
pub(super) fn given(scanner: &mut Scanner) -> Result<Given, Unfit> {
    const NAMES: [&[u8]; 5] = [b"docs", b"average_length", b"df", b"name", b"version"];
    let (mut docs, mut average_length, mut frequencies) = (0.0, 0.0, 0);
    let (mut name, mut version) = (NOWHERE, None);
    let met = scanner.members(&NAMES, 2, |scanner, place| {
        match NAMES[place] {
            b"docs" => docs = whole(scanner, 1.0, MOST_DOCS)?,
            b"average_length" => average_length = number(scanner, 0.01, f64::MAX)?,
            b"df" => {
                frequencies = scanner.position();
                scanner.skip_value(2)?;
            }
            b"name" => name = scanner.string()?,
            _ => version = Some(whole(scanner, 1.0, f64::from(u32::MAX))?),
        }
        Ok(())
    })?;
    match met {
        0b00111 => {}
        0b01000 | 0b11000 => {
            return Ok(Given::Named(NamedCorpus { name, version }));
        }
        _ => return Err(Unfit),
    }
    let end = scanner.position();
    scanner.stand_at(frequencies);
    scanner.values(3, |scanner, _| whole(scanner, 0.0, docs).map(|_| ()))?;
    scanner.stand_at(end);
    Ok(Given::Inline(Corpus {
        docs,
        average_length,
        frequencies,
    }))
}
