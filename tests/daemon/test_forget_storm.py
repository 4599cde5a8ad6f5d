"""200 forgets over all places, with kill -9 at random moments: nothing is found again, and nothing else is lost."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from memd_client import Client
from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.forgetting import ForgetfulHome

RUNS, QUICK_RUNS, KILLED_SHARE = 200, 6, 0.5
NAMES = "Anna Boris Clara Dmitri Elif Farah Goran Hana Ivo Jana Karim Lena Marek Nadia Otto Petra".split()
VERBS = "keeps paints borrows repairs hides measures counts photographs polishes labels".split()
THINGS = "lanterns barometers cormorants violins sextants anchors kettles looms prisms bellows".split()


def statement(number: int) -> str:
    """Return a text that no other number has."""
    name, verb, thing = NAMES[number % 16], VERBS[number // 16 % 10], THINGS[number // 160 % 10]
    return f"{name} {verb} exactly {number + 1_000} {thing} in shed {number}"


class ForgetStorm:
    """A memory with numbered statements in all places, of which some are forgotten."""

    def __init__(self, home: ForgetfulHome, rng: random.Random, runs: int) -> None:
        self.home, self.rng = home, rng
        self.goners = [statement(number) for number in range(runs)]
        self.others = [statement(number) for number in range(runs, 2 * runs)]
        self.kept = Counter[str]()
        self.notes = [home.note(f"memory/plan-{number}.md", "# Plan\n\n") for number in range(5)]
        self.notes += [home.vault / f"vault-{number}.md" for number in range(3)]
        facts = home.note("memory/facts.md", "# Facts\n\n")
        sessions: list[list[str]] = [[] for _ in range(12)]
        for text in rng.sample([*self.goners, *self.others], 2 * runs):
            for path in rng.sample(self.notes, 2):
                self._append(path, rng.choice((f"- {text}\n", f"{text}\n", f"- [ ] {text}\n")))
            if rng.random() < 0.4:
                self._append(facts, f"- {text} <!-- fact id=F{len(sessions[0])}x{rng.random():.9f} -->\n")
            for messages in rng.sample(sessions, 2):
                messages.append(f"Please remember this. {text}. Thanks")
        self.transcripts = [home.session(number, *messages) for number, messages in enumerate(sessions)]

    @staticmethod
    def _append(path: Path, line: str) -> None:
        with path.open("a") as file:
            file.write(line)

    def expected(self) -> dict[Path, list[str]]:
        """Return the lines of each note that have to stay."""
        return {
            path: [
                line
                for line in path.read_text().splitlines()
                if not any(text in line for text in self.goners)
            ]
            for path in (*self.notes, self.home.workspace() / "memory" / "facts.md")
        }

    def forget(self, text: str, number: int) -> None:
        """Forget a text; kill the daemon at a random moment in some runs, and start it again."""
        with self.home.daemon() as daemon:
            is_killed = self.rng.random() < KILLED_SHARE
            with daemon.client(timeout_s=60) as client:
                found = client.forget("find", text)
                killing = threading.Thread(target=self._kill, args=(daemon, self.rng.uniform(0, 0.4)))
                if is_killed:
                    killing.start()
                with suppress(MemdError, OSError):
                    client.forget("forget", text, confirmed=found.found_id)
            if is_killed:
                killing.join()

    def _kill(self, daemon: DaemonProcess, wait_s: float) -> None:
        """Kill a daemon some time after it has written a tombstone, or a bit before that."""
        file = self.home.state / "memory" / "forgotten.json"
        before = file.stat().st_mtime_ns if file.exists() else 0
        until = time.monotonic() + 20
        while wait_s > 0.02 and time.monotonic() < until:
            if file.exists() and file.stat().st_mtime_ns != before:
                break
            time.sleep(0.002)  # noqa: TID251 - another process's work
        time.sleep(wait_s)  # noqa: TID251 - a random moment of another process's work
        daemon.kill()


def wait_until_done(client: Client) -> None:
    """Wait until a restarted daemon has finished all forgets."""
    until = time.monotonic() + 300
    while any(receipt.state == "pending" for receipt in client.forget("receipts").receipts):
        assert time.monotonic() < until
        time.sleep(0.05)  # noqa: TID251 - another process's work


def run_storm(home: ForgetfulHome, runs: int) -> None:
    """Forget texts one by one, then check every place."""
    storm = ForgetStorm(home, random.Random(48), runs)
    expected = storm.expected()
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        for path in storm.transcripts[:4]:
            path.unlink()
        for path in storm.transcripts[:2]:
            assert client.search(path.stem) is not None
    for number, text in enumerate(storm.goners):
        storm.forget(text, number)
    with home.daemon() as daemon, daemon.client() as client:
        wait_until_done(client)
        done = {receipt.id for receipt in client.forget("receipts").receipts}
        for text in storm.goners:  # a kill before the first durable step leaves a text that was not forgotten
            with suppress(MemdError):
                found = client.forget("find", text)
                client.forget("forget", text, confirmed=found.found_id)
        assert len(done) >= runs * 0.8
        client.reset(delete_vectors=True)
        assert all(not check.count for row in client.forget("receipts").receipts for check in row.checked)
        for text in storm.others[:20]:
            assert any(text in hit.snippet for hit in client.search(text).hits), text
        for text in storm.goners[:20]:
            assert not any(text in hit.snippet for hit in client.search(text).hits), text
    for text in storm.goners:
        assert home.with_text(text) == [], text
    data = b"".join(data for _, data in home.files()).decode("utf-8", "replace")
    assert [text for text in storm.others if text not in data] == []
    assert {path: path.read_text().splitlines() for path in expected} == expected
    assert list(home.state.rglob("*.tmp")) == []


def test_some_forgets_with_kills_find_nothing_again_and_lose_nothing_else() -> None:
    with ForgetfulHome() as home:
        run_storm(home, QUICK_RUNS)


@pytest.mark.long
def test_200_forgets_with_kills_find_nothing_again_and_lose_nothing_else() -> None:
    with ForgetfulHome() as home:
        run_storm(home, RUNS)
