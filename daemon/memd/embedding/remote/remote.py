"""The embedding provider for HTTP interfaces, with retries and deadlines."""

from __future__ import annotations

import math
import random as chance
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import numpy as np
import trio
from msgspec.structs import replace

from memd.embedding.provider import BLANK, BatchLimits, FloatArray, encodable, unit_vectors
from memd.embedding.remote.account import Account, ProviderCall
from memd.embedding.remote.batches import AdaptiveBatchSize, batches
from memd.embedding.remote.circuit_breaker import (
    MAX_BACKOFF_S,
    QUERY_TRIES,
    TRIES,
    backoff_s,
    is_transient,
    named_pause_s,
)
from memd.embedding.remote.endpoint import ApiRequest, TextKind, Timeouts
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.embedding.space import VectorSpace, recipe_of
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    DimensionsChangedError,
    MemdError,
    ProviderFailedError,
    ProviderRateLimitedError,
    ProviderUnreachableError,
    ShuttingDownError,
)

if TYPE_CHECKING:
    from memd.embedding.remote.bulk.api import BulkApi

MAX_QUERY_PAUSE_S: Final = 1.0
"""Queries wait for a pause of the provider only up to this; keyword search answers instead."""

INLINE_BYTES: Final = 64 * 1024
"""Larger replies are parsed in a thread: megabytes of JSON would block the loop for tens of milliseconds."""


