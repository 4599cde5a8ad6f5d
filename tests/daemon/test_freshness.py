"""Freshness without file events: a search answers from the current files on disk."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given, settings

from memd_client import Client
from memd_client.errors import DeadlineExceededError
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.edits import (
    Edit,
    EditedMemory,
    SearchCheck,
    differences,
    edit_repeatedly,
    run_script,
    scripts,
)
from tests.support.models import minilm_path
from tests.support.state_homes import UNWATCHED, StateHome

LONG_CATCH_UP = "catch_up_ms = 20000\n"
"""A long catch-up time, so that a busy machine causes no partial replies here."""


@pytest.fixture(scope="module")
def home() -> Iterator[StateHome]:
    with StateHome(UNWATCHED) as home:
        (home.root / "memd.toml").write_text(LONG_CATCH_UP)
        yield home


@pytest.fixture(scope="module")
def client(home: StateHome) -> Iterator[Client]:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        yield client
        assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]


def check_script(home: StateHome, client: Client, script: list[Edit | SearchCheck]) -> None:
    """Run a script on an empty workspace; compare each reply with the files on disk."""
    memory = EditedMemory(home.workspace())

    def look(step: SearchCheck) -> None:
        assert differences(client, memory, step) == []

    run_script(memory, script, look)
    files = memory.files()
    if all(text.strip() for text in files.values()):
        agent = client.status().agents[0]
        assert (agent.files, agent.files_pending) == (len(files), 0)


def with_searches(*edits: Edit) -> list[Edit | SearchCheck]:
    """Return a script with a search after each edit."""
    return [step for edit in edits for step in (edit, SearchCheck())]


NOTE = "memory/a.md"

BULK = 600
"""Number of files that take longer to index than the deadline of a short search."""

HOUR_NS = 3_600_000_000_000


def write_bulk(memory: EditedMemory) -> None:
    """Write more files than a short search can index."""
    for number in range(BULK):
        memory.do(Edit("write", f"memory/bulk/{number:03d}.md"))


@settings(max_examples=60, deadline=None)
@given(script=scripts())
@example(script=with_searches(Edit("write", NOTE), Edit("append", NOTE), Edit("shorten", NOTE)))
@example(script=with_searches(Edit("write", NOTE), Edit("swap_words", NOTE), Edit("swap_words", NOTE)))
@example(script=[Edit("write", NOTE), *[SearchCheck(-1, every=False), Edit("swap_words", NOTE)] * 30])
@example(script=with_searches(Edit("write", NOTE), *[Edit("wait"), Edit("swap_words_and_time", NOTE)] * 2))
@example(
    script=with_searches(Edit("write", NOTE), *[Edit("wait"), Edit("swap_words_by_replacing", NOTE)] * 2)
)
@example(script=with_searches(Edit("write_long", NOTE), Edit("replace", NOTE), Edit("delete", NOTE)))
@example(script=with_searches(Edit("write", NOTE), Edit("empty", NOTE), Edit("append", NOTE)))
@example(
    script=with_searches(Edit("write", NOTE), Edit("spoil", NOTE), Edit("write", NOTE), Edit("link", NOTE))
)
@example(script=with_searches(Edit("write", "MEMORY.md"), Edit("rename", "MEMORY.md", "memory.md")))
@example(
    script=with_searches(
        Edit("write", NOTE), Edit("write", "memory/b.md"), Edit("rename", NOTE, "memory/b.md")
    )
)
@example(script=with_searches(Edit("write", "memory/sub/deep/c.md"), Edit("rename", "memory/sub", "attic")))
@example(script=with_searches(Edit("write", "memory/sub/deep/c.md"), Edit("remove", "memory/sub")))
@example(
    script=with_searches(Edit("write", "memory/sub/a.md"), Edit("rename", "memory/sub", "memory/.hidden"))
)
@example(
    script=with_searches(Edit("write", NOTE), Edit("make_folder", NOTE), Edit("write", f"{NOTE}/inside.md"))
)
@example(script=with_searches(Edit("write", f"{NOTE}/inside.md"), Edit("remove", NOTE), Edit("write", NOTE)))
@example(
    script=with_searches(
        Edit("write", NOTE), Edit("move_workspace"), Edit("write", "USER.md"), Edit("move_workspace")
    )
)
@example(script=with_searches(Edit("write", "memory/caf\u00e9.md"), Edit("write", "memory/cafe\u0301.md")))
def test_search_after_each_edit_matches_the_disk(
    home: StateHome, client: Client, script: list[Edit | SearchCheck]
) -> None:
    check_script(home, client, script)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(script=scripts(longest=25))
def test_search_after_a_thousand_scripts_matches_the_disk(
    home: StateHome, client: Client, script: list[Edit | SearchCheck]
) -> None:
    check_script(home, client, script)


def test_generation_grows_with_changes_alone(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    edits = [
        Edit("write", NOTE),
        Edit("append", NOTE),
        Edit("rename", NOTE, "memory/b.md"),
        Edit("touch", "memory/b.md"),
    ]
    generations = [client.search("zqzq").generation]
    for edit in [*edits, Edit("delete", "memory/b.md")]:
        memory.do(edit)
        generations.append(client.search("zqzq").generation)
        assert client.search("zqzq").generation == generations[-1]
    grew = [later > earlier for earlier, later in itertools.pairwise(generations)]
    assert grew == [True, True, True, False, True]


def test_get_returns_the_lines_of_a_hit_as_shown(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    memory.do(Edit("write_long", NOTE))
    memory.do(Edit("write_crlf", "memory/b.md"))
    for word in memory.words:
        for hit in client.search(word).hits:
            lines = client.get(hit.path, from_line=hit.start_line, lines=hit.end_line - hit.start_line + 1)
            assert hit.snippet in lines.text
            assert word in hit.snippet


def search_briefly(client: Client, query: str, deadline_ms: int = 40, **options: Any) -> SearchReply:
    """Search with a short deadline; with a longer one if this machine is too slow or busy to keep it."""
    while True:
        try:
            return client.search(query, deadline_ms=deadline_ms, **options)
        except DeadlineExceededError:
            deadline_ms *= 2


def test_catch_up_beyond_the_deadline_is_cut_and_counted(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    memory.do(Edit("write", NOTE))
    assert differences(client, memory) == []
    write_bulk(memory)
    memory.do(Edit("delete", NOTE))
    gone, *_, newest = memory.words

    cut = search_briefly(client, newest)

    assert cut.partial
    assert 0 < cut.pending.files <= BULK + 1
    assert cut.pending.oldest_ms > 0
    assert search_briefly(client, gone).hits == [], "deleted files are not shown, even with pending changes"
    client.index()
    whole = client.search(newest)
    assert (whole.partial, whole.pending.files, whole.pending.oldest_ms) == (False, 0, 0)
    assert whole.generation > cut.generation
    assert differences(client, memory) == []


def test_search_without_a_strong_hit_waits_until_changed_files_are_indexed() -> None:
    with StateHome(UNWATCHED) as home:
        (home.root / "memd.toml").write_text("catch_up_ms = 0\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            for number in range(20):
                home.note(f"memory/{number}.md", f"The code of gate number {number} is kestrel{number}.\n")
                reply = client.search(f"kestrel{number}")
                assert [hit.path for hit in reply.hits] == [f"memory/{number}.md"]
                assert (reply.partial, reply.pending.files) == (False, 0)


def test_empty_answer_before_everything_is_indexed_is_not_no_match(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    assert differences(client, memory) == []
    write_bulk(memory)

    reply = search_briefly(client, "quokkaberry", deadline_ms=20)

    assert reply.hits == []
    assert reply.partial
    assert reply.empty is not None
    assert reply.empty.code == "indexing"
    client.index()


def test_search_with_a_long_deadline_waits_for_the_running_sync(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    assert differences(client, memory) == []
    write_bulk(memory)
    search_briefly(client, "anything")  # starts a long sync

    reply = client.search(memory.words[0], deadline_ms=20_000)  # the newest are read first

    assert [hit.path for hit in reply.hits] == ["memory/bulk/000.md"]
    assert (reply.partial, reply.pending.files) == (False, 0)


def test_note_written_during_a_long_sync_is_found_at_once(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    assert differences(client, memory) == []
    write_bulk(memory)
    search_briefly(client, "anything")
    for way in ("write", "append", "swap_words", "replace"):
        memory.do(Edit(way, NOTE))
        assert [hit.path for hit in client.search(memory.words[-1], deadline_ms=20_000).hits] == [NOTE]
    client.index()
    assert differences(client, memory) == []


def test_pending_time_of_a_copied_file_counts_from_its_arrival(home: StateHome, client: Client) -> None:
    memory = EditedMemory(home.workspace())
    memory.do(Edit("write", NOTE))
    client.index()
    copied = home.note("memory/copied.md", "a copy that keeps its old time\n")
    facts = copied.stat()
    os.utime(copied, ns=(facts.st_atime_ns, facts.st_mtime_ns - HOUR_NS))

    agent = client.status().agents[0]

    assert agent.files_pending == 1
    assert 0 <= agent.oldest_pending_ms < 60_000


@pytest.mark.parametrize(("least", "edits"), [(40, 150), pytest.param(300, 3000, marks=pytest.mark.long)])
def test_searches_under_heavy_edits_succeed_and_end_exact(
    home: StateHome, client: Client, least: int, edits: int
) -> None:
    memory = EditedMemory(home.workspace())
    writers = {
        "memory/truncated.md": "write",
        "memory/appended.md": "append",
        "memory/replaced.md": "replace",
    }
    for path in writers:
        memory.do(Edit("write", path))
    stop = threading.Event()
    with ThreadPoolExecutor(len(writers)) as pool:
        counts = [
            pool.submit(edit_repeatedly, memory, path, stop.is_set, way, seed)
            for seed, (path, way) in enumerate(writers.items())
        ]
        try:
            searches = 0
            while searches < least or len(memory.words) < edits:
                searches += 1
                reply = search_briefly(client, "note about little", deadline_ms=200, max_results=50)
                assert {hit.path for hit in reply.hits} <= set(writers)
        finally:
            stop.set()
        assert all(count.result() for count in counts)
    memory.words[:] = memory.words[-edits // 2 :][-300:]
    assert differences(client, memory) == []


@pytest.mark.model
def test_concurrent_searches_see_all_writes_before_their_start() -> None:
    """Searches share a scan of the disk only if it began after their start."""
    minilm_path()
    local = {"provider": "local", "local": {"modelPath": "minilm"}, "sync": {"watch": False}}
    with StateHome({"agents": {"defaults": {"memorySearch": local}}}) as home:
        (home.root / "memd.toml").write_text(LONG_CATCH_UP)
        for number in range(60):
            home.note(f"memory/old-{number}.md", f"Invoice number {number} was paid in March.\n")
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=120) as client:
            client.index()
            client.search("which invoice was paid")
            stop = threading.Event()

            def search_repeatedly() -> int:
                with daemon.client(timeout_s=120) as other:
                    return sum(
                        len(other.search("which invoice was paid").hits) > 0 for _ in iter(stop.is_set, True)
                    )

            with ThreadPoolExecutor(6) as pool:
                others = [pool.submit(search_repeatedly) for _ in range(6)]
                try:
                    for turn in range(30):
                        home.note("memory/new.md", f"The word of the hour is quokka{turn}.\n")
                        found = client.search(f"quokka{turn}", deadline_ms=20_000).hits
                        assert [hit.path for hit in found[:1]] == ["memory/new.md"], f"turn {turn}"
                        assert f"quokka{turn}" in found[0].snippet
                finally:
                    stop.set()
                assert all(other.result() > 0 for other in others)


@pytest.mark.model
def test_short_note_is_found_by_vector_search_in_the_next_search() -> None:
    minilm_path()
    local = {"provider": "local", "local": {"modelPath": "minilm"}, "sync": {"watch": False}}
    with StateHome({"agents": {"defaults": {"memorySearch": local}}}) as home:
        for number in range(20):
            home.note(f"memory/old-{number}.md", f"Invoice number {number} was paid in March.\n")
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=120) as client:
            client.index()
            for turn in range(20):
                path = f"memory/new-{turn}.md"
                home.note(path, f"On day {turn} our cat was ill and the vet gave her medicine.\n")

                reply = client.search(f"sick pet {turn}", max_results=40, deadline_ms=20_000)

                assert reply.pending.chunks == 0
                found = {hit.path: hit.vector_score for hit in reply.hits}
                assert found.get(path) is not None, f"turn {turn}: {found}"
