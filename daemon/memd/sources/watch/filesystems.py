"""Detects file systems on which file events are incomplete.

A kernel reports only its own changes. On a file system that other machines change too (a server, the host of a virtual
machine), their changes raise no event here, so such folders are polled.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct, field

MOUNT_TABLE = Path("/proc/self/mountinfo")
"""Linux's list of mounts; other systems have none, and every path counts as local."""

FOREIGN_KINDS = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs coda ceph lustre glusterfs orangefs pvfs2 beegfs gpfs gfs2 ocfs2 "
    "9p v9fs virtiofs vboxsf vmhgfs prl_fs drvfs fuse".split()
)
"""File systems that other machines write to: servers, clusters, and folders a host shares with its guests (WSL's
`/mnt/c` is 9p)."""

LOCAL_FUSE_KINDS = frozenset({"fuseblk", "fuse.fuse-overlayfs"})
"""FUSE file systems that only this machine writes to: disks (NTFS, exFAT), and the layers of a rootless container.
All other kinds of FUSE count as foreign, because their backend is unknown."""

OCTAL = re.compile(r"\\([0-7]{3})")


def is_foreign(kind: str) -> bool:
    """Return whether a kind of file system may change without an event."""
    if kind in LOCAL_FUSE_KINDS:
        return False
    return kind.partition(".")[0] in FOREIGN_KINDS


class Mounts(Struct, frozen=True):
    """The mount table: the kind of each mount point, and the foreign devices."""

    kinds: dict[str, str] = field(default_factory=dict)
    foreign_devices: dict[int, str] = field(default_factory=dict)

    def find_foreign(self, path: str) -> str | None:
        """Return the kind of file system of a path if it is foreign, else None; never accesses the disk."""
        if not self.foreign_devices:
            return None
        here = path
        while True:
            kind = self.kinds.get(here)
            if kind is not None:
                return kind if is_foreign(kind) else None
            above = os.path.dirname(here)
            if above == here:
                return None
            here = above

    def why_foreign(self, path: str, device: int | None = None) -> str:
        """Return why events of a path are incomplete, from its device if known; empty if they are complete."""
        kind = self.find_foreign(path) if device is None else self.foreign_devices.get(device)
        return (
            ""
            if kind is None
            else f"{path} is on {kind}, on which changes by other machines raise no file events"
        )


def load_mounts(table: Path = MOUNT_TABLE) -> Mounts:
    """Return the current mount table (blocking)."""
    try:
        text = table.read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return Mounts()
    kinds: dict[str, str] = {}
    devices: dict[int, str] = {}
    for line in text.splitlines():
        target, _, source = line.partition(" - ")
        fields = target.split(" ")
        if len(fields) > 4 and source:
            kind = source.split(" ")[0]
            # A later mount hides an earlier one at the same mount point.
            kinds[OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4])] = kind
            if is_foreign(kind):
                major, _, minor = fields[2].partition(":")
                devices[os.makedev(int(major), int(minor))] = kind
    return Mounts(kinds, devices)
