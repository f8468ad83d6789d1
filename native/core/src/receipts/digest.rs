//! The digests of a fragment and the seal of its receipt (`fragment-receipt-hash-v2`, docs/receipt.md;
//! SHA-256 of FIPS 180-4, with the CPU's instructions if it has them).

use sha2::{Digest, Sha256};

use super::canonical::{self, Fragment, is_space};
use crate::unicode::fold::fold;
use crate::unicode::nfkc::{is_format, nfkc};
use crate::unicode::words;

/// Domain prefix of the confirmation token's digest.
const CONFIRMATION: &[u8] = b"fragment-confirm-v2";
/// Versions in every envelope.
const CONTRACT_VERSION: &str = "6.4";
const HASH_CONTRACT: &str = "fragment-receipt-hash-v2";
const CANONICALIZATION: &str = "accepted-fields-json-v1";

/// SHA-256 as 64 lower-case hex digits.
pub type Hex = String;

/// The digests of a fragment, without the seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of the accepted content: `content_sha256` and `content_bytes_sha256`.
    pub content: Hex,
    /// Of title, LF, content.
    pub submission: Hex,
    /// Of the canonical JSON.
    pub canonical: Hex,
    /// Of the comparable title, NUL, the comparable content.
    pub dedupe: Hex,
    /// Of the constant, NUL, the canonical JSON: the binding, which is also the confirmation token.
    pub binding: Hex,
    /// Of the token's 64 characters.
    pub token: Hex,
}

/// A receipt's envelope as canonical JSON, and its seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The envelope without its seal.
    pub envelope: String,
    /// SHA-256 of the envelope.
    pub seal: Hex,
}

fn hex(bytes: &[u8]) -> Hex {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        hex.push(DIGITS[usize::from(byte >> 4)] as char);
        hex.push(DIGITS[usize::from(byte & 15)] as char);
    }
    hex
}

