"""Models on disk: which there are, by which reference, and how one is removed. Touches the disk, waits for it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memd.embedding.local.reference import MINILM, MINILM_FILE, ModelReference, parse_reference
from memd.system.state_file import load_whole
from memd_client.errors import ConfigInvalidError, ModelMissingError, PathRefusedError

REFERENCE_SUFFIX: Final = ".ref"
"""Beside a pulled model: the reference it was pulled by, as its name alone doesn't tell where one part of a
reference ends and the next begins."""

PART_SUFFIX: Final = ".part"
TAG_SUFFIX: Final = ".part.tag"
"""What came so far of a download, and the server's word for which version it is of: both go when the file is whole."""

SOURCE_DIR: Final = "minilm-source"
"""Below the models directory while `minilm` is made, and gone afterwards."""

REFERENCE_BYTES: Final = 8000


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model file. `reference` is what it was pulled by, else what the settings call it, else its name."""

    reference: str
    path: Path
    size_bytes: int


def write_reference(file: Path, wanted: ModelReference) -> None:
    """Note beside a pulled model what it was pulled by."""
    note = file.with_name(file.name + REFERENCE_SUFFIX)
    note.write_text(wanted.shown + "\n", encoding="utf-8")


def load_models(directories: Sequence[Path], named: Mapping[Path, str]) -> list[StoredModel]:
    """Return the models in some directories, by path; a directory that is missing or unreadable holds none."""
    found: dict[Path, StoredModel] = {}
    inside = [path for directory in dict.fromkeys(directories) for path in _gguf_files(directory)]
    for path in [*inside, *named]:
        with contextlib.suppress(OSError):  # it went meanwhile, or was never there
            if path.is_file():
                text = named.get(path) or _load_reference(path) or path.name
                found[path] = StoredModel(text, path, path.stat().st_size)
    return [found[path] for path in sorted(found)]


def _gguf_files(directory: Path) -> list[Path]:
    """Return the finished models in a directory; what is being made has a name that begins with a point."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [directory / name for name in names if name.endswith(".gguf") and not name.startswith(".")]


def _load_reference(path: Path) -> str:
    """Return what a file was pulled by, where that is known and means this file."""
    if path.name == MINILM_FILE:
        return MINILM
    note = path.with_name(path.name + REFERENCE_SUFFIX)
    try:
        text = load_whole(note, REFERENCE_BYTES).decode().strip()
        return text if parse_reference(text).file(path.parent) == path else ""
    except (OSError, ValueError, ConfigInvalidError):
        return ""


def find_removable(reference: str, directories: Sequence[Path]) -> list[Path]:
    """Return the model files a reference stands for, whole ones and those of which a part came."""
    wanted = parse_reference(reference)
    places = [_inside(wanted, directory) for directory in dict.fromkeys(directories)]
    if wanted.kind == "path" and not any(places):
        kept = ", ".join(str(directory) for directory in directories)
        raise PathRefusedError(
            f"{wanted.file_name} is not where models are kept ({kept})", hint="Remove that file yourself."
        )
    found = [path for path in places if path and any(os.path.lexists(each) for each in _traces(path))]
    if not found:
        raise ModelMissingError(
            f"there is no model {wanted.shown}", hint="`memctl model list` shows the models on disk."
        )
    return found


def _inside(wanted: ModelReference, directory: Path) -> Path | None:
    """Return the file a reference means in a directory, None where it means one elsewhere."""
    file = wanted.file(directory)
    if wanted.kind != "path":
        return file
    if os.sep not in wanted.file_name and file.name.endswith(".gguf"):
        return directory / file.name
    same_place = os.path.realpath(file.parent) == os.path.realpath(directory)
    return directory / file.name if same_place and file.name.endswith(".gguf") else None


def _traces(path: Path) -> list[Path]:
    """Return everything a model may have left: itself, its note, and what came of a broken download."""
    return [path, *(path.with_name(path.name + end) for end in (REFERENCE_SUFFIX, PART_SUFFIX, TAG_SUFFIX))]


def remove_model(path: Path, *, with_sources: bool) -> int:
    """Remove a model file and what belongs to it; return the bytes that were freed on disk.

    A process that has it loaded keeps it until it ends.
    """
    freed = 0
    for trace in _traces(path):
        with contextlib.suppress(FileNotFoundError):
            size = trace.lstat().st_size
            trace.unlink()
            freed += size
    if with_sources:
        shutil.rmtree(path.parent / SOURCE_DIR, ignore_errors=True)
    return freed
