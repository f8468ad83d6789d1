"""The official MCP client for Python, unmodified, in each of its modes, against a server.

Usage: mcp_client.py BASE_URL; prints a line of JSON a mode.
"""

import asyncio
import json
import sys

from mcp import Client

documents = ["Carson City is the capital of Nevada.", {"id": "dc", "text": "Washington is the capital."}]


async def told(mode: str) -> dict[str, object]:
    async with Client(f"{sys.argv[1]}/mcp", mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool("rerank", {"query": "Washington", "documents": documents})
        wrong = await client.call_tool("rerank", {"query": "x"})
        try:
            await client.call_tool("nothing", {})
            unknown = ""
        except Exception as error:
            unknown = str(error)
        return {
            "client": f"python, {mode}",
            "server": "fusegate",
            "tools": [tool.name for tool in tools.tools],
            "isError": bool(result.is_error),
            "first": result.structured_content["results"][0]["id"],
            "wrong": wrong.is_error and wrong.content[0].text,
            "unknown": unknown,
        }


for mode in ["auto", "legacy", "2026-07-28"]:
    print(json.dumps(asyncio.run(told(mode))))
