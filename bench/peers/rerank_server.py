"""POST /v2/rerank with FastAPI and rank_bm25, over any function that makes unit vectors of texts."""

from collections.abc import Callable

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel, Field

from fusion import fuse


class RerankRequest(BaseModel):
    query: str
    documents: list[str] = Field(min_length=1)
    top_n: int | None = Field(default=None, ge=1)


class RerankResult(BaseModel):
    index: int
    relevance_score: float


class RerankResponse(BaseModel):
    results: list[RerankResult]


def server(embed: Callable[[list[str]], np.ndarray]) -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, int]:
        return {"dimensions": embed(["health"]).shape[1]}

    @app.post("/v2/rerank")
    async def post_rerank(request: RerankRequest) -> RerankResponse:
        embedded = embed([request.query, *request.documents])
        dense = (embedded[1:] @ embedded[0]).astype(np.float64)
        order, _, fused = fuse(request.query, request.documents, dense, "ws")
        results = [RerankResult(index=at, relevance_score=max(fused[at], 0)) for at in order[: request.top_n]]
        return RerankResponse(results=results)

    return app
