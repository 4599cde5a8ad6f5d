"""What is known of accounts, as a JSON file: read whole, replaced whole. Blocks: for a thread."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FORMAT: Final = 1

MOST_BYTES: Final = 1_000_000
"""A larger file is not ours: an account takes about 500 bytes."""


def load_records(path: Path) -> dict[str, Any]:
    """Return what the file holds; empty where there is none.

    Raises:
        OSError: It can't be read.
        ValueError: It is not a file of this format.
    """
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a plain file")
            body = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(body) > MOST_BYTES:
        raise ValueError("it is too large")
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError("it has another format")
    return value


def replace_records(path: Path, records: Mapping[str, Any]) -> None:
    """Write the file, so that a reader sees the old one or the new one and never half of it.

    Not synced to the disk: after a power cut a provider is asked once more, which is all that is lost. The
    directory is made with mode 0700 where it is missing, the file has mode 0600.

    Raises:
        OSError: It can't be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.tmp")
    beside.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(beside, flags, 0o600), "w", encoding="ascii") as file:
        json.dump({"format": FORMAT, **records}, file, indent=1)
    os.replace(beside, path)
