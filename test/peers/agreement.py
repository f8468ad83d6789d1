"""Scores by bm25s (BM25, method lucene) and ranx (fusion), over JSON lines: one job in, one answer out.

A `bm25` job {docs: [[token]], query: [token], k1, b} is answered with {scores: [number]}, a `fuse` job
{method: "maxnorm" | "rrf", bm25: [number], dense: [number], weights: [bm25, dense], k} with {fused: [number]},
all in input order. The first line out is {"ready": true}.
"""

import json
import logging
import os
import sys

# Python runs these few small fusions sooner than Numba compiles ranx.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import bm25s
import ranx
from ranx import Run

logging.getLogger("bm25s").setLevel(logging.WARNING)


def bm25(job):
    index = bm25s.BM25(method="lucene", k1=job["k1"], b=job["b"])
    index.index(job["docs"], show_progress=False)
    return {"scores": [float(score) for score in index.get_scores(job["query"])]}


def fuse(job):
    names = [f"d{at:04}" for at in range(len(job["bm25"]))]
    runs = [Run({"q": dict(zip(names, job[leg]))}) for leg in ("bm25", "dense")]
    if job["method"] == "rrf":
        fused = ranx.fuse(runs=runs, norm=None, method="rrf", params={"k": job["k"]})
    else:
        fused = ranx.fuse(runs=runs, norm="max", method="wsum", params={"weights": job["weights"]})
    scores = fused.to_dict()["q"]
    return {"fused": [scores[name] for name in names]}


def main():
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        answer = bm25(job) if job["job"] == "bm25" else fuse(job)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
