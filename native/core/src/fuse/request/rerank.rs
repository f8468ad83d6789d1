//! Reads the rerank requests of other interfaces (Cohere v1 and v2, Jina, vLLM, Voyage,
//! text-embeddings-inference) in one pass, as [`super::read`] reads a FuseRequest. Lenient where their
//! clients differ; members that are not acted on are recorded for the answer's warnings.

use super::Lists;
use super::options::{Doc, Options};
use super::values::NOWHERE;
use crate::json::{self, Members, Refusal, Scanner, Span, Unfit};

/// The path of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/v2/rerank`
    V2,
    /// `/v1/rerank`: Cohere v1, Jina, vLLM; Voyage if `top_k` is present.
    V1,
    /// `/rerank`: text-embeddings-inference if `texts` is present, else as `/v1/rerank`.
    Bare,
    /// `/voyage/v1/rerank`
    Voyage,
}

/// Form of the answer, by interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Cohere's, version 2.
    V2,
    /// Cohere's version 1, Jina's and vLLM's in one.
    V1,
    /// Voyage's.
    Voyage,
    /// text-embeddings-inference's.
    Tei,
}

/// Contents of a request.
#[derive(Debug)]
pub struct Asked {
    /// The options, as in a FuseRequest.
    pub options: Options,
    /// Form of the answer, by interface.
    pub shape: Shape,
    /// The answer's id.
    pub id: String,
    /// True if texts are returned.
    pub return_documents: bool,
    /// True if scores are returned unchanged, negative ones too.
    pub raw_scores: bool,
    /// The name of a model that is not installed.
    pub unknown_model: Option<Span>,
    /// Known members that are not acted on, by their places in [`IGNORED`].
    pub ignored: u32,
    /// Names of unknown members, at most [`NAMED_UNKNOWN`].
    pub unknown: Vec<Span>,
    /// True if there are more.
    pub more_unknown: bool,
}

/// Most unknown members that are named.
pub const NAMED_UNKNOWN: usize = 10;
/// Most bytes of a name that is shown.
pub const NAME_BYTES: usize = 100;

/// Known members that are not acted on: the first six in any request, the others if another one is used.
pub const IGNORED: [&[u8]; 11] = [
    b"max_tokens_per_doc",
    b"truncate_prompt_tokens",
    b"max_chunks_per_doc",
    b"rank_fields",
    b"priority",
    b"truncation_direction",
    b"documents",
    b"texts",
    b"top_n",
    b"return_documents",
    b"return_text",
];
/// Places in [`IGNORED`]: of the first of both lists, then of the other members.
const OTHER_LISTS: usize = 6;
const OTHER_TOP_N: usize = 8;
const OTHER_RETURN_DOCUMENTS: usize = 9;
const OTHER_RETURN_TEXT: usize = 10;

const NAMES: [&[u8]; 17] = [
    b"query",
    b"documents",
    b"texts",
    b"top_n",
    b"top_k",
    b"model",
    b"return_documents",
    b"return_text",
    b"raw_scores",
    b"truncation",
    b"truncate",
    IGNORED[0],
    IGNORED[1],
    IGNORED[2],
    IGNORED[3],
    IGNORED[4],
    IGNORED[5],
];
const QUERY: usize = 0;
const DOCUMENTS: usize = 1;
const TEXTS: usize = 2;
const TOP_N: usize = 3;
const TOP_K: usize = 4;
const FIRST_IGNORED: usize = 11;

/// Fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It is not JSON.
    Json(Refusal),
    /// It is JSON, but not an object.
    NoObject,
    /// A required member is missing.
    Missing(&'static str),
    /// A member's value has another form.
    Unfit {
        /// Its name.
        name: &'static str,
        /// The expected form.
        expected: &'static str,
    },
    /// A document is neither text nor has text.
    Document {
        /// Its list.
        list: &'static str,
        /// Its index in the list.
        place: usize,
    },
    /// No documents.
    Empty(&'static str),
    /// More documents than a model scores.
    TooMany {
        /// Documents sent.
        docs: usize,
        /// Most that are accepted.
        most: usize,
    },
    /// The server has no model.
    NoModel,
}

impl Wrong {
    /// A sentence that says what to do. For an empty list it has the words that clients look for.
    #[must_use]
    pub fn text(self) -> String {
        let text = match self {
            Wrong::Json(Refusal { offset, reason }) => {
                format!("the body is not JSON ({} at byte {offset}).", reason.text())
            }
            Wrong::NoObject => "the body must be a JSON object.".to_owned(),
            Wrong::Missing(name) => format!("{name} is required."),
            Wrong::Unfit { name, expected } => format!("{name} must be {expected}."),
            Wrong::Document { list, place } => {
                format!("{list}[{place}] must be a string, or an object with a string `text`.")
            }
            Wrong::Empty(list) => format!("list of {list} must not be empty."),
            Wrong::TooMany { docs, most } => {
                format!("{docs} documents were sent, and at most {most} are taken at once.")
            }
            Wrong::NoModel => {
                return "This server has no embedding model. Install one, or call /v1/fuse with dense_score."
                    .to_owned();
            }
        };
        format!("invalid request: {text}")
    }
}

/// A request that cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Form of its errors, by interface.
    pub shape: Shape,
    /// The fault.
    pub wrong: Wrong,
}

/// Values of the members, as they are read.
struct Draft {
    query: Span,
    model: Option<Span>,
    counts: [usize; 2],
    return_documents: bool,
    return_text: bool,
    raw_scores: bool,
    ignored: u32,
    /// Tokens to which the caller wants texts cut, by place in [`IGNORED`].
    cuts: [Option<f64>; 2],
    /// Index of each list's first unfit item.
    unfit_items: [Option<usize>; 2],
    /// True for each list that has a value; null counts as no value.
    lists_given: [bool; 2],
    unknown: Vec<Span>,
    more_unknown: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Draft {
            query: NOWHERE,
            model: None,
            counts: [usize::MAX; 2],
            return_documents: false,
            return_text: false,
            raw_scores: false,
            ignored: 0,
            cuts: [None; 2],
            unfit_items: [None; 2],
            lists_given: [false; 2],
            unknown: Vec::new(),
            more_unknown: false,
        }
    }
}

/// Reads `body`; its documents go to `lists`. The id of a document that is an object is the object's span.
///
/// # Errors
/// It is invalid.
pub fn read(body: &[u8], api: Api, id: &str, lists: &mut Lists) -> Result<Asked, Refused> {
    lists.docs.clear();
    lists.entities.clear();
    let shape = match api {
        Api::V2 => Shape::V2,
        Api::Voyage => Shape::Voyage,
        Api::V1 | Api::Bare => Shape::V1,
    };
    let refused = |wrong| Refused { shape, wrong };
    let json = |refusal| refused(Wrong::Json(refusal));
    let mut draft = Draft::default();
    let mut scanner = Scanner::new(body).map_err(json)?;
    scanner.skip_space();
    let members = draft.members(&mut scanner, api, &mut lists.docs);
    let ended = members.and_then(|members| {
        scanner.end()?;
        Ok(members)
    });
    let Ok(members) = ended else {
        let fault = json::check(body).err();
        return Err(fault.map_or(refused(Wrong::NoObject), json));
    };
    let met = |place: usize| members.met >> place & 1 == 1;
    let shape = match api {
        Api::Bare if met(TEXTS) => Shape::Tei,
        Api::Bare | Api::V1 if met(TOP_K) => Shape::Voyage,
        _ => shape,
    };
    let (list, other) = if shape == Shape::Tei {
        (TEXTS, DOCUMENTS)
    } else {
        (DOCUMENTS, TEXTS)
    };
    if draft.lists_given[other - DOCUMENTS] {
        draft.ignored |= 1 << (OTHER_LISTS + other - DOCUMENTS);
    }
    match draft.wrong(members, list, lists.docs.is_empty()) {
        Some(wrong) => Err(Refused { shape, wrong }),
        None => Ok(draft.asked(shape, met(TOP_K), id, lists)),
    }
}

/// Notes the name of an unknown member.
fn note(scanner: &Scanner, name: Span, unknown: &mut Vec<Span>, more: &mut bool) {
    let bytes = scanner.bytes(name);
    if unknown.iter().any(|&known| scanner.bytes(known) == bytes) {
        return;
    }
    if unknown.len() < NAMED_UNKNOWN && bytes.len() <= NAME_BYTES {
        unknown.push(name);
    } else {
        *more = true;
    }
}

