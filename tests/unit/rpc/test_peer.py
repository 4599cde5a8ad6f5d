"""Who may connect."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import pytest

from memd.rpc.peer import check_peer
from memd_client.discovery import peer_uid
from memd_client.errors import PeerRefusedError


def test_our_own_process_may_connect() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()
        check_peer(ours)


def test_another_user_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(PeerRefusedError, match=f"the peer is uid {os.getuid()}"):
            check_peer(ours)


def test_the_credentials_of_macos_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Socket:
        def getsockopt(self, level: int, name: int, size: int) -> bytes:
            assert (level, name) == (0, 1)
            return (0).to_bytes(4, sys.byteorder) + (501).to_bytes(4, sys.byteorder) + bytes(size - 8)

    monkeypatch.setattr(sys, "platform", "darwin")
    peer: Any = Socket()
    assert peer_uid(peer) == 501


def test_where_the_system_cannot_tell_the_directory_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    check_peer(None)
