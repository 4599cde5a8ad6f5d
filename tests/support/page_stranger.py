"""Another user of the machine, who tries the page's port."""

from __future__ import annotations

import os
import shutil
import subprocess

NOBODY = 65_534

TALK = 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 9; printf "%s" "$2" >&3; cat <&3'
"""What the stranger runs: a shell is there for everybody, an interpreter in somebody's home is not."""


def can_be_another_user() -> bool:
    """Return whether a process of another user can be started here."""
    return os.geteuid() == 0 and shutil.which("bash") is not None


def ask_as_another_user(port: int, request: bytes) -> bytes:
    """Return what another user's process is answered."""
    shell = shutil.which("bash")
    assert shell is not None
    said = subprocess.run(
        [shell, "-c", TALK, "talk", str(port), request.decode()],
        user=NOBODY,
        group=NOBODY,
        cwd="/",
        env={},
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert said.returncode != 9, "the port could not be reached"
    return said.stdout
