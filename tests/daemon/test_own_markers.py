"""memd's marker comments stay in files: not in hits, tools, pages or prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memd.index.database import connect
from memd.system.sqlite import wait_for_locks
from memd_client.blocking import Client
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session, text_of
from tests.support.page import Visitor
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.state_homes import StateHome, named_provider

CURATED = (
    "# Kitchen\n\n- tea steeps long <!-- trigger: marmalade --> <!-- importance: 9 -->\n- milk on Mondays\n"
)
FOREIGN = "# Gauge\n\nThe heron gauge is brass. <!-- TODO: polish the pelican -->\n<!-- fact check this -->\n"
ORIGIN = (
    f'memd-import {{"kind": "quetzal-notes", "source": "/srv/quetzal/vault.md", "sha256": "{"f" * 64}", '
    '"imported": "2026-02-01T00:00:00Z"}'
)
IMPORTED = {
    "memory/vault/plain.md": f"<!-- {ORIGIN} -->\n# Harbour\n\nThe pier closes at dusk.\n",
    "memory/vault/front.md": f"---\n# {ORIGIN}\ntags: [otter]\n---\n\n# Quay\n\nThe quay lamps are green.\n",
}
KEY = "walrus-key-7"
QUERIES = (
    "tea steeps",
    "pier closes",
    "quay lamps",
    "Ada prefers",
    "boiler was",
    "milk on Mondays",
    "Harbour",
)
MARKS = re.compile(r"memd[:-]|fact id=|quetzal|ffffffff|walrus|marmalade|importance|created=|# memd")


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with serve_provider("compatible", dims=48) as server:
        yield server


@pytest.fixture(scope="module")
def daemon(server: ProviderServer) -> Iterator[DaemonProcess]:
    """A daemon with an agent that has a file for each kind of marker."""
    with StateHome(named_provider(server.url, server.key, server.facts.model)) as home:
        home.note("MEMORY.md", CURATED)
        home.note("memory/gauge.md", FOREIGN)
        for path, text in IMPORTED.items():
            home.note(path, text)
        with DaemonProcess(home) as process, process.client(timeout_s=60) as client:
            client.memory_store("Ada prefers the window seat", importance=0.9)
            client.append_note("The boiler was serviced.", key=KEY)
            client.index()
            yield process


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    with daemon.client(timeout_s=60) as client:
        yield client


def files_of(daemon: DaemonProcess) -> dict[str, str]:
    workspace = daemon.home.workspace()
    return {str(path.relative_to(workspace)): path.read_text() for path in workspace.rglob("*.md")}


def test_files_hold_each_kind_of_marker(daemon: DaemonProcess) -> None:
    whole = "\n".join(files_of(daemon).values())

    for mark in (
        "<!-- fact id=",
        f"<!-- memd:key={KEY} -->",
        "<!-- memd-import {",
        "---\n# memd-import {",
        "<!-- trigger:",
    ):
        assert mark in whole


def test_markers_are_excluded_from_the_index_and_embeddings(client: Client, server: ProviderServer) -> None:
    index = client.status().agents[0].index_path
    with closing(connect(Path(index), (wait_for_locks,))) as db:
        texts = [str(row[0]) for row in db.execute("SELECT context || text FROM chunks")]
        db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, chunks_fts, row)")
        words = {str(row[0]) for row in db.execute("SELECT term FROM temp.words")}

    assert {"pier", "boiler"} <= words
    assert words.isdisjoint({"memd", "quetzal", "walru", "walrus", "sha256", "marmalad", "f" * 64})
    assert any("pier closes" in text for text in server.texts_embedded)
    for text in (*texts, *server.texts_embedded):
        assert MARKS.search(text) is None, text


def test_queries_for_words_of_markers_have_no_hits(client: Client) -> None:
    fact = client.memory_recall("window seat").facts[0]

    for word in ("memd", "memd-import", KEY, "walrus", "quetzal", "sha256", "marmalade", fact.id):
        assert client.search(word, lexical_only=True, min_score=0.0).hits == [], word


def test_snippets_exclude_markers_and_keep_exact_line_numbers(daemon: DaemonProcess, client: Client) -> None:
    files = files_of(daemon)
    shown = [hit for query in QUERIES for hit in client.search(query, min_score=0.0).hits]

    assert {hit.path for hit in shown} >= {"MEMORY.md", "memory/facts.md", *IMPORTED}
    for hit in shown:
        assert MARKS.search(hit.snippet) is None, hit.snippet
        lines = files[hit.path].split("\n")[hit.start_line - 1 : hit.end_line]
        for mine, whole in zip(hit.snippet.split("\n"), lines, strict=True):
            assert whole == mine or (mine.strip() or "memd") in whole


def test_comments_of_other_programs_are_found_and_shown(client: Client) -> None:
    hits = client.search("polish the pelican", lexical_only=True).hits

    assert "<!-- TODO: polish the pelican -->" in hits[0].snippet
    assert client.search("fact check", lexical_only=True).hits[0].path == "memory/gauge.md"


def test_tools_mcp_page_prompts_and_sessions_show_no_marker(daemon: DaemonProcess, client: Client) -> None:
    link = daemon.memctl("web", "--no-browser").stdout.strip()
    visitor = Visitor(link).enter()
    shown = [
        client.facts_for_prompt("Where does Ada like to sit?", force=True).text,
        client.session_started("agent:main:main").context,
        client.prompt_section().text,
    ]
    for query in QUERIES:
        shown.append(client.call_tool("memory_search", {"query": query, "minScore": 0}).text)
        page = visitor.call("search", {"query": query, "min_score": 0}).json["result"]
        shown.append(json.dumps([hit["snippet"] for hit in page["hits"]]))
    found = run_mcp_session(
        daemon, lambda session: session.call_tool("memory_search", {"query": "boiler was serviced"})
    )
    shown.append(text_of(found))

    assert any("window seat" in text for text in shown)
    assert any("tea steeps" in text for text in shown)
    for text in shown:
        assert MARKS.search(text.replace('"importance"', "")) is None, text


def test_get_returns_the_files_unchanged(daemon: DaemonProcess, client: Client) -> None:
    for path, text in files_of(daemon).items():
        assert client.get(path).text == text
