"""Whose process is at the other end of a loopback connection, where the system tells.

A port of 127.0.0.1 can be reached by every user of the machine. On Linux the kernel lists each connection with its
owner; elsewhere the page's keys alone decide.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Where Linux lists connections. One of a program that speaks IPv6 stands in the second, whatever it connects to."""

ESTABLISHED = "01"

ROOT = 0

Address = tuple[str, int]


def may_enter(ours: Address, theirs: Address, tables: Sequence[Path] = TABLES) -> bool:
    """Return whether a connection's other end is the daemon's own user, or root, who may do anything anyway."""
    told = False
    for table in tables:
        try:
            lines = table.read_text("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        told = True
        for state, uid, inode in _rows(lines, ours, theirs):
            if uid == ROOT and os.geteuid() != ROOT:
                # A connection whose program has closed it has no owner any more, and is listed as root's.
                return state == ESTABLISHED and inode != "0"
            return uid == os.geteuid()
    return not told


def _rows(lines: list[str], ours: Address, theirs: Address) -> Iterator[tuple[str, int, str]]:
    """Return state, user and inode of the other end's socket, where a table lists it."""
    ends = {(_hex(theirs, mapped), _hex(ours, mapped)) for mapped in (False, True)}
    for line in lines[1:]:
        fields = line.split()
        if len(fields) > 9 and (fields[1], fields[2]) in ends:
            yield fields[3], int(fields[7]), fields[9]


def _hex(address: Address, mapped: bool) -> str:
    """Return an address as the tables spell it: words of 32 bits in the machine's order, then the port."""
    packed = ipaddress.IPv4Address(address[0]).packed
    if mapped:
        packed = bytes(10) + b"\xff\xff" + packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"
