"""The tools `memory_store`, `memory_recall` and `memory_forget` of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memd.lifecycle.facts.facts import Facts
from memd.lifecycle.tools.arguments import InvalidCall, RunTool, invalid_call
from memd.lifecycle.tools.definitions import FORGET, RECALL, STORE, ToolDefinition
from memd_client.errors import BadParamsError
from memd_client.facts import (
    FactRow,
    MemoryForgetParams,
    MemoryRecallParams,
    MemoryStoreParams,
    MemoryStoreReply,
)


def fact_tools(facts: Facts) -> Mapping[str, RunTool]:
    """Return the functions of the tools of facts, by name."""

    async def store(arguments: dict[str, Any]) -> dict[str, Any] | InvalidCall:
        try:
            reply = await facts.store(MemoryStoreParams(**arguments))
        except BadParamsError as error:
            return _invalid(STORE, error)
        answer = {"id": reply.id, "stored": reply.stored, "category": reply.category}
        if not reply.stored:
            answer |= {"duplicate_of": reply.duplicate_of, "duplicate_text": reply.duplicate_text}
            answer |= _origin(reply)
        if reply.supersedes is not None:
            earlier = reply.supersedes
            answer |= {
                "supersedes": {
                    "id": earlier.id,
                    "text": earlier.text,
                    "citation": f"{earlier.path}#L{earlier.line}",
                    **_origin(earlier),
                }
            }
        return answer

    async def recall(arguments: dict[str, Any]) -> dict[str, Any] | InvalidCall:
        try:
            reply = await facts.recall(MemoryRecallParams(**arguments))
        except BadParamsError as error:
            return _invalid(RECALL, error)
        answer = {"facts": [_row(fact) for fact in reply.facts], "total": reply.total}
        if not reply.facts:
            answer["reason"] = _no_facts(reply.total)
        return answer

    async def forget(arguments: dict[str, Any]) -> dict[str, Any] | InvalidCall:
        if len(arguments) != 1:
            return invalid_call(FORGET, "memory_forget: give `id` or `query`, one of them")
        try:
            reply = await facts.forget(MemoryForgetParams(**arguments))
        except BadParamsError as error:
            return _invalid(FORGET, error)
        return {
            "forgotten": None if reply.forgotten is None else _row(reply.forgotten),
            "candidates": [_row(fact) for fact in reply.candidates],
        }

    return {STORE.name: store, RECALL.name: recall, FORGET.name: forget}


def _row(fact: FactRow) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "importance": fact.importance,
        "category": fact.category,
        "score": round(fact.score, 4),
        "path": fact.path,
        "line": fact.line,
        **_origin(fact),
    }


def _origin(fact: FactRow | MemoryStoreReply) -> dict[str, Any]:
    return {} if fact.origin == "agent" else {"origin": fact.origin, "origin_reason": fact.origin_reason}


def _no_facts(total: int) -> str:
    if not total:
        return "No facts are stored."
    return "The 1 stored fact is not near." if total == 1 else f"None of the {total} stored facts is near."


def _invalid(tool: ToolDefinition, error: BadParamsError) -> InvalidCall:
    return invalid_call(tool, error.message)
