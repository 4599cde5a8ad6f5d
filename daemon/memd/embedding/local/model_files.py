"""The models directory: lists, removes and locks models. Functions block."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from memd.embedding.local.reference import NAMED_MODELS, ModelReference, parse_reference
from memd.system.state_file import load_whole
from memd_client.errors import ConfigInvalidError, DownloadFailedError, ModelMissingError, PathRefusedError

REFERENCE_SUFFIX: Final = ".ref"
"""The suffix of the file that stores the reference a model was pulled by."""

PART_SUFFIX: Final = ".part"
TAG_SUFFIX: Final = ".part.tag"
"""Suffixes of an incomplete download and of its ETag; both files are removed on completion."""

SOURCE_DIRS: Final = {name: f"{name}-source" for name in NAMED_MODELS}
"""Folders of the models directory for the source files of named models, during conversion."""

NAMES: Final = {file: name for name, file in NAMED_MODELS.items()}

REFERENCE_BYTES: Final = 8000

LOCK_FILE: Final = ".pull.lock"
LOCK_POLL_SECONDS: Final = 0.5


class StoredModel(Struct, frozen=True):
    """A model file; `reference` is the configured or pulled one, else the name."""

    reference: str
    path: Path
    size_bytes: int


def write_reference(file: Path, wanted: ModelReference) -> None:
    """Store the reference a model was pulled by."""
    reference_file = file.with_name(file.name + REFERENCE_SUFFIX)
    reference_file.write_text(wanted.shown + "\n", encoding="utf-8")


def load_models(directories: Sequence[Path], named: Mapping[Path, str]) -> list[StoredModel]:
    """Return the models in directories, by path; unreadable ones are empty."""
    found: dict[Path, StoredModel] = {}
    inside = [path for directory in dict.fromkeys(directories) for path in _gguf_files(directory)]
    for path in [*inside, *named]:
        with contextlib.suppress(OSError):  # it doesn't exist, or no longer
            if path.is_file():
                text = named.get(path) or _load_reference(path) or path.name
                found[path] = StoredModel(text, path, path.stat().st_size)
    return [found[path] for path in sorted(found)]


def _gguf_files(directory: Path) -> list[Path]:
    """Return complete models; names of incomplete ones begin with a dot."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [directory / name for name in names if name.endswith(".gguf") and not name.startswith(".")]


def _load_reference(path: Path) -> str:
    """Return the reference a file was pulled by, empty if unknown."""
    if path.name in NAMES:
        return NAMES[path.name]
    reference_file = path.with_name(path.name + REFERENCE_SUFFIX)
    try:
        text = load_whole(reference_file, REFERENCE_BYTES).decode().strip()
        return text if parse_reference(text).file(path.parent) == path else ""
    except (OSError, ValueError, ConfigInvalidError):
        return ""


def find_removable(reference: str, directories: Sequence[Path]) -> list[Path]:
    """Return the model files of a reference, complete or not; raise if there is none."""
    wanted = parse_reference(reference)
    candidates = [_inside(wanted, directory) for directory in dict.fromkeys(directories)]
    if wanted.kind == "path" and not any(candidates):
        kept = ", ".join(str(directory) for directory in directories)
        raise PathRefusedError(
            f"{wanted.file_name} is outside the models directories ({kept})",
            hint="remove the file with `rm`",
        )
    found = [path for path in candidates if path and any(os.path.lexists(each) for each in _files_of(path))]
    if not found:
        raise ModelMissingError(
            f"model {wanted.shown} is not on disk", hint="run `memctl model list` to see the models on disk"
        )
    return found


def _inside(wanted: ModelReference, directory: Path) -> Path | None:
    """Return a reference's file in a directory, None if it is elsewhere."""
    file = wanted.file(directory)
    if wanted.kind != "path":
        return file
    if os.sep not in wanted.file_name and file.name.endswith(".gguf"):
        return directory / file.name
    is_same_directory = os.path.realpath(file.parent) == os.path.realpath(directory)
    return directory / file.name if is_same_directory and file.name.endswith(".gguf") else None


def _files_of(path: Path) -> list[Path]:
    """Return all files of a model: itself, its reference, its incomplete download."""
    return [path, *(path.with_name(path.name + end) for end in (REFERENCE_SUFFIX, PART_SUFFIX, TAG_SUFFIX))]


def remove_model(path: Path) -> int:
    """Remove a model's files and its source files, even if it is loaded; return the bytes freed."""
    freed = 0
    for file in _files_of(path):
        with contextlib.suppress(FileNotFoundError):
            size = file.lstat().st_size
            file.unlink()
            freed += size
    if name := NAMES.get(path.name):
        shutil.rmtree(path.parent / SOURCE_DIRS[name], ignore_errors=True)
    return freed


@contextlib.asynccontextmanager
async def lock_models(
    models_dir: Path, progress: Callable[[str, int, int, str], None]
) -> AsyncIterator[None]:
    """Hold the models directory's lock, which excludes other processes."""
    file = await trio.to_thread.run_sync(_open_lock, models_dir)
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress("wait", 0, 0, "another process is pulling a model")
                await trio.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(file)


def _open_lock(models_dir: Path) -> int:
    """Open the lock file; create it and its directory if they don't exist."""
    try:
        models_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(models_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DownloadFailedError(
            f"models can't be stored in {models_dir}: {error.strerror}",
            hint="check its permissions, or set MEMD_MODEL_DIR to another directory",
        ) from None
