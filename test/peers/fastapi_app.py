"""The contract's requests as strict pydantic models behind a real FastAPI application.

Speaks JSON lines: reads {"method", "path", "query", "headers", "body"} (body: base64), writes {"status", "errors"},
errors as [[loc, type], ...]. One process answers any number of requests.
"""

import asyncio
import base64
import json
import sys
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def integral(value: Any) -> Any:
    """5.0 is the integer 5; everything else is left to strict validation."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Int = Annotated[int, BeforeValidator(integral)]


def text(max_length: int) -> Any:
    return Annotated[str, Field(max_length=max_length)]


class Model(BaseModel):
    model_config = ConfigDict(strict=True)


Tier = Literal["developer", "growth", "enterprise"]


class CreateOrderRequest(Model):
    tier: Tier
    email: str | None = None
    source: text(32) | None = None
    segment: text(64) | None = None
    campaign: text(64) | None = None
    event_id: text(64) | None = None


class QuoteRequest(Model):
    tier: Tier
    currency: Literal["btc", "fiat"]


class RotateKeyRequest(Model):
    overlap_s: Annotated[Int, Field(ge=0, le=604800)] = 86400


class LeadRequest(Model):
    email: text(320)
    tier: str | None = None
    message: text(2000) | None = None
    source: text(32) | None = None
    segment: text(64) | None = None
    campaign: text(64) | None = None
    event_id: text(64) | None = None


class DeliveryInterestRequest(Model):
    email: text(320)
    delivery_model: Literal["dedicated_byoc", "self_hosted_appliance", "oem_embedded"]
    company: text(200) | None = None
    cloud: text(80) | None = None
    monthly_chars: text(80) | None = None
    timeline: text(80) | None = None
    compliance: text(300) | None = None
    message: text(2000) | None = None
    source: text(32) | None = None
    segment: text(64) | None = None
    campaign: text(64) | None = None
    event_id: text(64) | None = None


class FreeAuditRequest(Model):
    model_config = ConfigDict(strict=True, extra="forbid")

    text: Annotated[str, Field(max_length=100_000)] | None = None
    records: Annotated[list[Annotated[str, Field(max_length=20_000)]], Field(max_length=500)] | None = None
    format: Literal["auto", "lines", "csv", "jsonl", "json"] = "auto"
    stack: Annotated[str, Field(max_length=80)] | None = None
    vertical: Annotated[str, Field(max_length=80)] | None = None
    company: Annotated[str, Field(max_length=200)] = ""
    corpus_records_total: Annotated[Int, Field(ge=0, le=10_000_000_000)] | None = None
    monthly_queries: Annotated[Int, Field(ge=0, le=10_000_000_000)] | None = None
    months_running: Annotated[float, Field(ge=0, le=600)] | None = None
    aov_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    ticket_cost_usd: Annotated[float, Field(ge=0, le=100_000)] | None = None
    use_case: Literal["search", "ecommerce", "support", "rag", "both"] = "both"
    surface: Literal["records", "queries"] = "records"
    include_html: bool = True
    include_text: bool = False

    @model_validator(mode="after")
    def has_input(self) -> "FreeAuditRequest":
        if self.text is None and self.records is None:
            raise ValueError("give records or text")
        return self


class NormalizeRequest(Model):
    text: Annotated[str, Field(max_length=100_000)]
    mode: Literal["augment", "replace", "repair"] = "augment"
    chinese_glosses: dict[str, str] | None = None
    contextual: bool = True
    max_changes: Annotated[Int, Field(ge=0)] = 1000
    include_skeleton: bool = False


NamedNumber = Annotated[float, Field(ge=-1e300, le=1e300)]


class FuseDoc(Model):
    id: str
    text: str
    dense_score: float | None = None
    scores: dict[str, NamedNumber] = {}
    values: dict[str, NamedNumber] = {}
    group: str = ""


class FuseLeg(Model):
    weight: Annotated[float, Field(ge=0)] = 1
    normalize: Literal["max", "minmax", "zscore", "log1p", "rank", "none"] = "max"
    missing: Literal["zero", "min"] = "zero"


class FuseBoost(Model):
    value: Annotated[str, Field(min_length=1, max_length=64)]
    origin: NamedNumber
    scale: Annotated[float, Field(ge=1e-9, le=1e300)]
    offset: Annotated[float, Field(ge=0, le=1e300)] = 0
    decay: Annotated[float, Field(ge=0.001, le=0.999)] = 0.5
    function: Literal["exp", "gauss", "linear"] = "exp"
    weight: Annotated[float, Field(ge=0, le=1)] = 1


class FuseWeights(Model):
    bm25: Annotated[float, Field(ge=0)]
    dense: Annotated[float, Field(ge=0)]


class FuseCorpus(Model):
    docs: Annotated[Int, Field(ge=1, le=1_000_000_000_000_000)] = None
    average_length: Annotated[float, Field(ge=0.01)] = None
    df: dict[str, Annotated[Int, Field(ge=0)]] = None
    name: str = None
    version: Annotated[Int, Field(ge=1, le=4_294_967_295)] = None


class FuseCollapse(Model):
    by: Literal["text", "group"]
    keep: Annotated[Int, Field(ge=1, le=1_000_000)] = 1


class FuseDiversify(Model):
    diversity: Annotated[float, Field(ge=0, le=1)]
    by: Literal["terms", "vectors"] = "terms"
    candidates: Annotated[Int, Field(ge=1, le=500)] = 500


class FuseHighlight(Model):
    chars: Annotated[Int, Field(ge=20, le=2000)] = 160
    fragments: Annotated[Int, Field(ge=1, le=10)] = 1


class FuseRequest(Model):
    query: str
    docs: Annotated[list[FuseDoc], Field(min_length=1)]
    method: Literal["maxnorm", "rrf"] = "maxnorm"
    tokenizer: Literal["ws", "ngram"] = "ws"
    embed_model: str = "all-MiniLM-L6-v2"
    entity_map: dict[str, str] | None = None
    top_k: Annotated[Int, Field(ge=1)] | None = None
    weights: FuseWeights = FuseWeights(bm25=1, dense=1)
    rrf_k: Annotated[float, Field(ge=1, le=1_000_000)] = 60
    k1: Annotated[float, Field(ge=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    return_text: bool = True
    corpus: FuseCorpus = None
    on_missing_dense: Literal["embed", "zero", "min", "error"] = "embed"
    dense_kind: Literal["similarity", "distance"] = "similarity"
    min_score: float = 0
    legs: dict[str, FuseLeg] = {}
    boosts: Annotated[list[FuseBoost], Field(max_length=16)] = []
    collapse: FuseCollapse = None
    diversify: FuseDiversify = None
    highlight: FuseHighlight = None
    learn: bool = False
    explain: bool = False


CLOSED = ConfigDict(strict=True, extra="forbid")


class ClosedWeights(FuseWeights):
    model_config = CLOSED


class ClosedCorpus(FuseCorpus):
    model_config = CLOSED


class ClosedLeg(FuseLeg):
    model_config = CLOSED


class ClosedBoost(FuseBoost):
    model_config = CLOSED


class ClosedCollapse(FuseCollapse):
    model_config = CLOSED


class ClosedDiversify(FuseDiversify):
    model_config = CLOSED


class ProfileSettings(Model):
    model_config = CLOSED

    method: Literal["maxnorm", "rrf"] = "maxnorm"
    tokenizer: Literal["ws", "ngram"] = "ws"
    embed_model: str = "all-MiniLM-L6-v2"
    entity_map: dict[str, str] | None = None
    weights: ClosedWeights = None
    rrf_k: Annotated[float, Field(ge=1, le=1_000_000)] = 60
    k1: Annotated[float, Field(ge=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    analyzer: Any = None
    corpus: ClosedCorpus = None
    on_missing_dense: Literal["embed", "zero", "min", "error"] = "embed"
    dense_kind: Literal["similarity", "distance"] = "similarity"
    min_score: float = 0
    legs: dict[str, ClosedLeg] = {}
    boosts: Annotated[list[ClosedBoost], Field(max_length=16)] = []
    collapse: ClosedCollapse = None
    diversify: ClosedDiversify = None


class DreamRequest(Model):
    title: text(100)
    content: text(2000)
    mechanism: text(1000) | None = None
    test: text(500) | None = None
    visitor: text(100) | None = None
    kind: text(32) | None = None
    idempotency_key: text(64) | None = None


class DreamConfirmRequest(Model):
    confirm: Annotated[str, Field(min_length=64, max_length=64)]
    title: text(100) | None = None
    content: text(2000) | None = None
    mechanism: text(1000) | None = None
    test: text(500) | None = None
    visitor: text(100) | None = None
    kind: text(32) | None = None


class HarvestRequest(Model):
    text: Annotated[str, Field(max_length=102_400)]
    mind: Annotated[str, Field(max_length=100)] | None = None


app = FastAPI()


def serve(model: type[BaseModel]) -> None:
    """A route that accepts the model's JSON at /<model's name>."""

    def accept(body: Any) -> dict[str, bool]:
        return {"accepted": True}

    accept.__annotations__["body"] = model
    app.post(f"/{model.__name__}")(accept)


for served in (
    CreateOrderRequest,
    QuoteRequest,
    RotateKeyRequest,
    LeadRequest,
    DeliveryInterestRequest,
    FreeAuditRequest,
    NormalizeRequest,
    FuseRequest,
    ProfileSettings,
    DreamRequest,
    DreamConfirmRequest,
    HarvestRequest,
):
    serve(served)


@app.get("/CardStatusQuery")
def card_status(tier: Tier = "growth") -> dict[str, bool]:
    return {"accepted": True}


@app.get("/CardSuccessQuery")
def card_success(session_id: str = "") -> dict[str, bool]:
    return {"accepted": True}


@app.get("/UnsubscribeQuery")
def unsubscribe(e: str = "", t: str = "") -> dict[str, bool]:
    return {"accepted": True}


@app.get("/ClickQuery")
def click(d: str = "/") -> dict[str, bool]:
    return {"accepted": True}


@app.get("/DreamHeaders")
def dream_headers(idempotency_key: Annotated[str | None, Header(max_length=64)] = None) -> dict[str, bool]:
    return {"accepted": True}


@app.get("/KeyHeaders")
def key_headers(x_api_key: Annotated[str | None, Header()] = None) -> dict[str, bool]:
    return {"accepted": True}


async def ask(request: dict[str, Any]) -> dict[str, Any]:
    """One request through the application, by ASGI."""
    status, answer = 0, b""
    messages = [{"type": "http.request", "body": base64.b64decode(request["body"]), "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, answer
        status = message.get("status", status)
        answer += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request["method"],
        "scheme": "http",
        "path": request["path"],
        "raw_path": request["path"].encode(),
        "query_string": request["query"].encode(),
        "headers": [(name.encode(), value.encode()) for name, value in request["headers"].items()],
        "server": ("peer", 80),
        "client": ("test", 1),
        "root_path": "",
    }
    await app(scope, receive, send)
    detail = json.loads(answer).get("detail", []) if status == 422 else []
    errors = [{name: error.get(name) for name in ("type", "loc", "msg", "ctx")} for error in detail]
    return {"status": status, "errors": errors}


async def main() -> None:
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(await ask(json.loads(line))), flush=True)


asyncio.run(main())
