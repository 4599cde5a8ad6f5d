"""At the limits of what is indexed: what was acknowledged is found, and a file beyond them is searched up to them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memd.system.units import size
from memd_client import Client
from memd_client.errors import NoteUnwritableError
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

MB = 1_048_576

WORDS = 200_000

LIMITS = "max_file_mb = 1\nmax_agent_mb = 3\nmax_agent_files = 10\n"


@pytest.fixture
def limited() -> Iterator[tuple[DaemonProcess, Client]]:
    """A memory of which 1 MB a file, 3 MB and 10 files are indexed, and a client of its daemon."""
    config = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    with StateHome(config) as home:
        (home.root / "memd.toml").write_text(LIMITS)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            yield daemon, client


def nearly_full(home: StateHome, path: str, spare: int) -> None:
    """Write a file that leaves so many bytes to the limit."""
    line = "filler " * 9 + "\n"
    text = line * (MB // len(line))
    home.note(path, text[: MB - spare - 1] + "\n")


def test_facts_and_notes_that_continue_in_a_next_file_are_found(
    limited: tuple[DaemonProcess, Client],
) -> None:
    daemon, client = limited
    home = daemon.home
    nearly_full(home, "memory/facts.md", 200)
    nearly_full(home, "memory/2026-11-24.md", 60)
    facts = {
        word: client.memory_store(f"The {word} is in the shed") for word in ("lantern", "kettle", "anvil")
    }
    notes = {
        word: client.append_note(f"The {word} was repaired.", date="2026-11-24", key=word)
        for word in ("bicycle", "gutter", "chimney")
    }
    assert {reply.path for reply in facts.values()} == {"memory/facts.md", "memory/facts-2.md"}
    assert {reply.path for reply in notes.values()} == {"memory/2026-11-24.md", "memory/2026-11-24-2.md"}
    client.index()
    paths = {word: reply.path for word, reply in facts.items()}
    paths |= {word: reply.path for word, reply in notes.items()}
    for word, path in paths.items():
        hit = client.search(word).hits[0]
        assert (hit.path, word in hit.snippet) == (path, True)
    assert not client.append_note("The gutter was repaired.", date="2026-11-24", key="gutter").appended
    assert client.memory_recall("anvil").facts[0].path == "memory/facts-2.md"
    assert client.memory_forget(id=facts["anvil"].id).forgotten is not None
    assert not client.search("anvil").hits


def test_what_would_not_be_indexed_is_refused_by_name(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    for path in ("memory/facts.md", "memory/2026-11-23.md", "memory/2026-11-24.md"):
        nearly_full(home, path, 20)
    with pytest.raises(NoteUnwritableError, match="`max_agent_mb`"):
        client.memory_store("The lantern is in the shed")
    with pytest.raises(NoteUnwritableError, match="`max_agent_mb`"):
        client.append_note("The gutter was repaired. " * 4, date="2026-11-24")
    assert not (home.workspace() / "memory/facts-2.md").exists()


def test_facts_are_found_however_many_newer_notes_there_are(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    client.memory_store("The lantern is in the shed")
    for number in range(15):
        home.note(f"memory/note-{number}.md", f"note number {number}\n")
    assert client.search("lantern").hits[0].path == "memory/facts.md"
    assert any(problem.code == "memory_beyond_limits" for problem in client.status().agents[0].problems)


def test_a_file_beyond_the_limit_is_searched_up_to_it(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    lines = [f"word{number} stands here, möglicherweise\n" for number in range(WORDS // 4)]
    text = "".join(lines)
    assert len(text.encode()) > MB
    big = home.note("memory/big.md", text)
    inside = text.encode()[:MB].decode(errors="ignore").rpartition("\n")[0].count("\n")

    client.index()
    first, last = client.search("word7").hits[0], client.search(f"word{inside}").hits[0]
    assert f"word{inside} stands here" in last.snippet
    assert last.snippet in text
    assert first.start_line <= 8 <= first.end_line
    assert last.end_line == inside + 1
    assert not client.search(f"word{inside + 1}").hits
    got = client.get("memory/big.md", from_line=inside + 1)
    assert (got.text.rstrip("\n"), got.lines, got.total_lines) == (lines[inside].rstrip("\n"), 1, inside + 1)

    said = f"indexed up to 1.05 MB of {size(len(text.encode()))}"
    status = client.status().agents[0]
    assert [(each.path, each.reason.split(";")[0]) for each in status.skipped] == [("memory/big.md", said)]
    assert status.files_pending == 0
    listed = client.files()
    assert [row.path for row in listed.files] == ["memory/big.md"]
    assert said in listed.skipped[0].reason
    findings = json.loads(daemon.memctl("doctor", "--json").stdout)["findings"]
    assert any(said in finding["found"] for finding in findings)

    # When the file changes, then what is gone is not returned, and what is new within the limit is found.
    big.write_text(text.replace("word7 ", "gooseberry ", 1))
    assert not [hit for hit in client.search("word7").hits if "word7 " in hit.snippet]
    client.index()
    assert "gooseberry" in client.search("gooseberry").hits[0].snippet
    with big.open("a") as file:
        file.write("raspberry\n")
    client.index()
    assert not client.search("raspberry").hits
    big.write_text("raspberry\n")
    client.index()
    assert client.search("raspberry").hits
    assert client.status().agents[0].skipped == []
