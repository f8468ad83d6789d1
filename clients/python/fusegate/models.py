"""Requests and answers. Members that a newer server adds are kept."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow")


class Doc(BaseModel):
    """A candidate. Where one has no `dense_score`, a model of the server computes those of all."""

    id: str
    text: str
    dense_score: Optional[float] = None


class Ranked(_Answer):
    id: str
    text: str
    dense_score: float
    bm25_score: float
    fused_score: float
    rank: int
    explain: Optional[Dict[str, Any]] = None


class Warned(_Answer):
    code: str
    message: str


class Fused(_Answer):
    query: str
    method: str
    tokenizer: str
    dense_source: str
    results: List[Ranked]
    warnings: List[Warned] = []


class CorpusVersion(_Answer):
    version: int
    docs: int
    average_length: float
    terms: int
    created_at: str


class PutCorpus(CorpusVersion):
    name: str


class Corpus(_Answer):
    name: str
    shared: bool
    versions: List[CorpusVersion]


class RemovedCorpus(_Answer):
    name: str
    removed: bool


class ProfileVersion(_Answer):
    version: int
    settings: Dict[str, Any]
    created_at: str


class PutProfile(ProfileVersion):
    name: str


class Profile(_Answer):
    name: str
    shared: bool
    versions: List[ProfileVersion]


class RemovedProfile(_Answer):
    name: str
    removed: bool


class RerankResult(_Answer):
    index: int
    relevance_score: float


class Reranked(_Answer):
    id: str
    results: List[RerankResult]
    meta: Dict[str, Any]


class Change(_Answer):
    start: int
    end: int
    original: str
    replacement: str
    kind: str
    reason: str


class Normalized(_Answer):
    text: str
    normalized: str
    mode: str
    changed: bool
    changes: List[Change]
    changes_truncated: bool = False
    stats: Dict[str, int]
    chars: int


class Audited(_Answer):
    headline: Dict[str, Any]


class Fragment(BaseModel):
    """A short abstraction to store; it carries no private data."""

    title: str
    content: str
    mechanism: Optional[str] = None
    test: Optional[str] = None
    kind: Optional[str] = None
    visitor: Optional[str] = None


class Submitted(_Answer):
    receipt: str
    status: str
    stored_envelope_sha256: str
    retrieval_verified: bool


class Preview(_Answer):
    confirm: str
    expires_at: str
    send: Dict[str, Any]


class Confirmed(_Answer):
    receipt: str
    status: str
    retrieval_verified: bool


class Receipt(_Answer):
    receipt: str
    status: str
    content_sha256: str
    submission_payload_sha256: Optional[str]
    canonical_payload_sha256: Optional[str]
    stored_envelope_sha256: Optional[str]
    hash_contract: str
    envelope: Optional[Dict[str, str]]
    fragment: Optional[Dict[str, str]]
    withheld: Optional[str] = None


class Near(_Answer):
    search: str
    results: List[Dict[str, Any]]
