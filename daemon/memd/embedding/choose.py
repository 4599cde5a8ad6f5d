"""Which provider embeds for an agent, and why; what it fell back from."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from memd.config import MemorySearch
from memd.embedding.model.header import load_fingerprint, load_header
from memd.embedding.model.owner import ModelFile, ModelOwner
from memd.embedding.model.reference import DEFAULT_LOCAL_MODEL, MINILM, ModelReference, parse_reference
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.providers.local import LocalProvider
from memd.embedding.space import local_space
from memd_client.errors import (
    ConfigInvalidError,
    LocalExtraMissingError,
    MemdError,
    ModelMissingError,
    ProviderUnavailableError,
)

LATER: Final = ("openai", "gemini", "voyage", "mistral", "ollama")
"""Providers of a later release."""

AUTO: Final = (MINILM, DEFAULT_LOCAL_MODEL)
"""What `auto` takes where no model is named and one of these was pulled, in this order."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen.

    `provider` is None where search is by keywords only. `problem` says why the wanted provider isn't
    used; it is None where it is, and where keywords only is what was wanted. `fell_back_from` names the
    provider that failed where `provider` is the configured fallback.
    """

    wanted: str
    provider: EmbeddingProvider | None
    problem: MemdError | None = None
    fell_back_from: str | None = None


def is_extra_installed() -> bool:
    """Return whether llama-cpp-python is installed; doesn't import it."""
    return importlib.util.find_spec("llama_cpp") is not None


async def choose_provider(
    settings: MemorySearch,
    *,
    models: ModelOwner,
    cache_dir: Path,
    has_extra: Callable[[], bool] = is_extra_installed,
) -> Selection:
    """Choose the provider the settings want, else their fallback, else none.

    Args:
        settings: Of one agent.
        models: Who loads local models; nothing is loaded here.
        cache_dir: Where pulled models are; `local.modelCacheDir` overrides it.
        has_extra: Whether llama-cpp-python is there.

    Returns:
        The selection; its provider is the caller's to close. Never raises for what is wrong with
        settings or files: that is the selection's `problem`.
    """
    return await trio.to_thread.run_sync(_choose, settings, models, cache_dir, has_extra)


def _choose(
    settings: MemorySearch, models: ModelOwner, cache_dir: Path, has_extra: Callable[[], bool]
) -> Selection:
    """Choose, touching the disk."""
    wanted = settings.provider
    if settings.local.model_cache_dir:
        cache_dir = Path(settings.local.model_cache_dir).expanduser()
    local = _LocalChoice(settings, models, cache_dir, has_extra)
    if wanted == "none":
        return Selection(wanted, None)
    try:
        return Selection(wanted, _provider(wanted, local))
    except MemdError as error:
        problem = error
    if settings.fallback in ("none", wanted) or (wanted == "auto" and settings.fallback == "local"):
        return Selection(wanted, None, problem)
    try:
        return Selection(wanted, _provider(settings.fallback, local), problem, fell_back_from=wanted)
    except MemdError:
        return Selection(wanted, None, problem)


def _provider(name: str, local: _LocalChoice) -> EmbeddingProvider:
    """Return the provider of that name.

    Raises:
        MemdError: It can't be used; the class says why.
    """
    if name == "local":
        return local.named()
    if name == "auto":
        return local.auto()
    if name in LATER:
        raise ProviderUnavailableError(
            f"the provider {name} is not in this release; search is by keywords",
            hint="Set memorySearch.provider to local and run `memctl model pull minilm`.",
        )
    raise ConfigInvalidError(
        f"memorySearch.provider names no provider: {name[:40]!r}", hint="Use auto, local or none."
    )


class _LocalChoice:
    """Local models an agent may use."""

    def __init__(
        self, settings: MemorySearch, models: ModelOwner, cache_dir: Path, has_extra: Callable[[], bool]
    ) -> None:
        self._settings = settings
        self._models = models
        self._cache_dir = cache_dir
        self._has_extra = has_extra

    def named(self) -> LocalProvider:
        """Return the configured model, or OpenClaw's default one.

        Raises:
            MemdError: It can't be used.
        """
        return self._provider(parse_reference(self._settings.local.model_path or DEFAULT_LOCAL_MODEL))

    def auto(self) -> LocalProvider:
        """Return the configured model where its file is there, else one that was pulled.

        Raises:
            ProviderUnavailableError: There is neither.
            MemdError: There is one and it can't be used.
        """
        configured = self._settings.local.model_path
        for reference in map(parse_reference, [configured] if configured else AUTO):
            if reference.file(self._cache_dir).is_file():
                return self._provider(reference)
        if configured:
            raise _missing(parse_reference(configured), self._cache_dir)
        raise ProviderUnavailableError("no embedding provider is configured and no model was pulled")

    def _provider(self, reference: ModelReference) -> LocalProvider:
        if not self._has_extra():
            raise LocalExtraMissingError("local embeddings need llama-cpp-python, which is not installed")
        path = reference.file(self._cache_dir)
        if not path.is_file():
            raise _missing(reference, self._cache_dir)
        load_header(path)
        fingerprint = None if reference.is_published else load_fingerprint(path)
        name = path.name if reference.kind == "path" else reference.text
        return LocalProvider(
            self._models,
            ModelFile(path, name, fingerprint, "" if reference.kind == "path" else reference.text),
            local_space(reference.text, fingerprint),
            chunk_tokens=self._settings.chunking.tokens,
        )


def _missing(reference: ModelReference, cache_dir: Path) -> ModelMissingError:
    """Return the error that names the file and the command that gets it."""
    path = reference.file(cache_dir)
    if reference.kind == "path":
        return ModelMissingError(f"there is no model file {path}")
    return ModelMissingError(
        f"the model {reference.text} was not pulled yet: there is no {path}",
        hint=f"Run `memctl model pull {reference.text}`"
        + ("." if reference.kind == "minilm" else ", or the small one: `memctl model pull minilm`."),
    )