class RemoteProvider:
    """The embedding provider of one model at one address."""

    def __init__(
        self,
        api: EmbeddingApi,
        space: VectorSpace,
        *,
        http: HttpClient,
        account: Account,
        limits: BatchLimits,
        metered: bool,
        query_timeout_s: float = 30.0,
        batch_timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        pause: Callable[[float], Awaitable[None]] = trio.sleep,
        random: Callable[[], float] = chance.random,
        bulk: BulkApi | None = None,
    ) -> None:
        self._api = api
        self._space = space
        self._http = http
        self._account = account
        self._batch_size = AdaptiveBatchSize(limits)
        self._metered = metered
        self._query_timeout_s = query_timeout_s
        self._timeouts = batch_timeouts
        self._pause = pause
        self._random = random
        self._parse_limiter = trio.CapacityLimiter(2)
        self._under_way: set[trio.CancelScope] = set()
        self._closed = False
        self.bulk = bulk

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._under_way)} requests under way"
        return f"<RemoteProvider {self.id}/{self.model}, {state}>"

    @property
    def id(self) -> str:
        return self._api.endpoint.provider

    @property
    def model(self) -> str:
        return self._api.endpoint.model

    @property
    def space(self) -> VectorSpace:
        return self._space

    @property
    def limits(self) -> BatchLimits:
        """The limits of a request, reduced to the tokens left of the budget."""
        left = self._account.tokens_left if self._metered else None
        limits = self._batch_size.limits
        if left is None or left >= limits.max_tokens:
            return limits
        return replace(limits, max_tokens=max(1, left))

    @property
    def recipe(self) -> dict[str, str]:
        endpoint = self._api.endpoint
        recipe = {
            "provider": endpoint.provider,
            "model": endpoint.model,
            "base_url": _without_user(endpoint.base_url),
            **recipe_of(self._space),
        }
        return recipe if endpoint.query_type is None else {**recipe, "query_type": endpoint.query_type}

    def retry_in_s(self) -> float:
        return self._account.retry_in_s(self.model)

    async def warm_up(self) -> None:
        """Load the HTTP client, so that no query waits for it; never fails."""
        await self._http.warm_up(self._api.endpoint.base_url)

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector (dims,) of a query; queries have priority over batches."""
        with self._closing_cancels():
            texts = [self._prefixed(text, self._space.query_prefix)]
            try:
                rows = await self._request(texts, "query", self._query_timeout_s)
            except trio.TooSlowError:
                # The provider is busy with other requests of memd: not a failure of the account.
                raise ProviderUnreachableError(
                    f"{self.id} had no free request slot for a query within {self._query_timeout_s:g} s"
                ) from None
            return np.asarray(rows[0], dtype=np.float32)

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors (n, dims) of any number of texts; (0, 0) for none."""
        with self._closing_cancels():
            if not texts:
                await trio.lowlevel.checkpoint()
                return np.empty((0, 0), dtype=np.float32)
            prefixed = [self._prefixed(text, self._space.document_prefix) for text in texts]
            costs = [estimate_tokens(text) for text in prefixed]
            if self._metered:
                self._account.check_budget(sum(costs))
            while True:
                limits = self._batch_size.limits
                parts = [[prefixed[position] for position in part] for part in batches(costs, limits)]
                try:
                    if len(parts) == 1:
                        return await self._request(parts[0], "document", None)
                    return await self._request_all(parts)
                except _BatchTooLarge:
                    continue  # happens once: requests have the usual size from now on

    async def _request_all(self, parts: Sequence[Sequence[str]]) -> FloatArray:
        """Return the vectors of concurrent requests; the first failure cancels the others."""
        results: list[FloatArray | None] = [None] * len(parts)
        failures: list[Exception] = []
        numbers = iter(range(len(parts)))

        async def work() -> None:
            for number in numbers:
                try:
                    results[number] = await self._request(parts[number], "document", None)
                except (MemdError, _BatchTooLarge) as error:
                    failures.append(error)
                    nursery.cancel_scope.cancel()
                    return

        async with trio.open_nursery() as nursery:
            for _ in range(min(len(parts), max(1, self._batch_size.limits.concurrency))):
                nursery.start_soon(work)
        if failures:
            raise failures[0]
        matrices = [rows for rows in results if rows is not None]
        sizes = sorted({rows.shape[1] for rows in matrices})
        if len(sizes) > 1:
            raise DimensionsChangedError(
                f"{self.id} returned vectors of {sizes[0]} and of {sizes[-1]} dimensions for {self.model}"
            )
        return np.concatenate(matrices)

    async def aclose(self) -> None:
        """Cancel requests under way; they and later ones raise ShuttingDownError."""
        self._closed = True
        for scope in self._under_way:
            scope.cancel()
        await trio.lowlevel.checkpoint()

    # --- one request --------------------------------------------------------------------------------

    async def _request(self, texts: Sequence[str], kind: TextKind, timeout_s: float | None) -> FloatArray:
        """Return the unit vectors of one request, with retries."""
        request = self._api.request(texts, kind)
        tokens = sum(map(estimate_tokens, texts))
        attempt, deadline = 0, None
        while True:
            self._account.check(self.model)  # fail fast before waiting for a slot
            await self._wait_for_short_pause(kind)
            async with self._account.slots.slot(kind, math.inf if timeout_s is None else timeout_s):
                if deadline is None and timeout_s is not None:
                    deadline = trio.current_time() + timeout_s
                with self._account.begin(tokens, metered=self._metered, model=self.model) as call:
                    try:
                        rows, counted = await self._send(request, len(texts), self._timeouts_until(deadline))
                        call.record_success(tokens if counted is None else counted)
                        return rows
                    except ProviderFailedError as error:
                        if self._batch_size.shrink_after(len(texts), error):
                            call.record_retry(error)
                            raise _BatchTooLarge from error
                        pause_s = self._pause_after(error, call, attempt, kind, deadline)
                        if pause_s is None:
                            call.record_failure(error)
                            raise
                        call.record_retry(error)
            attempt += 1
            await self._pause(pause_s)

    async def _send(
        self, request: ApiRequest, count: int, timeouts: Timeouts
    ) -> tuple[FloatArray, int | None]:
        """Send a request once; return its unit vectors and counted tokens."""
        began = trio.current_time()
        reply = await self._http.send(request, timeouts)
        took_s = trio.current_time() - began
        if not 200 <= reply.status < 300:
            raise self._api.failure(reply.status, reply.headers, reply.body)
        self._batch_size.record_reply(count, took_s)
        if len(reply.body) <= INLINE_BYTES:
            return self._read(reply.body, count)
        return await trio.to_thread.run_sync(
            self._read, reply.body, count, abandon_on_cancel=True, limiter=self._parse_limiter
        )

    def _read(self, body: bytes, count: int) -> tuple[FloatArray, int | None]:
        reply = self._api.parse(body, count)
        return unit_vectors(reply.vectors, self.id), reply.tokens

    def _pause_after(
        self,
        error: ProviderFailedError,
        call: ProviderCall,
        attempt: int,
        kind: TextKind,
        deadline: float | None,
    ) -> float | None:
        """Return the back-off before the next try, in seconds; None without a further try.

        A trial call is not retried. A long pause that the provider asks for opens the circuit breaker; a short one
        delays all calls of the account.
        """
        is_last = attempt + 1 >= (QUERY_TRIES if kind == "query" else TRIES)
        if is_last or call.is_trial or not is_transient(error):
            return None
        named_s = named_pause_s(error)
        pause_s = max(named_s, backoff_s(attempt, self._random))
        if named_s > (MAX_QUERY_PAUSE_S if kind == "query" else MAX_BACKOFF_S):
            return None
        if deadline is not None and trio.current_time() + pause_s >= deadline:
            return None
        if named_s:
            self._account.note_short_pause(named_s)
        return pause_s

    async def _wait_for_short_pause(self, kind: TextKind) -> None:
        """Wait for a short pause of the provider; fail a query if it is too long."""
        short_pause_left_s = self._account.short_pause_left_s()
        if kind == "query" and short_pause_left_s > MAX_QUERY_PAUSE_S:
            raise ProviderRateLimitedError(
                f"{self.id} asked for a pause of {short_pause_left_s:.1f} s",
                data={"retry_after_s": short_pause_left_s},
            )
        if short_pause_left_s > 0:
            await self._pause(short_pause_left_s)

    def _timeouts_until(self, deadline: float | None) -> Timeouts:
        if deadline is None:
            return self._timeouts
        return replace(self._timeouts, total_s=max(0.05, deadline - trio.current_time()))

    def _prefixed(self, text: str, prefix: str) -> str:
        return prefix + (encodable(text) if text.strip() else BLANK)

    @contextmanager
    def _closing_cancels(self) -> Iterator[None]:
        """Let `aclose` cancel the block."""
        if self._closed:
            raise ShuttingDownError(f"the provider {self.id} was closed")
        with trio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                yield
            finally:
                self._under_way.discard(scope)
        if scope.cancelled_caught:
            raise ShuttingDownError(f"the provider {self.id} was closed")


class _BatchTooLarge(Exception):
    """A request with more texts than usual failed and is split."""


def _without_user(url: str) -> str:
    """Return an address without user name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url
