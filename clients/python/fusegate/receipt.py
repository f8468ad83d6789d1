"""A receipt's digests recomputed from its public answer (docs/receipt.md)."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Dict, Optional

from .models import Receipt

# The characters with the property White_Space.
_WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


@dataclass(frozen=True)
class ReceiptVerification:
    """What was recomputed."""

    verified: bool
    """True if the seal fits the envelope and no digest is wrong."""
    fields: Dict[str, Optional[bool]]
    """By digest; None where it cannot be recomputed here."""
    envelope: bool
    """True if the seal fits the envelope, and that is this receipt's."""
    withheld: bool
    """True if the fragment is withheld, and the seal alone was looked at."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(members: Dict[str, str]) -> str:
    return json.dumps(members, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _comparable(text: str) -> str:
    kept = (each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf")
    return _WHITE_SPACE.sub(" ", "".join(kept)).strip(" ").casefold()


def verify_receipt(receipt: Receipt) -> ReceiptVerification:
    """Verifies an answer of `receipt`; a legacy receipt, whose digests have other rules, raises ValueError."""
    envelope, fragment, seal = receipt.envelope, receipt.fragment, receipt.stored_envelope_sha256
    if envelope is None or receipt.hash_contract != "fragment-receipt-hash-v2":
        raise ValueError("Only receipts of fragment-receipt-hash-v2 are verified here.")
    sealed = _digest(_canonical(envelope)) == seal and envelope.get("receipt") == receipt.receipt
    repeated = ("content_sha256", "submission_payload_sha256", "canonical_payload_sha256")
    own = all(getattr(receipt, name) == envelope.get(name) for name in repeated)
    if fragment is None:
        return ReceiptVerification(sealed and own, {}, sealed, True)
    payload = _canonical(fragment)
    binding = _digest(f"fragment-confirm-v2\0{payload}")
    found: Dict[str, Optional[str]] = {
        "content_sha256": _digest(fragment["content"]),
        "content_bytes_sha256": _digest(fragment["content"]),
        "submission_payload_sha256": _digest(f"{fragment['title']}\n{fragment['content']}"),
        "canonical_payload_sha256": _digest(payload),
        "dedupe_key_sha256": None,
        "confirmation_binding_sha256": binding,
        "confirmation_token_sha256": _digest(binding),
    }
    if envelope.get("unicode") == unicodedata.unidata_version:
        key = f"{_comparable(fragment['title'])}\0{_comparable(fragment['content'])}"
        found["dedupe_key_sha256"] = _digest(key)
    fields = {name: None if value is None else value == envelope.get(name) for name, value in found.items()}
    fits = sealed and envelope.get("kind") == fragment["kind"]
    return ReceiptVerification(fits and own and False not in fields.values(), fields, fits, False)
