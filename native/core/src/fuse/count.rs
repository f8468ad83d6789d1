//! Counting the query's terms in the docs' texts.

use super::{Workspace, with_text};
use crate::ascii::count_ws_ascii;
use crate::request::{Options, Tokenizer};
use crate::scan::code_points;
use crate::tokenize;

/// Characters that a doc counts for at least: an empty one, too, has an answer of its own.
pub const LEAST_DOC_CHARACTERS: u64 = 16;

impl Workspace {
    /// Counts each text's terms and tokens; gives the characters that the request counts for: the code points
    /// of the query and of each text, of a text at least [`LEAST_DOC_CHARACTERS`].
    pub(super) fn count(&mut self, body: &[u8], options: &Options) -> u64 {
        match options.tokenizer {
            Tokenizer::Ws => self.count_words(body, options),
            Tokenizer::Ngram => self.count_bigrams(body, options),
        }
    }

    fn count_words(&mut self, body: &[u8], options: &Options) -> u64 {
        let Workspace {
            terms,
            hits,
            token,
            unescaped,
            ..
        } = self;
        terms.clear();
        let mut characters = 0;
        with_text(body, options.query, unescaped, |text, range, _| {
            characters += code_points(&text[range.clone()]);
            tokenize::ws(&text[range], token, |term| terms.insert(term));
        });
        terms.finish();
        hits.reset(terms.frequencies().len());
        self.start_matches(self.terms.frequencies().len());
        for place in 0..self.lists.docs.len() {
            let Workspace {
                lists,
                terms,
                hits,
                token,
                unescaped,
                ..
            } = self;
            let length = with_text(body, lists.docs[place].text, unescaped, |text, range, ascii| {
                if ascii {
                    characters += (range.len() as u64).max(LEAST_DOC_CHARACTERS);
                    return count_ws_ascii(text, range.start, range.end, terms, hits);
                }
                characters += code_points(&text[range.clone()]).max(LEAST_DOC_CHARACTERS);
                tokenize::count_ws(&text[range], token, terms, hits)
            });
            self.end_matches(length);
        }
        characters
    }

    fn count_bigrams(&mut self, body: &[u8], options: &Options) -> u64 {
        let Workspace {
            bigrams,
            hits,
            unescaped,
            ..
        } = self;
        bigrams.clear();
        let mut characters = 0;
        with_text(body, options.query, unescaped, |text, range, _| {
            characters += code_points(&text[range.clone()]);
            tokenize::ngram(&text[range], |key| bigrams.insert(key));
        });
        hits.reset(bigrams.frequencies().len());
        self.start_matches(self.bigrams.frequencies().len());
        for place in 0..self.lists.docs.len() {
            let Workspace {
                lists,
                bigrams,
                hits,
                unescaped,
                ..
            } = self;
            let length = with_text(body, lists.docs[place].text, unescaped, |text, range, _| {
                characters += code_points(&text[range.clone()]).max(LEAST_DOC_CHARACTERS);
                tokenize::count_ngram(&text[range], bigrams, hits)
            });
            self.end_matches(length);
        }
        characters
    }

    pub(super) fn frequencies(&self, options: &Options) -> &[u32] {
        match options.tokenizer {
            Tokenizer::Ws => self.terms.frequencies(),
            Tokenizer::Ngram => self.bigrams.frequencies(),
        }
    }

    pub(super) fn start_matches(&mut self, terms: usize) {
        self.matches.clear();
        self.lengths.clear();
        self.document_frequencies.clear();
        self.document_frequencies.resize(terms, 0);
    }

    /// Files what `hits` counted under the next doc.
    #[inline]
    pub(super) fn end_matches(&mut self, length: usize) {
        let Workspace {
            hits,
            matches,
            document_frequencies,
            lengths,
            ..
        } = self;
        hits.drain(|term, count| {
            matches.push((term, count));
            document_frequencies[term as usize] += 1;
        });
        lengths.push((matches.len(), length));
    }
}
