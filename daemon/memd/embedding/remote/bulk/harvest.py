"""Results of a job as they come in, each judged as a plain reply would be. Pure."""

from __future__ import annotations

from memd.embedding.provider import FloatArray, unit_vector
from memd.embedding.remote.bulk.api import BulkResults, of_one_size
from memd.embedding.remote.providers.api import EmbeddingApi
from memd_client.errors import ProviderFailedError, TextRefusedError


class Harvest:
    """What has come of a job's texts so far. A text that has its vector keeps it."""

    def __init__(self, api: EmbeddingApi) -> None:
        self._api = api
        self._vectors: dict[str, FloatArray] = {}
        self._refused: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._tokens: int | None = None

    def __repr__(self) -> str:
        return f"<Harvest {len(self._vectors)} vectors, {len(self._refused)} refused, {len(self._failed)} failed>"

    def replied(self, digest: str, body: bytes) -> None:
        """Take in a reply of status 2xx."""
        if digest in self._vectors:
            return
        try:
            reply = self._api.parse(body, 1)
            self._vectors[digest] = unit_vector(reply.vectors[0], self._api.endpoint.provider)
        except ProviderFailedError as error:
            self._failed[digest] = error.message
            return
        if reply.tokens is not None:
            self._tokens = (self._tokens or 0) + reply.tokens

    def answered(self, digest: str, status: int, body: bytes) -> None:
        """Take in a reply of another status."""
        error = self._api.failure(status, {}, body)
        kind = self._refused if isinstance(error, TextRefusedError) else self._failed
        kind[digest] = error.message

    def refused(self, digest: str, reason: str) -> None:
        """Note that the provider won't take a text."""
        self._refused[digest] = reason

    def failed(self, digest: str, reason: str) -> None:
        """Note that nothing came of a text."""
        self._failed[digest] = reason

    def results(self) -> BulkResults:
        """Return all of it, its vectors of one size."""
        return of_one_size(
            BulkResults(self._vectors, self._refused, self._failed, self._tokens), self._api.endpoint.dims
        )
