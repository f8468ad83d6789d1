"""How near a model's vectors are to those of its fp32 original, over a test collection, one text at a time.

    python measure.py FP32_FOLDER MODEL_FOLDER COLLECTION_FOLDER

COLLECTION_FOLDER holds docs.jsonl and queries.jsonl ({id, text} a line) and judgements (qrels-binary.tsv or
qrels.tsv: query, doc, score under a header). Prints the cosines and, of each model, nDCG@10 of its ranking of
the whole collection.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np

from onnx_embedder import OnnxEmbedder


def read_texts(path: Path) -> dict[str, str]:
    """Texts by id, in the file's order."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["text"] for row in rows}


def read_judgements(folder: Path) -> dict[str, dict[str, float]]:
    """Scores of docs by query."""
    path = folder / "qrels-binary.tsv"
    path = path if path.exists() else folder / "qrels.tsv"
    judgements: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        for query, doc, score in rows:
            judgements.setdefault(query, {})[doc] = float(score)
    return judgements


def ndcg(ranked: list[str], judged: dict[str, float], depth: int = 10) -> float:
    """Normalised discounted cumulative gain with linear gains (Järvelin and Kekäläinen 2002)."""
    discount = 1 / np.log2(np.arange(2, depth + 2))
    best = sorted(judged.values(), reverse=True)[:depth]
    gains = [judged.get(doc, 0.0) for doc in ranked[:depth]]
    ideal = float(np.dot(best, discount[: len(best)]))
    return float(np.dot(gains, discount[: len(gains)])) / ideal if ideal > 0 else 0.0


def main(original: Path, model: Path, collection: Path) -> None:
    facts = json.loads((model / "fusegate.json").read_text())
    docs, queries = (read_texts(collection / f"{name}.jsonl") for name in ("docs", "queries"))
    judged = read_judgements(collection)
    vectors = {}
    for name, folder in (("fp32", original), ("model", model)):
        embedder = OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json", facts["max_tokens"])
        vectors[name] = [embedder.vectors(list(texts.values())) for texts in (docs, queries)]
    for at, name in enumerate(("docs", "queries")):
        cosines = np.sum(vectors["fp32"][at] * vectors["model"][at], axis=1)
        print(f"{name}: cosine mean {cosines.mean():.4f}, least {cosines.min():.4f}, of {len(cosines)} texts")
    names = list(docs)
    for name, (doc_vectors, query_vectors) in vectors.items():
        order = np.argsort(-query_vectors @ doc_vectors.T, axis=1, kind="stable")[:, :10]
        ranked = {query: [names[doc] for doc in row] for query, row in zip(queries, order)}
        scores = [ndcg(ranked[query], judged[query]) for query in queries if query in judged]
        print(f"{name}: nDCG@10 {np.mean(scores):.4f} over {len(scores)} queries")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
