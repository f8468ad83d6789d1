"""Client of Fusegate: fuse, rerank, normalize, audit, fragments and receipts."""

from .client import AsyncFusegate, Fusegate
from .failure import FusegateError
from .models import (
    Audited,
    Confirmed,
    Corpus,
    Doc,
    Fragment,
    Fused,
    Near,
    Normalized,
    Preview,
    Profile,
    PutCorpus,
    PutProfile,
    Ranked,
    Receipt,
    RemovedCorpus,
    RemovedProfile,
    Reranked,
    Submitted,
)
from .receipt import ReceiptVerification, verify_receipt

__version__ = "0.4.0"

__all__ = [
    "AsyncFusegate",
    "Audited",
    "Confirmed",
    "Corpus",
    "Doc",
    "Fragment",
    "Fused",
    "Fusegate",
    "FusegateError",
    "Near",
    "Normalized",
    "Preview",
    "Profile",
    "PutCorpus",
    "PutProfile",
    "Ranked",
    "Receipt",
    "ReceiptVerification",
    "RemovedCorpus",
    "RemovedProfile",
    "Reranked",
    "Submitted",
    "verify_receipt",
]
