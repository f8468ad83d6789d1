"""Writes test/vectors/embed.jsonl: texts with the token ids and the fp32 vector that they should get.

    python vectors.py FP32_FOLDER > test/vectors/embed.jsonl

A line is {text, ids, truncated, vector}: ids as the tokenizers package gives them, cut to the model's length;
vector: the fp32 model's unit vector, base64 of little-endian float32.
"""

import base64
import json
import sys
from pathlib import Path

from onnx_embedder import OnnxEmbedder

MAX_TOKENS = 256

TEXTS = [
    "",
    " ",
    "a",
    "pump seal leaking",
    "The gasket of pump 7 was replaced on Monday; it has leaked since.",
    "How do I reset my password?",
    "Use the link on the sign-in page to choose a new password.",
    "Crème brûlée, naïve façade, coöperate: ACCENTS and capitals",
    "Straße, ΣΊΣΥΦΟΣ, İstanbul, ﬁnal ligature",
    "格子は支柱で支えられる。支柱が一本なくなると、どうなるか。",
    "Насос протекает, прокладку заменили в понедельник",
    "المضخة تسرّب الماء منذ يوم الاثنين",
    "emoji 🙂🙃 family 👩‍👩‍👧 and flags 🇨🇭",
    "[CLS] [SEP] [MASK] [PAD] [UNK] written by a client",
    "x" * 101 + " a word too long for the vocabulary " + "y" * 99,
    "control\u0000characters\u200b\ufeff and \ufffd replacement \u00a0 spaces\t\r\n",
    "https://example.com/path?query=1&other=%20#fragment user@example.com 3.14159 -1e-9",
    "e\u0301 combining, n\u0303\u0303 twice, \u0301 at the start of a word",
    "def median(values): return sorted(values)[len(values) // 2]",
    # Exactly as many tokens as the model reads, one more, and far more.
    "word " * (MAX_TOKENS - 2),
    "word " * (MAX_TOKENS - 1),
    "the pump, the seal, the gasket and the bearing were all inspected in week 12. " * 300,
    "支" * 5_000,
]


def main(folder: Path) -> None:
    embedder = OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json", MAX_TOKENS)
    for text in TEXTS:
        encoding = embedder.tokenizer.encode(text)
        vector = embedder.vector(text).astype("<f4").tobytes()
        line = {
            "text": text,
            "ids": encoding.ids,
            "truncated": len(encoding.overflowing) > 0,
            "vector": base64.b64encode(vector).decode(),
        }
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
