"""An entry of a day's note is appended once, whole, and nowhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from memd.lifecycle.notes.notes import Notes
from memd.rpc.methods import append_note
from memd.settings.lifecycle import LifecycleSettings
from memd.sources.capacity import SourceLimits
from memd_client.errors import (
    AgentReloadingError,
    BadParamsError,
    MemoryDisabledError,
    NoteUnwritableError,
    PathRefusedError,
)
from memd_client.notes import AppendNoteParams, AppendNoteReply
from tests.support.agents import BlockingAgent, config_in

LATE = int(datetime(2026, 11, 22, 23, 30, tzinfo=UTC).timestamp() * 1000)


class AgentHost(BlockingAgent):
    """A real agent, and the wall time of its notes."""

    def __init__(self, folder: Path, zone: str | None = "UTC", *, workspace: Path | None = None) -> None:
        life = LifecycleSettings(time_zone=zone)
        super().__init__(folder, config_in(folder, life=life, workspace=workspace))
        self.now_ms = LATE

    def limit(self, *limits: int) -> None:
        """Set the limits of a file's bytes, of the files, and of all bytes."""
        self.agent.given_limits = SourceLimits(*limits)

    def notes(self) -> Notes:
        return Notes(self.agent, lambda: self.now_ms, state_dir=self.workspace.parent, complete=None)

    def ask(self, **params: Any) -> AppendNoteReply:
        """Return the reply to a request, as the daemon would give it."""
        call = cast(Any, SimpleNamespace(lifecycle=lambda _: SimpleNamespace(notes=self.notes())))
        return self.run(append_note.handle, call, AppendNoteParams(**params))

    def text(self, path: str) -> str:
        return (self.config.workspace / path).read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AgentHost]:
    with AgentHost(tmp_path) as home:
        yield home


def as_another(home: AgentHost, zone: str = "UTC") -> AgentHost:
    """Return another agent with the same workspace."""
    return AgentHost(home.workspace.parent / "another", zone, workspace=home.workspace)


def test_an_entry_is_appended_to_today(home: AgentHost) -> None:
    first = home.ask(text="The port is 8443.")
    second = home.ask(text="Ann called.\nShe calls back.")
    assert first == AppendNoteReply("main", "memory/2026-11-22.md", 3, 3, True)
    assert second == AppendNoteReply("main", "memory/2026-11-22.md", 5, 6, True)
    assert home.text(first.path) == "# 2026-11-22\n\nThe port is 8443.\n\nAnn called.\nShe calls back.\n"
    assert home.syncs == 2


def test_today_is_the_users_and_moves_on_at_their_midnight(home: AgentHost) -> None:
    with as_another(home, "Europe/Prague") as abroad:
        assert abroad.ask(text="a").path == "memory/2026-11-23.md"
    assert home.ask(text="b").path == "memory/2026-11-22.md"
    home.now_ms += 30 * 60_000
    assert home.ask(text="c").path == "memory/2026-11-23.md"


def test_a_leap_day_has_its_note(home: AgentHost) -> None:
    assert home.ask(text="a", date="2028-02-29").path == "memory/2028-02-29.md"
    home.now_ms = int(datetime(2028, 2, 29, 12, 0, tzinfo=UTC).timestamp() * 1000)
    assert home.ask(text="b").path == "memory/2028-02-29.md"


def test_a_repeated_key_returns_the_existing_entry(home: AgentHost) -> None:
    first = home.ask(text="once", key="run:1")
    home.ask(text="between")
    again = home.ask(text="once", key="run:1")
    assert (again.start_line, again.end_line, again.appended) == (first.start_line, first.end_line, False)
    assert home.text(first.path).count("once") == 1
    assert home.syncs == 2


