"""A small memory of two made-up people, to try searches on before there is one of your own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the sample whose best hit is known."""

    agent: str
    query: str
    path: str


def copy_sample(target: Path) -> None:
    """Put the sample into a folder that can be used as a state directory.

    What is there already stays as it is, so that it can be repeated and edited notes are never overwritten.

    Args:
        target: The folder; made, with its parents, where it is missing.

    Raises:
        OSError: The folder or a file can't be written.
    """
    _copy(files(__name__) / "state", target)


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
