"""Resolves an agent's local model, and vector spaces of model files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from memd.embedding.local.estimate import KNOWN_MODELS
from memd.embedding.local.extra import extra_missing_error
from memd.embedding.local.header import load_fingerprint, load_header
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import (
    AUTO_MODELS,
    DEFAULT_LOCAL_MODEL,
    ModelReference,
    local_space,
    parse_reference,
    space_of,
)
from memd.embedding.prefixes import Prefixes
from memd.settings.schema import MemorySearch
from memd.system.units import size
from memd_client.errors import ModelMissingError, ProviderUnavailableError


class LocalResolver:
    """Resolves references to local models for one agent. Blocks on disk."""

    def __init__(
        self, settings: MemorySearch, models: ModelOwner, models_dir: Path, has_extra: Callable[[], bool]
    ) -> None:
        self._settings = settings
        self._models = models
        self._has_extra = has_extra
        own = settings.local.model_cache_dir
        self.models_dir = Path(own).expanduser() if own else models_dir

    @property
    def reference(self) -> ModelReference:
        """The configured model, or OpenClaw's default model."""
        return parse_reference(self._settings.local.model_path or DEFAULT_LOCAL_MODEL)

    def resolve_auto(self) -> LocalProvider:
        """Return the provider of the configured model, else of a pulled one."""
        if self._settings.local.model_path:
            return self.resolve(self.reference)
        for reference in map(parse_reference, AUTO_MODELS):
            if reference.file(self.models_dir).is_file():
                return self.resolve(reference)
        raise ProviderUnavailableError("no embedding provider is configured and no model was pulled")

    def resolve(self, reference: ModelReference, prefixes: Prefixes | None = None) -> LocalProvider:
        """Return the provider of a model."""
        if not self._has_extra():
            raise extra_missing_error("local embeddings need llama.cpp, which is not installed")
        path = reference.file(self.models_dir)
        if not path.is_file():
            raise _missing_model_error(reference, path)
        header = load_header(path)
        fingerprint = None if reference.is_published else load_fingerprint(path)
        space = local_space(reference.text, fingerprint, header)
        if prefixes is not None:
            space = replace(space, query_prefix=prefixes.query, document_prefix=prefixes.document)
        is_path = reference.kind == "path"
        return LocalProvider(
            self._models,
            ModelSpec(
                path,
                path.name if is_path else reference.shown,
                fingerprint,
                self._settings.local.gpu_layers,
                "" if is_path else reference.shown,
            ),
            space,
            chunk_tokens=self._settings.chunking.tokens,
        )


def _missing_model_error(reference: ModelReference, path: Path) -> ModelMissingError:
    """Return the error that names the file and the command that pulls it."""
    if reference.kind == "path":
        return ModelMissingError(f"model file {path} does not exist")
    known = KNOWN_MODELS.get(reference.text)
    return ModelMissingError(
        f"model {reference.shown} is not pulled: {path} does not exist",
        hint=f"run `memctl model pull {reference.shown}`"
        + (f" to download {size(known.file_bytes)}" if known else "")
        + ("" if reference.kind == "named" else ", or the smaller model: `memctl model pull minilm`"),
    )


def space_of_stored(models_dir: Path, provider: str, model: str) -> str:
    """Return the id of the vector space of vectors that OpenClaw stored."""
    reference = parse_reference(model) if provider == "local" and model else None
    if reference is None or reference.is_published:
        return space_of(provider, model)
    file = reference.file(models_dir)
    # OpenClaw adds no prefixes: if a model has some, OpenClaw's vectors belong to another space.
    fingerprint = load_fingerprint(file) if file.is_file() else None
    return local_space(model, fingerprint, prefixed=False).id
