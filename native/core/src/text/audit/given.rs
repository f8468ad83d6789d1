//! The records or the text of a FreeAuditRequest's bytes, which must fit its shape.

use super::listed;
use super::records::Batch;
use crate::json::{self, Scanner, Span, Unfit};

/// Input of an audit.
#[derive(Debug)]
pub enum Given {
    /// A list of records.
    Records(Vec<Batch>),
    /// A text that is not cut yet; empty if the request has neither.
    Text(String),
}

const NAMES: [&[u8]; 2] = [b"records", b"text"];

/// Reads a body; if it has both, the records count.
///
/// # Errors
/// It does not fit its shape.
pub fn given(body: &[u8]) -> Result<Given, Unfit> {
    let (mut records, mut text) = (None, None);
    let mut scanner = Scanner::new(body)?;
    scanner.skip_space();
    scanner.members(&NAMES, 1, |scanner, place| {
        let null = scanner.null()?;
        match NAMES[place] {
            b"records" => records = if null { None } else { Some(strings(scanner)?) },
            _ => text = if null { None } else { Some(scanner.string()?) },
        }
        Ok(())
    })?;
    let plain = |span: Span| {
        let mut bytes = Vec::new();
        json::unescape(scanner.bytes(span), &mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    };
    Ok(match records {
        Some(records) => Given::Records(listed(records.into_iter().map(plain))),
        None => Given::Text(text.map(plain).unwrap_or_default()),
    })
}

fn strings(scanner: &mut Scanner) -> Result<Vec<Span>, Unfit> {
    let mut strings = Vec::new();
    scanner.array(|scanner| {
        strings.push(scanner.string()?);
        Ok(())
    })?;
    Ok(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(body: &str) -> Vec<String> {
        match given(body.as_bytes()) {
            Ok(Given::Records(batches)) => batches.iter().flat_map(Batch::iter).map(str::to_owned).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn text(body: &str) -> String {
        match given(body.as_bytes()) {
            Ok(Given::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn records_count_where_they_are_given_and_the_last_member_of_a_name() {
        assert_eq!(
            records(r#" {"records":["a","\u00e9\n",""],"text":"x"} "#),
            ["a", "é\n", ""]
        );
        assert_eq!(records(r#"{"records":5,"z":[{}],"r\u0065cords":["b"]}"#), ["b"]);
        assert_eq!(text(r#"{"records":["a"],"text":"x\"","records":null}"#), "x\"");
        assert_eq!(text(r#"{"text":"x","text":null}"#), "");
        assert!(given(br#"{"records":[1]}"#).is_err());
    }
}
