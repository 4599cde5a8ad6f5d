"""`memctl forget --everywhere` with real daemons and a repository between them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from contextlib import suppress
from functools import partial

import pytest

from memd_client.errors import MemdError
from tests.support.forgetful_machines import ForgetfulMachine, forgetful_machines, has_object, syncing
from tests.support.machines import connect, git_in, settle, wait_until

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SECRET = "Anna Kowalska lives in Lisbon"
OTHER = "The cormorant gateway listens on port 8443"


def fill(laptop: ForgetfulMachine, server: ForgetfulMachine, url: str) -> None:
    """Put the text in five places: a fact, a daily note, a conversation, a retained copy and the remote's history."""
    laptop.note("MEMORY.md", f"# Memory\n\n- {OTHER}\n- {SECRET}\n")
    connect([laptop, server], url)
    laptop.note("MEMORY.md", f"# Memory\n\n- {OTHER}\n")
    with laptop.daemon.client() as client:
        client.memory_store(SECRET)
    laptop.append("memory/2026-03-05.md", f"- 10:00 {OTHER}\n- 11:00 {SECRET}, near the river\n")
    settle([laptop, server])
    for machine in (laptop, server):
        machine.home.session(1, f"By the way, {SECRET}. Fix the build", "I will")
        machine.retain(2, f"{SECRET}!", "Noted")


def has_no_trace(text: str, *machines: ForgetfulMachine) -> bool:
    """Return whether a text is nowhere on some machines."""
    return all(machine.traces(text) == [] for machine in machines)


def test_fact_in_five_places_on_two_machines_is_forgotten_with_one_command() -> None:
    with forgetful_machines(2) as ((laptop, server), hub):
        fill(laptop, server, hub.url)
        assert has_object(hub.path, SECRET)

        with syncing(server):
            receipt = laptop.forget(SECRET)
        settle([laptop, server])

        by_place = {(row.place, row.state) for row in receipt.places}
        assert by_place >= {
            ("facts", "erased"),
            ("notes", "erased"),
            ("conversations", "hidden"),
            ("retained copies", "erased"),
            ("remote's history", "erased"),
            ("other machine", "erased"),
        }
        assert not any(row.state == "failed" for row in receipt.places)
        for machine in (laptop, server):
            assert machine.traces(SECRET) == []
            assert OTHER in machine.text("MEMORY.md")
            assert OTHER in machine.text("memory/2026-03-05.md")
        assert not has_object(hub.path, SECRET)
        git_in(hub.path, "fsck", "--full", "--strict")


@pytest.mark.long
def test_machine_that_was_away_comes_back_with_the_note_and_forgets_it() -> None:
    with forgetful_machines(3) as ((laptop, server, desk), hub):
        fill(laptop, server, hub.url)
        desk.remote("clone", url=hub.url)
        settle([laptop, server, desk])
        desk.retain(3, f"Desk: {SECRET}", "Noted")
        name = desk.status().machine
        desk.daemon.stop()
        desk.append("memory/2026-03-05.md", f"- 12:00 written at the desk\n- 13:00 {SECRET}!\n")
        desk.note("memory/desk.md", f"{SECRET}\n\nA paragraph of the desk.\n")

        receipt = laptop.forget(SECRET)
        laptop.note("memory/later.md", "Written later.\n")
        settle([laptop, server])
        desk.daemon.start()
        settle([laptop, server, desk])

        [answer] = [row for row in receipt.places if row.location == name]
        assert (answer.place, answer.state) == ("other machine", "failed")
        assert answer.reason.startswith("it didn't answer yet")
        for machine in (laptop, server, desk):
            assert machine.traces(SECRET) == []
            assert "12:00 written at the desk" in machine.text("memory/2026-03-05.md")
            assert "A paragraph of the desk." in machine.text("memory/desk.md")
            assert machine.text("memory/later.md") == "Written later.\n"
        assert not has_object(hub.path, SECRET)
        laptop.daemon.kill()
        laptop.daemon.start()
        wait_until(lambda: all(row.state != "failed" for row in laptop.receipts()[0].places))


@pytest.mark.long
def test_forget_is_finished_whatever_is_killed() -> None:
    chance = random.Random(48)
    with forgetful_machines(2) as ((laptop, server), hub):
        fill(laptop, server, hub.url)
        lines = []
        for number in range(20):
            text = f"Code number {number} of the northern gate is K{number}QX"
            lines.append(f"Line {number} stays.\n")
            source, target = chance.sample([laptop, server], 2)
            source.append(
                "memory/2026-03-06.md", f"- {number % 24:02}:00 {text}\n- {number % 24:02}:01 {lines[-1]}"
            )
            with suppress(MemdError):
                source.remote("sync")
            if chance.random() < 0.7:
                settle([laptop, server])
            target.append(f"memory/round-{number}.md", f"{text}\n{lines[-1]}")
            killed = chance.choice([laptop, server])
            timer = threading.Timer(chance.uniform(0.05, 9), os.kill, (killed.daemon.pid, signal.SIGKILL))
            timer.start()
            with suppress(MemdError, OSError), syncing(target):
                source.forget(f'"{text}"', wait_s=30)
            timer.join()
            killed.daemon.kill()
            killed.daemon.start()
            with suppress(MemdError):  # again, in case it was killed before it began
                source.forget(f'"{text}"', wait_s=60)
            settle([laptop, server])
            wait_until(partial(has_no_trace, text, laptop, server))
            assert not has_object(hub.path, text)
            for machine in (laptop, server):
                notes = "".join(data.decode() for data in machine.files().values())
                assert [line for line in lines if line.strip() not in notes] == []
            git_in(hub.path, "fsck", "--full")
            print(f"round {number} is done", flush=True)
