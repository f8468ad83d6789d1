"""A sentence-embedding ONNX model as Fusegate runs it: one text at a time, mean pooling, length 1 (L2)."""

from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


class OnnxEmbedder:
    """A model file and a tokenizer file, on one thread."""

    def __init__(self, model: Path, tokenizer: Path, max_tokens: int):
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def ids(self, text: str) -> list[int]:
        """Token ids of a text, the special ones among them."""
        return self.tokenizer.encode(text).ids

    def vector(self, text: str) -> np.ndarray:
        """The text's unit vector (float32)."""
        ids = np.array([self.ids(text)], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self.session.run(["last_hidden_state"], feed)
        pooled = hidden[0].mean(axis=0)
        return pooled / np.linalg.norm(pooled)

    def vectors(self, texts: list[str]) -> np.ndarray:
        """The vectors of texts, a row each."""
        return np.stack([self.vector(text) for text in texts])
