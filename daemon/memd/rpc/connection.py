"""One peer: its frames, its requests in flight, progress, cancel, and every limit that holds for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import structlog
import trio

from memd.rpc.admission import Turns, time_left
from memd.rpc.call import Call, DaemonFacts, Memory
from memd.rpc.counting import count_request
from memd.rpc.dispatch import HANDLERS, dispatch, error_shape
from memd.rpc.outbox import Outbox
from memd.rpc.packing import encode_reply
from memd_client.errors import (
    BadParamsError,
    DaemonBusyError,
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
from memd_client.messages import Progress
from memd_client.session import LAST_ID, NOTIFICATION, RESPONSE
from memd_client.wire import to_wire

log = structlog.get_logger(__name__)

READ_BYTES = 64 * 1024
"""Bytes asked for at once: most requests are far below, and a large one takes few turns of the loop."""

FAREWELL_S = 1.0
"""What the last frames may take before a connection is closed."""

PROGRESS_S = 0.05
"""Progress within a stage is told this often at most: faster than anyone reads."""

ENDLESS = frozenset({"subscribe"})
"""Requests that go on until they are cancelled: a daemon that stops doesn't wait for them."""

MAX_DETAIL_CHARS = 300
"""A progress's detail is cut here."""


@dataclass(eq=False)
class _Request:
    """A request in flight. `reason` is what it answers if its scope is cancelled."""

    id: int
    method: str
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    reason: MemdError | None = None
    answered: bool = False
    stage: str = ""
    told_at: float = 0.0

    def stop(self, reason: MemdError) -> bool:
        """Cancel it, unless it is over or stopped already."""
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
        memory: Memory,
        facts: DaemonFacts,
        number: int = 0,
    ) -> None:
        self._stream = stream
        self._memory = memory
        self._facts = facts
        self._limits = facts.limits
        self._number = number
        self._admission = facts.admission
        self._outbox = Outbox(stream, facts.limits, facts.backlog)
        self._running: dict[int, _Request] = {}
        self.greeted = False
        self._draining = False
        self._dismissed: MemdError | None = None
        self._reading = trio.CancelScope()
        self._quiet = trio.lowlevel.ParkingLot()
        self._opened_at = self._active_at = 0.0
        self._frame_since: float | None = None

    def __repr__(self) -> str:
        state = "draining" if self._draining else "greeted" if self.greeted else "new"
        return f"<Connection {self._number} {state}, {len(self._running)} in flight, {self._outbox!r}>"

    async def run(self) -> None:
        """Serve the peer until it leaves, breaks the protocol, or the server drains.

        *When it fails*: nothing a peer sends or a method raises comes out of here. *Resources*: the
        requests in flight are cancelled and the stream is closed on every way out.
        """
        self._token = trio.lowlevel.current_trio_token()
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
                self._facts.meter.count("memd_connections_refused_total", reason.wire_code)
                await self._farewell(reason)
            # Closed before the requests are: one that works in a thread may take a while to end.
            await trio.aclose_forcefully(self._stream)
            nursery.cancel_scope.cancel()

    def drain(self) -> None:
        """Take no more requests, let those in flight end (`drain_s` at most), then close."""
        self._draining = True
        self._reading.cancel()
        for request in list(self._running.values()):
            if request.method in ENDLESS:
                request.stop(ShuttingDownError("the daemon is stopping"))

    def dismiss(self, reason: MemdError) -> None:
        """Close the connection, and tell the peer why."""
        self._dismissed = reason
        self._reading.cancel()

    async def _write(self) -> None:
        """Send what is queued; end the connection when that fails."""
        try:
            await self._outbox.write()
        except trio.TooSlowError:
            log.warning("rpc.slow_reader_dropped", connection=self._number, waiting=repr(self._outbox))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            log.debug("rpc.peer_gone", connection=self._number)
        self._nursery.cancel_scope.cancel()

    async def _read(self) -> MemdError | None:
        """Take requests until the peer leaves (None), or return why it has to."""
        decoder = FrameDecoder(self._limits.frame_bytes, self._limits.frame_values)
        while True:
            try:
                with trio.fail_at(self._patience_ends()):
                    data = await self._stream.receive_some(READ_BYTES)
            except trio.TooSlowError:
                if trio.current_time() < self._patience_ends():
                    continue
                return self._impatience()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not data:
                return None
            try:
                messages = decoder.feed(bytes(data))
                for message in messages:
                    await self._take(message)
                # Only now: while we made the peer wait, its silence was ours.
                self._note_arrival(bool(messages), decoder.waiting_bytes)
            except (FrameInvalidError, FrameTooBigError, DaemonBusyError) as error:
                return error

    def _note_arrival(self, whole: bool, waiting_bytes: int) -> None:
        """Keep in mind when the peer last said something whole, and since when it is in the middle of a frame."""
        now = trio.current_time()
        self._admission.keep(self, waiting_bytes)
        if whole:
            self._active_at = now
        if not waiting_bytes:
            self._frame_since = None
        elif whole or self._frame_since is None:
            self._frame_since = now

    def _patience_ends(self) -> float:
        """Return when (trio's clock) the peer's silence is too long; while it waits for us it never is."""
        if not self.greeted:
            return self._opened_at + self._limits.hello_s
        if self._frame_since is not None:
            return self._frame_since + self._limits.frame_s
        since = trio.current_time() if self._running else self._active_at
        return since + self._limits.idle_s

    def _impatience(self) -> MemdError:
        """Return what a silent peer is told."""
        if self.greeted and self._frame_since is not None:
            return IdleTimeoutError(f"a frame was begun and not whole after {self._limits.frame_s:g} s")
        if self.greeted:
            return IdleTimeoutError(f"the connection was silent for {self._limits.idle_s:g} s")
        return IdleTimeoutError(f"no hello within {self._limits.hello_s:g} s of connecting")

    async def _take(self, message: Any) -> None:
        """Start the request a message holds, or answer why not."""
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
            await self._serve(request, params)  # in the reader: what follows in the stream is greeted
        elif not self.greeted:
            await self._refuse(request, HelloRequiredError(f"`{method[:60]}` came before hello"))
        elif method != "cancel" and len(self._running) >= self._limits.requests_per_connection:
            limit = self._limits.requests_per_connection
            await self._refuse(request, TooManyRequestsError(f"{limit} requests are in flight already"))
        else:
            try:
                self._admission.enter(self, method)
            except DaemonBusyError as error:
                await self._refuse(request, error)
                return
            self._running[request_id] = request
            self._nursery.start_soon(self._serve_admitted, request, params)

    async def _serve_admitted(self, request: _Request, params: Any) -> None:
        """Run a request that was counted in."""
        try:
            await self._serve(request, params)
        finally:
            self._admission.leave(self)

    async def _serve(self, request: _Request, params: Any) -> None:
        """Run one request and send what came of it: always exactly one response."""
        error: Any = None
        result: Any = None
        started = perf_counter()
        try:
            with request.scope:
                result = await self._run(request, params)
            if request.scope.cancelled_caught and request.reason is not None:
                error = error_shape(request.reason)
        except Exception as failure:  # noqa: BLE001 - error_shape logs it; no method's fault ends a connection
            error = error_shape(failure, method=request.method, connection=self._number, request=request.id)
        if request.method == "hello" and error is None:
            self.greeted = True
        request.answered = True
        self._count(request.method, "ok" if error is None else error["code"], perf_counter() - started)
        try:
            await self._reply(request.id, error, result)
        finally:
            self._running.pop(request.id, None)
            self._active_at = trio.current_time()
            if not self._running:
                self._quiet.unpark_all()

    async def _run(self, request: _Request, params: Any) -> Any:
        """Run a request's method once it is its turn, and the peer reads what it is told."""
        turns = self._admission.turns(request.method)
        if turns is None:
            return await dispatch(request.method, params, self._call_of(request))
        with time_left(params) as left:
            await self._take_turn(turns)
        try:
            return await dispatch(request.method, left.params(), self._call_of(request))
        finally:
            turns.give_back(self)

    async def _take_turn(self, turns: Turns) -> None:
        """Wait for a turn, and for room for what the peer has to read."""
        await turns.take(self)
        while self._outbox.is_full:
            turns.give_back(self)
            await self._outbox.wait_for_room()
            await turns.take(self)

    @contextlib.asynccontextmanager
    async def _turn(self, method: str) -> AsyncIterator[None]:
        """Hold a turn of a request of that name inside the `async with` block."""
        turns = self._admission.turns(method)
        if turns is None:
            yield
            return
        await self._take_turn(turns)
        try:
            yield
        finally:
            turns.give_back(self)

    def _count(self, method: str, code: str, seconds: float | None) -> None:
        """Count a request that is answered; one that was never run took no time worth counting."""
        count_request(self._facts.meter, method if method in HANDLERS else None, code, seconds)

    def _call_of(self, request: _Request) -> Call:
        """Return what the request's method is given."""

        def cancel(request_id: int) -> bool:
            target = self._running.get(request_id)
            if target is None or target is request:
                return False
            return target.stop(
                RequestCancelledError(f"request {request_id} (`{target.method}`) was cancelled")
            )

        def progress(stage: str, done: int, total: int, detail: str) -> None:
            if trio.lowlevel.in_trio_run():
                self._tell(request, stage, done, total, detail)
                return
            with contextlib.suppress(
                trio.RunFinishedError
            ):  # a worker thread that outlived the daemon's loop
                self._token.run_sync_soon(self._tell, request, stage, done, total, detail)

        def notify(method: str, params: Mapping[str, Any]) -> bool:
            frame = encode_reply([NOTIFICATION, method, {"id": request.id, **params}])
            return not request.answered and self._outbox.offer(frame)

        return Call(self._memory, self._facts, progress, cancel, notify, self._turn)

    def _tell(self, request: _Request, stage: str, done: int, total: int, detail: str) -> None:
        """Queue a progress, unless it is too soon for another, too late, or nobody reads."""
        now = trio.current_time()
        over = done == total
        if request.answered or (stage == request.stage and not over and now - request.told_at < PROGRESS_S):
            return
        progress = Progress(request.id, stage, done, total, detail[:MAX_DETAIL_CHARS])
        if self._outbox.offer(encode_reply([NOTIFICATION, "progress", to_wire(progress)])):
            request.stage, request.told_at = stage, now

    async def _refuse(self, request: _Request, error: MemdError) -> None:
        """Answer a request that isn't run. The reader waits here if the peer doesn't read."""
        self._count(request.method, error.wire_code, None)
        await self._reply(request.id, error_shape(error), None)

    async def _reply(self, request_id: int, error: Any, result: Any) -> None:
        """Queue a response; one that fits no frame becomes the error that says so."""
        try:
            frame = encode_reply([RESPONSE, request_id, error, result], self._limits.frame_bytes)
        except FrameTooBigError as failure:
            frame = encode_frame([RESPONSE, request_id, error_shape(failure), None])
        except (
            BadParamsError
        ) as failure:  # the method returned what msgpack can't carry: our fault, not the peer's
            crash = RuntimeError(failure.message)
            shape = error_shape(crash, connection=self._number, request=request_id)
            frame = encode_frame([RESPONSE, request_id, shape, None])
        await self._outbox.put(frame)

    async def _finish_requests(self) -> None:
        """Let the requests in flight end, stop those that take too long, and flush."""
        with trio.move_on_after(self._limits.drain_s):
            await self._all_quiet()
        for request in list(self._running.values()):
            request.stop(ShuttingDownError("the daemon is stopping"))
        with trio.move_on_after(FAREWELL_S):
            await self._all_quiet()
            await self._outbox.flush()

    async def _all_quiet(self) -> None:
        """Wait until no request is in flight."""
        while self._running:
            await self._quiet.park()

    async def _farewell(self, reason: MemdError) -> None:
        """Stop everything, tell the peer why (id 0: the whole connection), and give it a moment to read."""
        for request in list(self._running.values()):
            request.stop(reason)
        with trio.move_on_after(FAREWELL_S):
            await self._reply(0, error_shape(reason), None)
            await self._outbox.flush()