impl Draft {
    /// Reads all members. `texts` is read only on the bare path, and then replaces `documents`.
    ///
    /// # Errors
    /// It is not a JSON object.
    fn members(&mut self, scanner: &mut Scanner, api: Api, docs: &mut Vec<Doc>) -> Result<Members, Unfit> {
        let (mut unknown, mut more_unknown) = (Vec::new(), false);
        let mut has_texts = false;
        let members = scanner.members_told(
            (&NAMES, &[]),
            1,
            |scanner, place| {
                if let DOCUMENTS | TEXTS = place {
                    self.lists_given[place - DOCUMENTS] = scanner.peek() != Some(b'n');
                }
                let skipped = match place {
                    TEXTS if api == Api::Bare => {
                        has_texts = true;
                        false
                    }
                    DOCUMENTS => has_texts,
                    TEXTS => true,
                    _ => false,
                };
                if skipped {
                    return Ok(scanner.skip_value(1)?);
                }
                self.member(scanner, place, docs)
            },
            |scanner, name| note(scanner, name, &mut unknown, &mut more_unknown),
        )?;
        (self.unknown, self.more_unknown) = (unknown, more_unknown);
        Ok(members)
    }

    /// Reads the value of a known member.
    fn member(&mut self, scanner: &mut Scanner, place: usize, docs: &mut Vec<Doc>) -> Result<(), Unfit> {
        match place {
            QUERY => self.query = document(scanner, 2)?.text,
            DOCUMENTS | TEXTS => {
                self.unfit_items[place - DOCUMENTS] = None;
                docs.clear();
                scanner.array(|scanner| {
                    let doc = document(scanner, 3).inspect_err(|_| {
                        self.unfit_items[place - DOCUMENTS] = Some(docs.len());
                    })?;
                    docs.push(doc);
                    Ok(())
                })?;
            }
            TOP_N | TOP_K => self.counts[place - TOP_N] = count(scanner)?,
            5 => self.model = name(scanner)?,
            6 => self.return_documents = flag(scanner)?,
            7 => self.return_text = flag(scanner)?,
            8 => self.raw_scores = flag(scanner)?,
            9 | 10 => scanner.skip_value(1)?,
            _ => self.ignored(scanner, place - FIRST_IGNORED)?,
        }
        Ok(())
    }

    /// Records a member that is not acted on, unless its value would change nothing.
    fn ignored(&mut self, scanner: &mut Scanner, place: usize) -> Result<(), Unfit> {
        let start = scanner.position();
        scanner.skip_value(1)?;
        let end = scanner.position();
        let value = scanner.between(start, end);
        let number = std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse::<f64>().ok());
        let plain = match place {
            0 | 1 => {
                self.cuts[place] = number.filter(|&tokens| tokens >= 0.0);
                number.is_some()
            }
            4 => number == Some(0.0),
            5 => value.eq_ignore_ascii_case(b"\"right\""),
            _ => value == b"[]" || value == b"[\"text\"]",
        };
        let bit = 1 << place;
        self.ignored &= !bit;
        if !plain && value != b"null" {
            self.ignored |= bit;
        }
        Ok(())
    }

    /// The first fault, if any.
    fn wrong(&self, members: Members, list: usize, empty: bool) -> Option<Wrong> {
        const LISTS: [&str; 2] = ["documents", "texts"];
        const EXPECTED: [(&str, &str); 9] = [
            ("query", "a string"),
            (LISTS[0], "a list"),
            (LISTS[1], "a list"),
            ("top_n", "a whole number, 0 or null for all"),
            ("top_k", "a whole number, 0 or null for all"),
            ("model", "a string"),
            ("return_documents", "true or false"),
            ("return_text", "true or false"),
            ("raw_scores", "true or false"),
        ];
        for required in [QUERY, list] {
            if members.met >> required & 1 == 0 {
                return Some(Wrong::Missing(EXPECTED[required].0));
            }
        }
        let counts = |place: usize| place == list || !matches!(place, DOCUMENTS | TEXTS);
        let unfit = (0..EXPECTED.len()).find(|&place| members.unfit >> place & 1 == 1 && counts(place));
        if let Some(place) = unfit {
            let (name, expected) = EXPECTED[place];
            let item = (place == list)
                .then(|| self.unfit_items[place - DOCUMENTS])
                .flatten();
            return Some(match item {
                Some(place) => Wrong::Document { list: name, place },
                None => Wrong::Unfit { name, expected },
            });
        }
        empty.then_some(Wrong::Empty(LISTS[list - DOCUMENTS]))
    }

    fn asked(self, shape: Shape, has_top_k: bool, id: &str, lists: &Lists) -> Asked {
        let [top_n, top_k] = self.counts;
        let mut ignored = self.ignored;
        for (place, cut) in self.cuts.iter().enumerate() {
            // No text has more tokens than bytes.
            let longer =
                |doc: &Doc| cut.is_some_and(|tokens| (doc.text.end - doc.text.start) as f64 > tokens);
            ignored |= u32::from(lists.docs.iter().any(longer)) << place;
        }
        let most = if has_top_k && top_k != usize::MAX {
            top_k
        } else {
            top_n
        };
        let (returned, other) = if shape == Shape::Tei {
            (self.return_text, self.return_documents)
        } else {
            (self.return_documents, self.return_text)
        };
        let other_place = if shape == Shape::Tei {
            OTHER_RETURN_DOCUMENTS
        } else {
            OTHER_RETURN_TEXT
        };
        ignored |= u32::from(other) << other_place;
        ignored |= u32::from(top_n != usize::MAX && top_n != most) << OTHER_TOP_N;
        Asked {
            options: Options {
                query: self.query,
                top_k: most,
                all_dense: false,
                embed_model: self.model,
                ..Options::default()
            },
            shape,
            id: id.to_owned(),
            return_documents: returned,
            raw_scores: self.raw_scores,
            unknown_model: None,
            ignored,
            unknown: self.unknown,
            more_unknown: self.more_unknown,
        }
    }
}

