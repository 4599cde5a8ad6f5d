"""The base of batch APIs: jobs of texts, with vectors minutes or hours later.

Calls use the account, but their failures don't affect plain requests.
"""

from __future__ import annotations

import hashlib
import random
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, TypeVar

import msgspec
import trio
from msgspec import Struct, field

from memd.embedding.provider import BLANK, FloatArray, encodable, unit_vector
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.account import Account, ProviderCall
from memd.embedding.remote.circuit_breaker import backoff_s, is_transient, named_pause_s
from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    MemdError,
    ProviderFailedError,
    ProviderRateLimitedError,
    ProviderReplyError,
    TextRefusedError,
)

NO_RESULT: Final = "the job has no result for this text"
OTHER_SIZE: Final = "its vector has another size than the others"

CALL_TIMEOUTS: Final = Timeouts()
"""For small requests with small replies."""

TRANSFER_TIMEOUTS: Final = Timeouts(write_s=120.0, total_s=900.0)
"""For files: 32 MB take about five minutes at 1 Mbit/s."""

MAX_SMALL_REPLY_BYTES: Final = 4 << 20
"""The largest reply without vectors."""

SUBMIT_GRACE_S: Final = 5.0
"""How long a cancelled submission may still take: without its id the job and its tokens would be lost."""

NOT_FOUND: Final = (404, 410)
"""Statuses for objects that don't exist, or no longer."""

_ID: Final = re.compile(r"[!-~]{1,200}")

_Result = TypeVar("_Result")


class BulkState(Struct, frozen=True):
    """A job's progress in texts; `reason` is why it failed."""

    state: Literal["running", "done", "failed"]
    done: int
    total: int
    reason: str = ""


class BulkResults(Struct, frozen=True):
    """The results of a job's texts, by their hashes.

    `vectors` are unit vectors (dims,) of equal size. Texts in `refused` are refused in any request, those in `failed`
    may be sent again; both have a reason. `tokens` is None if the provider doesn't count them.
    """

    vectors: dict[str, FloatArray] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tokens: int | None = None


