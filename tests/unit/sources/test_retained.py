"""Kept copies: they follow a conversation, outlive it within limits, and are forgotten for good."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memd.index.transcripts import SessionFacts
from memd.sources.discover import SourceFile
from memd.sources.read import FileText
from memd.sources.retained import DAY_MS, KeptCopies, KeptLimits, KeptTranscripts
from memd.sources.source import Transcripts
from memd_client.errors import FileUnreadableError

WIDE = KeptLimits(days=30, megabytes=10)


@dataclass
class Program:
    """A source of conversations that a test adds and removes; `complete` is that of its scans."""

    texts: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    unchanged: Transcripts | None = None

    def find(self) -> Transcripts:
        """Return the conversations; `unchanged` stands for an earlier scan since which nothing changed."""
        if self.unchanged is not None:
            return self.unchanged
        found = {
            f"p/{name}": SourceFile(f"p/{name}", f"/x/{name}", 1, len(text), 1, 1, "p", is_talk=True)
            for name, text in self.texts.items()
        }
        return Transcripts(found if self.complete else {}, complete=self.complete)

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation."""
        text = self.texts[found.path.removeprefix("p/")]
        return FileText(text, "hash", 1, len(text), 1, 1, (3,), 1, times=(5,), facts=SessionFacts("p", "s"))

    def close(self) -> None:
        """Do nothing."""


@dataclass
class SetClock:
    """A wall clock that a test sets."""

    now_ms: int = 1_793_606_400_000

    def __call__(self) -> int:
        return self.now_ms


class Kept:
    """A program whose conversations are kept."""

    def __init__(self, folder: Path, limits: KeptLimits = WIDE) -> None:
        self.program, self.clock, self.folder = Program(), SetClock(), folder
        self.source = KeptTranscripts("p", self.program, KeptCopies(folder, limits, self.clock))

    def pass_days(self, days: int) -> dict[str, FileText]:
        """Scan once on each of the next days; return what is found at the end."""
        for _ in range(days):
            self.clock.now_ms += DAY_MS
            found = self.read()
        return found

    def read(self) -> dict[str, FileText]:
        """Load everything that is found, as a sync does."""
        return {path: self.source.load(found) for path, found in self.source.find().found.items()}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A program without conversations."""
    return Kept(tmp_path / "kept")


def test_a_deleted_conversation_stays_with_all_its_facts(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    before = kept.read()["p/one"]
    kept.program.texts.clear()
    after = kept.read()["p/one"]
    assert (after.text, after.line_map, after.times, after.redactions) == ("User: hello", (3,), (5,), 1)
    assert after.facts == before.facts._replace(is_deleted=True)
    assert after.hash != before.hash


def test_a_conversation_that_comes_back_is_the_programs_again(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.texts.clear()
    kept.read()
    kept.program.texts["one"] = "User: hello again"
    assert kept.read()["p/one"].text == "User: hello again"
    assert [path.name for path in kept.folder.glob("*.gz")] == ["one.json.gz"]


def test_nothing_counts_as_deleted_while_the_program_can_not_be_read(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.complete = False
    assert kept.source.find().found == {}
    assert [path.name for path in kept.folder.glob("*.gz")] == ["one.json.gz"]


def test_copies_end_at_their_age(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.texts.clear()
    assert set(kept.read()) == {"p/one"}
    assert set(kept.pass_days(30)) == {"p/one"}
    assert set(kept.pass_days(1)) == set()
    assert list(kept.folder.glob("*.gz")) == []


def test_clock_that_jumps_forward_and_back_deletes_no_copy(kept: Kept) -> None:
    kept.program.texts |= {"one": "User: hello", "two": "User: again"}
    kept.read()
    kept.program.texts.clear()
    kept.pass_days(20)
    now_ms = kept.clock.now_ms
    for years in (100, 1, -60):
        for _ in range(12):
            kept.clock.now_ms = now_ms + years * 365 * DAY_MS
            assert set(kept.read()) == {"p/one", "p/two"}
            kept.clock.now_ms = now_ms
            assert set(kept.read()) == {"p/one", "p/two"}
    assert set(Kept(kept.folder).read()) == {"p/one", "p/two"}


def test_machine_that_was_off_for_a_year_keeps_its_copies(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.texts.clear()
    kept.pass_days(2)
    started = Kept(kept.folder)
    started.clock.now_ms = kept.clock.now_ms + 366 * DAY_MS
    assert set(started.read()) == {"p/one"}
    assert set(started.pass_days(27)) == {"p/one"}
    assert set(started.pass_days(2)) == set()


def test_conversation_deleted_while_the_clock_was_wrong_keeps_its_whole_time(kept: Kept) -> None:
    kept.program.texts |= {"one": "User: hello", "two": "User: again"}
    kept.pass_days(40)
    now_ms, kept.clock.now_ms = kept.clock.now_ms, 0
    del kept.program.texts["one"]
    kept.read()
    kept.clock.now_ms = now_ms
    assert set(kept.pass_days(30)) == {"p/one", "p/two"}


def test_copies_end_at_their_age_while_their_program_changes_nothing(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.texts.clear()
    kept.program.unchanged = kept.program.find()
    assert set(kept.read()) == {"p/one"}
    assert set(kept.pass_days(29)) == {"p/one"}
    assert set(kept.pass_days(2)) == set()
    assert list(kept.folder.glob("*.gz")) == []


def test_copies_beyond_the_size_are_removed_deleted_ones_first(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept", KeptLimits(days=0, megabytes=1))
    noise = [bytes((at * at * 7919 + seed) % 251 for at in range(900_000)).hex() for seed in (1, 2)]
    kept.program.texts["old"] = noise[0]
    kept.read()
    kept.program.texts.pop("old")
    kept.read()
    kept.program.texts |= {f"new{at}": noise[1][at:] for at in range(3)}
    kept.read()
    size = sum(path.stat().st_size for path in kept.folder.iterdir())
    assert size <= 1_048_576


def test_forgotten_copies_are_gone_and_others_stay(kept: Kept) -> None:
    kept.program.texts |= {"one": "User: a", "two": "User: b", "three": "User: c"}
    kept.read()
    del kept.program.texts["one"], kept.program.texts["two"]
    kept.pass_days(1)
    (kept.folder / ".one.tmp").write_text("an unfinished copy of a killed daemon")
    assert kept.source.forget(["one"]) == 1
    assert set(kept.read()) == {"p/two", "p/three"}
    assert kept.source.forget(["two", "nothing"]) == 1
    assert set(kept.read()) == {"p/three"}
    assert sorted(path.name for path in kept.folder.iterdir()) == [".days.json", "three.json.gz"]
    assert kept.source.forget(["three"]) == 1
    assert list(kept.folder.iterdir()) == []


def test_a_new_process_knows_the_copies(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    again = Kept(kept.folder)
    assert again.read()["p/one"].text == "User: hello"


def test_a_damaged_copy_is_refused_with_what_to_do(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    kept.program.texts.clear()
    (found,) = kept.source.find().found.values()
    Path(found.location).write_bytes(b"damaged")
    with pytest.raises(FileUnreadableError) as caught:
        kept.source.load(found)
    assert "remove the copy" in caught.value.hint


def test_copies_are_readable_by_the_user_alone(kept: Kept) -> None:
    kept.program.texts["one"] = "User: hello"
    kept.read()
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in kept.folder.iterdir()] == [0o600]
