"""Detection of file systems on which file events are incomplete, from the mount table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.sources.watch.filesystems import MOUNT_TABLE, Mounts, is_foreign, load_mounts

TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home/ann/notes rw,relatime shared:2 master:1 - nfs4 nas:/notes rw,vers=4.2
31 30 8:2 / /home/ann/notes/local rw,relatime - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs
33 22 0:42 / /mnt/my\\040cloud rw - fuse.rclone cloud: rw
34 22 8:3 / /mnt/usb rw - fuseblk /dev/sdc1 rw
35 22 0:43 / /srv rw - cifs //nas/srv rw
36 22 8:4 / /srv rw - btrfs /dev/sdd1 rw
broken line
"""


def _mounts(tmp_path: Path) -> Mounts:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    return load_mounts(table)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/notes", "nfs4"),
        ("/home/ann/notes/memory/2026", "nfs4"),
        ("/home/ann/notes-too", None),
        ("/home/ann/notes/local/memory", None),
        ("/mnt/c/Users/ann", "9p"),
        ("/mnt/my cloud/memory", "fuse.rclone"),
        ("/mnt/usb/memory", None),
        ("/srv/memory", None),
        ("/", None),
    ],
)
def test_path_has_the_file_system_of_the_nearest_mount(tmp_path: Path, path: str, kind: str | None) -> None:
    assert _mounts(tmp_path).find_foreign(path) == kind


def test_foreign_device_is_found_by_its_number(tmp_path: Path) -> None:
    assert _mounts(tmp_path).foreign_devices[os.makedev(0, 40)] == "nfs4"
    assert os.makedev(8, 1) not in _mounts(tmp_path).foreign_devices


@pytest.mark.parametrize(
    "kind", ["nfs", "cifs", "smb3", "9p", "virtiofs", "vboxsf", "afs", "fuse", "fuse.sshfs"]
)
def test_shared_file_systems_are_foreign(kind: str) -> None:
    assert is_foreign(kind)


@pytest.mark.parametrize(
    "kind", ["ext4", "btrfs", "xfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs", "zfs"]
)
def test_local_file_systems_are_not_foreign(kind: str) -> None:
    assert not is_foreign(kind)


def test_every_path_is_local_without_a_mount_table(tmp_path: Path) -> None:
    assert load_mounts(tmp_path / "nothing").find_foreign("/home/ann") is None


@pytest.mark.skipif(not MOUNT_TABLE.exists(), reason="the kernel keeps no such list here")
def test_mount_table_of_this_machine_is_read() -> None:
    assert "/" in load_mounts().kinds
