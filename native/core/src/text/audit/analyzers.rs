//! The terms that search engines make of a text by default, as far as they decide if a word finds it.
//! docs/audit.md states the rules; `test/peers/analyzers.test.ts` compares those of Lucene and PostgreSQL
//! with the programs themselves.

use icu_casemap::CaseMapper;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, LineBreak, Script, WordBreak};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_normalization::UnicodeNormalization;

use crate::tokens::tokenize;

/// The default analyzer of one or more engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Analyzer {
    /// The tokenizer `ws` of POST /v1/fuse.
    #[default]
    Ws,
    /// Lucene's StandardTokenizer (UAX #29) and LowerCaseFilter: Elasticsearch, OpenSearch, Solr.
    Standard,
    /// PostgreSQL's default parser with the configuration `simple`.
    Postgres,
    /// Runs of what Rust calls alphanumeric, lower-cased: Qdrant's `word`.
    Alphanumeric,
    /// The same terms, but a match of any is enough: Milvus's `standard`.
    Milvus,
    /// Runs of letters and numbers, lower-cased, without English stop words in queries: Weaviate's `word`.
    Weaviate,
    /// The words of BERT's normalizer and pre-tokenizer, before a model cuts them into pieces: for vector
    /// engines.
    Bert,
    /// Lower-cased, without diacritics and apostrophes: Algolia.
    Algolia,
    /// Transliterated to ASCII, cut only at white space; only letters and numbers are left: Typesense.
    Typesense,
    /// UAX #29, then compatibility decomposition, lower-cased, without marks: Meilisearch.
    Charabia,
    /// NFKC, lower case, accents dropped: Vespa.
    Vespa,
}

/// The terms of a query that must be in a record for the query to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Every one.
    All,
    /// The first one: if too few records have all terms, the last ones are dropped first.
    First,
    /// Any one.
    Any,
}

/// Words that Weaviate's stop word preset `en` removes from queries: Lucene's English ones.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
];

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const BREAKS: CodePointMapDataBorrowed<'static, WordBreak> = CodePointMapData::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();
const LINES: CodePointMapDataBorrowed<'static, LineBreak> = CodePointMapData::new();
const CASES: icu_casemap::CaseMapperBorrowed<'static> = CaseMapper::new();

fn is_in(c: char, group: GeneralCategoryGroup) -> bool {
    group.contains(CATEGORIES.get(c))
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && is_in(c, GeneralCategoryGroup::Mark)
}

/// Lower-cases one character at a time, as Java, Go and PostgreSQL do.
pub(super) fn lowered(text: &str) -> String {
    text.chars().map(|c| CASES.simple_lowercase(c)).collect()
}

