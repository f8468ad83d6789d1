//! Binding of a fragment's digests.

use fusegate_core::receipts::canonical::Fragment;
use fusegate_core::receipts::digest::{digests, is_probe, seal};
use napi_derive::napi;

/// The digests of a fragment, each as 64 lower-case hex digits.
#[napi(object)]
pub struct FragmentHashes {
    /// Of the accepted content.
    pub content: String,
    /// Of title, LF, content.
    pub submission: String,
    /// Of the canonical JSON.
    pub canonical: String,
    /// The digest that identifies duplicates.
    pub dedupe: String,
    /// The confirmation's binding: the token itself.
    pub binding: String,
    /// Of the token's characters.
    pub token: String,
}

/// A fragment's accepted strings, digests and sealed envelope.
#[napi(object)]
pub struct SealedFragment {
    /// Canonical JSON of the six accepted strings.
    pub canonical: String,
    /// Its digests.
    pub digests: FragmentHashes,
    /// True if the kind is one of the eight, or absent.
    pub known_kind: bool,
    /// True if the visitor's fragments are probes.
    pub probe: bool,
    /// The receipt's envelope as canonical JSON; `""` without a receipt.
    pub envelope: String,
    /// SHA-256 of the envelope as 64 lower-case hex digits; `""` without a receipt.
    pub seal: String,
}

/// Accepts a fragment and makes all its digests. If `receipt` is `""`, no envelope is made. `receivedAt` is
/// RFC 3339 UTC with milliseconds. Lone surrogates become U+FFFD.
#[napi]
#[allow(
    clippy::too_many_arguments,
    reason = "an object would cost more than the digests"
)]
pub fn seal_fragment(
    title: String,
    content: String,
    mechanism: String,
    test: String,
    kind: String,
    visitor: String,
    receipt: String,
    received_at: String,
) -> SealedFragment {
    let given = Fragment {
        title: title.as_str(),
        content: &content,
        mechanism: &mechanism,
        test: &test,
        kind: &kind,
        visitor: &visitor,
    };
    let (accepted, known_kind) = given.accept();
    let canonical = accepted.json();
    let found = digests(&accepted, &canonical);
    let (envelope, seal) = if receipt.is_empty() {
        (String::new(), String::new())
    } else {
        let sealed = seal(&accepted, &found, &receipt, &received_at);
        (sealed.envelope, sealed.seal)
    };
    let digests = FragmentHashes {
        content: found.content,
        submission: found.submission,
        canonical: found.canonical,
        dedupe: found.dedupe,
        binding: found.binding,
        token: found.token,
    };
    SealedFragment {
        canonical,
        digests,
        known_kind,
        probe: is_probe(&accepted.visitor),
        envelope,
        seal,
    }
}
