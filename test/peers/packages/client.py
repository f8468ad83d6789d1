"""The Python client as it is installed, against a server, and against one that refuses at first.

Usage: client.py BASE_URL REFUSING_URL; prints a line of JSON.
"""

import asyncio
import json
import pickle
import sys

import httpx
from fusegate import AsyncFusegate, Doc, Fragment, Fusegate, FusegateError, verify_receipt
from fusegate.haystack import FusegateRanker
from fusegate.langchain import FusegateCompressor
from fusegate.llama_index import FusegatePostprocessor
from haystack import Document as HaystackDocument
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

base, refusing = sys.argv[1:3]
texts = ["a hat", "boots"]
told: dict[str, object] = {}


def failure(call) -> list[object]:
    try:
        call()
    except FusegateError as error:
        return [error.status, error.code, error.retry_after, str(error)]
    return []


with Fusegate(base) as client:
    told["fuse"] = client.fuse("boots", [Doc(id="a", text="a hat"), {"id": "b", "text": "boots"}], top_k=1).results[0].id
    told["rerank"] = client.rerank("boots", texts, top_n=1).results[0].index
    told["normalize"] = client.normalize("Caf\u00c3\u00a9", max_changes=0).changes_truncated
    told["audit"] = client.audit(["Caf\u00c3\u00a9"]).headline["share"] == 1
    put = client.put_corpus("python", texts, analyzer="english")
    versions = client.corpus("python").versions
    told["corpus"] = [put.docs, len(versions), client.remove_corpus("python").removed]
    set_up = client.put_profile("python", {"weights": {"bm25": 1, "dense": 0}, "analyzer": "english"})
    named = client.fuse("boot", [{"id": "a", "text": "a hat"}, {"id": "b", "text": "boots"}], profile="python")
    stored = client.profile("python").versions[0]
    removed = client.remove_profile("python").removed
    told["profile"] = [set_up.version == stored.version, named.results[0].id, stored.settings["analyzer"], removed]
    fragment = Fragment(title="Python", content="A lattice of struts")
    first = client.submit(fragment, idempotency_key="python")
    told["submit"] = [first.status, client.submit(fragment, idempotency_key="python").receipt == first.receipt]
    told["keys"] = []
    for key in ("ключ", "ü1"):
        own = Fragment(title=f"{key} 2", content="Of Python")
        status = client.submit(own, idempotency_key=f"{key} 2").status
        again = httpx.post(f"{base}/dream", json={**own.model_dump(), "idempotency_key": f"{key} 2"})
        told["keys"] += [status, again.headers.get("idempotent-replayed")]
    receipt = client.receipt(first.receipt)
    changed = receipt.model_copy(update={"fragment": {**receipt.fragment, "content": "Another"}})
    told["verify"] = [verify_receipt(receipt).verified, verify_receipt(changed).verified]
    told["confirm"] = client.confirm(client.preview(Fragment(title="Preview", content="Of Python"))).status
    told["near"] = client.near("lattice", k=1).search
    told["unprocessable"] = failure(lambda: client.fuse("boots", []))
    told["missing"] = failure(lambda: client.receipt("fr_nothing"))[:2]
with Fusegate(base, api_key="fg_wrong") as client:
    told["key"] = failure(lambda: client.rerank("boots", texts))[:2]
with Fusegate(base, api_key=" fg_wrong\r\n") as client:
    told["lined"] = failure(lambda: client.rerank("boots", texts))[:2]


def refuses(key: str) -> bool:
    try:
        Fusegate(api_key=key)
    except ValueError as error:
        return key not in str(error)
    return False


told["unsendable"] = [refuses(key) for key in ("fg_a\nb", "fg_a b", "fg_ключ")]
tries = 0


def illegal(_: httpx.Request) -> httpx.Response:
    global tries
    tries += 1
    raise httpx.LocalProtocolError("Illegal header value b'secret'")


with Fusegate(transport=httpx.MockTransport(illegal)) as client:
    status, code, _, message = failure(lambda: client.normalize("a"))
    told["illegal"] = [status, code, tries, "secret" in str(message)]
with Fusegate(refusing) as client:
    told["retried"] = client.submit(Fragment(title="a", content="b")).receipt
    told["late"] = failure(lambda: client.normalize("late"))[:3]
    foreign = [failure(lambda: client.rerank("boots", texts)) for _ in range(6)]
    told["foreign"] = [f"{status} {code}" for status, code, *_ in foreign]
    try:
        client.normalize("late")
    except FusegateError as error:
        copied = pickle.loads(pickle.dumps(error))
        told["copied"] = [copied.status, copied.code, copied.retry_after]
writes = "limited overloaded reserved unavailable proxied gateway closed slow".split()
told["writes"] = {}
with Fusegate(refusing, timeout=0.5) as client:
    for name in writes:
        put = failure(lambda: client.put_profile(f"python_{name}", {}))
        removed = failure(lambda: client.remove_profile(f"python_{name}"))
        told["writes"][name] = [put[0], removed[0]]
with Fusegate(f"{refusing}/moved", api_key="fg_secret") as client:
    told["moved"] = failure(lambda: client.normalize("secret"))[:2]


async def asked() -> list[object]:
    async with AsyncFusegate(base) as client:
        order = await client.rerank("boots", texts, top_n=1)
        fused = await client.fuse("boots", [Doc(id="b", text="boots")])
        return [order.results[0].index, fused.results[0].id]


told["async"] = asyncio.run(asked())
compressor = FusegateCompressor(base_url=base, top_n=1)
documents = [Document(page_content=text) for text in texts]
told["langchain"] = [each.page_content for each in compressor.compress_documents(documents, "boots")]
nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
ordered = FusegatePostprocessor(base_url=base, top_n=1).postprocess_nodes(nodes, query_str="boots")
told["llama_index"] = [each.node.text for each in ordered]
ranked = FusegateRanker(base_url=base, top_k=1).run("boots", [HaystackDocument(content=text) for text in texts])
told["haystack"] = [each.content for each in ranked["documents"]]
print(json.dumps(told))
