"""POST /v2/rerank with FastAPI, rank_bm25 and the vectors of static-256 through numpy: as most teams would write it."""

from pathlib import Path

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel, Field
from tokenizers import BertWordPieceTokenizer

from fusion import fuse

MODEL = Path(__file__).parents[2] / "models" / "static-256"
tokenizer = BertWordPieceTokenizer(str(MODEL / "vocabulary.txt"))
vectors = np.fromfile(MODEL / "vectors.i8", dtype=np.int8).reshape(-1, 256).astype(np.float32)


class RerankRequest(BaseModel):
    query: str
    documents: list[str] = Field(min_length=1)
    top_n: int | None = Field(default=None, ge=1)


class RerankResult(BaseModel):
    index: int
    relevance_score: float


class RerankResponse(BaseModel):
    results: list[RerankResult]


def embed(texts: list[str]) -> np.ndarray:
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    sums = np.stack([vectors[each.ids].sum(axis=0) for each in encoded])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths > 0, lengths, 1)


app = FastAPI()


@app.get("/health")
async def health() -> dict[str, int]:
    return {"vectors": len(vectors)}


@app.post("/v2/rerank")
async def post_rerank(request: RerankRequest) -> RerankResponse:
    embedded = embed([request.query, *request.documents])
    order, _, fused = fuse(request.query, request.documents, embedded[1:] @ embedded[0], "ws")
    results = [RerankResult(index=at, relevance_score=max(fused[at], 0)) for at in order[: request.top_n]]
    return RerankResponse(results=results)
