"""The clients: one asks and waits, the other awaits. Both send the same requests and read the same answers."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Generic, Iterable, Mapping, Optional, Sequence, Type, TypeVar, Union
from urllib.parse import quote

import httpx
from pydantic import BaseModel

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
    Receipt,
    RemovedCorpus,
    RemovedProfile,
    Reranked,
    Submitted,
)

Answer = TypeVar("Answer", bound=BaseModel)
Texts = Sequence[Union[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class _Call(Generic[Answer]):
    """One request, and the type of its answer."""

    answer: Type[Answer]
    method: str
    path: str
    body: Optional[Dict[str, Any]] = None
    query: Dict[str, Any] = field(default_factory=dict)
    headers: Dict[str, str] = field(default_factory=dict)
    door: bool = False
    lines: Optional[str] = None


def _given(members: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _doc(doc: Union[Doc, Mapping[str, Any]]) -> Dict[str, Any]:
    return doc.model_dump(exclude_none=True) if isinstance(doc, Doc) else dict(doc)


def _fuse(query: str, docs: Sequence[Union[Doc, Mapping[str, Any]]], more: Dict[str, Any]) -> _Call[Fused]:
    return _Call(Fused, "POST", "/v1/fuse", {"query": query, "docs": [_doc(doc) for doc in docs], **more})


def _rerank(query: str, documents: Texts, top_n: Optional[int], model: Optional[str]) -> _Call[Reranked]:
    asked = {"query": query, "documents": list(documents), "top_n": top_n, "model": model}
    return _Call(Reranked, "POST", "/v2/rerank", _given(asked))


def _normalize(text: str, more: Dict[str, Any]) -> _Call[Normalized]:
    return _Call(Normalized, "POST", "/v1/normalize", {"text": text, **more})


def _audit(records: Sequence[str], more: Dict[str, Any]) -> _Call[Audited]:
    return _Call(Audited, "POST", "/v1/audit", {"records": list(records), "include_html": False, **more})


def _put_corpus(name: str, texts: Iterable[str], analyzer: Optional[str]) -> _Call[PutCorpus]:
    headers = {"content-type": "application/x-ndjson"}
    lines = "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    query = _given({"analyzer": analyzer})
    return _Call(PutCorpus, "PUT", _named("corpora", name), query=query, headers=headers, lines=lines)


def _named(kind: str, name: str) -> str:
    return f"/v1/{kind}/{quote(name, safe='')}"


def _corpus(name: str) -> _Call[Corpus]:
    return _Call(Corpus, "GET", _named("corpora", name))


def _remove_corpus(name: str) -> _Call[RemovedCorpus]:
    return _Call(RemovedCorpus, "DELETE", _named("corpora", name))


def _put_profile(name: str, settings: Mapping[str, Any]) -> _Call[PutProfile]:
    return _Call(PutProfile, "PUT", _named("profiles", name), dict(settings))


def _profile(name: str) -> _Call[Profile]:
    return _Call(Profile, "GET", _named("profiles", name))


def _remove_profile(name: str) -> _Call[RemovedProfile]:
    return _Call(RemovedProfile, "DELETE", _named("profiles", name))


def _submit(fragment: Fragment, key: Optional[str]) -> _Call[Submitted]:
    # In the body, where a key of any characters arrives as it is; in a header only ASCII does.
    body = {**fragment.model_dump(exclude_none=True), "idempotency_key": key or str(uuid.uuid4())}
    return _Call(Submitted, "POST", "/dream", body, door=True)


def _preview(fragment: Fragment) -> _Call[Preview]:
    return _Call(Preview, "GET", "/dream_get", query=fragment.model_dump(exclude_none=True), door=True)


def _confirm(preview: Preview) -> _Call[Confirmed]:
    return _Call(Confirmed, "POST", "/dream_confirm", preview.send["body"], door=True)


def _receipt(receipt: str) -> _Call[Receipt]:
    return _Call(Receipt, "GET", f"/receipt/{quote(receipt, safe='')}", door=True)


def _near(text: Optional[str], receipt: Optional[str], k: Optional[int]) -> _Call[Near]:
    query = _given({"text": text, "receipt": receipt, "k": k})
    return _Call(Near, "GET", "/graph/near", query=query, door=True)


def _header_key(given: str) -> str:
    """A key as a header takes it, without white space around it, such as the line feed of a file."""
    key = given.strip()
    if all("!" <= character <= "~" for character in key):
        return key
    # It does not show the key: httpx's own error, at each call, would.
    raise ValueError("The API key has characters that no key has: only visible ASCII is allowed.")


class _Base:
    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        *,
        api_key: Optional[str] = None,
        door_url: Optional[str] = None,
        retries: int = 2,
        longest_wait: float = 60.0,
        timeout: float = 30.0,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._door_url = (door_url or base_url).rstrip("/")
        key = _header_key(api_key or "")
        self._headers = {"accept": "application/json", **({"x-api-key": key} if key else {})}
        self._retries = retries
        self._longest_wait = longest_wait
        self._timeout = timeout

    def _request(self, call: _Call[Any]) -> Dict[str, Any]:
        return {
            "method": call.method,
            "url": (self._door_url if call.door else self._base_url) + call.path,
            **({"json": call.body} if call.lines is None else {"content": call.lines.encode()}),
            "params": call.query or None,
            "headers": {**self._headers, **call.headers},
        }

    def _wait(self, call: _Call[Any], failure: FusegateError, tried: int) -> float:
        """Seconds before a further try; raises the failure where there is none."""
        # PUT makes a version each time, and DELETE finds nothing the second time.
        again = call.method in ("GET", "POST")
        wait = failure.wait(tried, again) if tried < self._retries else None
        if wait is None or wait > self._longest_wait:
            raise failure
        return wait


def _read(call: _Call[Answer], answer: httpx.Response) -> Union[Answer, FusegateError]:
    if 300 <= answer.status_code < 400:
        return FusegateError.redirected(answer)
    if not answer.is_success:
        return FusegateError.of(answer)
    try:
        value = answer.json()
    except ValueError:
        return FusegateError(answer.status_code, "error", "The answer is not JSON: another program gave it.")
    return call.answer.model_validate(value)


def _unanswered(error: httpx.TransportError) -> FusegateError:
    if isinstance(error, httpx.LocalProtocolError) and "header" in str(error):
        # Nothing was sent, and a further try would not be; the error shows the header, which may be secret.
        return FusegateError(0, "unsendable", "The request has a header that HTTP does not allow.")
    return FusegateError(0, "unreachable", f"The server does not answer: {error!r}")


class Fusegate(_Base):
    """Asks a server, and waits for its answers."""

    def __init__(self, *given: Any, transport: Optional[httpx.BaseTransport] = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._http = httpx.Client(timeout=self._timeout, transport=transport)

    def __enter__(self) -> Fusegate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _send(self, call: _Call[Answer]) -> Answer:
        tried = 0
        while True:
            try:
                read = _read(call, self._http.request(**self._request(call)))
            except httpx.TransportError as error:
                read = _unanswered(error)
            if not isinstance(read, FusegateError):
                return read
            time.sleep(self._wait(call, read, tried))
            tried += 1

    def fuse(self, query: str, docs: Sequence[Union[Doc, Mapping[str, Any]]], **more: Any) -> Fused:
        """Re-ranks candidates by BM25 and dense similarity."""
        return self._send(_fuse(query, docs, more))

    def rerank(
        self, query: str, documents: Texts, *, top_n: Optional[int] = None, model: Optional[str] = None
    ) -> Reranked:
        """Orders documents by their relevance to a query."""
        return self._send(_rerank(query, documents, top_n, model))

    def normalize(self, text: str, **more: Any) -> Normalized:
        """Repairs a text, and glosses what words do not find."""
        return self._send(_normalize(text, more))

    def audit(self, records: Sequence[str], **more: Any) -> Audited:
        """Counts what keeps plain words from finding records."""
        return self._send(_audit(records, more))

    def put_corpus(self, name: str, texts: Iterable[str], *, analyzer: Optional[str] = None) -> PutCorpus:
        """Counts the terms of a sample of your texts; `fuse(…, corpus={"name": name})` weighs words by it."""
        return self._send(_put_corpus(name, texts, analyzer))

    def corpus(self, name: str) -> Corpus:
        """The versions of statistics that were put by this name."""
        return self._send(_corpus(name))

    def remove_corpus(self, name: str) -> RemovedCorpus:
        """Removes statistics, with all their versions."""
        return self._send(_remove_corpus(name))

    def put_profile(self, name: str, settings: Mapping[str, Any]) -> PutProfile:
        """Stores members of a fuse request by a name: `fuse(…, profile=name)` has them too."""
        return self._send(_put_profile(name, settings))

    def profile(self, name: str) -> Profile:
        """The versions of a profile, with their settings."""
        return self._send(_profile(name))

    def remove_profile(self, name: str) -> RemovedProfile:
        """Removes a profile, with all its versions."""
        return self._send(_remove_profile(name))

    def submit(self, fragment: Fragment, *, idempotency_key: Optional[str] = None) -> Submitted:
        """Stores a fragment; a repeated try cannot store it twice."""
        return self._send(_submit(fragment, idempotency_key))

    def preview(self, fragment: Fragment) -> Preview:
        """What a submission would store, and the token that confirms it."""
        return self._send(_preview(fragment))

    def confirm(self, preview: Preview) -> Confirmed:
        """Stores a preview's fragment; the same token again gives the same receipt."""
        return self._send(_confirm(preview))

    def receipt(self, receipt: str) -> Receipt:
        """A stored fragment with its envelope and digests."""
        return self._send(_receipt(receipt))

    def near(
        self, text: Optional[str] = None, *, receipt: Optional[str] = None, k: Optional[int] = None
    ) -> Near:
        """The fragments nearest to a text or to another fragment."""
        return self._send(_near(text, receipt, k))


