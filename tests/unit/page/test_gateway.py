"""Requests that the page may send, and replies for a page of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd.page.gateway import OFFERED, narrowed, without_others
from memd_client.messages import REQUESTS
from tests.support.page import PageThread, Visitor
from tests.support.sockets import short_directory


@pytest.fixture(scope="module")
def server() -> Iterator[PageThread]:
    with short_directory() as directory, PageThread(directory / "s") as running:
        yield running


@pytest.fixture
def visitor(server: PageThread) -> Visitor:
    return server.visitor()


def test_requests_are_answered_as_over_the_daemons_socket(visitor: Visitor) -> None:
    reply = visitor.call("search", {"query": "tea", "agent": "other"})

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json["result"]["agent"] == "other"
    assert reply.json["result"]["hits"][0]["snippet"] == "tea"


def test_a_page_of_all_agents_searches_all_of_them(visitor: Visitor) -> None:
    reply = visitor.call("search_agents", {"query": "tea"}).json["result"]

    assert [hit["agent"] for hit in reply["hits"]] == ["main", "other"]
    assert [row["agent"] for row in reply["agents"]] == ["main", "other"]


@pytest.mark.parametrize("request_name", sorted(OFFERED & {"status", "metrics", "files", "index"}))
def test_requests_without_parameters_need_none(visitor: Visitor, request_name: str) -> None:
    assert visitor.call(request_name).status == 200


@pytest.mark.parametrize(
    "request_name", [*sorted(set(REQUESTS) - OFFERED), "unheard_of", "", "../search", "search/"]
)
def test_a_request_the_page_does_not_need_is_not_made(visitor: Visitor, request_name: str) -> None:
    reply = visitor.call(request_name, {"query": "x"})

    assert (reply.status, reply.json["error"]["code"]) == (404, "method_unknown")


@pytest.mark.parametrize(
    ("status", "code", "request_name", "params"),
    [
        (400, "bad_params", "search", {"query": 7}),
        (400, "bad_params", "search", {}),
        (400, "bad_params", "search", {"query": "x", "max_results": 2**70}),
        (404, "agent_unknown", "search", {"query": "x", "agent": "nobody"}),
        (404, "agent_unknown", "search", {"query": "x", "agent": "nobody" * 40}),
        (422, "memory_disabled", "search", {"query": "x", "agent": "off"}),
        (422, "path_refused", "get", {"path": "/etc/passwd"}),
        (500, "internal", "search", {"query": "crash"}),
    ],
)
def test_errors_come_in_their_one_shape(
    visitor: Visitor, status: int, code: str, request_name: str, params: dict[str, Any]
) -> None:
    reply = visitor.call(request_name, params)

    assert (reply.status, reply.json["error"]["code"]) == (status, code)
    assert set(reply.json["error"]) == {"code", "message", "data"}
    assert "secret-of-the-user" not in reply.body.decode()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b'{"query": NaN}',
        b"[" * 100_000,
        b'{"query": "\\ud800"}',
        b"null",
    ],
)
def test_a_body_that_is_no_map_of_parameters_is_refused(visitor: Visitor, body: bytes) -> None:
    own = {"Origin": f"http://{visitor.host}", "Content-Type": "application/json", "X-Memd": "1"}

    reply = visitor.ask("POST", "/api/search", body, own)

    assert (reply.status, reply.json["error"]["code"]) == (400, "bad_params")


# --- a page of one agent


def test_a_page_of_one_agent_asks_for_that_agent_alone(server: PageThread) -> None:
    visitor = server.visitor("other")

    assert visitor.call("search", {"query": "x"}).json["result"]["agent"] == "other"
    assert visitor.call("search", {"query": "x", "agent": "other"}).json["result"]["agent"] == "other"
    assert [row["agent"] for row in visitor.call("status").json["result"]["agents"]] == ["other"]
    assert [row["agent"] for row in visitor.call("index").json["result"]["agents"]] == ["other"]
    assert visitor.ask("GET", "/api/session").json == {
        "agent": "other",
        "agents": ["other"],
        "version": "9.9",
    }


@pytest.mark.parametrize("request_name", sorted(OFFERED - {"metrics"}))
@pytest.mark.parametrize("agent", ["main", "MAIN", "", " ", 7, ["other"], False])
def test_a_page_of_one_agent_cannot_name_another(server: PageThread, request_name: str, agent: Any) -> None:
    visitor = server.visitor("other")

    reply = visitor.call(
        request_name, {"query": "x", "text": "x", "id": "x", "path": "MEMORY.md", "agent": agent}
    )

    assert (reply.status, reply.json["error"]["code"]) == (404, "agent_unknown")


@pytest.mark.parametrize("params", [{}, {"agents": None}, {"agents": ["other"]}, {"agent": "other"}])
def test_a_page_of_one_agent_cannot_search_several(server: PageThread, params: dict[str, Any]) -> None:
    reply = server.visitor("other").call("search_agents", {"query": "x", **params})

    assert (reply.status, reply.json["error"]["code"]) == (404, "agent_unknown")
    assert "result" not in reply.json


def test_a_page_of_one_agent_gets_no_metrics_of_other_agents(server: PageThread) -> None:
    server.visitor().call("search", {"query": "x", "agent": "main"})

    metrics = server.visitor("other").call("metrics").json["result"]["metrics"]

    labels = [row["labels"] for each in metrics for row in [*each["samples"], *each["histograms"]]]
    assert {each["agent"] for each in labels if "agent" in each} == {"other"}
    assert any("agent" not in each for each in labels)


def test_what_concerns_all_agents_together_is_left_out_of_one_agents_status() -> None:
    reply = {
        "agents": [{"agent": "main"}],
        "problems": ["of other"],
        "accounts": [1],
        "downloads": [2],
        "pid": 7,
    }

    assert without_others("main", "status", reply) == {
        "agents": [{"agent": "main"}],
        "problems": [],
        "accounts": [],
        "downloads": [],
        "pid": 7,
    }


def test_what_concerns_other_agents_is_left_out_of_one_agents_sources() -> None:
    reply = {
        "sources": [{"name": "codex", "agent": "main"}],
        "found": [{"name": "gemini", "agent": ""}],
        "removed": [{"name": "cursor", "agent": "main"}, {"name": "cursor", "agent": "other"}],
        "excluded": ["/home/eva/secret"],
        "programs": [
            {"program": "codex", "agents": ["main", "other"]},
            {"program": "gemini", "agents": ["other"]},
        ],
    }

    assert without_others("main", "sources", reply) == {
        "sources": [{"name": "codex", "agent": "main"}],
        "found": [],
        "removed": [{"name": "cursor", "agent": "main"}],
        "excluded": [],
        "programs": [{"program": "codex", "agents": ["main"]}],
    }


def test_a_page_lists_sources_and_never_deletes_copies() -> None:
    asked = {"action": "delete_copies", "name": "codex", "session": "x"}

    assert narrowed(None, "sources", asked) == {"agent": None}
    assert narrowed("main", "sources", asked) == {"agent": "main"}


def test_a_page_of_all_agents_names_them(visitor: Visitor) -> None:
    assert visitor.ask("GET", "/api/session").json == {
        "agent": None,
        "agents": ["main", "other"],
        "version": "9.9",
    }


def test_files_of_the_page_are_served_to_it(server: PageThread, tmp_path: Path) -> None:
    with short_directory() as directory, PageThread(directory / "s", folder=tmp_path) as running:
        (tmp_path / "index.html").write_text("<p>here</p>")
        (tmp_path / "a.js").write_text("export {}")
        visitor = running.visitor()

        page, script = visitor.ask("GET", "/?theme=dark"), visitor.ask("GET", "/static/a.js")

        assert (page.body, script.body) == (b"<p>here</p>", b"export {}")
        again = visitor.ask("GET", "/static/a.js", headers={"If-None-Match": script.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        assert visitor.ask("GET", "/static/../../server.py").status == 404
