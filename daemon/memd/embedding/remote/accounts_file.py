"""What is known of accounts, as a JSON file: read whole, replaced whole. Blocks: for a thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memd.system.state_file import load_whole, replace_whole

FORMAT: Final = 1

MOST_BYTES: Final = 1_000_000
"""A larger file is not ours: an account takes about 500 bytes."""


def load_records(path: Path) -> dict[str, Any]:
    """Return what the file holds; empty where there is none."""
    try:
        body = load_whole(path, MOST_BYTES, through_link=True)
    except FileNotFoundError:
        return {}
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError("it has another format")
    return value


def replace_records(path: Path, records: Mapping[str, Any]) -> None:
    """Write the file; after a power cut a provider is asked once more, which is all that may be lost."""
    replace_whole(path, json.dumps({"format": FORMAT, **records}, indent=1).encode("ascii"))