/// Reads a string, or an object with a string `text`. `inside`: as for [`Scanner::members`].
fn document(scanner: &mut Scanner, inside: usize) -> Result<Doc, Unfit> {
    let (start, mut text, mut id) = (scanner.position(), NOWHERE, NOWHERE);
    if scanner.peek() == Some(b'"') {
        text = scanner.string()?;
    } else {
        let met = scanner.members(&[b"text"], inside, |scanner, _| {
            text = scanner.string()?;
            Ok(())
        })?;
        if met == 0 {
            return Err(Unfit);
        }
        id = Span {
            start,
            end: scanner.position(),
            escaped: false,
            ascii: false,
        };
    }
    Ok(Doc { id, text, dense: 0.0 })
}

/// Reads a count, which may be a string; 0 and null mean all.
fn count(scanner: &mut Scanner) -> Result<usize, Unfit> {
    if scanner.null()? {
        return Ok(usize::MAX);
    }
    let value = if scanner.peek() == Some(b'"') {
        let text = scanner.string()?;
        let digits = scanner.bytes(text);
        let written = std::str::from_utf8(digits).map_err(|_| Unfit)?;
        written.parse::<u32>().map(f64::from).map_err(|_| Unfit)?
    } else {
        scanner.number()?
    };
    match value {
        0.0 => Ok(usize::MAX),
        // Saturates: no request has that many documents.
        _ if value > 0.0 && value.fract() == 0.0 => Ok(value as usize),
        _ => Err(Unfit),
    }
}

/// Reads a name; `None` if it is null or empty.
fn name(scanner: &mut Scanner) -> Result<Option<Span>, Unfit> {
    if scanner.null()? {
        return Ok(None);
    }
    let text = scanner.string()?;
    Ok(Some(text).filter(|text| text.start < text.end))
}

/// Reads a boolean, which may be a string, or 0 or 1; null is false.
fn flag(scanner: &mut Scanner) -> Result<bool, Unfit> {
    if scanner.null()? {
        return Ok(false);
    }
    match scanner.peek() {
        Some(b'"') => {
            let text = scanner.string()?;
            let is = |words: [&str; 4]| {
                let bytes = scanner.bytes(text);
                words
                    .iter()
                    .any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()))
            };
            match (is(["true", "1", "yes", "on"]), is(["false", "0", "no", "off"])) {
                (true, _) => Ok(true),
                (_, true) => Ok(false),
                _ => Err(Unfit),
            }
        }
        Some(b't' | b'f') => scanner.boolean(),
        _ => match scanner.number()? {
            0.0 => Ok(false),
            1.0 => Ok(true),
            _ => Err(Unfit),
        },
    }
}
