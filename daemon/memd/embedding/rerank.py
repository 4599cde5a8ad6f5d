"""The optional reranker: a local cross-encoder that reads the question together with each text that was found.

Nothing is loaded and no process is there before the first score. Whoever asks has an order already and keeps it where
this fails, so nothing is tried twice here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from memd.embedding.local.owner import ModelFile, ModelHold, ModelOwner
from memd.embedding.local.reference import ModelReference, parse_reference
from memd.embedding.provider import FloatArray, encodable
from memd.settings.schema import MemorySearch
from memd_client.errors import (
    ConfigInvalidError,
    ModelInvalidError,
    ModelMissingError,
    ProviderFailedError,
    ShuttingDownError,
)

QUESTION_TOKENS: Final = 100
"""What the context holds beside a chunk, in estimated tokens."""

MOST_CHARACTERS: Final = 32_768
"""Of a text at most: more than the longest context takes."""

KEY: Final = "query.rerank.model"

_MEANWHILE: Final = "; until then hits keep the order of the search."
_NAME_ONE: Final = f"Name the GGUF file of a reranker (a cross-encoder) in `{KEY}`{_MEANWHILE}"


class Reranker(Protocol):
    """Says how relevant texts are to a question.

    Cancellation: `score` may be cancelled; the reranker stays usable.
    """

    @property
    def model(self) -> str:
        """The model's name in settings and status."""

    async def score(
        self, question: str, texts: Sequence[str], timeout_s: float, *, partial: bool = False
    ) -> list[float]:
        """Return how relevant each text is to a question.

        Args:
            question: Any string.
            texts: Any strings; of each is read what fits the model's context, from its beginning.
            timeout_s: What it may take in all.
            partial: Whether the scores of the first texts will do where there is no time for all.

        Returns:
            A number in 0..1 for each text, in their order; more is more relevant. With `partial` perhaps for the
            first texts only, for one at least.

        Raises:
            MemdError: It can't, or can't in time; the class says why.
        """

    async def aclose(self) -> None:
        """Give back what it holds; a second time does nothing. `score` fails afterwards."""


class LocalReranker:
    """A cross-encoder of this machine.

    Resources: holds the model from the first score until `aclose`.
    """

    def __init__(self, owner: ModelOwner, model: str, models_dir: Path, *, chunk_tokens: int) -> None:
        self._owner = owner
        self._reference = _parse(model)
        self._models_dir = models_dir
        self._chunk_tokens = chunk_tokens
        self._hold: ModelHold | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in use" if self._hold else "not used yet"
        return f"<LocalReranker {self.model} {state}>"

    @property
    def model(self) -> str:
        """The model as the settings name it; a path's file name; empty where they name none that can be used."""
        reference = self._reference
        if isinstance(reference, ConfigInvalidError):
            return ""
        return Path(reference.file_name).name if reference.kind == "path" else reference.shown

    async def score(
        self, question: str, texts: Sequence[str], timeout_s: float, *, partial: bool = False
    ) -> list[float]:
        """Return a number in 0..1 for each text, in their order; more is more relevant."""
        if self._closed:
            raise ShuttingDownError(f"the reranker {self.model} was closed")
        if isinstance(self._reference, ConfigInvalidError):
            raise ConfigInvalidError(self._reference.message, hint=_NAME_ONE, data=self._reference.data)
        if not texts:
            return []
        if self._hold is None:
            self._hold = self._claim(self._reference)
        sent = [encodable(text[:MOST_CHARACTERS]) for text in (question, *texts)]
        try:
            raw = await self._hold.score(sent[0], sent[1:], timeout_s, partial=partial)
        except ModelMissingError as error:
            raise _missing(self._reference, error) from None
        except ModelInvalidError as error:
            raise ModelInvalidError(error.message, hint=_NAME_ONE, data=error.data) from None
        return _probabilities(raw, self.model)

    def _claim(self, reference: ModelReference) -> ModelHold:
        """Claim the model; nothing is loaded by that."""
        shown = "" if reference.kind == "path" else reference.shown
        file = ModelFile(reference.file(self._models_dir), self.model, reference=shown, ranks=True)
        return self._owner.hold(file, chunk_tokens=self._chunk_tokens + QUESTION_TOKENS)

    async def aclose(self) -> None:
        """Give the model back; scores under way end with ShuttingDownError where nobody else holds it."""
        self._closed = True
        if self._hold is not None:
            self._hold.release()
            self._hold = None


def make_reranker(settings: MemorySearch, owner: ModelOwner, models_dir: Path) -> Reranker | None:
    """Return the reranker an agent's settings want, None where they want none."""
    if not settings.query.rerank.enabled:
        return None
    own = settings.local.model_cache_dir
    folder = Path(own).expanduser() if own else models_dir
    return LocalReranker(owner, settings.query.rerank.model, folder, chunk_tokens=settings.chunking.tokens)


def _parse(model: str) -> ModelReference | ConfigInvalidError:
    """Return what a setting stands for, or what is wrong with it."""
    if not model.strip():
        return ConfigInvalidError(f"`{KEY}` names no model", data={"key": KEY})
    if not model.isprintable():
        return ConfigInvalidError(f"`{KEY}` is no reference to a model", data={"key": KEY})
    try:
        return parse_reference(model)
    except ConfigInvalidError as error:
        return ConfigInvalidError(f"{KEY}: {error.message}", data={"key": KEY})


def _missing(reference: ModelReference, error: ModelMissingError) -> ModelMissingError:
    """Return the error that says how the model is got."""
    if reference.kind == "path":
        return ModelMissingError(error.message, hint=f"Correct `{KEY}`{_MEANWHILE}", data=error.data)
    return ModelMissingError(
        f"the reranker {reference.shown} was not pulled yet",
        hint=f"Run `memctl model pull {reference.shown}`{_MEANWHILE}",
        data=error.data,
    )


def _probabilities(raw: FloatArray, model: str) -> list[float]:
    """Return raw scores in 0..1.

    In float64: in float32 all beyond 17 would be 1, and their order lost.
    """
    if not np.isfinite(raw).all():
        raise ProviderFailedError(f"the reranker {model} gave a score that is no number")
    return [float(share) for share in 1.0 / (1.0 + np.exp(-np.clip(raw.astype(np.float64), -700, 700)))]
