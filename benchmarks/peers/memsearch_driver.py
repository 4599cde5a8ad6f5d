"""memsearch in one long-lived process of its own virtual environment.

    python memsearch_driver.py DATABASE NOTES ENDPOINT MODEL

Reads lines of JSON objects, {"do": "hello"}, {"do": "index"} or {"do": "search", "query": "...", "limit": 6}, and
writes a line for each. Only the call is timed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from memsearch import MemSearch  # type: ignore[import-not-found]


async def answer(memory: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, with its time."""
    if asked["do"] == "hello":
        return {}
    started = time.perf_counter()
    if asked["do"] == "index":
        report = await memory.index_with_report()
        ms = (time.perf_counter() - started) * 1000
        return {"ms": ms, "chunks": report.indexed_chunks}
    hits = await memory.search(asked["query"], top_k=asked["limit"])
    ms = (time.perf_counter() - started) * 1000
    return {"ms": ms, "paths": [hit["source"] for hit in hits]}


async def serve(database: str, notes: str, endpoint: str, model: str) -> None:
    """Answer until standard input closes."""
    memory = MemSearch(
        [notes],
        embedding_provider="openai",
        embedding_model=model,
        embedding_base_url=endpoint,
        embedding_api_key="key",
        milvus_uri=database,
    )
    for line in sys.stdin:
        try:
            reply = await answer(memory, json.loads(line))
        except Exception as error:  # noqa: BLE001 - any error is the answer
            reply = {"error": repr(error)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    memory.close()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
