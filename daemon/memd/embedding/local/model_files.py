"""The models directory: which models are in it, how one is removed, and its lock. Blocks: for a thread."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from memd.embedding.local.reference import MINILM, MINILM_FILE, ModelReference, parse_reference
from memd.system.state_file import load_whole
from memd_client.errors import ConfigInvalidError, DownloadFailedError, ModelMissingError, PathRefusedError

REFERENCE_SUFFIX: Final = ".ref"
"""Of the file beside a pulled model with its reference, which the model's file name doesn't determine."""

PART_SUFFIX: Final = ".part"
TAG_SUFFIX: Final = ".part.tag"
"""Of the part of a download that came so far, and of its version's ETag: both go when the file is complete."""

SOURCE_DIR: Final = "minilm-source"
"""Below the models directory while `minilm` is made."""

REFERENCE_BYTES: Final = 8000

LOCK_FILE: Final = ".pull.lock"
LOCK_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model file. `reference` is what the settings call it, else what it was pulled by, else its name."""

    reference: str
    path: Path
    size_bytes: int


def write_reference(file: Path, wanted: ModelReference) -> None:
    """Write down the reference a model was pulled by."""
    note = file.with_name(file.name + REFERENCE_SUFFIX)
    note.write_text(wanted.shown + "\n", encoding="utf-8")


def load_models(directories: Sequence[Path], named: Mapping[Path, str]) -> list[StoredModel]:
    """Return the models in some directories, by path; a directory that is missing or unreadable has none."""
    found: dict[Path, StoredModel] = {}
    inside = [path for directory in dict.fromkeys(directories) for path in _gguf_files(directory)]
    for path in [*inside, *named]:
        with contextlib.suppress(OSError):  # it went meanwhile, or was never there
            if path.is_file():
                text = named.get(path) or _load_reference(path) or path.name
                found[path] = StoredModel(text, path, path.stat().st_size)
    return [found[path] for path in sorted(found)]


def _gguf_files(directory: Path) -> list[Path]:
    """Return the finished models in a directory; names of unfinished ones begin with a dot."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [directory / name for name in names if name.endswith(".gguf") and not name.startswith(".")]


def _load_reference(path: Path) -> str:
    """Return what a file was pulled by, if that is known and means this file."""
    if path.name == MINILM_FILE:
        return MINILM
    note = path.with_name(path.name + REFERENCE_SUFFIX)
    try:
        text = load_whole(note, REFERENCE_BYTES).decode().strip()
        return text if parse_reference(text).file(path.parent) == path else ""
    except (OSError, ValueError, ConfigInvalidError):
        return ""


def find_removable(reference: str, directories: Sequence[Path]) -> list[Path]:
    """Return the model files a reference stands for, complete or not."""
    wanted = parse_reference(reference)
    places = [_inside(wanted, directory) for directory in dict.fromkeys(directories)]
    if wanted.kind == "path" and not any(places):
        kept = ", ".join(str(directory) for directory in directories)
        raise PathRefusedError(
            f"{wanted.file_name} is not where models are kept ({kept})", hint="Remove that file yourself."
        )
    found = [path for path in places if path and any(os.path.lexists(each) for each in _files_of(path))]
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


def _files_of(path: Path) -> list[Path]:
    """Return the files of a model: itself, its reference, and the parts of a broken download."""
    return [path, *(path.with_name(path.name + end) for end in (REFERENCE_SUFFIX, PART_SUFFIX, TAG_SUFFIX))]


def remove_model(path: Path, *, with_sources: bool) -> int:
    """Remove a model file and what belongs to it; return the bytes freed. A loaded model stays usable."""
    freed = 0
    for trace in _files_of(path):
        with contextlib.suppress(FileNotFoundError):
            size = trace.lstat().st_size
            trace.unlink()
            freed += size
    if with_sources:
        shutil.rmtree(path.parent / SOURCE_DIR, ignore_errors=True)
    return freed


@contextlib.asynccontextmanager
async def lock_models(
    models_dir: Path, progress: Callable[[str, int, int, str], None]
) -> AsyncIterator[None]:
    """Lock the models directory for a pull or a removal, over all processes; a killed process loses its lock."""
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
    """Return the descriptor of the lock file, made with its directory if they are missing."""
    try:
        models_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(models_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DownloadFailedError(
            f"models can't be kept in {models_dir}: {error.strerror}",
            hint="Check its permissions, or set MEMD_MODEL_DIR to a directory of yours.",
        ) from None
