"""Re-ranking as a Python service does it: a regular expression for tokens, rank_bm25 or bm25s, max-norm fusion.

Written to be as fast as plain use of these packages allows: no copies that are not needed, numpy where the
packages already return it.
"""

import re

import bm25s
import numpy as np
from rank_bm25 import BM25Okapi

WORD = re.compile(r"\w+")


def words(text):
    return WORD.findall(text.casefold())


def bigrams(text):
    tokens = []
    for word in words(text):
        if len(word) == 1:
            tokens.append(word)
        else:
            tokens.extend(map("".join, zip(word, word[1:])))
    return tokens


TOKENIZERS = {"ws": words, "ngram": bigrams}


def rank_bm25_scores(query, texts, tokenize):
    return BM25Okapi([tokenize(text) for text in texts]).get_scores(tokenize(query))


def bm25s_scores(query, texts, tokenize):
    index = bm25s.BM25(method="lucene")
    index.index([tokenize(text) for text in texts], show_progress=False)
    return index.get_scores(tokenize(query)).astype(float)


def maxnorm(scores):
    largest = np.abs(scores).max()
    return scores / largest if largest > 0 else scores


def fuse(query, texts, dense_scores, tokenizer="ws", bm25=rank_bm25_scores):
    """Places of the texts in their new order, BM25 scores and fused scores (both by place)."""
    lexical = bm25(query, texts, TOKENIZERS[tokenizer])
    fused = 0.5 * maxnorm(lexical) + 0.5 * maxnorm(np.asarray(dense_scores))
    order = np.argsort(-fused, kind="stable")
    return order.tolist(), lexical.tolist(), fused.tolist()
