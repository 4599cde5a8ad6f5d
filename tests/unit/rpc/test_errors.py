"""One error shape, whatever the request and whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memd_client.errors import all_errors
from memd_client.messages import REQUESTS
from tests.support.sockets import RawClient, ServerThread, short_directory

RIGHT: dict[str, dict[str, Any]] = {
    "hello": {"protocol": 1},
    "status": {},
    "search": {"query": "x"},
    "get": {"path": "MEMORY.md"},
    "index": {},
    "embed": {"texts": ["x"]},
    "model": {"ref": "minilm"},
    "cancel": {"id": 1},
}

WRONG_TYPE = {
    "hello": {"protocol": "1"},
    "status": {"deep": 1},
    "search": {"query": ["SECRET" * 500]},
    "get": {"path": "MEMORY.md", "from_line": "SECRET" * 500},
    "index": {"force": "yes"},
    "embed": {"texts": [1]},
    "model": {"ref": b"SECRET"},
    "cancel": {"id": True},
}

MALFORMED: list[Any] = [None, [], "SECRET", {b"bytes": 1}]

CASES: list[tuple[str, Any, str]] = [
    *[
        (name, {**params, "agent": "nobody" * 40}, "agent_unknown")
        for name, params in RIGHT.items()
        if "agent" in REQUESTS[name][0].__struct_fields__
    ],
    *[(name, params, "bad_params") for name, params in WRONG_TYPE.items()],
    *[(name, {}, "bad_params") for name in ("search", "get", "embed", "model", "cancel")],
    *[
        (name, params, "bad_params")
        for name in REQUESTS
        for params in MALFORMED
        if params != {b"bytes": 1} or name in ("search", "get", "embed", "model", "cancel")
    ],
    ("search", {"query": "x", "max_results": 0}, "bad_params"),
    ("search", {"query": "x", "max_results": 10**9}, "bad_params"),
    ("search", {"query": "x", "min_score": float("nan")}, "bad_params"),
    ("search", {"query": "x", "sources": ["SECRET"]}, "bad_params"),
    ("search", {"query": "x", "sources": []}, "bad_params"),
    ("search", {"query": "x", "deadline_ms": 0}, "bad_params"),
    ("search", {"query": "x", "agent": "off"}, "memory_disabled"),
    ("get", {"path": "MEMORY.md", "from_line": 0}, "bad_params"),
    ("get", {"path": "MEMORY.md", "lines": 0}, "bad_params"),
    ("get", {"path": "../" * 1000}, "path_refused"),
    ("embed", {"texts": []}, "bad_params"),
    ("embed", {"texts": ["x"], "kind": "SECRET"}, "bad_params"),
    ("model", {"ref": " "}, "bad_params"),
    ("model", {"ref": "bad"}, "internal"),
    ("search", {"query": "crash"}, "internal"),
    ("unheard_of", {}, "method_unknown"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerThread]:
    with short_directory() as directory, ServerThread(directory / "s") as running:
        yield running


@pytest.mark.parametrize(("method", "params", "code"), CASES)
def test_every_failure_has_the_one_shape(server: ServerThread, method: str, params: Any, code: str) -> None:
    with RawClient(server.path).greet() as client:
        message = client.call(method, params, 5)
        while message[0] == 2:
            message = client.read()
        kind, request_id, error, result = message
        assert (kind, request_id, result) == (1, 5, None)
        assert set(error) == {"code", "message", "data"}
        assert error["code"] == code
        assert error["code"] in all_errors()
        assert error["message"]
        assert error["data"]["hint"]
        assert len(str(error)) < 1500
        assert "SECRET" not in str(error)
        assert "Traceback" not in str(error)
        assert client.call("search", {"query": "still served"}, 6)[3]["hits"]


@pytest.mark.parametrize(("method", "params"), RIGHT.items())
def test_a_key_of_a_newer_client_is_ignored(
    server: ServerThread, method: str, params: dict[str, Any]
) -> None:
    with RawClient(server.path).greet() as client:
        message = client.call(method, {**params, "from_the_future": {"x": [1]}}, 5)
        while message[0] == 2:
            message = client.read()
        assert message[2] is None


def test_a_wrong_type_names_the_field_and_both_types(server: ServerThread) -> None:
    with RawClient(server.path).greet() as client:
        error = client.call("embed", {"texts": ["a", 2]})[2]
        assert error["message"] == "embed: `texts[1]` must be str, not int"
        assert error["data"]["expected"] == "str"
        error = client.call("search", {})[2]
        assert error["message"] == "search: `query` is missing"
