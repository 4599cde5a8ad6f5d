"""A small memory of two made-up people, to try searches on before there is one of your own."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from memd.system.state_dirs import data_dir
from memd_client.discovery import home_directory, socket_path

QUERY = "why was the archive search slow"
"""A first search of the sample: keywords find its note, and so do vectors."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the sample whose best hit is known."""

    agent: str
    query: str
    path: str


def copy_sample(target: Path) -> None:
    """Put the sample into a folder that can be used as a state directory.

    What is there already stays as it is, so that it can be repeated and edited notes are never overwritten.
    """
    _copy(files(__name__) / "state", target)


def sample_dir() -> Path:
    """Return where the user's copy of the sample is, or would be."""
    return data_dir(os.environ, Path(home_directory())) / "sample"


def sample_variables() -> dict[str, str]:
    """Return the environment variables that lead clients, `memctl` and a daemon of its own to the sample."""
    folder = sample_dir()
    return {
        "OPENCLAW_STATE_DIR": str(folder),
        "OPENCLAW_CONFIG_PATH": str(folder / "openclaw.json"),
        "MEMD_CONFIG": str(folder / "memd.toml"),
        "MEMD_SOCKET": str(Path(socket_path()).with_name("sample.sock")),
    }


def use_sample() -> Path:
    """Make the user's copy of the sample if it is missing, lead this process to it, and return its folder."""
    folder = sample_dir()
    copy_sample(folder)
    os.environ.update(sample_variables())
    return folder


def load_questions() -> list[Question]:
    """Return questions to the sample, each with the path of its right first hit."""
    text = (files(__name__) / "questions.json").read_text("utf-8")
    return [Question(**item) for item in json.loads(text)]


def _copy(source: Traversable, target: Path) -> None:
    """Copy what is missing of a folder and the folders below it."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in source.iterdir():
        place = target / entry.name
        if entry.is_dir():
            _copy(entry, place)
        elif not place.exists():
            place.write_bytes(entry.read_bytes())