def test_text_written_by_hand_stays(home: AgentHost) -> None:
    note = home.config.workspace / "memory" / "2026-11-22.md"
    note.parent.mkdir()
    note.write_bytes(b"by hand, without a line end")
    reply = home.ask(text="mine")
    assert note.read_bytes() == b"by hand, without a line end\n\nmine\n"
    assert (reply.start_line, reply.end_line) == (3, 3)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t\n"}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": "lone \ud800"}, "text"),
        ({"text": "x" * 65_537}, "text"),
        ({"text": "é" * 32_769}, "text"),
        ({"text": "a", "date": "2026-02-30"}, "date"),
        ({"text": "a", "date": "../../MEMORY"}, "date"),
        ({"text": "a", "date": ""}, "date"),
    ],
)
def test_what_can_not_be_an_entry_is_refused_and_named(
    home: AgentHost, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadParamsError, match=f"`{field}`") as caught:
        home.ask(**params)
    assert caught.value.data["field"] == field
    assert list(home.config.workspace.iterdir()) == []


def test_the_longest_entry_is_taken(home: AgentHost) -> None:
    home.ask(text="x" * 65_536)
    assert len(home.text("memory/2026-11-22.md")) == 65_536 + len("# 2026-11-22\n\n\n")


def test_without_memory_nothing_is_written(home: AgentHost) -> None:
    home.use(enabled=False)
    with pytest.raises(MemoryDisabledError):
        home.ask(text="a")
    assert list(home.config.workspace.iterdir()) == []


