"""Machines with one memory, whose places for a text include conversations and retained copies."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memd_client.errors import MemdError
from memd_client.messages import ForgetReceipt
from tests.support.forgetting import ForgetfulHome
from tests.support.machines import BareRepository, MemoryMachine, git_in


class ForgetfulMachine(MemoryMachine):
    """A machine with a vault and Claude Code's sessions."""

    def __init__(self) -> None:
        self.home: ForgetfulHome = ForgetfulHome()
        self.daemon = self.home.daemon()
        self.workspace = self.home.workspace()

    def retain(self, number: int, *messages: str) -> None:
        """Let the daemon keep a copy of a session, whose file is deleted then."""
        session = self.home.session(number, *messages)
        with self.daemon.client() as client:
            client.index()
        session.unlink()

    def forget(self, target: str, wait_s: float = 90) -> ForgetReceipt:
        """Forget a text on all machines and return the receipt."""
        with self.daemon.client(timeout_s=wait_s) as client:
            found = client.forget("find", target, everywhere=True)
            done = client.forget("forget", target, everywhere=True, confirmed=found.found_id)
        return done.receipts[0]

    def receipts(self) -> list[ForgetReceipt]:
        """Return all receipts, the newest first."""
        with self.daemon.client() as client:
            return client.forget("receipts").receipts

    def traces(self, text: str) -> list[str]:
        """Return where a text still is: in the bytes of files, and in objects of git, used or not."""
        files = [str(path) for path in self.home.with_text(text)]
        return files + ([str(self.repository())] if has_object(self.repository(), text) else [])


def has_object(directory: Path, text: str) -> bool:
    """Return whether an object of a repository contains a text, whether anything leads to it or not."""
    return text in git_in(directory, "cat-file", "--batch-all-objects", "--batch", "--buffer")


@contextmanager
def forgetful_machines(count: int) -> Iterator[tuple[list[ForgetfulMachine], BareRepository]]:
    """Yield running machines without notes, and an empty repository."""
    with tempfile.TemporaryDirectory(prefix="memd-hub-", dir="/tmp") as folder:
        made = [ForgetfulMachine() for _ in range(count)]
        try:
            for machine in made:
                machine.workspace.mkdir(parents=True, exist_ok=True)
                machine.daemon.start()
            yield made, BareRepository(Path(folder))
        finally:
            for machine in made:
                machine.close()


@contextmanager
def syncing(*machines: MemoryMachine) -> Iterator[None]:
    """Let machines look at the remote all the time, as machines in use do."""
    is_over = threading.Event()

    def sync() -> None:
        while not is_over.wait(0.5):
            for machine in machines:
                with suppress(MemdError, OSError):
                    machine.remote("sync")

    thread = threading.Thread(target=sync)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
