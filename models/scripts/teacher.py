"""Vectors of all-MiniLM-L6-v2 (fp32 ONNX), as sentence-transformers makes them: mean pooling, length 1."""

from pathlib import Path
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

# The length that the model was trained with; what follows is cut off.
LONGEST = 256
BATCH = 32


class Teacher:
    """The model on one thread, so that sums run in one order."""

    def __init__(self, folder: Path):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()
        # Of texts of any length.
        self.whole = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.whole.no_truncation()
        self.whole.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def run(self, ids: list[list[int]]) -> np.ndarray:
        """Sentence vectors of sequences of token ids (with [CLS] and [SEP])."""
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        return self.session.run(["sentence_embedding"], feed)[0]

    def run_all(self, ids: list[list[int]], label: str) -> np.ndarray:
        """The same for many, those of like length together."""
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        vectors = np.empty((len(ids), 384), np.float32)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            vectors[places] = self.run([ids[at] for at in places])
            if start % (BATCH * 100) == 0:
                print(f"{label}: {start} of {len(ids)}", file=sys.stderr, flush=True)
        return vectors

    def texts(self, texts: list[str], label: str) -> np.ndarray:
        """Vectors of texts, float32, (texts, 384)."""
        encoded = self.tokenizer.encode_batch(texts)
        return self.run_all([one.ids for one in encoded], label)

    def vocabulary(self) -> np.ndarray:
        """Vectors of each vocabulary entry by itself, in the order of ids."""
        start, end = (self.tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        size = self.tokenizer.get_vocab_size()
        return self.run_all([[start, token, end] for token in range(size)], "vocabulary")
