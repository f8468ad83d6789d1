"""LangChain: a document compressor that orders by Fusegate."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from .client import AsyncFusegate, Fusegate
from .models import Reranked


class FusegateCompressor(BaseDocumentCompressor):
    """Keeps the `top_n` documents that answer a query best, each with its `relevance_score` in its metadata."""

    base_url: str = "http://127.0.0.1:8080"
    api_key: Optional[str] = None
    model: Optional[str] = None
    top_n: Optional[int] = 3

    def _asked(self, documents: Sequence[Document]) -> dict[str, Any]:
        return {"documents": [each.page_content for each in documents], "top_n": self.top_n, "model": self.model}

    @staticmethod
    def _ordered(documents: Sequence[Document], answer: Reranked) -> list[Document]:
        return [
            Document(
                id=documents[each.index].id,
                page_content=documents[each.index].page_content,
                metadata={**documents[each.index].metadata, "relevance_score": each.relevance_score},
            )
            for each in answer.results
        ]

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Optional[Callbacks] = None
    ) -> Sequence[Document]:
        if not documents:
            return []
        with Fusegate(self.base_url, api_key=self.api_key) as client:
            return self._ordered(documents, client.rerank(query, **self._asked(documents)))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Optional[Callbacks] = None
    ) -> Sequence[Document]:
        if not documents:
            return []
        async with AsyncFusegate(self.base_url, api_key=self.api_key) as client:
            return self._ordered(documents, await client.rerank(query, **self._asked(documents)))
