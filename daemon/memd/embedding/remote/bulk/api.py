"""What every batch API offers: texts go in as a job, their vectors come out minutes or hours later.

Its calls are made on the account, with failures kept apart from those of plain requests.
"""

from __future__ import annotations

import hashlib
import random
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

import msgspec
import trio

from memd.embedding.provider import BLANK, FloatArray, encodable, unit_vector
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.account import Account, Call
from memd.embedding.remote.circuit_breaker import backoff_s, is_transient, named_pause_s
from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import Http
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    MemdError,
    ProviderFailedError,
    ProviderRateLimitedError,
    ProviderReplyError,
    TextRefusedError,
)

NO_RESULT: Final = "the job holds no result for it"
OTHER_SIZE: Final = "its vector is of another size than the others"

CALL: Final = Timeouts()
"""For small requests with small replies."""

TRANSFER: Final = Timeouts(write_s=120.0, total_s=900.0)
"""For files: 32 MB take about five minutes over 1 Mbit/s."""

SMALL_BYTES: Final = 4 << 20
"""The largest reply without vectors."""

GRACE_S: Final = 5.0
"""How long the call that makes a job is awaited after it was cancelled: its id would be lost, and its tokens."""

GONE: Final = (404, 410)
"""Statuses of what the provider does not have, or no longer has."""

_ID: Final = re.compile(r"[!-~]{1,200}")

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class BulkState:
    """How far a job is. `done` of `total` texts are processed; `reason` says why it failed."""

    state: Literal["running", "done", "failed"]
    done: int
    total: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkResults:
    """The results of a job's texts, by their hashes.

    `vectors` are (dims,), of unit length and all of one size. The provider refuses a text in `refused` in any request;
    one in `failed` may be sent again. `tokens` is None if the provider doesn't count them.
    """

    vectors: dict[str, FloatArray] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tokens: int | None = None


