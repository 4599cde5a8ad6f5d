"""What is still true: a real daemon with dated notes and facts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome

OLD, NEW = "memory/2026-01-10.md", "memory/2026-03-02.md"


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(KEYWORD_ONLY) as home:
        home.note(OLD, "# Ports\n\nThe staging database runs on port 5433.\n")
        home.note(NEW, "# Ports\n\nThe staging database now runs on port 5544.\n")
        home.note("memory/2026-02-01.md", "# Ports\n\nThe production database runs on port 5432.\n")
        yield home


def test_the_current_note_comes_first_and_the_outdated_one_names_it(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        hits = client.search("staging database port").hits
        past = client.search("what was the staging database port before").hits

    places = [hit.path for hit in hits]
    assert places.index(NEW) < places.index(OLD)
    for found in (hits, past):
        marks = {hit.path: hit.superseded_by for hit in found}
        assert {path for path, mark in marks.items() if mark is not None} == {OLD}
        mark = marks[OLD]
        assert mark is not None
        assert (mark.citation, mark.date, mark.outdated_date) == (f"{NEW}#L3", "2026-03-02", "2026-01-10")


def test_a_stored_fact_supersedes_an_earlier_one(home: StateHome) -> None:
    lines = ["- The deploy window of the shop is Friday <!-- fact id=window created=2026-01-10T09:00:00Z -->"]
    lines += [f"- Harbour lamp {number} is green <!-- fact id=lamp-{number} -->" for number in range(60)]
    home.note("memory/facts.md", "# Facts\n\n" + "".join(f"{line}\n" for line in lines))

    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        stored = client.memory_store("The deploy window of the shop is Tuesday")
        hits = [hit for hit in client.search("deploy window shop").hits if hit.path == stored.path]

    assert stored.supersedes is not None
    assert (stored.supersedes.id, stored.supersedes.line) == ("window", 3)
    assert ["Tuesday" in hit.snippet for hit in hits[:2]] == [True, False]
    mark = hits[1].superseded_by
    assert mark is not None
    assert (mark.citation, mark.outdated_date) == (f"{stored.path}#L{stored.line}", "2026-01-10")
