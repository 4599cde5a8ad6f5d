"""Calls to a batch API: made on the account, their failures kept apart from those of plain requests."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeVar

import trio

from memd.embedding.provider import BLANK, encodable
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.account import Account, Call
from memd.embedding.remote.providers.api import ApiRequest, EmbeddingApi
from memd.embedding.remote.providers.http import Http, Patience, Reply
from memd.embedding.remote.retry import TRIES, backoff_s, is_transient, named_pause_s
from memd.text.tokens import estimate_tokens
from memd_client.errors import MemdError, ProviderFailedError, ProviderRateLimitedError, ProviderReplyError

Pause = Callable[[float], Awaitable[None]]
"""Sleeps for some seconds."""

CALL: Final = Patience()
"""For small requests with small replies."""

TRANSFER: Final = Patience(write_s=120.0, total_s=900.0)
"""For files: 32 MB up a line of 1 Mbit/s take about five minutes."""

SMALL_BYTES: Final = 4 << 20
"""What a reply without vectors may come to."""

GRACE_S: Final = 5.0
"""How long the call that makes a job is awaited after it was cancelled: its id would be lost, and its tokens."""

UPLOAD_TRIES: Final = TRIES
"""Tries of an upload: a file that arrived twice costs nothing, and expires."""

GONE: Final = (404, 410)
"""Statuses of what the provider doesn't have, or no longer has."""

_ID: Final = re.compile(r"[!-~]{1,200}")

_Result = TypeVar("_Result")


class Calls:
    """Sends the requests of one endpoint's batch API.

    Of its failures the account learns only of a pause the provider asks for. The rest says nothing of plain requests:
    a key may be allowed to embed and not to keep files, an address may embed and have no batch API, and a quota may be
    of batches alone. Questions must not wait for any of that.
    """

    def __init__(self, api: EmbeddingApi, http: Http, account: Account, prefix: str, pause: Pause) -> None:
        self._api = api
        self._http = http
        self._account = account
        self._prefix = prefix
        self._pause = pause
        self._thread = trio.CapacityLimiter(1)
        self.plain = api.request(["."], "document")
        self.redactor = self.plain.redactor
        self._headers = {
            name: text for name, text in self.plain.headers.items() if name.lower() != "content-type"
        }

    def __repr__(self) -> str:
        return f"<Calls {self.provider}>"

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._api.endpoint.provider

    @property
    def owner(self) -> str:
        """16 hex digits that tell whose jobs these are."""
        return hashlib.sha256(self._api.endpoint.account.encode()).hexdigest()[:16]

    def retry_in_s(self) -> float:
        """Return how long calls are refused without being tried."""
        return self._account.retry_in_s(self._api.endpoint.model)

    def sendable(self, text: str) -> str:
        """Return a text as it is sent: providers refuse one that is empty."""
        return self._prefix + (encodable(text) if text.strip() else BLANK)

    def estimate(self, texts: list[str]) -> int:
        """Return about how many tokens some texts cost."""
        return sum(map(estimate_tokens, texts))

    async def beside(self, work: Callable[[], _Result]) -> _Result:
        """Do work on megabytes in a thread of its own, beside the loop."""
        return await trio.to_thread.run_sync(work, limiter=self._thread)

    def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        url: str,
        body: bytes = b"",
        kind: str = "application/json",
    ) -> ApiRequest:
        """Return a request with the provider's headers."""
        headers = {**self._headers, "Content-Type": kind} if body else self._headers
        return ApiRequest(method, url, headers, body, self.redactor)

    def begin(self, tokens: int) -> Call:
        """Ask for permission to buy tokens: see `Account.begin`, which raises."""
        return self._account.begin(tokens, metered=True, model=self._api.endpoint.model)

    async def fetch(
        self, request: ApiRequest, patience: Patience = CALL, max_bytes: int = SMALL_BYTES
    ) -> Reply | None:
        """Send a request that costs no tokens; return its reply, None where the provider has no such thing.

        A success doesn't open a paused account: the provider gives out results while the credit is used up.
        """
        with self._account.begin(0, metered=False, model=self._api.endpoint.model) as call:
            return await self.send(call, request, patience, max_bytes=max_bytes)

    async def send(
        self,
        call: Call,
        request: ApiRequest,
        patience: Patience = CALL,
        *,
        max_bytes: int = SMALL_BYTES,
        tries: int = 1,
    ) -> Reply | None:
        """Send a request as a part of a call; return its reply, None where the provider has no such thing."""
        try:
            for attempt in range(tries):
                try:
                    return await self._once(request, patience, max_bytes)
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

    async def _once(self, request: ApiRequest, patience: Patience, max_bytes: int) -> Reply | None:
        reply = await self._http.send(request, patience, max_bytes=max_bytes)
        if reply.status in GONE:
            return None
        if 200 <= reply.status < 300:
            return reply
        raise self._api.failure(reply.status, reply.headers, reply.body)

    def checked_id(self, found: str, what: str) -> str:
        """Return an id the provider made: it is stored, logged and shown."""
        if _ID.fullmatch(found) and not self.redactor.shows(found, WINDOW):
            return found
        raise self.nonsense(what)

    def nonsense(self, what: str) -> ProviderReplyError:
        """Return the error for a reply that isn't what is documented."""
        return ProviderReplyError(f"{self.provider} answered with something else than {what}")

    def absent(self) -> ProviderFailedError:
        """Return the error for an address without a batch API."""
        return ProviderFailedError(
            f"{self.provider} has no batch API at this address, or none for {self._api.endpoint.model}",
            hint="Plain requests do the work. To spare the attempts set remote.batch.enabled to false.",
        )


async def finish(work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Return what work returns, even where it is cancelled meanwhile and ends within `GRACE_S`.

    For the call that makes a job: whoever gets its id must put it down before the next checkpoint.
    """
    results: list[_Result] = []
    errors: list[MemdError] = []
    scope = trio.CancelScope(shield=True)

    async def watch() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:  # not raised again: what was cancelled may still be done
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