/// Canonically decomposed, without marks, lower-cased.
fn plain(text: &str) -> String {
    text.nfd()
        .filter(|c| !is_mark(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Calls `each` with every run of word characters.
fn runs(text: &str, is_word: impl Fn(char) -> bool, each: impl FnMut(&str)) {
    text.split(|c| !is_word(c))
        .filter(|run| !run.is_empty())
        .for_each(each);
}

impl Analyzer {
    /// The analyzer of a stack of `GET /v1/audit/stacks`; `ws` for an unknown one.
    #[must_use]
    pub fn of_stack(name: &str) -> Self {
        match name {
            "elasticsearch" | "opensearch" | "solr" => Analyzer::Standard,
            "postgres" => Analyzer::Postgres,
            "pgvector" | "pinecone" => Analyzer::Bert,
            "qdrant" => Analyzer::Alphanumeric,
            "milvus" => Analyzer::Milvus,
            "weaviate" => Analyzer::Weaviate,
            "algolia" => Analyzer::Algolia,
            "typesense" => Analyzer::Typesense,
            "meilisearch" => Analyzer::Charabia,
            "vespa" => Analyzer::Vespa,
            _ => Analyzer::Ws,
        }
    }

    /// The terms of a query that must be in a record.
    #[must_use]
    pub fn needs(self) -> Needs {
        use Analyzer::{Algolia, Alphanumeric, Charabia, Postgres, Typesense};
        match self {
            Postgres | Alphanumeric | Algolia => Needs::All,
            Charabia | Typesense => Needs::First,
            _ => Needs::Any,
        }
    }

    /// True if queries ignore a term.
    #[must_use]
    pub fn is_ignored(self, term: &[u8]) -> bool {
        self == Analyzer::Weaviate && STOP_WORDS.iter().any(|word| word.as_bytes() == term)
    }

    /// Calls `each` with every term of a text.
    pub fn terms(self, text: &str, mut each: impl FnMut(&[u8])) {
        let alphanumeric = |c: char| c.is_alphanumeric();
        match self {
            Analyzer::Ws => tokenize::ws(text.as_bytes(), &mut Vec::new(), each),
            Analyzer::Standard => {
                let mut term = Vec::new();
                segments(text, |segment, is_word| {
                    if is_word && segment.is_ascii() {
                        term.clear();
                        term.extend(segment.bytes().map(|byte| byte.to_ascii_lowercase()));
                        each(&term);
                    } else if is_word {
                        each(lowered(segment).as_bytes());
                    }
                });
            }
            Analyzer::Postgres => postgres(text, &mut each),
            Analyzer::Alphanumeric | Analyzer::Milvus => {
                runs(text, alphanumeric, |run| each(run.to_lowercase().as_bytes()));
            }
            Analyzer::Weaviate => {
                let word = GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Number);
                runs(text, |c| is_in(c, word), |run| each(lowered(run).as_bytes()));
            }
            Analyzer::Bert => bert(text, &mut each),
            Analyzer::Algolia => {
                let text: String = text.chars().filter(|c| !matches!(c, '\'' | '\u{2019}')).collect();
                runs(&plain(&text), alphanumeric, |run| each(run.as_bytes()));
            }
            Analyzer::Typesense => runs(
                &plain(&text.nfkd().collect::<String>()),
                |c| !c.is_whitespace(),
                |run| {
                    let term: String = run.chars().filter(|c| c.is_alphanumeric()).collect();
                    if !term.is_empty() {
                        each(term.as_bytes());
                    }
                },
            ),
            Analyzer::Charabia => segments(text, |segment, is_word| {
                if is_word || segment.chars().next().is_some_and(alphanumeric) {
                    charabia(segment, &mut each);
                }
            }),
            Analyzer::Vespa => {
                let text: String = text.nfkc().collect();
                runs(&plain(&text), alphanumeric, |run| each(run.as_bytes()));
            }
        }
    }
}

/// A segment of UAX #29 as charabia normalizes it: cut further at underscores, at apostrophes, and between a
/// lower-case and an upper-case letter.
fn charabia(segment: &str, each: &mut impl FnMut(&[u8])) {
    let mut start = 0;
    let mut small = false;
    let mut cut = |part: &str| {
        let folded: String = plain(&part.nfkd().collect::<String>());
        let term: String = folded.chars().filter(|c| c.is_alphanumeric()).collect();
        if !term.is_empty() {
            each(term.as_bytes());
        }
    };
    for (at, c) in segment.char_indices() {
        let separates = matches!(c, '_' | '\'' | '\u{2019}' | '.' | ',' | ':');
        if separates || small && c.is_uppercase() {
            cut(&segment[start..at]);
            start = at;
        }
        small = c.is_lowercase();
    }
    cut(&segment[start..]);
}

/// True if PostgreSQL's parser finds a character in words.
pub(super) fn is_postgres_word(c: char) -> bool {
    let digit = || CATEGORIES.get(c) == GeneralCategory::DecimalNumber;
    c.is_ascii_alphanumeric() || !c.is_ascii() && (c.is_alphabetic() || digit() || is_mark(c))
}

/// The tokens of PostgreSQL's parser that the configuration `simple` indexes: runs of letters, digits and
/// marks; in ASCII also with full stops and slashes in between (hosts, files, numbers).
fn postgres(text: &str, each: &mut impl FnMut(&[u8])) {
    let bytes = text.as_bytes();
    let ascii = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut start = None;
    // True if the word so far is ASCII.
    let mut plain = false;
    let mut markup = Markup::default();
    let mut skipped = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if at < skipped {
            continue;
        }
        let joins = matches!(c, '.' | '/') && plain && ascii(at - 1) && ascii(at + 1);
        if is_postgres_word(c) || joins {
            plain = c.is_ascii() && (plain || start.is_none());
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            each(lowered(&text[from..at]).as_bytes());
        }
        plain = false;
        skipped = at + markup.length(&bytes[at..], at);
    }
}

/// The search for the ends of a text's tags and entities, which reads no part of the text twice.
#[derive(Debug, Default)]
struct Markup {
    /// True if no tag ends after the last one.
    unclosed: bool,
    /// The place before which no entity ends.
    no_entity: usize,
}

impl Markup {
    /// Length of the tag or entity at `at`, where `rest` begins; 0 if there is none.
    fn length(&mut self, rest: &[u8], at: usize) -> usize {
        match rest {
            [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/', ..] if !self.unclosed => {
                let end = memchr::memchr(b'>', rest);
                self.unclosed = end.is_none();
                end.map_or(0, |end| end + 1)
            }
            [b'&', b'a'..=b'z' | b'A'..=b'Z' | b'#', ..] if self.no_entity <= at => {
                let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'&' | b'#');
                let end = rest.iter().position(|byte| !inside(byte)).unwrap_or(rest.len());
                self.no_entity = at + end;
                if rest.get(end) == Some(&b';') { end + 1 } else { 0 }
            }
            _ => 0,
        }
    }
}

