"""Client of Fusegate: fuse, rerank, normalize, audit, fragments and receipts."""

from .client import AsyncFusegate, Fusegate
from .failure import FusegateError
from .models import (
    Audited,
    Confirmed,
    Doc,
    Fragment,
    Fused,
    Near,
    Normalized,
    Preview,
    Ranked,
    Receipt,
    Reranked,
    Submitted,
)
from .receipt import ReceiptVerification, verify_receipt

__version__ = "0.4.0"

__all__ = [
    "AsyncFusegate",
    "Audited",
    "Confirmed",
    "Doc",
    "Fragment",
    "Fused",
    "Fusegate",
    "FusegateError",
    "Near",
    "Normalized",
    "Preview",
    "Ranked",
    "Receipt",
    "ReceiptVerification",
    "Reranked",
    "Submitted",
    "verify_receipt",
]
