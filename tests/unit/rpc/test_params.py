"""Parameters of all requests: what is out of range is named before anything is done, and the agent named is asked."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest
import trio

from memd.lifecycle.flush.check import Access
from memd.lifecycle.notes.session_kinds import Kind
from memd.lifecycle.tools.definitions import Shape
from memd.rpc.call import Call
from memd.rpc.dispatch import handler_of
from memd.rpc.params import MAX_MATCHES, RULES, decode_params, match_prefix
from memd.settings.lifecycle import Citations
from memd_client.errors import AgentUnknownError, BadParamsError, PathRefusedError
from memd_client.limits import MAX_PATH_CHARS
from memd_client.messages import REQUESTS
from tests.support.record_docs import record_fields
from tests.unit.rpc.methods.calling import call_of
from tests.unit.rpc.methods.living import AskedFacts

MESSAGE = {"role": "user", "content": "I like tea"}

VALID: dict[str, dict[str, Any]] = {
    "append_note": {"text": "x"},
    "call_tool": {"name": "memory_search", "arguments": {"query": "x"}},
    "blame": {"file": "src/queue.py"},
    "capture_facts": {"messages": [MESSAGE]},
    "conversation_read": {"session": "s1"},
    "conversation_search": {"query": "x"},
    "embed": {"texts": ["x"]},
    "fix": {"error": "no such table"},
    "flush_check": {"session_key": "k"},
    "flush_done": {"session_key": "k"},
    "get": {"path": "MEMORY.md"},
    "how": {"command": "pytest"},
    "hook": {"program": "codex", "event": "prompt", "session_id": "s"},
    "memory_edit": {"id": "01A", "text": "tea"},
    "memory_forget": {"id": "x"},
    "memory_recall": {"query": "tea"},
    "memory_store": {"text": "I like tea"},
    "model": {"ref": "minilm"},
    "facts_for_prompt": {"prompt": "x"},
    "remote": {"action": "add", "url": "/srv/memory.git"},
    "search": {"query": "x"},
    "search_agents": {"query": "x"},
    "session_ended": {"session_key": "k"},
    "session_started": {"session_key": "k"},
    "work_files": {"topic": "queue"},
}
"""Parameters that are taken; none for requests that aren't here."""

