"""Who may connect."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import Any

import pytest

from memd.rpc.server import check_peer
from memd_client.discovery import peer_uid
from memd_client.errors import PeerRefusedError

XUCRED = "=IIh2x16I"
"""macOS's `struct xucred`: version, uid, how many groups, two bytes to fill up, and 16 groups."""


class MacPeer:
    """A socket that answers as macOS does, and with nothing else."""

    def __init__(self, credentials: bytes) -> None:
        self._credentials = credentials

    def getsockopt(self, level: int, name: int, size: int) -> bytes:
        """Return LOCAL_PEERCRED at SOL_LOCAL, cut to the size asked for."""
        assert (level, name) == (0, 1)
        return self._credentials[:size]


def mac_peer(uid: int, groups: tuple[int, ...] = (20, 12, 61), version: int = 0) -> Any:
    """Return the socket of a process with a user and groups."""
    padded = (*groups, *[0] * (16 - len(groups)))
    return MacPeer(struct.pack(XUCRED, version, uid, len(groups), *padded))


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the code take its branch for macOS."""
    monkeypatch.setattr(sys, "platform", "darwin")


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


@pytest.mark.usefixtures("on_a_mac")
@pytest.mark.parametrize("uid", [0, 501, 2**32 - 2])  # the last is the user id of unprivileged services
def test_the_credentials_of_macos_are_read(uid: int) -> None:
    assert struct.calcsize(XUCRED) == 76
    assert peer_uid(mac_peer(uid)) == uid


@pytest.mark.usefixtures("on_a_mac")
def test_on_macos_too_our_own_user_alone_may_connect() -> None:
    check_peer(mac_peer(os.geteuid()))
    with pytest.raises(PeerRefusedError, match=f"the peer is uid {os.geteuid() + 1}"):
        check_peer(mac_peer(os.geteuid() + 1, groups=(os.getegid(),)))  # our group is not enough


@pytest.mark.usefixtures("on_a_mac")
@pytest.mark.parametrize("size", [0, 4, 7])
def test_a_truncated_peer_credential_is_rejected(size: int) -> None:
    whole = struct.pack(XUCRED, 0, os.geteuid(), 1, *[0] * 16)
    peer: Any = MacPeer(whole[:size])
    with pytest.raises(PeerRefusedError, match="does not report the peer's user id"):
        check_peer(peer)


def test_a_failed_peer_lookup_is_rejected() -> None:
    class Gone:
        def getsockopt(self, level: int, name: int, size: int) -> bytes:
            raise OSError(107, "Transport endpoint is not connected")

    with pytest.raises(PeerRefusedError, match="Transport endpoint is not connected"):
        check_peer(Gone())


def test_without_peer_lookup_the_directory_protects_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    check_peer(None)
