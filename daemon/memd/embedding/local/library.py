"""Pulls, lists and removes the models on disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
import trio

from memd.embedding.local.downloads import Downloads
from memd.embedding.local.model_files import find_removable, load_models, lock_models, remove_model
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.reference import (
    AUTO_MODELS,
    DEFAULT_LOCAL_MODEL,
    MINILM_FILE,
    ModelReference,
    parse_reference,
)
from memd.settings.schema import MemorySearch
from memd_client.errors import BadParamsError, ConfigInvalidError, DownloadFailedError, IndexIOError
from memd_client.messages import ModelFile, ModelReply

if TYPE_CHECKING:
    from memd.embedding.local.download import Progress

log = structlog.get_logger(__name__)

LOCK_SECONDS: Final = 10.0
"""How long a removal waits for another process that pulls a model."""


class ModelLibrary:
    """The models on disk, and the agents that use them."""

    def __init__(
        self,
        models_dir: Path,
        owner: ModelOwner,
        downloads: Downloads,
        settings: Callable[[], Mapping[str, MemorySearch]],
        on_removed: Callable[[str], Awaitable[None]],
    ) -> None:
        self._models_dir = models_dir
        self._owner = owner
        self._downloads = downloads
        self._settings = settings
        self._on_removed = on_removed
        self._disk = trio.CapacityLimiter(1)

    def __repr__(self) -> str:
        return f"<ModelLibrary {self._models_dir}, {self._downloads!r}>"

    async def pull(self, reference: str, progress: Progress) -> ModelReply:
        """Pull a model unless it is on disk."""
        path = await self._downloads.pull(reference, self._models_dir, progress)
        size = await trio.to_thread.run_sync(lambda: path.stat().st_size, limiter=self._disk)
        return ModelReply(parse_reference(reference).shown, str(path), size)

    async def list_all(self) -> ModelReply:
        """Return all models in the directories and in settings, by path."""
        users, names = await trio.to_thread.run_sync(self._load_users, limiter=self._disk)
        stored = await trio.to_thread.run_sync(load_models, self._directories(), names, limiter=self._disk)
        loaded = {status.path for status in self._owner.status() if status.pid is not None}
        models = [
            ModelFile(
                each.reference,
                str(each.path),
                each.size_bytes,
                sorted(users.get(each.path, [])),
                str(each.path) in loaded,
            )
            for each in stored
        ]
        return ModelReply("", str(self._models_dir), sum(each.size_bytes for each in stored), models)

    async def remove(self, reference: str, *, force: bool, progress: Progress) -> ModelReply:
        """Remove a model, also an incomplete one; `force` if an agent uses it."""
        find = partial(find_removable, reference, self._directories())
        files = await trio.to_thread.run_sync(find, limiter=self._disk)
        shown = parse_reference(reference).shown
        users, _ = await trio.to_thread.run_sync(self._load_users, limiter=self._disk)
        agents = sorted({agent for file in files for agent in users.get(file, [])})
        if agents and not force:
            raise BadParamsError(
                f"{shown} is the model of {', '.join(agents[:10])}",
                hint="choose another model for them first, or use --force; a model of `provider: local` is "
                "downloaded again",
            )
        freed = 0
        for file in files:
            await self._downloads.stop(file)
            freed += await self._remove_file(file, progress)
        log.info("embedding.model_removed", model=shown, bytes=freed)
        await self._on_removed(reference)
        return ModelReply(shown, str(files[0]), freed)

    async def _remove_file(self, file: Path, progress: Progress) -> int:
        """Remove one file under the lock of its directory; return the bytes freed."""
        remove = partial(remove_model, file, with_sources=file.name == MINILM_FILE)
        with trio.move_on_after(LOCK_SECONDS):
            async with lock_models(file.parent, progress):
                try:
                    return await trio.to_thread.run_sync(remove, limiter=self._disk)
                except OSError as error:
                    raise IndexIOError(f"{file} can't be removed: {error.strerror}") from None
        raise DownloadFailedError(
            f"another process is pulling a model into {file.parent}", hint="try again when it has finished"
        )

    def _directories(self) -> list[Path]:
        """Return the models directories of the daemon and of the agents' settings."""
        named = [self._directory(settings) for settings in self._settings().values()]
        return list(dict.fromkeys([self._models_dir, *named]))

    def _directory(self, settings: MemorySearch) -> Path:
        named = settings.local.model_cache_dir
        return Path(named).expanduser() if named else self._models_dir

    def _load_users(self) -> tuple[dict[Path, set[str]], dict[Path, str]]:
        """Return agents and reference of each configured file. Blocks on disk."""
        users: dict[Path, set[str]] = {}
        names: dict[Path, str] = {}
        for agent, settings in self._settings().items():
            directory = self._directory(settings)
            if wanted := _model_of(settings, directory):
                file = wanted.file(directory)
                users.setdefault(file, set()).add(agent)
                names[file] = wanted.shown
        return users, names

    def is_wanted(self, reference: str) -> bool:
        """Return whether the settings of any agent use a model with this reference."""
        wanted = [_model_of(settings, self._directory(settings)) for settings in self._settings().values()]
        return any(each is not None and each.text == reference for each in wanted)


def _model_of(settings: MemorySearch, directory: Path) -> ModelReference | None:
    """Return the local model of settings; for `auto` a pulled one."""
    providers = (settings.provider, settings.fallback)
    if not {"local", "auto"} & set(providers):
        return None
    named = settings.local.model_path or (DEFAULT_LOCAL_MODEL if "local" in providers else "")
    try:
        if named:
            return parse_reference(named)
    except ConfigInvalidError:
        return None
    pulled = (each for each in map(parse_reference, AUTO_MODELS) if each.file(directory).is_file())
    return next(pulled, None)
