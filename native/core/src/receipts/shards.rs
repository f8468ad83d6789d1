//! Shard markers in a pasted reply (contract, POST /harvest): `<<SHARD>>` JSON `<</SHARD>>`, and the variant
//! `<<<SHARD` JSON `SHARD>>>`; white space around the JSON is allowed.
//!
//! Each opening begins one marker. A complete marker is skipped, so that markers inside its strings are text.
//! Only the opening of a broken one is skipped, so that it hides no others. The number of steps is at most a
//! few times the text's length: of the openings inside a JSON value, at most every second one can begin a
//! value that continues.

use crate::json::{self, Reason};

/// Why a marker holds no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No JSON object follows the opening.
    NotAnObject,
    /// The JSON is refused, at this offset (characters) from the marker's start.
    Json {
        /// Characters from the marker's start to the refused part.
        at: usize,
        /// Why.
        reason: Reason,
    },
    /// No closing tag follows the JSON object.
    Unclosed,
}

/// One marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard<'a> {
    /// Number of characters in the text before its opening.
    pub at: usize,
    /// The text of its JSON object, which JSON parsers accept.
    pub object: Result<&'a str, Fault>,
}

/// An opening and its closing.
struct Form {
    opening: &'static str,
    closing: &'static str,
}

const PLAIN: Form = Form {
    opening: "<<SHARD>>",
    closing: "<</SHARD>>",
};
const TOLERATED: Form = Form {
    opening: "<<<SHARD",
    closing: "SHARD>>>",
};

/// The form whose opening is at the start of a text. `<<<SHARDS` opens nothing, and in `<<<SHARD>>` the plain
/// opening comes one character later.
fn form(text: &str) -> Option<&'static Form> {
    if text.starts_with(PLAIN.opening) {
        return Some(&PLAIN);
    }
    let next = text.strip_prefix(TOLERATED.opening)?.chars().next();
    let goes_on = next.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '>');
    (!goes_on).then_some(&TOLERATED)
}

/// Reads the marker that begins at `start`: its object and the place after its end.
fn read<'a>(text: &'a str, start: usize, form: &Form) -> Result<(&'a str, usize), Fault> {
    let inside = &text[start + form.opening.len()..];
    let begin = text.len() - inside.trim_start().len();
    if !text[begin..].starts_with('{') {
        return Err(Fault::NotAnObject);
    }
    let end = json::value_end(text, begin).map_err(|refusal| Fault::Json {
        at: String::from_utf8_lossy(&text.as_bytes()[start..refusal.offset])
            .chars()
            .count(),
        reason: refusal.reason,
    })?;
    let rest = text[end..].trim_start();
    let behind = rest.strip_prefix(form.closing).ok_or(Fault::Unclosed)?;
    Ok((&text[begin..end], text.len() - behind.len()))
}

