"""LlamaIndex: a node postprocessor that orders by Fusegate."""

from __future__ import annotations

from typing import List, Optional

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from .client import Fusegate


class FusegatePostprocessor(BaseNodePostprocessor):
    """Keeps the `top_n` nodes that answer a query best, with their scores."""

    base_url: str = "http://127.0.0.1:8080"
    api_key: Optional[str] = None
    model: Optional[str] = None
    top_n: Optional[int] = 3

    @classmethod
    def class_name(cls) -> str:
        return "FusegatePostprocessor"

    def _postprocess_nodes(
        self, nodes: List[NodeWithScore], query_bundle: Optional[QueryBundle] = None
    ) -> List[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("A query is needed.")
        if not nodes:
            return []
        texts = [each.node.get_content(metadata_mode=MetadataMode.EMBED) for each in nodes]
        with Fusegate(self.base_url, api_key=self.api_key) as client:
            answer = client.rerank(query_bundle.query_str, texts, top_n=self.top_n, model=self.model)
        return [NodeWithScore(node=nodes[each.index].node, score=each.relevance_score) for each in answer.results]
