"""Bad input: a stable code, a message that names the cause, a hint, no side effects."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from memd_client import Client
from memd_client.errors import (
    BadParamsError,
    MemdError,
    QueryEmptyError,
    SocketPathError,
)
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[StateHome, Client]]:
    """A state directory and a client of its daemon, shared by this module's tests."""
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home) as daemon, daemon.client() as client:
        yield home, client


@pytest.fixture
def plain(shared: tuple[StateHome, Client]) -> tuple[StateHome, Client]:
    """An empty memory and a client of its daemon."""
    home, client = shared
    home.clear()
    client.index()
    return shared


def test_broken_config_is_reported_with_its_line_and_agents_still_answer() -> None:
    with StateHome('{\n  "agents": {\n    "defaults": oops oops\n  }\n}\n') as home:
        home.note("MEMORY.md", "apples are red\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            problem = client.status().problems[0]
            assert problem.code == "config_invalid"
            assert "openclaw.json" in problem.message
            assert "3" in problem.message
            assert client.search("apples").hits


def test_key_of_a_wrong_type_is_reported_and_affects_only_its_agent() -> None:
    with StateHome() as home:
        config = agents_config(home.state, "work")
        config["agents"]["list"][1]["memorySearch"] = {"query": {"maxResults": "many"}}
        home.configure(config)
        home.note("MEMORY.md", "apples\n")
        home.note("MEMORY.md", "apples\n", agent="work")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            by_id = {agent.agent: agent for agent in client.status().agents}
            assert by_id["main"].problems == [
                problem for problem in by_id["main"].problems if problem.code != "config_invalid"
            ]
            wrong = [problem for problem in by_id["work"].problems if problem.code == "config_invalid"]
            assert "maxResults" in wrong[0].message
            assert client.search("apples", agent="work").hits
            assert client.search("apples", agent="main").hits


def test_unreadable_files_are_listed_and_the_others_are_found(plain: tuple[StateHome, Client]) -> None:
    home, client = plain
    home.note("memory/good.md", "the good note\n")
    (home.workspace() / "memory" / "latin.md").write_bytes(b"caf\xe9 note\n")
    (home.workspace() / "memory" / "binary.md").write_bytes(b"\x00\x01note\n")
    os.mkfifo(home.workspace() / "memory" / "pipe.md")
    (home.workspace() / "memory" / "dangling.md").symlink_to("/nowhere")
    name = os.fsencode(str(home.workspace() / "memory")) + b"/bad-\xff.md"
    with open(name, "wb") as file:
        file.write(b"note\n")
    reply = client.index().agents[0]
    reasons = {row.path: row.reason for row in reply.skipped}
    assert [hit.path for hit in client.search("note").hits] == ["memory/good.md"]
    assert "UTF-8" in reasons["memory/latin.md"]
    assert "binary" in reasons["memory/binary.md"]
    assert "not a regular file" in reasons["memory/pipe.md"]
    assert "link" in reasons["memory/dangling.md"]
    assert any("not UTF-8" in reason and "bad-" in path for path, reason in reasons.items())

    # When the file is repaired, then it is found.
    home.note("memory/latin.md", "café note\n")
    assert "memory/latin.md" in [hit.path for hit in client.search("café note").hits]


def test_binary_file_of_100_mb_is_skipped_with_a_reason(plain: tuple[StateHome, Client]) -> None:
    home, client = plain
    home.note("memory/good.md", "the good note\n")
    big = home.note("memory/big.md", "note\n")
    os.truncate(big, 100 * 1_048_576)
    reply = client.index().agents[0]
    assert [(row.path, "binary" in row.reason) for row in reply.skipped] == [("memory/big.md", True)]
    assert client.search("good note").hits


def test_very_long_line_is_chunked_searched_and_quoted_exactly(plain: tuple[StateHome, Client]) -> None:
    home, client = plain
    line = " ".join(f"word{number}" for number in range(60_000))
    home.note("memory/line.md", line)
    client.index()
    hit = client.search("word54321").hits[0]
    assert "word54321" in hit.snippet
    assert hit.snippet in line
    assert (hit.start_line, hit.end_line) == (1, 1)
    assert len(hit.snippet) <= 700


@pytest.mark.parametrize(
    "query",
    [
        "AND",
        "NEAR(",
        '"',
        "col:value*",
        "a AND b OR NOT",
        "C++",
        "don't",
        "TODO: fix",
        "2026-05-08",
        "'; --",
        "😀",
        "*",
        "(",
        "\x00",
        "^x",
        "-",
        "重",
    ],
)
def test_fts_operators_are_plain_text(plain: tuple[StateHome, Client], query: str) -> None:
    home, client = plain
    home.note("memory/a.md", f"something {query} else\n" if "\x00" not in query else "something\n")

    client.search(query)


def test_empty_query_and_wrong_parameters_have_their_codes(plain: tuple[StateHome, Client]) -> None:
    _, client = plain
    with pytest.raises(QueryEmptyError):
        client.search("   ")
    with pytest.raises(BadParamsError) as caught:
        client.search(5)  # type: ignore[arg-type]
    assert "query" in caught.value.message


def _exchange(path: Path, data: bytes) -> list[Any]:
    """Send raw bytes and return the first reply frame, if any."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(path))
        peer.sendall(data)
        head = peer.recv(4)
        if len(head) < 4:
            return []
        body = b""
        while len(body) < struct.unpack(">I", head)[0]:
            more = peer.recv(65536)
            if not more:
                break
            body += more
        return list(msgpack.unpackb(body))


def _ask(path: Path, method: str, params: dict[str, Any]) -> Any:
    """Send one request after the greeting and return its error."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(path))
        for message in ([0, 1, "hello", {"protocol": 1}], [0, 2, method, params]):
            packed = msgpack.packb(message)
            peer.sendall(struct.pack(">I", len(packed)) + packed)
        stream = peer.makefile("rb")
        while True:
            reply = msgpack.unpackb(stream.read(struct.unpack(">I", stream.read(4))[0]))
            if reply[:2] == [1, 2]:
                return reply[2]


def test_malformed_oversized_and_unknown_requests_leave_other_clients_connected(
    plain: tuple[StateHome, Client],
) -> None:
    home, client = plain
    home.note("MEMORY.md", "apples\n")
    assert client.search("apples").hits
    assert _exchange(home.socket, struct.pack(">I", 17 * 1_048_576))[2]["code"] == "frame_too_big"
    assert _exchange(home.socket, b"\x00\x00\x00\x05\xc1\xc1\xc1\xc1\xc1")[2]["code"] == "frame_invalid"
    assert _exchange(home.socket, b"GET / HTTP/1.1\r\n\r\n")[2]["code"] in (
        "frame_too_big",
        "frame_invalid",
    )
    early = msgpack.packb([0, 1, "search", {"query": "x"}])
    assert _exchange(home.socket, struct.pack(">I", len(early)) + early)[2]["code"] == "hello_required"
    assert _ask(home.socket, "no_such_thing", {})["code"] == "method_unknown"
    assert client.search("apples").hits


def test_socket_path_beyond_the_limit_is_refused_by_name() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        long_path = home.root / ("d" * 100) / "memd.sock"
        daemon = DaemonProcess(home, {"MEMD_SOCKET": str(long_path)})
        daemon.start(wait=False)
        assert daemon.wait_exit() == 1
        assert "the system allows" in daemon.log_tail()
        assert "MEMD_SOCKET" in daemon.log_tail()
        from memd_client import Client

        with pytest.raises(SocketPathError):
            Client(long_path).status()


def test_missing_model_is_reported_and_keyword_search_answers() -> None:
    search = {"provider": "local", "local": {"modelPath": "/nowhere/model.gguf"}}
    with StateHome({"agents": {"defaults": {"memorySearch": search}}}) as home:
        home.note("MEMORY.md", "apples\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            reply = client.search("apples")
            assert reply.hits
            assert reply.mode == "keyword"
            assert reply.degraded is not None
            assert reply.degraded.code == "model_missing"
            assert "/nowhere/model.gguf" in reply.degraded.reason
            with pytest.raises(MemdError) as caught:
                client.embed(["x"])
            assert caught.value.code == "model_missing"


def test_damaged_index_is_quarantined_and_rebuilt() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples\n")
        index = home.state / "memory" / "main.memd.sqlite"
        index.parent.mkdir(parents=True)
        index.write_bytes(b"this is no database" * 1000)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert client.search("apples").hits
            codes = [problem.code for problem in client.status().agents[0].problems]
            assert "index_corrupt" in codes
            assert len(list(index.parent.glob("main.memd.sqlite.corrupt-*"))) == 1


def test_index_of_a_newer_release_closes_only_its_agent() -> None:
    import apsw

    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("MEMORY.md", "apples\n")
        index = home.state / "memory" / "work.memd.sqlite"
        with DaemonProcess(home):
            pass
        db = apsw.Connection(str(index))
        db.execute("PRAGMA user_version = 999")
        db.close()
        before = index.read_bytes()
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert client.search("apples").hits
            with pytest.raises(MemdError) as caught:
                client.search("apples", agent="work")
            assert caught.value.code == "index_newer"
            rows = {row.agent: row.error for row in client.index().agents}
            assert rows["main"] is None
            assert rows["work"] is not None
        assert index.read_bytes() == before


def test_error_replies_hold_no_traceback(plain: tuple[StateHome, Client]) -> None:
    home, _ = plain
    for method, params in (
        ("get", {"path": 1}),
        ("search", {}),
        ("index", {"force": "x"}),
        ("cancel", {"id": "x"}),
    ):
        error = _ask(home.socket, method, params)
        assert error["code"] == "bad_params"
        assert error["data"]["hint"]
        assert "Traceback" not in json.dumps(error)
