"""Other people's rerank clients, unmodified, against a server, each by its own quick-start.

Usage: clients.py BASE_URL LIMITED_URL CLIENT...; prints a line of JSON a client: its version, the places of the
best documents, and the exceptions that calls end in which the server refuses. The server at LIMITED_URL has had
as many characters as it takes.
"""

import json
import sys
from importlib.metadata import version

BASE, LIMITED = sys.argv[1:3]
KEY = "placeholder"
WRONG_KEY = "fg_wrong"
# Cohere's client would else wait a minute, twice, where the server says that a month is over.
OPTIONS = {"max_retries": 0}
QUERY = "What is the capital of the United States?"
TEXTS = [
    "Carson City is the capital of Nevada.",
    "The Northern Mariana Islands are a group of islands in the Pacific Ocean.",
    "Washington, D.C. is the capital of the United States.",
]


def cohere_client():
    import cohere

    def call(key):
        client = cohere.ClientV2(key, base_url=BASE)
        answer = client.rerank(
            model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=3, request_options=OPTIONS
        )
        return [result.index for result in answer.results]

    return "cohere", call


def cohere_v1():
    import cohere

    def call(key):
        client = cohere.Client(key, base_url=BASE)
        answer = client.rerank(
            model="rerank-v3.5",
            query=QUERY,
            documents=TEXTS,
            top_n=3,
            return_documents=True,
            request_options=OPTIONS,
        )
        assert all(result.document.text == TEXTS[result.index] for result in answer.results)
        return [result.index for result in answer.results]

    return "cohere", call


def langchain():
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    def call(key):
        reranker = CohereRerank(model="rerank-v3.5", cohere_api_key=key, base_url=BASE)
        documents = [Document(page_content=text) for text in TEXTS]
        best = reranker.compress_documents(documents, QUERY)
        assert all(0 <= document.metadata["relevance_score"] <= 1 for document in best)
        return [TEXTS.index(document.page_content) for document in best]

    return "langchain-cohere", call


def llama(make, distribution):
    from llama_index.core.schema import NodeWithScore, TextNode

    def call(key):
        nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in TEXTS]
        best = make(key).postprocess_nodes(nodes, query_str=QUERY)
        return [TEXTS.index(node.node.text) for node in best]

    return distribution, call


def llama_cohere():
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    return llama(
        lambda key: CohereRerank(api_key=key, base_url=BASE, top_n=3),
        "llama-index-postprocessor-cohere-rerank",
    )


def llama_jina():
    from llama_index.postprocessor.jinaai_rerank import JinaRerank

    return llama(
        lambda key: JinaRerank(api_key=key, base_url=f"{BASE}/v1", top_n=3),
        "llama-index-postprocessor-jinaai-rerank",
    )


def llama_tei():
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

    return llama(
        lambda key: TextEmbeddingInference(base_url=BASE, auth_token=key, top_n=3),
        "llama-index-postprocessor-tei-rerank",
    )


def haystack(make, distribution):
    from haystack import Document

    def call(key):
        ranker = make(key)
        if hasattr(ranker, "warm_up"):
            ranker.warm_up()
        best = ranker.run(query=QUERY, documents=[Document(content=text) for text in TEXTS])["documents"]
        return [TEXTS.index(document.content) for document in best]

    return distribution, call


def haystack_cohere():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    return haystack(
        lambda key: CohereRanker(api_key=Secret.from_token(key), api_base_url=BASE), "cohere-haystack"
    )


def haystack_jina():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.jina import JinaRanker

    return haystack(
        lambda key: JinaRanker(api_key=Secret.from_token(key), base_url=f"{BASE}/v1/rerank"), "jina-haystack"
    )


def haystack_vllm():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.vllm import VLLMRanker

    return haystack(
        lambda key: VLLMRanker(
            model="reranker", api_key=Secret.from_token(key), api_base_url=f"{BASE}/v1"
        ),
        "vllm-haystack",
    )


def haystack_tei():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker

    return haystack(
        lambda key: HuggingFaceTEIRanker(url=BASE, token=Secret.from_token(key), max_retries=0),
        "huggingface-api-haystack",
    )


def voyage():
    import voyageai

    def call(key):
        client = voyageai.Client(api_key=key, base_url=f"{BASE}/v1")
        answer = client.rerank(QUERY, TEXTS, model="rerank-2.5")
        assert answer.total_tokens > 0
        assert all(result.document == TEXTS[result.index] for result in answer.results)
        return [result.index for result in answer.results]

    return "voyageai", call


def litellm(model):
    import litellm as client

    def call(key):
        answer = client.rerank(
            model=model, query=QUERY, documents=TEXTS, top_n=3, api_base=BASE, api_key=key, num_retries=0
        )
        return [result["index"] for result in answer.results]

    return "litellm", call


# These take no option against trying again: each waits for two minutes before it raises what it got.
PATIENT = {"langchain-cohere", "llama-index-cohere", "haystack-cohere"}

CLIENTS = {
    "cohere": cohere_client,
    "cohere-v1": cohere_v1,
    "langchain-cohere": langchain,
    "llama-index-cohere": llama_cohere,
    "llama-index-jina": llama_jina,
    "llama-index-tei": llama_tei,
    "haystack-cohere": haystack_cohere,
    "haystack-jina": haystack_jina,
    "haystack-vllm": haystack_vllm,
    "haystack-tei": haystack_tei,
    "voyageai": voyage,
    "litellm-cohere": lambda: litellm("cohere/rerank-v3.5"),
    "litellm-jina": lambda: litellm("jina_ai/jina-reranker-v2-base-multilingual"),
    "litellm-vllm": lambda: litellm("hosted_vllm/reranker"),
}


def failure(call, key=KEY, base=BASE, texts=TEXTS):
    """The exception that a call ends in, with the body that it carries beside its text."""
    global BASE, TEXTS
    usual = BASE, TEXTS
    BASE, TEXTS = base, texts
    try:
        call(key)
    except Exception as error:  # noqa: BLE001: the test asks which one it is
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        response = getattr(error, "response", None)
        shown = f"{error} {getattr(response, 'text', '')}"
        return {"type": kind, "text": shown[:1000]}
    finally:
        BASE, TEXTS = usual
    return None


for name in sys.argv[3:]:
    try:
        distribution, call = CLIENTS[name]()
        told = {"client": name, "version": f"{distribution} {version(distribution)}", "order": call(KEY)}
        told["failures"] = {
            "key": failure(call, key=WRONG_KEY),
            "many": failure(call, texts=["a"] * 1001),
            "large": failure(call, texts=["a" * (33 << 20)]),
        }
        if name not in PATIENT:
            told["failures"]["limit"] = failure(call, base=LIMITED)
    except Exception as error:  # noqa: BLE001: a client that cannot be run is told, and the others go on
        told = {"client": name, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(told), flush=True)
