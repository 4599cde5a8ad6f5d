"""A wall clock that jumps while the daemon runs: nothing waits for it to come round, and nothing is older than new."""

from __future__ import annotations

import pytest

from memd.system.clock import wall_clock_ms
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.wall_time import WallTime

WORDS = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
UNWATCHED = {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}}}

YEAR_S = 365 * 86_400

MOST_SEARCHES = 300
"""More than the quickest daemon answers within the time that kernels stamp files by."""


def finds(client: Client, word: str) -> bool:
    """Return whether a search finds a word; the reply must not say that anything has waited for less than nothing."""
    reply = client.search(word)
    assert reply.pending.oldest_ms >= 0
    return any(word in hit.snippet for hit in reply.hits)


@pytest.mark.parametrize("settings", [WORDS, UNWATCHED], ids=["watched", "unwatched"])
def test_the_daemon_finds_new_edits_at_once_whatever_the_clock_does(settings: dict[str, object]) -> None:
    with StateHome(settings) as home:
        wall = WallTime(home.root)
        home.note("memory/old.md", "the harpsichord was tuned")
        with DaemonProcess(home, wall.environ) as daemon, daemon.client() as client:
            assert finds(client, "harpsichord")
            # when the clock goes back by a year, back to the truth, ahead by a year, to 1970 and back
            for number, ahead_s in enumerate((-YEAR_S, 0, YEAR_S, 60 - wall_clock_ms() // 1000, 0)):
                wall.set(ahead_s)
                word = f"marzipan{number}"
                home.note(f"memory/new-{number}.md", f"we bought {word}")
                home.note("memory/old.md", f"the harpsichord was tuned, said {word}s")
                # then what was edited is found at once, the old file anew and the new one
                assert finds(client, word)
                assert finds(client, f"{word}s")
                agent = client.status().agents[0]
                assert agent.files_pending == 0
                assert agent.oldest_pending_ms >= 0
                assert agent.last_sync_ms is not None
                assert agent.last_sync_ms <= wall_clock_ms() + (ahead_s + 60) * 1000
            assert client.status().uptime_ms < 120_000
            assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]


def test_files_from_the_future_are_not_read_again_at_each_search() -> None:
    with StateHome(UNWATCHED) as home:
        wall = WallTime(home.root)
        for number in range(5):
            home.note(f"memory/{number}.md", f"note {number} of the marzipan")
        wall.set(-YEAR_S)
        # given a daemon whose clock is a year behind the files' times
        with DaemonProcess(home, wall.environ) as daemon, daemon.client() as client:
            # when it has read each of them twice, later than kernels stamp files by the same time
            counts = [same(client)]
            while len(counts) < 2 or counts[-1] > counts[-2]:
                assert finds(client, "marzipan")
                counts.append(same(client))
                assert len(counts) < MOST_SEARCHES, "they are read again and again"
            for _ in range(3):
                assert finds(client, "marzipan")
            # then it leaves them alone, until one changes
            assert same(client) == counts[-1]
            home.note("memory/3.md", "note 3 of the nougat")
            assert finds(client, "nougat")


def same(client: Client) -> float:
    """Return how many files were read again though they were what the index held."""
    figures = {figure.name: figure for figure in client.metrics().metrics}
    samples = figures["memd_files_taken_total"].samples
    return sum(sample.value for sample in samples if sample.labels.get("outcome") == "same")