/// Every marker of a text, in order.
pub fn find(text: &str) -> Vec<Shard<'_>> {
    let mut shards = Vec::new();
    let (mut at, mut counted, mut characters) = (0, 0, 0);
    while let Some(found) = memchr::memmem::find(&text.as_bytes()[at..], b"<<") {
        let start = at + found;
        let Some(form) = form(&text[start..]) else {
            at = start + 1;
            continue;
        };
        characters += text[counted..start].chars().count();
        counted = start;
        let read = read(text, start, form);
        at = read.map_or(start + form.opening.len(), |(_, behind)| behind);
        shards.push(Shard {
            at: characters,
            object: read.map(|(object, _)| object),
        });
    }
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> Vec<Result<&str, Fault>> {
        find(text).into_iter().map(|shard| shard.object).collect()
    }

    #[test]
    fn both_forms_with_white_space() {
        let text =
            "a <<SHARD>> {\"a\":1}\n<</SHARD>> b <<<SHARD{\"b\":\"}\"}\u{A0}SHARD>>><<<SHARD\n{}SHARD>>>";
        assert_eq!(objects(text), [Ok(r#"{"a":1}"#), Ok(r#"{"b":"}"}"#), Ok("{}")]);
        let ats: Vec<usize> = find(text).iter().map(|shard| shard.at).collect();
        assert_eq!(ats, [2, 33, 59]);
    }

    #[test]
    fn what_is_broken_hides_nothing() {
        let text = r#"<<SHARD>>{"a":<<SHARD>>{"b":1}<</SHARD>><</SHARD>>"#;
        let refused = Fault::Json {
            at: 14,
            reason: Reason::Syntax,
        };
        assert_eq!(objects(text), [Err(refused), Ok(r#"{"b":1}"#)]);
        assert_eq!(objects("<<SHARD>><<SHARD>>"), [Err(Fault::NotAnObject); 2]);
        assert_eq!(objects("<<SHARD>>{}<<SHARD>>{}"), [Err(Fault::Unclosed); 2]);
        assert_eq!(objects("<<SHARD>>{}SHARD>>>"), [Err(Fault::Unclosed)]);
        assert_eq!(objects("<<SHARD>>[{}]<</SHARD>>"), [Err(Fault::NotAnObject)]);
        let cut = Fault::Json {
            at: 14,
            reason: Reason::Syntax,
        };
        assert_eq!(objects(r#"<<SHARD>>{"é":"#), [Err(cut)]);
        let lone = Fault::Json {
            at: 15,
            reason: Reason::LoneSurrogate,
        };
        assert_eq!(objects(r#"<<SHARD>>{"a":"\ud800"}<</SHARD>>"#), [Err(lone)]);
    }

    #[test]
    fn markers_in_strings_are_text() {
        let text = r#"<<SHARD>>{"a":"<<SHARD>>{}<</SHARD>>"}<</SHARD>>"#;
        assert_eq!(objects(text), [Ok(r#"{"a":"<<SHARD>>{}<</SHARD>>"}"#)]);
    }

    #[test]
    fn openings() {
        assert_eq!(objects("<<<SHARD>>{}<</SHARD>>"), [Ok("{}")]);
        for text in [
            "",
            "<<",
            "<<SHARD",
            "<<<SHARDS {}SHARD>>>",
            "<<<SHARD_1",
            "<< SHARD>>",
            "<shard>",
        ] {
            assert_eq!(objects(text), [], "{text}");
        }
        assert_eq!(objects("<<<SHARD"), [Err(Fault::NotAnObject)]);
    }

    /// Seconds that `times` calls of [`find`] take.
    fn seconds(times: usize, text: &str) -> f64 {
        let start = std::time::Instant::now();
        for _ in 0..times {
            find(text);
        }
        start.elapsed().as_secs_f64()
    }

    /// The number of steps is linear in a text's length: sixteen texts take as long as one that is sixteen
    /// times longer, not a sixteenth of that. Both measurements take equally long, so that other work on the
    /// machine delays both. The shortest of some rounds counts, as delays only add.
    #[test]
    fn hostile_texts_take_no_long() {
        for unit in [
            "<<SHARD>>",
            "<<SHARD>>{\"a\":[",
            "<<SHARD>>{\"",
            "<<SHARD>>{\"a\":\"",
            "<<SHARD>>{\"a\":1,\"",
            "<<SHARD>>{\"a\":\",\"",
            "<<SHARD>>{ ",
            "<<<SHARD\t",
            "<<<<<<<<",
        ] {
            let short = unit.repeat(25_000 / unit.len());
            let long = short.repeat(16);
            let (mut of_short, mut of_long) = (f64::INFINITY, f64::INFINITY);
            let is_linear = (0..20).any(|_| {
                of_short = seconds(16, &short).min(of_short);
                of_long = seconds(1, &long).min(of_long);
                of_long < 4.0 * of_short
            });
            assert!(is_linear, "{unit}: {of_short} and {of_long} s");
        }
    }
}
