"""POST /v1/fuse with FastAPI and rank_bm25: the service that most teams would write."""

from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from fusion import fuse
from shapes import Doc, RankedDoc


class FuseDoc(Doc):
    dense_score: float


class FuseRequest(BaseModel):
    query: str
    docs: list[FuseDoc] = Field(min_length=1)
    method: Literal["maxnorm"] = "maxnorm"
    tokenizer: Literal["ws", "ngram"] = "ws"
    top_k: int | None = Field(default=None, ge=1)


class FuseResponse(BaseModel):
    query: str
    method: str
    tokenizer: str
    dense_source: str
    results: list[RankedDoc]


app = FastAPI()


# A coroutine, not a plain function: the work is pure computation, and a thread of the pool would only add to it.
@app.post("/v1/fuse")
async def post_fuse(request: FuseRequest) -> FuseResponse:
    docs = request.docs
    order, lexical, fused = fuse(
        request.query,
        [doc.text for doc in docs],
        [doc.dense_score for doc in docs],
        request.tokenizer,
    )
    results = [
        RankedDoc(
            id=docs[place].id,
            text=docs[place].text,
            dense_score=docs[place].dense_score,
            bm25_score=lexical[place],
            fused_score=fused[place],
            rank=rank,
        )
        for rank, place in enumerate(order[: request.top_k], start=1)
    ]
    return FuseResponse(
        query=request.query,
        method=request.method,
        tokenizer=request.tokenizer,
        dense_source="caller",
        results=results,
    )
