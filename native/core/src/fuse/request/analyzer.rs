//! `analyzer`: rules that turn tokens into terms, by a name or one by one.

use super::unknown::{Notes, Place, known_members};
use super::values::word;
use crate::json::{Scanner, Unfit};
use crate::tokens::analyzer::{Analyzer, Forms, LANGUAGES, STOP_LISTS, StopWords, stop_list};

/// Reads an analyzer that is a JSON text by itself.
///
/// # Errors
/// It is invalid.
pub(crate) fn analyzer_alone(scanner: &mut Scanner) -> Result<Analyzer, Unfit> {
    analyzer(scanner, &Notes::default())
}

/// Reads `analyzer`: `plain`, a language's name for its usual settings, or the settings one by one.
pub(super) fn analyzer(scanner: &mut Scanner, notes: &Notes) -> Result<Analyzer, Unfit> {
    let mut analyzer = Analyzer::default();
    notes.borrow_mut().forget(Place::Analyzer);
    if scanner.peek() == Some(b'"') {
        let name = scanner.string()?;
        if scanner.place(name, &[b"plain"]).is_none() {
            let names = LANGUAGES.each_ref().map(|(name, _)| *name);
            let (name, algorithm) = LANGUAGES[scanner.place(name, &names).ok_or(Unfit)?];
            analyzer.forms.stemmer = Some(algorithm);
            analyzer.stop_words = StopWords::Listed(stop_list(name));
        }
        return Ok(analyzer);
    }
    const NAMES: [&[u8]; 4] = [b"stemmer", b"stopwords", b"fold_accents", b"normalize"];
    let Analyzer {
        forms: Forms {
            stemmer,
            fold_accents,
        },
        stop_words,
        normalize,
    } = &mut analyzer;
    known_members(scanner, (notes, Place::Analyzer), &NAMES, 2, |scanner, place| {
        match NAMES[place] {
            b"stemmer" if scanner.null()? => *stemmer = None,
            b"stemmer" => *stemmer = Some(word(scanner, &LANGUAGES)?),
            b"stopwords" => *stop_words = read_stop_words(scanner)?,
            b"fold_accents" => *fold_accents = scanner.boolean()?,
            _ => *normalize = scanner.boolean()?,
        }
        Ok(())
    })?;
    Ok(analyzer)
}

/// Reads `stopwords`: null, a language's name, or words, of which only the place is stored: a table of them
/// would cost many times their bytes, and few are in the query.
fn read_stop_words(scanner: &mut Scanner) -> Result<StopWords, Unfit> {
    if scanner.null()? {
        return Ok(StopWords::None);
    }
    if scanner.peek() == Some(b'"') {
        return Ok(StopWords::Listed(word(scanner, &STOP_LISTS)?));
    }
    let (at, mut empty) = (scanner.position(), true);
    scanner.array(|scanner| {
        let word = scanner.string()?;
        // A word without tokens removes nothing, but counts as a word, as in the contract's types.
        empty &= word.start == word.end;
        Ok(())
    })?;
    Ok(StopWords::Given { at, empty })
}
