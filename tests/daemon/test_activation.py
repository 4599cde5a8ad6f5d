"""Socket activation: the daemon started by its socket, as systemd does it."""

from __future__ import annotations

import shutil

import pytest

from tests.support.daemon import ActivatedDaemon
from tests.support.state_homes import KEYWORD_ONLY, StateHome

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is not installed"
)


def test_socket_activation_starts_the_daemon_and_answers_the_first_client() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples are red\n")
        with ActivatedDaemon(home) as daemon, daemon.client(connect_timeout_s=60) as client:
            assert client.search("apples").hits[0].path == "MEMORY.md"
            assert client.status().socket == str(home.socket)
