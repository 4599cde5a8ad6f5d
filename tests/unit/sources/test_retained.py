"""Retained copies: they follow a conversation, outlive it within limits, and are forgotten for good."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memd.index.transcripts import SessionFacts
from memd.sources.retained import DAY_MS, RetainedConversations, RetainedCopies, RetainedLimits
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.system.safe_open import FileStat
from memd.text.trust.origins import OUTSIDE, LineOrigins
from memd_client.errors import FileUnreadableError

ORIGINS = LineOrigins(b"\0\1").lowered([2], OUTSIDE, "it repeats a page", 2)
WIDE = RetainedLimits(days=30, megabytes=10)


@dataclass
class ChangingProgram(Source):
    """A source of conversations that a test adds and removes, and may make unreadable."""

    name = "p"
    is_conversation = True

    texts: dict[str, str] = field(default_factory=dict)
    is_readable: bool = True
    unchanged: Listing | None = None

    def find(self) -> Listing:
        """Return the conversations; `unchanged` stands for an earlier scan since which nothing changed."""
        if self.unchanged is not None:
            return self.unchanged
        found = {
            f"p/{name}": SourceFile(f"p/{name}", f"/x/{name}", 1, len(text), 1, 1, "p", is_conversation=True)
            for name, text in self.texts.items()
        }
        return Listing(found) if self.is_readable else Listing(unseen=frozenset({"p"}))

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation."""
        text = self.texts[found.path.removeprefix("p/")]
        return FileText(
            text,
            "hash",
            1,
            len(text),
            1,
            1,
            (3,),
            1,
            times=(5,),
            facts=SessionFacts("p", "s"),
            origins=ORIGINS,
        )

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return the size of a conversation, and one message."""
        return found.size, 1

    def close(self) -> None:
        """Do nothing."""


@dataclass
class SetClock:
    """A wall clock that a test sets."""

    now_ms: int = 1_793_606_400_000

    def __call__(self) -> int:
        return self.now_ms


class Retained:
    """A program whose conversations are retained."""

    def __init__(self, folder: Path, limits: RetainedLimits = WIDE) -> None:
        self.program, self.clock, self.folder = ChangingProgram(), SetClock(), folder
        self.source = RetainedConversations(self.program, RetainedCopies(folder, limits, self.clock))

    def pass_days(self, days: int) -> dict[str, FileText]:
        """Scan once on each of the next days; return what is found at the end."""
        for _ in range(days):
            self.clock.now_ms += DAY_MS
            found = self.read()
        return found

    def read(self) -> dict[str, FileText]:
        """Load everything that is found, as a sync does."""
        return {path: self.source.load(found) for path, found in self.source.find().files.items()}


@pytest.fixture
def retained(tmp_path: Path) -> Retained:
    """A program without conversations."""
    return Retained(tmp_path / "retained")


def test_a_deleted_conversation_stays_with_all_its_facts(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    before = retained.read()["p/one"]
    retained.program.texts.clear()
    after = retained.read()["p/one"]
    assert (after.text, after.line_map, after.times, after.redactions) == ("User: hello", (3,), (5,), 1)
    assert after.facts == before.facts._replace(is_deleted=True)
    assert after.hash != before.hash
    assert after.origins == ORIGINS


def test_a_conversation_that_comes_back_is_the_programs_again(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.texts.clear()
    retained.read()
    retained.program.texts["one"] = "User: hello again"
    assert retained.read()["p/one"].text == "User: hello again"
    assert [path.name for path in retained.folder.glob("*.gz")] == ["one.json.gz"]


def test_nothing_counts_as_deleted_while_the_program_can_not_be_read(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.is_readable = False
    assert retained.source.find().files == {}
    assert [path.name for path in retained.folder.glob("*.gz")] == ["one.json.gz"]


def test_copies_end_at_their_age(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.texts.clear()
    assert set(retained.read()) == {"p/one"}
    assert set(retained.pass_days(30)) == {"p/one"}
    assert set(retained.pass_days(1)) == set()
    assert list(retained.folder.glob("*.gz")) == []


def test_clock_that_jumps_forward_and_back_deletes_no_copy(retained: Retained) -> None:
    retained.program.texts |= {"one": "User: hello", "two": "User: again"}
    retained.read()
    retained.program.texts.clear()
    retained.pass_days(20)
    now_ms = retained.clock.now_ms
    for years in (100, 1, -60):
        for _ in range(12):
            retained.clock.now_ms = now_ms + years * 365 * DAY_MS
            assert set(retained.read()) == {"p/one", "p/two"}
            retained.clock.now_ms = now_ms
            assert set(retained.read()) == {"p/one", "p/two"}
    assert set(Retained(retained.folder).read()) == {"p/one", "p/two"}


def test_machine_that_was_off_for_a_year_keeps_its_copies(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.texts.clear()
    retained.pass_days(2)
    started = Retained(retained.folder)
    started.clock.now_ms = retained.clock.now_ms + 366 * DAY_MS
    assert set(started.read()) == {"p/one"}
    assert set(started.pass_days(27)) == {"p/one"}
    assert set(started.pass_days(2)) == set()


def test_conversation_deleted_while_the_clock_was_wrong_keeps_its_whole_time(retained: Retained) -> None:
    retained.program.texts |= {"one": "User: hello", "two": "User: again"}
    retained.pass_days(40)
    now_ms, retained.clock.now_ms = retained.clock.now_ms, 0
    del retained.program.texts["one"]
    retained.read()
    retained.clock.now_ms = now_ms
    assert set(retained.pass_days(30)) == {"p/one", "p/two"}


def test_copies_end_at_their_age_while_their_program_changes_nothing(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.texts.clear()
    retained.program.unchanged = retained.program.find()
    assert set(retained.read()) == {"p/one"}
    assert set(retained.pass_days(29)) == {"p/one"}
    assert set(retained.pass_days(2)) == set()
    assert list(retained.folder.glob("*.gz")) == []


def test_copies_beyond_the_size_are_removed_deleted_ones_first(tmp_path: Path) -> None:
    retained = Retained(tmp_path / "retained", RetainedLimits(days=0, megabytes=1))
    noise = [bytes((at * at * 7919 + seed) % 251 for at in range(900_000)).hex() for seed in (1, 2)]
    retained.program.texts["old"] = noise[0]
    retained.read()
    retained.program.texts.pop("old")
    retained.read()
    retained.program.texts |= {f"new{at}": noise[1][at:] for at in range(3)}
    retained.read()
    size = sum(path.stat().st_size for path in retained.folder.iterdir())
    assert size <= 1_048_576


def test_forgotten_copies_are_gone_and_others_stay(retained: Retained) -> None:
    retained.program.texts |= {"one": "User: a", "two": "User: b", "three": "User: c"}
    retained.read()
    del retained.program.texts["one"], retained.program.texts["two"]
    retained.pass_days(1)
    for name in (".one.tmp", ".memd-0123456789abcdef.tmp"):
        (retained.folder / name).write_text("an unfinished copy of a killed daemon")
    assert retained.source.forget(["one"]) == 1
    assert set(retained.read()) == {"p/two", "p/three"}
    assert retained.source.forget(["two", "nothing"]) == 1
    assert set(retained.read()) == {"p/three"}
    assert sorted(path.name for path in retained.folder.iterdir()) == [".days.json", "three.json.gz"]
    assert retained.source.forget(["three"]) == 1
    assert list(retained.folder.iterdir()) == []


def test_a_new_process_knows_the_copies(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    again = Retained(retained.folder)
    assert again.read()["p/one"].text == "User: hello"


def test_a_damaged_copy_is_refused_with_what_to_do(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    retained.program.texts.clear()
    (found,) = retained.source.find().files.values()
    Path(found.location).write_bytes(b"damaged")
    with pytest.raises(FileUnreadableError) as caught:
        retained.source.load(found)
    assert "remove the copy" in caught.value.hint


def test_copies_are_readable_by_the_user_alone(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.read()
    assert retained.folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in retained.folder.iterdir()] == [0o600]


def test_growth_is_that_of_the_programs_conversation(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    (found,) = retained.source.find().files.values()
    assert retained.source.growth(found, None) == (11, 1)


def test_the_same_listing_is_returned_while_nothing_changed(retained: Retained) -> None:
    retained.program.texts["one"] = "User: hello"
    retained.program.unchanged = retained.program.find()
    assert retained.source.find() is retained.source.find()