OUT_OF_RANGE: dict[str, dict[str, list[Any]]] = {
    "blame": {"file": ["x" * 4_097], "line": [0], "limit": [0, 101]},
    "append_note": {"key": ["", "a -->", "a\n", "é", "x" * 129]},
    "call_tool": {"session_kind": ["crowd"], "deadline_ms": [0], "active_projects": [[""]]},
    "capture_facts": {"messages": [[MESSAGE] * 1_001]},
    "compaction_done": {"compaction_count": [-1]},
    "conversation_read": {"line": [0], "first": [0], "messages": [0, 201]},
    "conversations": {
        "offset": [-1],
        "limit": [0, 1_001],
        "sources": [[], ["Mail"]],
        "since": ["soon"],
        "until": ["soon"],
        "title": ["x" * 8_001],
    },
    "conversation_search": {"max_results": [0, 51], "deadline_ms": [0], "sources": [[]], "since": ["soon"]},
    "embed": {"texts": [[]], "kind": ["poem"]},
    "facts": {"offset": [-1], "limit": [0, 1_001]},
    "files": {"offset": [-1], "limit": [0, 1_001], "sources": [[], ["Mail"]]},
    "flush_check": {
        "session_key": [" "],
        "total_tokens": [-1],
        "context_window": [-1],
        "next_input_tokens": [-1],
        "transcript_bytes": [-1],
        "compaction_count": [-1],
        "kind": ["crowd"],
        "workspace_access": ["rwx"],
    },
    "flush_done": {"session_key": [""], "compaction_count": [-1]},
    "get": {"from_line": [0], "lines": [0]},
    "hook": {"program": [" "], "event": ["stop"], "session_id": [" "]},
    "hook_log": {"limit": [0, 1_001]},
    "usage": {"limit": [0, 101]},
    "forget": {"action": ["erase"], "confirmed": ["x" * 65]},
    "trust": {"limit": [0, 100_001], "release": ["x", 3]},
    "memory_edit": {"id": [" "], "text": ["\n"], "importance": [1.5], "category": ["drink"]},
    "memory_forget": {"id": [" ", None], "query": ["tea", "\n"]},
    "memory_recall": {"limit": [0, 10_001], "min_score": [-0.1, 1.1, math.nan]},
    "memory_store": {
        "text": [" \n"],
        "importance": [-0.1, 1.1, math.nan],
        "category": ["mood"],
        "id": ["", "a b", "-->", "x" * 65],
        "created_ms": [-1, 253_402_300_800_000],
    },
    "model": {"ref": [" "], "action": ["", "delete", "PULL"]},
    "prompt_section": {"citations": ["maybe"], "session_kind": ["crowd"]},
    "remote": {"action": ["fly"], "url": [" "]},
    "search": {
        "max_results": [0, 1_001],
        "max_chars": [-1, 0, 100_001],
        "deadline_ms": [0],
        "min_score": [math.nan],
        "sources": [[], ["memory", "my mail"]],
        "since": ["yesterday", "2026-13-01", "7"],
        "active_projects": [["a" * (MAX_PATH_CHARS + 1)]],
    },
    "search_agents": {"max_results": [0], "max_chars": [0], "agents": [[]]},
    "session_handoff": {"session": ["x" * 32_769], "to": ["x" * 65]},
    "session_ended": {"session_key": [" "], "reason": ["bored"], "ended_ms": [0, 10**15]},
    "session_started": {
        "session_key": ["  "],
        "kind": ["crowd"],
        "max_file_characters": [0],
        "max_characters": [-1, 1_000_001],
    },
    "subscribe": {"kinds": [[], ["weather"], ["sync", "weather"]]},
    "fix": {"error": ["x" * 64_001], "limit": [0, 101]},
    "how": {"command": ["x" * 8_001], "limit": [0, 101]},
    "work_files": {"topic": ["x" * 8_001], "limit": [0, 101]},
    "tools": {"shape": ["xml"], "include": [["memory_get", "rm"]]},
}


async def ask(call: object, request: str, params: dict[str, Any]) -> Any:
    """Return the reply of a request's method."""
    return await handler_of(request)(cast(Call, call), decode_params(request, params))


@pytest.mark.parametrize(
    ("request_name", "field", "value"),
    [
        (request, field, value)
        for request, fields in OUT_OF_RANGE.items()
        for field, values in fields.items()
        for value in values
    ],
)
async def test_a_value_out_of_range_is_named_before_anything_is_asked(
    request_name: str, field: str, value: Any
) -> None:
    unreachable = SimpleNamespace()
    with pytest.raises(BadParamsError, match=f"^{request_name}: ") as caught:
        await ask(unreachable, request_name, {**VALID.get(request_name, {}), field: value})
    assert caught.value.data["field"] == ("id" if request_name == "memory_forget" else field)


NUMBERS = [
    (request, field.name)
    for request, known in REQUESTS.items()
    for field in record_fields(known.params)
    if field.hint.startswith(("int", "float"))
]