class BulkApi(ABC):
    """The batch API of one endpoint: `max_texts` and `max_bytes` (by `jobs.weight`) bound a job.

    Every method raises `ProviderFailedError` if the call can't be made or its reply is not usable;
    `data["retry_after_s"]` is set if the account is paused, and nothing was sent then.

    Of its failures the account learns only of a pause the provider asks for. The others don't concern plain requests:
    a key may be allowed to embed and not to keep files, an address may have no batch API, and a quota may be of
    batches alone. Queries must not wait for any of that.
    """

    max_texts: int
    max_bytes: int

    def __init__(
        self,
        api: EmbeddingApi,
        http: Http,
        account: Account,
        *,
        prefix: str = "",
        pause: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        self.provider = api.endpoint.provider
        self._api = api
        self._http = http
        self._account = account
        self._prefix = prefix
        self._pause = pause
        self._thread = trio.CapacityLimiter(1)
        self._plain = api.request(["."], "document")
        self._redactor = self._plain.redactor
        self._headers = {
            name: text for name, text in self._plain.headers.items() if name.lower() != "content-type"
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.provider} {self._api.endpoint.model}>"

    @property
    def owner(self) -> str:
        """16 hex digits that identify the owner of its jobs: a hash of provider, address and key."""
        return hashlib.sha256(self._api.endpoint.account.encode()).hexdigest()[:16]

    def retry_in_s(self) -> float:
        """Return how long calls are refused without being tried, 0 if one may be made now."""
        return self._account.retry_in_s(self._api.endpoint.model)

    @abstractmethod
    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Make a job of some texts, and return its id.

        Args:
            items: (hash, text) with distinct hashes, within the limits.

        Cancellation: uploads are left to expire at the provider. The call that makes the job is awaited for a few
        seconds even then, and its id returned: an id that is lost is a job paid for in vain.
        """

    @abstractmethod
    async def look(self, job_id: str) -> BulkState:
        """Return how far a job is; one the provider does not know has failed."""

    @abstractmethod
    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return the results of a job that ended, or was cut short: all, a part, or none.

        Args:
            job_id: From `submit`.
            hashes: Of the job's texts, in their order at `submit`.
        """

    @abstractmethod
    async def cancel(self, job_id: str) -> None:
        """Ask for the end of a job; its results so far can still be fetched."""

    @abstractmethod
    async def clean_up(self, job_id: str) -> None:
        """Delete what the provider keeps of a job that ended. Errors are swallowed: it expires there anyway."""

    # --- its calls ----------------------------------------------------------------------------------

    def _sendable(self, items: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
        """Return texts as they are sent, and about how many tokens they cost: providers refuse empty ones."""
        texts = [self._prefix + (encodable(text) if text.strip() else BLANK) for _, text in items]
        return texts, sum(map(estimate_tokens, texts))

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        """Do work on megabytes in a thread."""
        return await trio.to_thread.run_sync(work, limiter=self._thread)

    def _request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        url: str,
        body: bytes = b"",
        kind: str = "application/json",
    ) -> ApiRequest:
        headers = {**self._headers, "Content-Type": kind} if body else self._headers
        return ApiRequest(method, url, headers, body, self._redactor)

    def _begin(self, tokens: int) -> Call:
        """Return the call that buys tokens: see `Account.begin`, which raises."""
        return self._account.begin(tokens, metered=True, model=self._api.endpoint.model)

    async def _fetch(
        self, request: ApiRequest, timeouts: Timeouts = CALL, max_bytes: int = SMALL_BYTES
    ) -> HttpReply | None:
        """Send a request that costs no tokens; return its reply, None if the provider has no such thing.

        A success doesn't resume a paused account: the provider returns results while the credit is used up.
        """
        with self._account.begin(0, metered=False, model=self._api.endpoint.model) as call:
            return await self._send(call, request, timeouts, max_bytes=max_bytes)

    async def _send(
        self,
        call: Call,
        request: ApiRequest,
        timeouts: Timeouts = CALL,
        *,
        max_bytes: int = SMALL_BYTES,
        tries: int = 1,
    ) -> HttpReply | None:
        """Send a request as a part of a call; return its reply, None if the provider has no such thing."""
        try:
            for attempt in range(tries):
                try:
                    return await self._send_once(request, timeouts, max_bytes)
                except ProviderFailedError as error:
                    last = attempt + 1 == tries or call.is_trial
                    if last or not is_transient(error) or named_pause_s(error) > 0:
                        raise
                await self._pause(backoff_s(attempt, random.random))
        except ProviderRateLimitedError as error:
            call.failed(error)
            raise
        except ProviderFailedError:
            call.abandoned()
            raise
        raise AssertionError("a request is tried once at least")

    async def _send_once(self, request: ApiRequest, timeouts: Timeouts, max_bytes: int) -> HttpReply | None:
        reply = await self._http.send(request, timeouts, max_bytes=max_bytes)
        if reply.status in GONE:
            return None
        if 200 <= reply.status < 300:
            return reply
        raise self._api.failure(reply.status, reply.headers, reply.body)

    def _decoded(self, body: bytes, shape: type[_Result], what: str) -> _Result:
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._nonsense(what) from None

    def _checked_id(self, found: str, what: str) -> str:
        """Return an id from the provider, fit to be stored, logged and shown."""
        if _ID.fullmatch(found) and not self._redactor.shows(found, WINDOW):
            return found
        raise self._nonsense(what)

    def _nonsense(self, what: str) -> ProviderReplyError:
        return ProviderReplyError(f"{self.provider} answered with something else than {what}")

    def _absent(self) -> ProviderFailedError:
        """Return the error for an address without a batch API."""
        return ProviderFailedError(
            f"{self.provider} has no batch API at this address, or none for {self._api.endpoint.model}",
            hint="Plain requests do the work. To spare the attempts set remote.batch.enabled to false.",
        )


async def finish(work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Return what work returns, even if it is cancelled meanwhile and ends within `GRACE_S`.

    For the call that makes a job: the caller must record its id before the next checkpoint.
    """
    results: list[_Result] = []
    errors: list[MemdError] = []
    scope = trio.CancelScope(shield=True)

    async def watch() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:  # not raised again: the cancelled call may still end
            scope.deadline = trio.current_time() + GRACE_S

    await trio.lowlevel.checkpoint_if_cancelled()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        with scope:
            try:
                results.append(await work())
            except MemdError as error:
                errors.append(error)
        nursery.cancel_scope.cancel()
    if errors:
        raise errors[0]
    if not results:
        await trio.lowlevel.checkpoint_if_cancelled()
    return results[0]


class ResultCollector:
    """Collects the results of a job's texts, each checked as a plain reply. The first vector of a text counts."""

    def __init__(self, api: EmbeddingApi) -> None:
        self._api = api
        self._vectors: dict[str, FloatArray] = {}
        self._refused: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._tokens: int | None = None

    def __repr__(self) -> str:
        return f"<ResultCollector {len(self._vectors)} vectors>"

    def replied(self, digest: str, body: bytes) -> None:
        """Add a reply of status 2xx."""
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
        """Add a reply of another status."""
        error = self._api.failure(status, {}, body)
        kind = self._refused if isinstance(error, TextRefusedError) else self._failed
        kind[digest] = error.message

    def refused(self, digest: str, reason: str) -> None:
        """Note that the provider refuses a text."""
        self._refused[digest] = reason

    def failed(self, digest: str, reason: str) -> None:
        """Note that a text has no result."""
        self._failed[digest] = reason

    def results(self) -> BulkResults:
        """Return all results, their vectors of one size."""
        return of_one_size(
            BulkResults(self._vectors, self._refused, self._failed, self._tokens), self._api.endpoint.dims
        )


def of_one_size(results: BulkResults, dims: int | None = None) -> BulkResults:
    """Return results whose vectors are all of one size; the others' texts are failed."""
    sizes = Counter(vector.shape[0] for vector in results.vectors.values())
    if dims is None and sizes:
        size, count = sizes.most_common(1)[0]
        dims = size if 2 * count > sizes.total() else None
    kept = {one: vector for one, vector in results.vectors.items() if vector.shape[0] == dims}
    odd = {one: OTHER_SIZE for one in results.vectors if one not in kept}
    return BulkResults(kept, results.refused, {**results.failed, **odd}, results.tokens)


def of_these(results: BulkResults, hashes: Sequence[str]) -> BulkResults:
    """Return results of exactly the texts that were sent.

    Others are left out, and missing ones are failed. If several were sent and all were refused, the request is wrong,
    not the texts: they are failed then.
    """
    vectors = {one: results.vectors[one] for one in hashes if one in results.vectors}
    refused = {one: results.refused[one] for one in hashes if one in results.refused and one not in vectors}
    if len(hashes) > 1 and len(refused) == len(hashes):
        return BulkResults({}, {}, refused, results.tokens)
    failed = {
        one: results.failed.get(one, NO_RESULT) for one in hashes if one not in vectors and one not in refused
    }
    return BulkResults(vectors, refused, failed, results.tokens)
