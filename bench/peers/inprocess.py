"""One request of POST /v1/fuse in process with rank_bm25 or bm25s (named as the argument): bytes in, bytes out.

Jobs are lines {"body": path, "seconds": s} on stdin. s = 0 answers the body once; else it is answered again and
again for s seconds, and the line out is {"requests", "seconds"}.
"""

import json
import logging
import sys
import time

from fusion import bm25s_scores, fuse, rank_bm25_scores

logging.getLogger("bm25s").setLevel(logging.WARNING)


def answer(body, bm25):
    request = json.loads(body)
    docs = request["docs"]
    tokenizer = request.get("tokenizer", "ws")
    texts = [doc["text"] for doc in docs]
    dense = [doc["dense_score"] for doc in docs]
    order, lexical, fused = fuse(request["query"], texts, dense, tokenizer, bm25)
    results = [
        {**docs[place], "bm25_score": lexical[place], "fused_score": fused[place], "rank": rank}
        for rank, place in enumerate(order, start=1)
    ]
    head = {"query": request["query"], "method": "maxnorm", "tokenizer": tokenizer, "dense_source": "caller"}
    return json.dumps({**head, "results": results}, ensure_ascii=False)


def measure(body, bm25, seconds):
    start = time.perf_counter()
    requests = 0
    while time.perf_counter() - start < seconds:
        answer(body, bm25)
        requests += 1
    return {"requests": requests, "seconds": time.perf_counter() - start}


def main():
    bm25 = {"rank_bm25": rank_bm25_scores, "bm25s": bm25s_scores}[sys.argv[1]]
    for line in sys.stdin:
        job = json.loads(line)
        with open(job["body"], "rb") as file:
            body = file.read()
        once = job["seconds"] == 0
        print(answer(body, bm25) if once else json.dumps(measure(body, bm25, job["seconds"])), flush=True)


if __name__ == "__main__":
    main()