/// The words of BERT's normalizer (uncased) and pre-tokenizer.
fn bert(text: &str, each: &mut impl FnMut(&[u8])) {
    let other = GeneralCategoryGroup::Other;
    let cleaned: String = text
        .chars()
        .filter(|c| c.is_whitespace() || *c != '\u{FFFD}' && !is_in(*c, other))
        .collect();
    let folded: String = cleaned
        .nfd()
        .filter(|c| CATEGORIES.get(*c) != GeneralCategory::NonspacingMark)
        .flat_map(char::to_lowercase)
        .collect();
    let ends = |c: char| {
        c.is_whitespace() || c.is_ascii_punctuation() || is_in(c, GeneralCategoryGroup::Punctuation)
    };
    runs(
        &folded,
        |c| !ends(c),
        |run| {
            let mut at = 0;
            for (place, c) in run.char_indices().filter(|(_, c)| SCRIPTS.get(*c) == Script::Han) {
                if at < place {
                    each(&run.as_bytes()[at..place]);
                }
                at = place + c.len_utf8();
                each(&run.as_bytes()[place..at]);
            }
            if at < run.len() {
                each(&run.as_bytes()[at..]);
            }
        },
    );
}

/// The class of a character in [`segments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Hebrew,
    Number,
    Katakana,
    Connector,
    MidLetter,
    MidNumber,
    MidBoth,
    Quote,
    DoubleQuote,
    /// Extend, Format or ZWJ: belongs to the character before it.
    Extends,
    /// Han or Hiragana: a term by itself.
    Ideograph,
    /// A script that only a dictionary can split into words: the whole run is one term.
    Complex,
    Other,
}

