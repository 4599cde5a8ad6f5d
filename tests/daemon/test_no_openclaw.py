"""A daemon without OpenClaw: memd's own folders, and a later OpenClaw."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memd.system.state_dirs import own_state_dir
from tests.support.daemon import DaemonProcess
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    """A daemon in an empty home directory."""
    with StateHome() as home:
        nowhere = {"OPENCLAW_STATE_DIR": "", "OPENCLAW_CONFIG_PATH": "", "XDG_DATA_HOME": ""}
        with DaemonProcess(home, {**nowhere, "HOME": str(home.root)}) as daemon:
            yield daemon


def test_memd_uses_its_own_folders_until_openclaw_is_installed(daemon: DaemonProcess) -> None:
    home = daemon.home.root
    own = own_state_dir({}, home)
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
        wait_until(lambda: client.status().state_dir == str(home / ".openclaw"))
        assert [hit.path for hit in client.search("lease").hits] == ["MEMORY.md"]
