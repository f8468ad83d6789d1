//! A fragment's accepted strings and their canonical JSON (`accepted-fields-json-v1`, docs/receipt.md).

/// The kinds a fragment may have.
pub const KINDS: [&str; 8] = [
    "BRIDGE",
    "COUNTEREXAMPLE",
    "CRITIQUE",
    "HARNESS",
    "HYPOTHESIS",
    "NEGATIVE_RESULT",
    "REINTERPRETATION",
    "TEST_DESIGN",
];

/// Replaces an unknown kind.
const FALLBACK_KIND: &str = "HYPOTHESIS";

/// A fragment's six fields; an absent field is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment<Text = String> {
    /// Its subject.
    pub title: Text,
    /// The abstraction itself.
    pub content: Text,
    /// Its mechanism.
    pub mechanism: Text,
    /// The way it could fail.
    pub test: Text,
    /// One of [`KINDS`], or empty.
    pub kind: Text,
    /// Its visitor.
    pub visitor: Text,
}

/// White space that is trimmed from a text and separates its words: White_Space (UAX #44) and U+001C to
/// U+001F.
#[inline]
pub fn is_space(character: char) -> bool {
    match character {
        '\t'..='\r' | '\u{1C}'..=' ' => true,
        '\0'..='\u{84}' => false,
        _ => character.is_whitespace(),
    }
}

/// A text in its stored form: without C0 controls other than LF and TAB, then trimmed.
pub fn accept(text: &str) -> String {
    let is_dropped = |byte: u8| byte < 0x20 && byte != b'\n' && byte != b'\t';
    // Examining every byte is faster than stopping at the first match.
    if !text.bytes().fold(false, |found, byte| found | is_dropped(byte)) {
        return text.trim_matches(is_space).to_owned();
    }
    let kept: String = text
        .chars()
        .filter(|&character| !u8::try_from(character).is_ok_and(is_dropped))
        .collect();
    kept.trim_matches(is_space).to_owned()
}

/// A kind in its stored form, and true if it was one of [`KINDS`] or absent.
pub fn accept_kind(text: &str) -> (String, bool) {
    let kind = accept(text).to_uppercase();
    let known = kind.is_empty() || KINDS.contains(&kind.as_str());
    (if known { kind } else { FALLBACK_KIND.to_owned() }, known)
}

impl Fragment<&str> {
    /// The accepted strings, and true if the kind was known or absent.
    pub fn accept(&self) -> (Fragment, bool) {
        let (kind, known) = accept_kind(self.kind);
        let fragment = Fragment {
            title: accept(self.title),
            content: accept(self.content),
            mechanism: accept(self.mechanism),
            test: accept(self.test),
            kind,
            visitor: accept(self.visitor),
        };
        (fragment, known)
    }
}

impl Fragment {
    /// Canonical JSON of the six strings: sorted keys, no spaces, only mandatory escapes.
    pub fn json(&self) -> String {
        object(&[
            ("content", &self.content),
            ("kind", &self.kind),
            ("mechanism", &self.mechanism),
            ("test", &self.test),
            ("title", &self.title),
            ("visitor", &self.visitor),
        ])
    }
}

/// Canonical JSON of an object of strings. `members` must be sorted by the bytes of their names.
pub fn object(members: &[(&str, &str)]) -> String {
    let length: usize = members
        .iter()
        .map(|(name, value)| name.len() + value.len() + 6)
        .sum();
    let mut json = String::with_capacity(length + length / 16 + 2);
    let mut separator = '{';
    for (name, value) in members {
        json.push(separator);
        push_string(&mut json, name);
        json.push(':');
        push_string(&mut json, value);
        separator = ',';
    }
    json.push('}');
    json
}

/// The two-character escape of a byte, if it has one (RFC 8259, section 7).
fn short_escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\t' => "\\t",
        b'\r' => "\\r",
        8 => "\\b",
        12 => "\\f",
        _ => return None,
    })
}

/// Bytes examined together.
const BLOCK: usize = 64;

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn push_string(json: &mut String, text: &str) {
    json.push('"');
    let mut plain = 0;
    for (block, bytes) in text.as_bytes().chunks(BLOCK).enumerate() {
        if !bytes.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
            continue;
        }
        for (at, &byte) in bytes.iter().enumerate().filter(|&(_, &byte)| is_escaped(byte)) {
            let at = block * BLOCK + at;
            json.push_str(&text[plain..at]);
            plain = at + 1;
            match short_escape(byte) {
                Some(escape) => json.push_str(escape),
                None => json.push_str(&format!("\\u{byte:04x}")),
            }
        }
    }
    json.push_str(&text[plain..]);
    json.push('"');
}