/// SHA-256 of concatenated parts.
fn sha256(parts: &[&[u8]]) -> Hex {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// The form of titles and contents that is compared: NFKC, without format characters, runs of white space as
/// one space, trimmed, case folded.
pub fn comparable(text: &str) -> String {
    if text.is_ascii() {
        return comparable_ascii(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for character in nfkc(text).chars() {
        if is_format(character) {
            continue;
        }
        if is_space(character) {
            space = true;
            continue;
        }
        if space && !out.is_empty() {
            out.push(' ');
        }
        space = false;
        out.push(character);
    }
    fold(&out).into_owned()
}

/// [`comparable`] for ASCII, which NFKC leaves unchanged and which has no format characters.
fn comparable_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.make_ascii_lowercase();
    out
}

/// The digests of accepted strings whose canonical JSON is `json`.
pub fn digests(fragment: &Fragment, json: &str) -> Digests {
    let (title, content) = (fragment.title.as_bytes(), fragment.content.as_bytes());
    let binding = sha256(&[CONFIRMATION, b"\0", json.as_bytes()]);
    Digests {
        content: sha256(&[content]),
        submission: sha256(&[title, b"\n", content]),
        canonical: sha256(&[json.as_bytes()]),
        dedupe: sha256(&[
            comparable(&fragment.title).as_bytes(),
            b"\0",
            comparable(&fragment.content).as_bytes(),
        ]),
        token: sha256(&[binding.as_bytes()]),
        binding,
    }
}

/// True if a visitor's fragments are probes: stored and sealed, but never shown.
pub fn is_probe(visitor: &str) -> bool {
    let folded = fold(visitor);
    folded == "probe" || folded.starts_with("probe:")
}

/// The envelope of a receipt and its seal. `received_at` is RFC 3339 UTC with milliseconds.
pub fn seal(fragment: &Fragment, digests: &Digests, receipt: &str, received_at: &str) -> Sealed {
    let status = if is_probe(&fragment.visitor) {
        "probe"
    } else {
        "quarantined"
    };
    let envelope = canonical::object(&[
        ("canonical_payload_sha256", &digests.canonical),
        ("canonicalization", CANONICALIZATION),
        ("confirmation_binding_sha256", &digests.binding),
        ("confirmation_token_sha256", &digests.token),
        ("content_bytes_sha256", &digests.content),
        ("content_sha256", &digests.content),
        ("contract_version", CONTRACT_VERSION),
        ("dedupe_key_sha256", &digests.dedupe),
        ("hash_contract", HASH_CONTRACT),
        ("kind", &fragment.kind),
        ("receipt", receipt),
        ("received_at", received_at),
        ("status", status),
        ("submission_payload_sha256", &digests.submission),
        ("unicode", words::VERSION),
    ]);
    let seal = sha256(&[envelope.as_bytes()]);
    Sealed { envelope, seal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::naive;
    use proptest::prelude::*;
    use serde_json::Value;

    /// Checks one line of test/vectors/digests.jsonl.
    fn check_vector(line: &str) {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        let text = |name: &str| vector["input"][name].as_str().unwrap_or("");
        let (fragment, _) = Fragment {
            title: text("title"),
            content: text("content"),
            mechanism: text("mechanism"),
            test: text("test"),
            kind: text("kind"),
            visitor: text("visitor"),
        }
        .accept();
        let found = digests(&fragment, &fragment.json());
        let expected = &vector["expected"];
        for (name, digest) in [
            ("content_sha256", &found.content),
            ("content_bytes_sha256", &found.content),
            ("submission_payload_sha256", &found.submission),
            ("canonical_payload_sha256", &found.canonical),
            ("dedupe_key_sha256", &found.dedupe),
            ("confirmation_token", &found.binding),
            ("confirmation_binding_sha256", &found.binding),
            ("confirmation_token_sha256", &found.token),
        ] {
            assert_eq!(expected[name], *digest, "{name} of {}", vector["id"]);
        }
    }

    #[test]
    fn vectors() {
        let vectors = include_str!("../../../../test/vectors/digests.jsonl");
        vectors.lines().for_each(check_vector);
        assert_eq!(vectors.lines().count(), 150);
    }

    /// The worked example of docs/receipt.md.
    #[test]
    fn seals() {
        let example: Value =
            serde_json::from_str(include_str!("../../../../test/vectors/receipt.json")).expect("JSON");
        let text = |pointer: &str| example.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let (fragment, known) = Fragment {
            title: text("/input/title"),
            content: text("/input/content"),
            mechanism: text("/input/mechanism"),
            test: text("/input/test"),
            kind: text("/input/kind"),
            visitor: text("/input/visitor"),
        }
        .accept();
        let (json, compared) = (fragment.json(), comparable(&fragment.title));
        assert_eq!((json.as_str(), known), (text("/canonical"), true));
        assert_eq!(compared, text("/comparable/title"));
        assert_eq!(comparable(&fragment.content), text("/comparable/content"));
        let sealed = seal(
            &fragment,
            &digests(&fragment, &json),
            text("/receipt"),
            text("/received_at"),
        );
        assert_eq!(sealed.envelope, text("/envelope"));
        assert_eq!(sealed.seal, text("/digests/stored_envelope_sha256"));
    }

    #[test]
    fn probes() {
        for visitor in ["probe", "PROBE", "probe:", "Probe:x", "pro\u{62}e:y"] {
            assert!(is_probe(visitor), "{visitor}");
        }
        for visitor in ["", "prober", "a probe", "probe x", "pr\u{F6}be"] {
            assert!(!is_probe(visitor), "{visitor}");
        }
    }

    /// Any characters, with the relevant ones more often.
    fn texts() -> impl Strategy<Value = String> {
        let special = prop_oneof![
            r"[\x00-\x20\u{7F}-\u{AD}\u{180E}\u{200B}-\u{2029}\u{2060}\u{3000}\u{FEFF}]",
            r#"["\\ßẞΣſﬁﬃǅ㈎豈\u{300}-\u{345}가ᄀ-ᇿ]"#,
        ];
        let parts = prop_oneof![special, "[a-zA-Z]", "\\PC", any::<char>().prop_map(String::from)];
        prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn agree_with_the_obvious_reading(texts in prop::array::uniform6(texts())) {
            let [title, content, mechanism, test, kind, visitor] = &texts;
            let fragment = Fragment { title: &**title, content, mechanism, test, kind, visitor };
            naive::assert_same_fragment(&fragment);
            let (accepted, _) = fragment.accept();
            let json = serde_json::to_string(&naive::members(&accepted)).expect("JSON");
            prop_assert_eq!(accepted.json(), json);
        }
    }
}