class AsyncFusegate(_Base):
    """The same, to be awaited."""

    def __init__(
        self, *given: Any, transport: Optional[httpx.AsyncBaseTransport] = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self._http = httpx.AsyncClient(timeout=self._timeout, transport=transport)

    async def __aenter__(self) -> AsyncFusegate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(self, call: _Call[Answer]) -> Answer:
        tried = 0
        while True:
            try:
                read = _read(call, await self._http.request(**self._request(call)))
            except httpx.TransportError as error:
                read = _unanswered(error)
            if not isinstance(read, FusegateError):
                return read
            await asyncio.sleep(self._wait(call, read, tried))
            tried += 1

    async def fuse(self, query: str, docs: Sequence[Union[Doc, Mapping[str, Any]]], **more: Any) -> Fused:
        """Re-ranks candidates by BM25 and dense similarity."""
        return await self._send(_fuse(query, docs, more))

    async def rerank(
        self, query: str, documents: Texts, *, top_n: Optional[int] = None, model: Optional[str] = None
    ) -> Reranked:
        """Orders documents by their relevance to a query."""
        return await self._send(_rerank(query, documents, top_n, model))

    async def normalize(self, text: str, **more: Any) -> Normalized:
        """Repairs a text, and glosses what words do not find."""
        return await self._send(_normalize(text, more))

    async def audit(self, records: Sequence[str], **more: Any) -> Audited:
        """Counts what keeps plain words from finding records."""
        return await self._send(_audit(records, more))

    async def put_corpus(self, name: str, texts: Iterable[str], *, analyzer: Optional[str] = None) -> PutCorpus:
        """Counts the terms of a sample of your texts; `fuse(…, corpus={"name": name})` weighs words by it."""
        return await self._send(_put_corpus(name, texts, analyzer))

    async def corpus(self, name: str) -> Corpus:
        """The versions of statistics that were put by this name."""
        return await self._send(_corpus(name))

    async def remove_corpus(self, name: str) -> RemovedCorpus:
        """Removes statistics, with all their versions."""
        return await self._send(_remove_corpus(name))

    async def put_profile(self, name: str, settings: Mapping[str, Any]) -> PutProfile:
        """Stores members of a fuse request by a name: `fuse(…, profile=name)` has them too."""
        return await self._send(_put_profile(name, settings))

    async def profile(self, name: str) -> Profile:
        """The versions of a profile, with their settings."""
        return await self._send(_profile(name))

    async def remove_profile(self, name: str) -> RemovedProfile:
        """Removes a profile, with all its versions."""
        return await self._send(_remove_profile(name))

    async def submit(self, fragment: Fragment, *, idempotency_key: Optional[str] = None) -> Submitted:
        """Stores a fragment; a repeated try cannot store it twice."""
        return await self._send(_submit(fragment, idempotency_key))

    async def preview(self, fragment: Fragment) -> Preview:
        """What a submission would store, and the token that confirms it."""
        return await self._send(_preview(fragment))

    async def confirm(self, preview: Preview) -> Confirmed:
        """Stores a preview's fragment; the same token again gives the same receipt."""
        return await self._send(_confirm(preview))

    async def receipt(self, receipt: str) -> Receipt:
        """A stored fragment with its envelope and digests."""
        return await self._send(_receipt(receipt))

    async def near(
        self, text: Optional[str] = None, *, receipt: Optional[str] = None, k: Optional[int] = None
    ) -> Near:
        """The fragments nearest to a text or to another fragment."""
        return await self._send(_near(text, receipt, k))