fn class(c: char) -> Class {
    if c.is_ascii_alphabetic() {
        return Class::Letter;
    }
    match BREAKS.get(c) {
        WordBreak::ALetter => Class::Letter,
        WordBreak::HebrewLetter => Class::Hebrew,
        WordBreak::Numeric => Class::Number,
        WordBreak::Katakana => Class::Katakana,
        WordBreak::ExtendNumLet => Class::Connector,
        WordBreak::MidLetter => Class::MidLetter,
        WordBreak::MidNum => Class::MidNumber,
        WordBreak::MidNumLet => Class::MidBoth,
        WordBreak::SingleQuote => Class::Quote,
        WordBreak::DoubleQuote => Class::DoubleQuote,
        WordBreak::Extend | WordBreak::Format | WordBreak::ZWJ => Class::Extends,
        _ if matches!(SCRIPTS.get(c), Script::Han | Script::Hiragana) => Class::Ideograph,
        _ if LINES.get(c) == LineBreak::ComplexContext => Class::Complex,
        _ => Class::Other,
    }
}

/// True if a character may stand inside a word, between two of its letters or digits.
fn is_mid(class: Class) -> bool {
    use Class::{DoubleQuote, MidBoth, MidLetter, MidNumber, Quote};
    matches!(class, MidLetter | MidNumber | MidBoth | Quote | DoubleQuote)
}

/// True if there is no boundary between characters of these two classes (UAX #29, WB5 to WB13b).
fn joined(last: Class, next: Class, after: Class) -> bool {
    use Class::{
        Complex, Connector, DoubleQuote, Hebrew, Katakana, Letter, MidBoth, MidLetter, MidNumber, Number,
        Quote,
    };
    let letter = |class| matches!(class, Letter | Hebrew);
    let counts = |class| matches!(class, Letter | Hebrew | Number);
    match (last, next) {
        (Katakana, Katakana) | (Complex, Complex) | (Hebrew, Quote) => true,
        (Letter | Hebrew | Number, _) if counts(next) => true,
        (Letter | Hebrew | Number | Katakana | Connector, Connector) => true,
        (Connector, _) if counts(next) || next == Katakana => true,
        (Letter | Hebrew, MidLetter | MidBoth | Quote) => letter(after),
        (Hebrew, DoubleQuote) => after == Hebrew,
        (Number, MidNumber | MidBoth | Quote) => after == Number,
        // The inner character is consumed: the check before has seen both sides.
        (MidLetter | MidBoth | Quote, _) if letter(next) => true,
        (DoubleQuote, Hebrew) | (MidNumber | MidBoth | Quote, Number) => true,
        _ => false,
    }
}

/// Calls `each` with every segment of UAX #29, and true if Lucene's StandardTokenizer makes a term of it.
/// That tokenizer also makes terms of emoji, which are ignored here: no one types them as a word.
fn segments(text: &str, mut each: impl FnMut(&str, bool)) {
    let mut open: Option<(usize, Class, bool)> = None;
    for (at, c) in text.char_indices() {
        let next = class(c);
        if next == Class::Extends && open.is_some() {
            continue;
        }
        let joins = open.is_some_and(|(_, last, _)| {
            let after = if is_mid(next) {
                following(&text[at..])
            } else {
                Class::Other
            };
            joined(last, next, after)
        });
        let is_word = matches!(
            next,
            Class::Letter
                | Class::Hebrew
                | Class::Number
                | Class::Katakana
                | Class::Ideograph
                | Class::Complex
        );
        open = match open {
            Some((start, _, word)) if joins => Some((start, next, word || is_word)),
            passed => {
                if let Some((start, _, word)) = passed {
                    each(&text[start..at], word);
                }
                // At the start a joining character has nothing to join.
                Some((at, if is_mid(next) { Class::Other } else { next }, is_word))
            }
        };
    }
    if let Some((start, _, word)) = open {
        each(&text[start..], word);
    }
}

/// The class of the next character, past those that extend the first one.
fn following(text: &str) -> Class {
    let classes = text.chars().skip(1).map(class);
    classes
        .into_iter()
        .find(|class| *class != Class::Extends)
        .unwrap_or(Class::Other)
}
