"""Pulls, lists and removes the models on disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from memd.embedding.local.downloads import Downloads
from memd.embedding.local.engine import EngineUse, find_engine
from memd.embedding.local.estimate import KNOWN_MODELS, KnownModel, ModelEstimate, estimate_model
from memd.embedding.local.header import load_header
from memd.embedding.local.model_files import find_removable, load_models, lock_models, remove_model
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.reference import (
    AUTO_MODELS,
    DEFAULT_LOCAL_MODEL,
    ModelReference,
    local_space,
    parse_reference,
)
from memd.settings.schema import MemorySearch
from memd.system.log import log
from memd_client.errors import (
    BadParamsError,
    ConfigInvalidError,
    DownloadFailedError,
    IndexIOError,
    MemdError,
    ModelMissingError,
)
from memd_client.messages import ModelFile, ModelInfo, ModelReply
from memd_client.reports import ModelStatus

if TYPE_CHECKING:
    from memd.embedding.local.download import Progress

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
        ram = await trio.to_thread.run_sync(
            lambda: [self._load_ram(each.reference, each.path) for each in stored], limiter=self._disk
        )
        loaded = {status.path for status in self._owner.status() if status.pid is not None}
        models = [
            ModelFile(
                each.reference,
                str(each.path),
                each.size_bytes,
                sorted(users.get(each.path, [])),
                str(each.path) in loaded,
                ram_bytes,
            )
            for each, ram_bytes in zip(stored, ram, strict=True)
        ]
        return ModelReply("", str(self._models_dir), sum(each.size_bytes for each in stored), models)

    async def describe(self, reference: str) -> ModelReply:
        """Return what a model needs; the default model if the reference is empty."""
        wanted = parse_reference(reference or DEFAULT_LOCAL_MODEL)
        loaded = self._owner.status()
        return await trio.to_thread.run_sync(self._load_info, wanted, loaded, limiter=self._disk)

    def _load_info(self, wanted: ModelReference, loaded: Sequence[ModelStatus]) -> ModelReply:
        """Return what a model needs, by its file or by what is known of it. Blocks on disk."""
        files = [wanted.file(directory) for directory in self._directories()]
        path = next((file for file in files if file.is_file()), files[0])
        is_downloaded = path.is_file()
        model = _load_known(path) if is_downloaded else KNOWN_MODELS.get(wanted.text)
        if model is None:
            raise ModelMissingError(
                f"model {wanted.shown} is not on disk: {path} does not exist",
                hint=f"run `memctl model pull {wanted.shown}`; what it needs is known from its file",
            )
        estimate, header = self._estimate(wanted.text, path, model), model.header
        engine = self._load_engine(path, loaded)
        info = ModelInfo(
            downloaded=is_downloaded,
            architecture=header.architecture,
            layers=header.layers,
            dims=header.width,
            vocabulary=header.vocabulary,
            trained_tokens=header.trained_tokens or 0,
            context_tokens=estimate.context,
            chunk_tokens=estimate.chunk,
            windows=estimate.windows,
            ram_bytes=estimate.ram_bytes,
            peak_bytes=estimate.peak_bytes,
            engine=engine.package,
            has_gpu=engine.has_gpu,
            gpu_layers=engine.gpu_layers,
        )
        return ModelReply(wanted.shown, str(path), model.file_bytes, info=info)

    def _load_engine(self, path: Path, loaded: Sequence[ModelStatus]) -> EngineUse:
        """Return how a model computes, or what is known before it is loaded."""
        for status in loaded:
            if status.path == str(path) and status.engine:
                return EngineUse(status.engine, status.has_gpu, status.gpu_layers)
        engine = find_engine(self._owner.crashes.packages())
        package = engine.package if engine is not None else ""
        return EngineUse(package, next((each.has_gpu for each in loaded if each.engine == package), None))

    def _load_ram(self, reference: str, path: Path) -> int:
        """Return the estimated RAM of a model on disk, 0 if its file is unreadable."""
        try:
            return self._estimate(reference, path, _load_known(path)).ram_bytes
        except (MemdError, OSError):
            return 0

    def _estimate(self, reference: str, path: Path, model: KnownModel) -> ModelEstimate:
        """Return what a model needs for the largest chunks of the agents that use it."""
        users, _ = self._load_users()
        settings = self._settings()
        sizes = [settings[agent].chunking.tokens for agent in users.get(path, ()) if agent in settings]
        return estimate_model(
            model.file_bytes,
            model.header,
            chunk_tokens=max(sizes, default=MemorySearch().chunking.tokens),
            prompt=local_space(reference, None, model.header).document_prefix,
        )

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
        remove = partial(remove_model, file)
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


def _load_known(path: Path) -> KnownModel:
    """Return the size and metadata of a model file."""
    return KnownModel(path.stat().st_size, load_header(path))


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
