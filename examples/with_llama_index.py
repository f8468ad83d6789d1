"""LlamaIndex: nodes of a retriever, ordered by Fusegate. Run: python examples/with_llama_index.py

Needs: pip install "./clients/python[llama-index]"
"""

import os

from fusegate.llama_index import FusegatePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

server = os.environ.get("FUSEGATE_URL", "http://127.0.0.1:8080")
texts = [
    "The bridge was closed for repairs in 2019.",
    "Suspension bridges hang their deck from cables.",
    "A suspension of the rules needs two thirds of the votes.",
]
nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]  # In its place: retriever.retrieve(query)
reranker = FusegatePostprocessor(base_url=server, model="static-256", top_n=2)

for each in reranker.postprocess_nodes(nodes, query_str="what holds the deck of a suspension bridge"):
    print(f"{each.score:.3f} {each.node.text}")
