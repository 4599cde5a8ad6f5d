"""A daemon without OpenClaw: memd's own folders, and a later OpenClaw."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memd_client.state_folder import own_state_dir
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome

NOWHERE = {"OPENCLAW_STATE_DIR": "", "OPENCLAW_CONFIG_PATH": "", "XDG_DATA_HOME": ""}


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    """A daemon in an empty home directory."""
    with StateHome() as home:
        (home.root / "memd.toml").unlink()
        nowhere = {**NOWHERE, "HOME": str(home.root), "MEMD_CONFIG": ""}
        with DaemonProcess(home, nowhere) as daemon:
            yield daemon


@contextmanager
def newcomer(models: Path | None = None) -> Iterator[DaemonProcess]:
    """Yield an empty home directory whose daemon `memctl` starts; end that daemon afterwards."""
    with StateHome() as home:
        environ = {"HOME": str(home.root), "MEMD_MODEL_DIR": str(models or home.root / "models")}
        daemon = DaemonProcess(home, {**NOWHERE, **environ})
        try:
            yield daemon
        finally:
            with daemon.client() as client:
                pid = client.hello().pid
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not home.socket.exists())


STARTS = {"MEMD_AUTOSTART": "1"}


def test_first_note_is_found_by_the_first_search_without_warnings() -> None:
    with newcomer() as daemon:
        noted = daemon.memctl("note", "The staging database moved to port 5433.", environ=STARTS)
        found = daemon.memctl("search", "which port does the staging database use")

    assert (noted.stderr, noted.stdout[:16]) == ("starting memd\n", "added to memory/")
    first, *_ = found.stdout.splitlines()
    assert first.startswith("memory/20")
    assert first.endswith("strong 1.00")
    assert "moved to port 5433" in found.stdout
    assert not [word for word in ("degraded", "partial", "pending") if word in found.stdout]
    assert found.stderr == ""


@pytest.mark.model
def test_first_search_in_other_words_waits_for_the_first_vectors() -> None:
    with newcomer(minilm_path().parent) as daemon:
        daemon.memctl("note", "Our cat was ill and the vet gave her new medicine.", environ=STARTS)
        with daemon.client() as client:
            reply = client.search("sick animal treatment", deadline_ms=30_000)

    assert (reply.mode, reply.degraded, reply.partial) == ("hybrid", None, False)


def test_memd_uses_its_own_folders_until_openclaw_is_installed(daemon: DaemonProcess) -> None:
    home = daemon.home.root
    own = Path(own_state_dir({}, str(home)))
    for arguments in ([], ["status"], ["index"], ["search", "lease"], ["agents"]):
        ran = daemon.memctl(*arguments)
        assert ran.returncode == 0, ran.stderr
        assert "memctl sample" in ran.stderr, arguments
    assert not (home / ".openclaw").exists()
    assert not (home / ".clawdbot").exists()
    assert (own / "memory" / "main.memd.sqlite").is_file()

    with daemon.client() as client:
        (own / "workspace" / "memory").mkdir(parents=True)
        (own / "workspace" / "memory" / "home.md").write_text("The lease of the flat ends in May.")
        assert [hit.path for hit in client.search("lease").hits] == ["memory/home.md"]

        (home / ".openclaw" / "workspace").mkdir(parents=True)
        (home / ".openclaw" / "workspace" / "MEMORY.md").write_text("The lease of the office ends in July.")
        (home / ".openclaw" / "openclaw.json").write_text("{}")
        wait_until(lambda: client.status().agents[0].workspace == str(home / ".openclaw" / "workspace"))
        assert client.status().state_dir == str(home / ".openclaw")
        assert [hit.path for hit in client.search("lease").hits] == ["MEMORY.md"]
