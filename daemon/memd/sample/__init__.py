"""A sample memory of two fictional people, for trying searches."""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from memd_client.discovery import home_directory, socket_path
from memd_client.state_folder import data_dir

QUERY = "why was the archive search slow"
"""A query on the sample that keyword search and vector search both answer."""


def copy_sample(target: Path) -> None:
    """Copy the sample into a folder that serves as a state directory.

    Existing files are kept, so it can be repeated without overwriting edited notes.
    """
    _copy(files(__name__) / "state", target)


def sample_dir() -> Path:
    """Return the folder of the user's copy of the sample; may be missing."""
    return Path(data_dir(os.environ, home_directory()), "sample")


def sample_variables() -> dict[str, str]:
    """Return the environment variables that make clients, `memctl` and a daemon use the sample."""
    folder = sample_dir()
    return {
        "OPENCLAW_STATE_DIR": str(folder),
        "OPENCLAW_CONFIG_PATH": str(folder / "openclaw.json"),
        "MEMD_CONFIG": str(folder / "memd.toml"),
        "MEMD_SOCKET": str(Path(socket_path()).with_name("sample.sock")),
    }


def use_sample() -> Path:
    """Create the user's copy of the sample if it is missing, point this process at it, and return its folder."""
    folder = sample_dir()
    copy_sample(folder)
    os.environ.update(sample_variables())
    return folder


def _copy(source: Traversable, target: Path) -> None:
    """Copy the missing files of a folder, recursively."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in source.iterdir():
        place = target / entry.name
        if entry.is_dir():
            _copy(entry, place)
        elif not place.exists():
            place.write_bytes(entry.read_bytes())
