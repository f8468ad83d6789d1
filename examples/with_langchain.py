"""LangChain: a retriever whose documents Fusegate orders. Run: python examples/with_langchain.py

Needs: pip install "./clients/python[langchain]"
"""

import os

from fusegate.langchain import FusegateCompressor
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

server = os.environ.get("FUSEGATE_URL", "http://127.0.0.1:8080")
documents = [
    Document(page_content="Carson City is the capital of Nevada.", metadata={"source": "nevada"}),
    Document(page_content="Washington, D.C. is the capital of the United States.", metadata={"source": "dc"}),
    Document(page_content="Capital letters begin a sentence.", metadata={"source": "grammar"}),
]
retriever = RunnableLambda(lambda query: documents)  # In its place: vector_store.as_retriever()
compressor = FusegateCompressor(base_url=server, model="static-256", top_n=2)

query = "capital of the United States"
for document in compressor.compress_documents(retriever.invoke(query), query):
    print(f"{document.metadata['relevance_score']:.3f} {document.metadata['source']}: {document.page_content}")
