"""The server's side of one connection: its frames, requests in flight, progress, cancellation and limits."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import trio

from memd.agents.registry import AgentRegistry
from memd.lifecycle.recalls.recall import recall_of
from memd.rpc.call import Call, DaemonContext
from memd.rpc.dispatch import error_shape, find_handler, wire_reply
from memd.rpc.metrics import count_request
from memd.rpc.outbox import Outbox, encode_reply
from memd.sync.search_scheduler import CLIENT_LOAD
from memd.system.log import log
from memd_client.errors import (
    BadParamsError,
    DaemonBusyError,
    DeadlineExceededError,
    FrameInvalidError,
    FrameTooBigError,
    HelloRequiredError,
    IdleTimeoutError,
    MemdError,
    RequestCancelledError,
    ShuttingDownError,
    TooManyRequestsError,
)
from memd_client.framing import FrameDecoder, encode_frame
from memd_client.messages import REQUESTS, Progress
from memd_client.schema import to_wire
from memd_client.session import LAST_ID, NOTIFICATION, RESPONSE

READ_BYTES = 64 * 1024
"""Bytes per read: most requests are far smaller, and a large one takes few reads."""

LAST_FRAMES_TIMEOUT_S = 1.0
"""Longest time to send the last frames before a connection is closed."""

MIN_PROGRESS_INTERVAL_S = 0.05
"""Shortest time between two progress notifications of one stage: faster than a user reads."""

ENDLESS_REQUESTS = frozenset({"subscribe"})
"""Requests that run until they are cancelled: a daemon that stops doesn't wait for them."""

MAX_DETAIL_CHARS = 300
"""Longest detail of a progress; the rest is cut off."""


@dataclass(eq=False)
class _Request:
    """A request in flight. `reason` is its error if its scope is cancelled."""

    id: int
    method: str
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    reason: MemdError | None = None
    answered: bool = False
    stage: str = ""
    progress_at: float = 0.0

    def stop(self, reason: MemdError) -> bool:
        """Cancel it, unless it has ended or was stopped before."""
        if self.answered or self.reason is not None:
            return False
        self.reason = reason
        self.scope.cancel()
        return True