def test_a_link_in_the_way_is_refused(home: AgentHost, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.config.workspace / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathRefusedError):
        home.ask(text="a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_sync_that_is_refused_does_not_unsay_the_note(home: AgentHost) -> None:
    home.run(home.agent.close)
    with pytest.raises(AgentReloadingError):
        home.agent.compaction_done()
    assert home.ask(text="a").appended
    assert home.syncs == 0


def test_a_note_that_can_not_be_written_is_an_error(home: AgentHost, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    home.ask(text="before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoteUnwritableError, match="2026-11-22"):
        home.ask(text="lost")
    assert home.text("memory/2026-11-22.md") == "# 2026-11-22\n\nbefore\n"


def test_concurrent_appends_lose_nothing_and_return_their_lines(home: AgentHost) -> None:
    replies: dict[int, AppendNoteReply] = {}

    def write(number: int) -> None:
        replies[number] = home.ask(text=f"entry {number}\nof many", key=f"k{number % 25}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = home.text("memory/2026-11-22.md").split("\n")
    assert lines.count("of many") == 25  # a key is there once
    for number, reply in replies.items():
        if reply.appended:
            assert lines[reply.start_line - 1 : reply.end_line] == [f"entry {number}", "of many"]
    assert sum(reply.appended for reply in replies.values()) == 25


def test_what_an_agent_curates_itself_is_never_written(home: AgentHost) -> None:
    curated = home.config.workspace / "MEMORY.md"
    curated.write_text("mine\n", encoding="utf-8")
    before = curated.stat()
    for text in ("MEMORY.md", "../MEMORY.md", "# MEMORY.md"):
        home.ask(text=text, key="MEMORY.md")
    with pytest.raises(BadParamsError):
        home.ask(text="a", date="MEMORY.md")
    assert curated.read_text(encoding="utf-8") == "mine\n"
    assert curated.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(path.name for path in home.config.workspace.iterdir()) == ["MEMORY.md", "memory"]


# --- keys across days -------------------------------------------------------------------------------

DAY_MS = 86_400_000


@pytest.mark.parametrize("days", [1, 2, -1])
def test_a_key_asked_for_again_on_another_day_is_written_once(home: AgentHost, days: int) -> None:
    first = home.ask(text="once", key="run:1")
    home.now_ms += days * DAY_MS
    again = home.ask(text="once", key="run:1")
    assert again == AppendNoteReply("main", first.path, first.start_line, first.end_line, False)
    assert [path.name for path in (home.config.workspace / "memory").iterdir()] == ["2026-11-22.md"]


def test_a_key_is_looked_for_two_days_back(home: AgentHost) -> None:
    home.ask(text="once", key="run:1")
    home.now_ms += 3 * DAY_MS
    assert home.ask(text="once", key="run:1").path == "memory/2026-11-25.md"


def test_a_key_of_an_entry_with_a_date_is_known_without_it_and_on_that_date_alone(home: AgentHost) -> None:
    first = home.ask(text="once", key="run:1", date="2026-11-21")
    assert home.ask(text="once", key="run:1", date="2026-11-21") == replace(first, appended=False)
    assert home.ask(text="once", key="run:1") == replace(first, appended=False)
    other = home.ask(text="once", key="run:1", date="2026-11-20")
    assert (other.path, other.appended) == ("memory/2026-11-20.md", True)


def test_a_key_in_a_note_that_has_continued_is_known_on_the_next_day(home: AgentHost) -> None:
    home.limit(100, 100, 10_000)
    first = home.ask(text="a" * 40, key="run:1")
    second = home.ask(text="b" * 40, key="run:2")
    assert (first.path, second.path) == ("memory/2026-11-22.md", "memory/2026-11-22-2.md")
    for _ in range(2):
        assert home.ask(text="a" * 40, key="run:1") == replace(first, appended=False)
        assert home.ask(text="b" * 40, key="run:2") == replace(second, appended=False)
        home.now_ms += DAY_MS
    assert len(list((home.config.workspace / "memory").iterdir())) == 2


def test_one_key_from_many_at_midnight_is_written_once(home: AgentHost) -> None:
    replies: list[AppendNoteReply] = []
    with as_another(home) as late:
        late.now_ms += 30 * 60_000
        threads = [
            threading.Thread(target=lambda agent=agent: replies.append(agent.ask(text="once", key="run:1")))
            for agent in [home, late] * 8
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [reply.appended for reply in replies].count(True) == 1
    assert len({reply.path for reply in replies}) == 1


# --- limits -----------------------------------------------------------------------------------------


def test_a_full_note_continues_in_a_next_file(home: AgentHost) -> None:
    home.limit(100, 100, 10_000)
    replies = [home.ask(text=f"{number} " + "x" * 40) for number in range(4)]
    assert [reply.path for reply in replies] == [
        "memory/2026-11-22.md",
        "memory/2026-11-22-2.md",
        "memory/2026-11-22-3.md",
        "memory/2026-11-22-4.md",
    ]
    for number, reply in enumerate(replies):
        assert home.text(reply.path).startswith("# 2026-11-22\n")
        assert home.text(reply.path).split("\n")[reply.start_line - 1].startswith(f"{number} ")


def test_a_note_is_filled_to_the_last_byte_of_the_limit(home: AgentHost) -> None:
    size = len("# 2026-11-22\n\n" + "x" * 20 + "\n")
    home.limit(size, 100, 10_000)
    assert home.ask(text="x" * 20).path == "memory/2026-11-22.md"
    assert len(home.text("memory/2026-11-22.md")) == size
    assert home.ask(text="y").path == "memory/2026-11-22-2.md"


def test_a_note_that_a_person_made_too_large_continues_in_a_next_file(home: AgentHost) -> None:
    note = home.config.workspace / "memory" / "2026-11-22.md"
    note.parent.mkdir()
    note.write_text("x" * 2_000)
    home.limit(1_000, 100, 10_000)
    assert home.ask(text="mine").path == "memory/2026-11-22-2.md"
    assert len(note.read_text()) == 2_000


@pytest.mark.parametrize(
    ("limits", "limit"),
    [(SourceLimits(100, 1, 10_000), "max_agent_files"), (SourceLimits(100, 100, 120), "max_agent_mb")],
)
def test_what_would_not_be_indexed_is_refused_and_nothing_is_written(
    home: AgentHost, limits: SourceLimits, limit: str
) -> None:
    home.agent.given_limits = limits
    home.ask(text="x" * 60)
    with pytest.raises(NoteUnwritableError, match=f"the limit `{limit}`"):
        home.ask(text="y" * 60)
    assert [path.name for path in (home.config.workspace / "memory").iterdir()] == ["2026-11-22.md"]


def test_an_entry_larger_than_any_file_may_be_is_refused(home: AgentHost) -> None:
    home.limit(100, 100, 10_000)
    with pytest.raises(NoteUnwritableError, match="have reached the limit"):
        home.ask(text="x" * 200)
    assert list((home.config.workspace / "memory").iterdir()) == []
