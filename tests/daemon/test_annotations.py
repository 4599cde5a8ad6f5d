"""Comments that annotate entries: a real daemon and what it sends to a provider."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from memd.index.database import WRITER, connect, transaction
from memd.index.files import load_files, publish_file
from memd.text.cut.chunking import cut_chunks
from tests.support.daemon import DaemonProcess
from tests.support.provider_faults import Fault
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.state_homes import StateHome, named_provider

MEMORY = """# Kitchen

- tea is steeped four minutes <!-- trigger: marmalade; tea time --> <!-- importance: 9 -->
- milk comes on Mondays
- anvil is in the shed <!-- project: github.com/acme/anvil -->
  <!-- importance: 2 -->
"""
SHOWN = """# Kitchen

- tea is steeped four minutes
- milk comes on Mondays
- anvil is in the shed

"""
PLAIN = "# Harbour\n\n- the lamps are green\n- the pier is closed in winter\n"
HIDDEN = ("<!--", "trigger", "marmalade", "importance", "project", "acme")


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with serve_provider("compatible", dims=48) as server:
        yield server


@pytest.fixture
def home(server: ProviderServer) -> Iterator[StateHome]:
    with StateHome(named_provider(server.url, server.key, server.facts.model)) as home:
        home.note("MEMORY.md", MEMORY)
        home.note("memory/harbour.md", PLAIN)
        yield home


def texts_in(index: Path) -> str:
    """Return all texts of an index's chunks."""
    with sqlite3.connect(f"file:{index}?mode=ro", uri=True) as db:
        return "\n".join(str(row[0]) for row in db.execute("SELECT context || text FROM chunks"))


def test_comments_are_excluded_from_the_index_and_returned_by_get(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        sent = "\n".join(server.texts_embedded)
        shown = [hit for word in ("tea", "anvil", "milk", "kitchen") for hit in client.search(word).hits]
        found = [client.search(word, lexical_only=True, min_score=0.0).hits for word in HIDDEN]
        read = client.get("MEMORY.md").text

    lines = SHOWN.split("\n")
    assert "tea is steeped" in sent
    assert not [word for word in HIDDEN if word in sent]
    assert found == [[]] * len(HIDDEN)
    assert {hit.path for hit in shown} >= {"MEMORY.md"}
    for hit in shown:
        if hit.path == "MEMORY.md":
            assert hit.snippet in "\n".join(lines[hit.start_line - 1 : hit.end_line])
            assert hit.snippet.count("\n") == hit.end_line - hit.start_line
    assert read == MEMORY


def test_lexical_search_calls_no_provider_and_is_not_degraded(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        whole = client.search("when is tea steeped")
        calls = server.calls
        replies = [client.search(f"tea {number}", lexical_only=True) for number in range(3)]
        home.note("memory/new.md", "- tea is new here\n")
        replies.append(client.search("tea that is new", lexical_only=True, deadline_ms=3_000))
        asked = (
            [call.texts for call in server.requests[-(server.calls - calls) :]]
            if server.calls > calls
            else []
        )

    assert whole.mode == "hybrid"
    for reply in replies:
        assert (reply.mode, reply.degraded, reply.provider, reply.space) == ("keyword", None, "none", "")
        assert all(hit.vector_score is None for hit in reply.hits)
        assert reply.hits
    assert not [text for texts in asked for text in texts if text.startswith("tea ")]
    assert replies[-1].hits[0].path in {"MEMORY.md", "memory/new.md"}


def test_lexical_search_with_a_failing_provider_is_not_degraded(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        server.fault = Fault("server_error")
        assert client.search("the closed pier of another question").degraded is not None
        reply = client.search("the closed pier", lexical_only=True)

    assert reply.degraded is None
    assert reply.hits[0].path == "memory/harbour.md"


def test_lexical_search_does_not_wait_for_vectors_of_new_notes(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        server.fault = Fault("hang")
        home.note("memory/new.md", "- the gulls are loud\n")
        reply = client.search("gulls", lexical_only=True, deadline_ms=3_000)

    assert reply.hits[0].path == "memory/new.md"
    assert not reply.partial


def test_changed_comment_changes_the_order_and_embeds_nothing(
    home: StateHome, server: ProviderServer
) -> None:
    items = ["- walnut shelf needs oil", "- walnut table wants glue"]

    def write(first: int, second: int) -> None:
        marks = [f" <!-- importance: {number} -->\n" for number in (first, second)]
        home.note("MEMORY.md", "".join(item + mark for item, mark in zip(items, marks, strict=True)))

    write(9, 2)
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        before = client.search("walnut", lexical_only=True, deadline_ms=5_000).hits
        server.texts_embedded.clear()
        write(2, 9)
        after = client.search("walnut", lexical_only=True, deadline_ms=5_000).hits
        client.index()

    assert [hit.start_line for hit in before] == [1, 2]
    assert [hit.start_line for hit in after] == [2, 1]
    assert not server.texts_embedded


def test_index_of_an_earlier_version_is_chunked_again_and_only_new_chunks_are_embedded(
    home: StateHome, server: ProviderServer
) -> None:
    index = home.state / "memory" / "main.memd.sqlite"
    home.note("MEMORY.md", "# Kitchen\n")
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
    home.note("MEMORY.md", MEMORY)
    stat = (home.workspace() / "MEMORY.md").stat()
    # As the earlier version left it: comments inside the chunks, none recorded.
    db = connect(index, WRITER)
    with transaction(db):
        row = replace(
            load_files(db)["MEMORY.md"],
            hash=sha256(MEMORY.encode()).hexdigest(),
            size=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            ctime_ns=stat.st_ctime_ns,
            inode=stat.st_ino,
            indexed_at=stat.st_mtime_ns // 1_000_000 + 60_000,
        )
        publish_file(db, row, cut_chunks(MEMORY, "MEMORY.md"), 1)
        db.execute("DELETE FROM meta WHERE key LIKE 'annotations%'")
    db.close()
    assert "marmalade" in texts_in(index)
    server.texts_embedded.clear()

    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        hits = client.search("tea steeped", lexical_only=True).hits

    assert not [word for word in HIDDEN if word in texts_in(index)]
    assert hits[0].annotations == {"importance": 9, "triggers": ["marmalade", "tea time"], "projects": []}
    assert server.texts_embedded
    assert not [text for text in server.texts_embedded if "pier" in text or "<!--" in text]
    server.texts_embedded.clear()
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        assert client.index().agents[0].files_changed == 0
    assert not server.texts_embedded