class BulkApi(ABC):
    """A batch API; `max_texts` and `max_bytes` (`jobs.request_bytes`) limit jobs.

    Every method raises `ProviderFailedError` if the call can't be made or its reply is unusable. If the account is
    paused, nothing is sent and `data["retry_after_s"]` is set.

    Only a pause that the provider asks for is recorded at the account. Other failures don't concern plain requests: a
    key may lack the permission for files, an address may have no batch API, and quotas of batches may be separate.
    """

    max_texts: int
    max_bytes: int

    def __init__(
        self,
        api: EmbeddingApi,
        http: HttpClient,
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
        self._limiter = trio.CapacityLimiter(1)
        self._plain = api.request(["."], "document")
        self._redactor = self._plain.redactor
        self._headers = {
            name: text for name, text in self._plain.headers.items() if name.lower() != "content-type"
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.provider} {self._api.endpoint.model}>"

    @property
    def owner(self) -> str:
        """16 hex digits that identify the account: a hash of provider, address and key."""
        return hashlib.sha256(self._api.endpoint.account.encode()).hexdigest()[:16]

    def retry_in_s(self) -> float:
        """Return for how many seconds calls still fail fast; 0 if a call may be made now."""
        return self._account.retry_in_s(self._api.endpoint.model)

    @abstractmethod
    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Submit texts as a job, and return its id.

        Args:
            items: (hash, text) with distinct hashes, within the limits.

        Cancellation: uploads expire at the provider. The call that creates the job may still take a few seconds, so
        that its id is returned: a job without an id would be paid for in vain.
        """

    @abstractmethod
    async def poll(self, job_id: str) -> BulkState:
        """Return the progress of a job; a job the provider doesn't know has failed."""

    @abstractmethod
    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return the results of a job that ended or was cancelled: all, some, or none.

        Args:
            job_id: From `submit`.
            hashes: Of the job's texts, in their order at `submit`.
        """

    @abstractmethod
    async def cancel(self, job_id: str) -> None:
        """Cancel a job; its results so far can still be fetched."""

    @abstractmethod
    async def clean_up(self, job_id: str) -> None:
        """Delete an ended job's data at the provider; they expire there anyway."""

    # --- calls ----------------------------------------------------------------------------------

    def _sendable(self, items: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
        """Return texts as they are sent, and their estimated tokens."""
        texts = [self._prefix + (encodable(text) if text.strip() else BLANK) for _, text in items]
        return texts, sum(map(estimate_tokens, texts))

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        """Process megabytes in a thread."""
        return await trio.to_thread.run_sync(work, limiter=self._limiter)

    def _request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        url: str,
        body: bytes = b"",
        kind: str = "application/json",
    ) -> ApiRequest:
        headers = {**self._headers, "Content-Type": kind} if body else self._headers
        return ApiRequest(method, url, headers, body, self._redactor)

    def _begin(self, tokens: int) -> ProviderCall:
        """Begin a call that buys tokens; raises as `Account.begin`."""
        return self._account.begin(tokens, metered=True, model=self._api.endpoint.model)

    async def _fetch(
        self, request: ApiRequest, timeouts: Timeouts = CALL_TIMEOUTS, max_bytes: int = MAX_SMALL_REPLY_BYTES
    ) -> HttpReply | None:
        """Send a free request; return its reply, None for status 404 or 410.

        A success doesn't close the circuit breaker: providers return results of accounts without credit.
        """
        with self._account.begin(0, metered=False, model=self._api.endpoint.model) as call:
            return await self._send(call, request, timeouts, max_bytes=max_bytes)

    async def _send(
        self,
        call: ProviderCall,
        request: ApiRequest,
        timeouts: Timeouts = CALL_TIMEOUTS,
        *,
        max_bytes: int = MAX_SMALL_REPLY_BYTES,
        tries: int = 1,
    ) -> HttpReply | None:
        """Send a request of a call; return its reply, None for status 404 or 410."""
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
            call.record_failure(error)
            raise
        except ProviderFailedError:
            call.record_abandoned()
            raise
        raise AssertionError("tries must be positive")

    async def _send_once(self, request: ApiRequest, timeouts: Timeouts, max_bytes: int) -> HttpReply | None:
        reply = await self._http.send(request, timeouts, max_bytes=max_bytes)
        if reply.status in NOT_FOUND:
            return None
        if 200 <= reply.status < 300:
            return reply
        raise self._api.failure(reply.status, reply.headers, reply.body)

    def _decoded(self, body: bytes, shape: type[_Result], what: str) -> _Result:
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._unexpected_reply_error(what) from None

    def _checked_id(self, found: str, what: str) -> str:
        """Return an id of the provider if it is safe to store and show."""
        if _ID.fullmatch(found) and not self._redactor.has_secret(found, WINDOW):
            return found
        raise self._unexpected_reply_error(what)

    def _unexpected_reply_error(self, what: str) -> ProviderReplyError:
        return ProviderReplyError(f"{self.provider} sent something else than {what}")

    def _no_batch_api_error(self) -> ProviderFailedError:
        """Return the error for an address without a batch API."""
        return ProviderFailedError(
            f"{self.provider} has no batch API at this address, or none for {self._api.endpoint.model}",
            hint="set endpoint.batch.enabled to false to avoid these attempts; plain requests are used meanwhile",
        )


async def finish_submission(work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Return work's result, with `SUBMIT_GRACE_S` to end after cancellation.

    For the submission of a job: the caller must record its id before the next checkpoint.
    """
    results: list[_Result] = []
    errors: list[MemdError] = []
    scope = trio.CancelScope(shield=True)

    async def watch() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:  # not raised again: the cancelled call may still end
            scope.deadline = trio.current_time() + SUBMIT_GRACE_S

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
    """Collects and checks results; the first vector of a text counts."""

    def __init__(self, api: EmbeddingApi) -> None:
        self._api = api
        self._vectors: dict[str, FloatArray] = {}
        self._refused: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._tokens: int | None = None

    def __repr__(self) -> str:
        return f"<ResultCollector {len(self._vectors)} vectors>"

    def add_reply(self, digest: str, body: bytes) -> None:
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

    def add_error_reply(self, digest: str, status: int, body: bytes) -> None:
        """Add a reply of another status."""
        error = self._api.failure(status, {}, body)
        kind = self._refused if isinstance(error, TextRefusedError) else self._failed
        kind[digest] = error.message

    def add_refused(self, digest: str, reason: str) -> None:
        """Record that the provider refuses a text."""
        self._refused[digest] = reason

    def add_failed(self, digest: str, reason: str) -> None:
        """Record that a text has no result."""
        self._failed[digest] = reason

    def results(self) -> BulkResults:
        """Return all results; vectors of differing size are failed."""
        return with_equal_dims(
            BulkResults(self._vectors, self._refused, self._failed, self._tokens), self._api.endpoint.dims
        )


def with_equal_dims(results: BulkResults, dims: int | None = None) -> BulkResults:
    """Return results with vectors of equal size; texts with other vectors are failed."""
    sizes = Counter(vector.shape[0] for vector in results.vectors.values())
    if dims is None and sizes:
        size, count = sizes.most_common(1)[0]
        dims = size if 2 * count > sizes.total() else None
    kept = {one: vector for one, vector in results.vectors.items() if vector.shape[0] == dims}
    odd = {one: OTHER_SIZE for one in results.vectors if one not in kept}
    return BulkResults(kept, results.refused, {**results.failed, **odd}, results.tokens)


def match_to_hashes(results: BulkResults, hashes: Sequence[str]) -> BulkResults:
    """Return the results of exactly these texts; missing ones are failed.

    If several texts were sent and all are refused, the cause is the request, so they are failed instead.
    """
    vectors = {one: results.vectors[one] for one in hashes if one in results.vectors}
    refused = {one: results.refused[one] for one in hashes if one in results.refused and one not in vectors}
    if len(hashes) > 1 and len(refused) == len(hashes):
        return BulkResults({}, {}, refused, results.tokens)
    failed = {
        one: results.failed.get(one, NO_RESULT) for one in hashes if one not in vectors and one not in refused
    }
    return BulkResults(vectors, refused, failed, results.tokens)