@pytest.mark.parametrize(("request_name", "field"), NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_named(request_name: str, field: str, value: float) -> None:
    with pytest.raises(BadParamsError, match=f"^{request_name}: `{field}` must be a finite number"):
        decode_params(request_name, {**VALID.get(request_name, {}), field: value})


PATHS = [(request, field) for request, rules in RULES.items() for field in rules if "path" in rules[field]]


@pytest.mark.parametrize(("request_name", "field"), PATHS)
def test_a_path_with_a_nul_character_is_refused(request_name: str, field: str) -> None:
    is_list = field in ("paths", "active_projects")
    value = ["/fine", "/tmp/a\0b"] if is_list else "/tmp/a\0b"
    with pytest.raises(PathRefusedError, match=f"^{request_name}: `{field}` has a NUL character"):
        decode_params(request_name, {**VALID.get(request_name, {}), field: value})


def test_text_that_is_no_path_may_have_any_character() -> None:
    assert decode_params("search", {"query": "a\0b"}).query == "a\0b"
    arguments = {"query": "x", "minScore": math.nan}  # the tool explains it to the model
    assert decode_params("call_tool", {"name": "memory_search", "arguments": arguments}).arguments


@pytest.mark.parametrize(
    ("request_name", "params"),
    [
        ("capture_facts", {"messages": []}),
        ("capture_facts", {"messages": [MESSAGE] * 1_000}),
        ("facts", {"agent": "work", "offset": 20, "limit": 1_000}),
        ("memory_edit", {"id": "01A", "text": "tea", "importance": 0.5, "category": "preference"}),
        ("memory_forget", {"id": "x"}),
        ("memory_forget", {"query": "tea"}),
        ("memory_recall", {"query": "tea", "limit": 1, "min_score": 0.0}),
        ("memory_recall", {"query": "tea", "limit": 10_000, "min_score": 1.0}),
        ("memory_store", {"text": "I like tea", "importance": 1.0, "id": "x-1", "created_ms": 0}),
        ("facts_for_prompt", {"prompt": "Set up my editor"}),
    ],
)
async def test_a_request_about_facts_reaches_the_facts_of_the_agent_named(
    request_name: str, params: dict[str, Any]
) -> None:
    lifecycle, given = AskedFacts(), {"agent": "other", **params}

    assert await ask(lifecycle, request_name, given) == "reply"

    assert lifecycle.asked == [decode_params(request_name, given)]
    assert lifecycle.agents == [given["agent"]]


@pytest.mark.parametrize(
    "request_name", [name for name in REQUESTS if "agent" in REQUESTS[name].params.__struct_fields__]
)
def test_an_unknown_agent_is_refused(request_name: str) -> None:
    params = {**VALID.get(request_name, {}), "agent": "nobody"}
    with pytest.raises(AgentUnknownError):
        trio.run(ask, call_of(), request_name, params)


@pytest.mark.parametrize(
    ("request_name", "params"),
    [
        (
            "search",
            {
                "max_results": 1000,
                "max_chars": 100_000,
                "min_score": 0.0,
                "deadline_ms": 1,
                "sources": ["memory", "sessions"],
            },
        ),
        ("get", {"from_line": 1, "lines": 1}),
    ],
)
async def test_the_bounds_themselves_are_taken_and_the_agent_named_answers(
    request_name: str, params: dict[str, Any]
) -> None:
    reply = await ask(call_of(), request_name, {**VALID[request_name], **params, "agent": "other"})
    assert reply.agent == "other"


@pytest.mark.parametrize("prefix", ["ab1", "ab12", "ab"])
def test_prefix_of_one_id_or_a_whole_id_is_matched(prefix: str) -> None:
    ids = ["ab", "ab12", "cd"]
    assert match_prefix("sources", "session", prefix, ids) == ("ab" if prefix == "ab" else "ab12")


def test_prefix_of_several_ids_is_refused_with_a_list_of_them() -> None:
    with pytest.raises(BadParamsError, match="matches 2 ids") as caught:
        match_prefix("sources", "session", "a", ["ab", "ac", "ac", "d"])
    assert "ab, ac" in caught.value.hint
    assert caught.value.data == {"field": "session"}
    with pytest.raises(BadParamsError) as caught:
        match_prefix("sources", "session", "a", [f"a{at:02}" for at in range(MAX_MATCHES + 5)])
    assert caught.value.hint.endswith("a09 and 5 more")


@pytest.mark.parametrize("ids", [[], ["ab"]])
def test_prefix_of_no_id_is_refused(ids: list[str]) -> None:
    with pytest.raises(BadParamsError, match="'x' matches nothing"):
        match_prefix("hook_log", "session_id", "x", ids)


@pytest.mark.parametrize(
    ("request_name", "field", "known"),
    [
        ("session_started", "kind", Kind),
        ("call_tool", "session_kind", Kind),
        ("prompt_section", "citations", Citations),
        ("tools", "shape", Shape),
        ("flush_check", "workspace_access", Access),
    ],
)
def test_words_of_a_parameter_are_those_that_the_daemon_knows(
    request_name: str, field: str, known: object
) -> None:
    assert RULES[request_name][field]["words"] == get_args(known)