class Connection:
    """The server's side of one connection."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        registry: AgentRegistry,
        daemon: DaemonContext,
        number: int = 0,
    ) -> None:
        self._stream = stream
        self._registry = registry
        self._daemon = daemon
        self._limits = daemon.limits
        self._number = number
        self._admission = daemon.admission
        self._outbox = Outbox(stream, daemon.limits, daemon.backlog)
        self._running: dict[int, _Request] = {}
        self.greeted = False
        self._client = ""
        self._has_answered = False
        self._draining = False
        self._dismissed: MemdError | None = None
        self._reading = trio.CancelScope()
        self._quiet = trio.lowlevel.ParkingLot()
        self._opened_at = self._active_at = 0.0
        self._frame_since: float | None = None

    def __repr__(self) -> str:
        state = "draining" if self._draining else "greeted" if self.greeted else "new"
        return f"<Connection {self._number} {state}, {len(self._running)} in flight, {self._outbox!r}>"

    @property
    def load(self) -> int:
        """Its requests in flight, bytes of unread replies, and 1 until its first reply; served later if it is high."""
        return len(self._running) + self._outbox.waiting_bytes + (not self._has_answered)

    async def run(self) -> None:
        """Serve the peer until it leaves, breaks the protocol, or the server drains.

        *When it fails*: no input of the peer and no error of a method raises here. *Resources*: the requests in flight
        are cancelled and the stream is closed in any case.
        """
        self._token = trio.lowlevel.current_trio_token()
        CLIENT_LOAD.set(lambda: self.load)
        self._opened_at = self._active_at = trio.current_time()
        async with self._stream, trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._write)
            reason: MemdError | None = None
            with self._reading:
                try:
                    reason = await self._read()
                finally:
                    self._admission.keep(self, 0)
            reason = reason or self._dismissed
            if self._draining:
                await self._finish_requests()
            elif reason is not None:
                log.info("rpc.connection_refused", connection=self._number, code=reason.wire_code)
                self._daemon.meter.count("memd_connections_refused_total", reason.wire_code)
                await self._send_last_error(reason)
            # Closed before the requests end: one that works in a thread may take a while.
            await trio.aclose_forcefully(self._stream)
            nursery.cancel_scope.cancel()

    def drain(self) -> None:
        """Accept no more requests, wait for those in flight (`drain_s` at most), then close."""
        self._draining = True
        self._reading.cancel()
        for request in list(self._running.values()):
            if request.method in ENDLESS_REQUESTS:
                request.stop(ShuttingDownError("the daemon is stopping"))

    def dismiss(self, reason: MemdError) -> None:
        """Send an error of the whole connection and close it."""
        self._dismissed = reason
        self._reading.cancel()

    async def _write(self) -> None:
        """Send queued frames; close the connection when that fails."""
        try:
            await self._outbox.write()
        except trio.TooSlowError:
            log.warning("rpc.slow_reader_dropped", connection=self._number, waiting=repr(self._outbox))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            log.debug("rpc.peer_gone", connection=self._number)
        self._nursery.cancel_scope.cancel()

    async def _read(self) -> MemdError | None:
        """Read requests until the peer disconnects (None), or return why the connection must be closed."""
        decoder = FrameDecoder(self._limits.frame_bytes, self._limits.frame_values)
        while True:
            try:
                with trio.fail_at(self._idle_deadline()):
                    data = await self._stream.receive_some(READ_BYTES)
            except trio.TooSlowError:
                if trio.current_time() < self._idle_deadline():
                    continue
                return self._idle_error()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not data:
                return None
            try:
                messages = decoder.feed(bytes(data))
                for message in messages:
                    await self._take(message)
                    if len(messages) > 1:  # else bursts of many connections would occupy the loop for seconds
                        await trio.lowlevel.checkpoint()
                # Recorded after the requests: while the peer waited for the daemon, it was not idle.
                self._note_arrival(bool(messages), decoder.waiting_bytes)
            except (FrameInvalidError, FrameTooBigError, DaemonBusyError) as error:
                return error

    def _note_arrival(self, whole: bool, waiting_bytes: int) -> None:
        """Record when the last complete frame arrived, and since when one is incomplete."""
        now = trio.current_time()
        self._admission.keep(self, waiting_bytes)
        if whole:
            self._active_at = now
        if not waiting_bytes:
            self._frame_since = None
        elif whole or self._frame_since is None:
            self._frame_since = now

    def _idle_deadline(self) -> float:
        """Return when (trio's clock) the peer has been idle for too long; never while it waits for a reply."""
        if not self.greeted:
            return self._opened_at + self._limits.hello_s
        if self._frame_since is not None:
            return self._frame_since + self._limits.frame_s
        since = trio.current_time() if self._running else self._active_at
        return since + self._limits.idle_s

    def _idle_error(self) -> MemdError:
        """Return the error of an idle peer."""
        if self.greeted and self._frame_since is not None:
            return IdleTimeoutError(f"a frame was incomplete after {self._limits.frame_s:g} s")
        if self.greeted:
            return IdleTimeoutError(f"the connection was idle for {self._limits.idle_s:g} s")
        return IdleTimeoutError(f"no hello within {self._limits.hello_s:g} s of connecting")

    async def _take(self, message: Any) -> None:
        """Start the request of a message, or reply with an error."""
        match message:
            case [0, int(request_id), str(method), params] if (
                request_id is not True and 1 <= request_id <= LAST_ID and request_id not in self._running
            ):
                pass
            case [2, str(), _]:
                return  # a notification of a newer client
            case _:
                raise FrameInvalidError("a message is neither a request with a free id nor a notification")
        request = _Request(request_id, method)
        if method == "hello":
            await self._serve(request, params)  # in the reader, so that the next frames count as greeted
        elif not self.greeted:
            await self._refuse(request, HelloRequiredError(f"`{method[:60]}` was sent before `hello`"))
        elif method != "cancel" and len(self._running) >= self._limits.requests_per_connection:
            limit = self._limits.requests_per_connection
            await self._refuse(
                request, TooManyRequestsError(f"{limit} requests of this connection are in flight")
            )
        else:
            try:
                self._admission.enter(self, method)
            except DaemonBusyError as error:
                await self._refuse(request, error)
                return
            self._running[request_id] = request
            self._nursery.start_soon(self._serve, request, params)

    async def _serve(self, request: _Request, params: Any) -> None:
        """Run one request and send exactly one response."""
        error: Any = None
        result: Any = None
        started = perf_counter()
        try:
            try:
                with request.scope:
                    result = await self._run(request, params)
                if request.scope.cancelled_caught and request.reason is not None:
                    error = error_shape(request.reason)
            except Exception as failure:  # noqa: BLE001 - logged by error_shape; must not end the connection
                error = error_shape(
                    failure, method=request.method, connection=self._number, request=request.id
                )
            if request.method == "hello" and error is None:
                self.greeted = True
            request.answered = True
            code = "ok" if error is None else error["code"]
            self._count(request.method, code, perf_counter() - started)
            frame, result = self._encode(request.id, error, result), None  # frees the value before the wait
            await self._outbox.put(frame)
        finally:
            if self._running.pop(request.id, None) is not None:
                self._admission.leave(self)
                self._has_answered = True
            self._active_at = trio.current_time()
            if not self._running:
                self._quiet.unpark_all()

    async def _run(self, request: _Request, params: Any) -> Any:
        """Run a request's method when it has a slot; the wait counts towards the request's deadline."""
        given = params.get("deadline_ms") if isinstance(params, dict) else None
        deadline_ms = given if type(given) is int and given > 0 else None
        began = trio.current_time()
        async with self._slot(request.method, deadline_ms):
            if deadline_ms is not None:
                waited_ms = int((trio.current_time() - began) * 1000)
                params = {**params, "deadline_ms": max(1, deadline_ms - waited_ms)}
            handle, decoded = find_handler(request.method, params)
            call = self._call_of(request)
            reply = await handle(call, decoded)
            if request.method == "hello":
                self._client = decoded.client
            recall = recall_of(decoded, reply, self._client)
            if recall is not None:
                self._daemon.recalls.add(recall)
            return wire_reply(call, reply)

    @contextlib.asynccontextmanager
    async def _slot(self, method: str, deadline_ms: int | None = None) -> AsyncIterator[None]:
        """Keep a slot for a request of that name inside the `async with` block, if it needs one.

        Also waits until the peer has read enough of its queued replies.
        """
        slots = self._admission.slots_of(method)
        if slots is None:
            yield
            return
        with trio.move_on_after(math.inf if deadline_ms is None else deadline_ms / 1000) as waiting:
            await slots.acquire(self)
            while self._outbox.is_full:
                slots.release(self)
                await self._outbox.wait_for_space()
                await slots.acquire(self)
        if waiting.cancelled_caught:
            raise DeadlineExceededError(f"the request did not start within its deadline of {deadline_ms} ms")
        try:
            yield
        finally:
            slots.release(self)

    def _count(self, method: str, code: str, seconds: float | None) -> None:
        """Count a request with its outcome; `seconds` is None for one that was not run."""
        count_request(self._daemon.meter, method if method in REQUESTS else None, code, seconds)

    def _call_of(self, request: _Request) -> Call:
        """Return the context for the request's method."""

        def cancel(request_id: int) -> bool:
            target = self._running.get(request_id)
            if target is None or target is request:
                return False
            return target.stop(
                RequestCancelledError(f"request {request_id} (`{target.method}`) was cancelled")
            )

        def progress(stage: str, done: int, total: int, detail: str) -> None:
            if trio.lowlevel.in_trio_run():
                self._send_progress(request, stage, done, total, detail)
                return
            with contextlib.suppress(
                trio.RunFinishedError
            ):  # a worker thread that outlived the daemon's loop
                self._token.run_sync_soon(self._send_progress, request, stage, done, total, detail)

        def notify(method: str, params: Mapping[str, Any]) -> bool:
            frame = encode_reply([NOTIFICATION, method, {"id": request.id, **params}])
            return not request.answered and self._outbox.offer(frame)

        return Call(self._registry, self._daemon, progress, cancel, notify, self._slot, self._client)

    def _send_progress(self, request: _Request, stage: str, done: int, total: int, detail: str) -> None:
        """Queue a progress, unless the last one is too recent, the request has ended or the queue is full."""
        now = trio.current_time()
        over = done == total
        if request.answered or (
            stage == request.stage and not over and now - request.progress_at < MIN_PROGRESS_INTERVAL_S
        ):
            return
        progress = Progress(request.id, stage, done, total, detail[:MAX_DETAIL_CHARS])
        if self._outbox.offer(encode_reply([NOTIFICATION, "progress", to_wire(progress)])):
            request.stage, request.progress_at = stage, now

    async def _refuse(self, request: _Request, error: MemdError) -> None:
        """Reply with an error to a request that isn't run. The reader waits here if the peer doesn't read."""
        self._count(request.method, error.wire_code, None)
        await self._outbox.put(self._encode(request.id, error_shape(error), None))

    def _encode(self, request_id: int, error: Any, result: Any) -> bytes:
        """Return the frame of a response; if it is longer than a frame, of an error instead."""
        try:
            return encode_reply([RESPONSE, request_id, error, result], self._limits.frame_bytes)
        except FrameTooBigError as failure:
            return encode_frame([RESPONSE, request_id, error_shape(failure), None])
        except (
            BadParamsError
        ) as failure:  # the method returned a value that can't be encoded: a defect of the daemon
            crash = RuntimeError(failure.message)
            shape = error_shape(crash, connection=self._number, request=request_id)
            return encode_frame([RESPONSE, request_id, shape, None])

    async def _finish_requests(self) -> None:
        """Wait for the requests in flight, stop those that take too long, and flush."""
        with trio.move_on_after(self._limits.drain_s):
            await self._all_quiet()
        for request in list(self._running.values()):
            request.stop(ShuttingDownError("the daemon is stopping"))
        with trio.move_on_after(LAST_FRAMES_TIMEOUT_S):
            await self._all_quiet()
            await self._outbox.flush()

    async def _all_quiet(self) -> None:
        """Wait until no request is in flight."""
        while self._running:
            await self._quiet.park()

    async def _send_last_error(self, reason: MemdError) -> None:
        """Stop all requests and send the reason to the peer (id 0: the whole connection)."""
        for request in list(self._running.values()):
            request.stop(reason)
        with trio.move_on_after(LAST_FRAMES_TIMEOUT_S):
            await self._outbox.put(self._encode(0, error_shape(reason), None))
            await self._outbox.flush()
