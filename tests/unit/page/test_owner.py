"""A process of another user is rejected, if the system reports the owner."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from memd.page.access import is_owned_by_user

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
QUEUES = "00000000:00000000 00:00000000 00000000"
OURS, THEIRS = ("127.0.0.1", 37_169), ("127.0.0.1", 55_114)
PLAIN = "0100007F:D74A 0100007F:9131"
MAPPED = "0000000000000000FFFF00000100007F:D74A 0000000000000000FFFF00000100007F:9131"

little_endian = pytest.mark.skipif(
    sys.byteorder != "little", reason="the rows are those of a little-endian machine"
)


def table(tmp_path: Path, ends: str, uid: int, state: str = "01", inode: int = 4041) -> tuple[Path]:
    """Return a list of connections with one row, as Linux writes it."""
    path = tmp_path / "tcp"
    path.write_text(f"{HEAD}   0: {ends} {state} {QUEUES} {uid:5} 0 {inode} 2 f6 20 0 0 10 -1\n")
    return (path,)


@little_endian
@pytest.mark.parametrize("ends", [PLAIN, MAPPED])
def test_a_connections_owner_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert is_owned_by_user(OURS, THEIRS, table(tmp_path, ends, 1000))
    assert is_owned_by_user(OURS, THEIRS, table(tmp_path, ends, 0))
    assert not is_owned_by_user(OURS, THEIRS, table(tmp_path, ends, 1001))


@little_endian
def test_what_its_program_has_closed_is_not_taken_for_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert not is_owned_by_user(OURS, THEIRS, table(tmp_path, PLAIN, 0, state="05"))
    assert not is_owned_by_user(OURS, THEIRS, table(tmp_path, PLAIN, 0, inode=0))


@little_endian
def test_a_connection_that_is_not_listed_stays_out_and_without_a_list_the_keys_decide(tmp_path: Path) -> None:
    other_way_round = " ".join(reversed(PLAIN.split()))

    assert not is_owned_by_user(OURS, THEIRS, table(tmp_path, other_way_round, os.geteuid()))
    assert is_owned_by_user(OURS, THEIRS, (tmp_path / "none",))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists connections with their owners")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_process_of_ones_own_comes_in(family: socket.AddressFamily) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as client:
        prefix = "::ffff:" if family == socket.AF_INET6 else ""
        try:
            client.connect((prefix + "127.0.0.1", listener.getsockname()[1]))
        except OSError:
            pytest.skip("this machine has no IPv6")
        accepted, theirs = listener.accept()
        with accepted:
            assert is_owned_by_user(accepted.getsockname(), theirs)
