"""Makes test/vectors/static-256.jsonl: queries, texts, and their cosines by models/static-256, worked out
with Hugging Face's tokenizers and numpy.

    venv/bin/python models/scripts/scores.py --model FOLDER
"""

import argparse
import json
from pathlib import Path

import numpy as np

from teacher import Teacher

ROOT = Path(__file__).parents[2]

CASES = [
    ("waterproof hiking boots", [
        "Leather hiking boots with a waterproof membrane",
        "Trail running shoes, light and breathable",
        "Waterproof spray for boots and jackets",
        "",
    ]),
    ("How does lift depend on the angle of attack?", [
        "The wing's lift coefficient grows with incidence until the flow separates and the wing stalls.",
        "Heat conduction in composite slabs: a transient solution.",
        "LIFT, on the wing (of an aeroplane) at high-speed; boundary-layer control!",
        "naïve café résumé — “quotes” … 3.14 × 10⁸ m/s",
        "格子は支柱で支えられる。 ABC 안녕하세요",
        "word " * 700,
    ]),
    ("", ["anything at all", " -- !"]),
    ("?!", ["anything at all", "?!"]),
]


def main():
    """Writes the vectors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    tokenizer = Teacher(parser.parse_args().model).whole
    rows = np.fromfile(ROOT / "models/static-256/vectors.i8", np.int8).reshape(-1, 256).astype(np.int64)

    def embed(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        return rows[ids].sum(axis=0).astype(np.float64)

    def cosine(left, right):
        length = np.linalg.norm(left) * np.linalg.norm(right)
        return float(left @ right / length) if length > 0 else 0.0

    with (ROOT / "test/vectors/static-256.jsonl").open("w", encoding="utf-8") as file:
        for query, texts in CASES:
            scores = [cosine(embed(query), embed(text)) for text in texts]
            file.write(json.dumps({"query": query, "texts": texts, "scores": scores}) + "\n")


if __name__ == "__main__":
    main()
