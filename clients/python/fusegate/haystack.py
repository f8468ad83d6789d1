"""Haystack: a ranker that orders by Fusegate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional

from haystack import Document, component, default_from_dict, default_to_dict

from .client import Fusegate


@component
class FusegateRanker:
    """Keeps the `top_k` documents that answer a query best, with their scores."""

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        api_key: Optional[str] = None,
        model: Optional[str] = None,
        top_k: Optional[int] = 10,
    ) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self.model = model
        self.top_k = top_k

    def to_dict(self) -> Dict[str, Any]:
        """The key is left out: it comes from the place that the pipeline is loaded in."""
        return default_to_dict(self, base_url=self.base_url, model=self.model, top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> FusegateRanker:
        return default_from_dict(cls, data)

    @component.output_types(documents=List[Document])
    def run(self, query: str, documents: List[Document], top_k: Optional[int] = None) -> Dict[str, Any]:
        """Orders the documents; `top_k` wins over that of the component."""
        if not documents:
            return {"documents": []}
        texts = [each.content or "" for each in documents]
        with Fusegate(self.base_url, api_key=self.api_key) as client:
            answer = client.rerank(query, texts, top_n=top_k or self.top_k, model=self.model)
        return {
            "documents": [replace(documents[each.index], score=each.relevance_score) for each in answer.results]
        }
