"""One open connection, shared by the threads of a process.

There is no background thread. Of the threads that wait for replies one reads for all (the leader); when
it has its own reply it hands the reading to another. A process with one thread never switches threads.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping

from .discovery import peer_uid
from .errors import (
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    PeerRefusedError,
)
from .messages import Progress
from .session import ClientSession, Failure, ProgressEvent, Reply

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

READ_BYTES = 256 * 1024
"""Bytes asked for at once: a large reply takes few calls."""

CANCEL_S = 1.0
"""How long telling the daemon to stop a request may take: only a hung daemon doesn't take it at once."""

SIGNALS_S = 1.0
"""How long one wait lasts at most: a Ctrl-C that comes just before it, or to another thread, doesn't end it."""

BUSY_WAIT_S = 0.005
"""Wait between tries while the daemon's queue of new connections is full (EAGAIN on Linux)."""

OnProgress = Callable[[Progress], None]


def open_socket(path: str, timeout_s: float) -> socket.socket:
    """Return a connected, non-blocking socket.

    Raises:
        DaemonUnreachableError: Nobody listens there.
        DeadlineExceededError: The daemon accepts no connection in time.
        PeerRefusedError: The daemon belongs to another user.
    """
    deadline = time.monotonic() + timeout_s
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        while (code := sock.connect_ex(path)) == errno.EAGAIN:
            if time.monotonic() >= deadline:
                raise DeadlineExceededError(f"the daemon at {path} accepted no connection in {timeout_s:g} s")
            threading.Event().wait(BUSY_WAIT_S)
        if code:
            raise DaemonUnreachableError(
                f"nobody answers at {path}: {os.strerror(code)}", data={"path": path}
            )
        uid = peer_uid(sock)
        if uid not in (None, 0, os.geteuid()):
            raise PeerRefusedError(f"the daemon at {path} belongs to another user (uid {uid})")
    except BaseException:
        sock.close()
        raise
    return sock


class _Waiter:
    """A thread's place in the queue for one reply."""

    __slots__ = ("news", "outcome", "progress", "since")

    def __init__(self, lock: threading.Lock) -> None:
        self.outcome: Reply | Failure | None = None
        self.progress: list[Progress] = []
        self.news = threading.Condition(lock)
        self.since = time.monotonic()


class Link:
    """A greeted connection.

    Args:
        sock: Connected and non-blocking; the link owns it from now on.
        timeout_s: How long the greeting may take.

    Raises:
        DeadlineExceededError: The daemon accepted the connection and doesn't answer: it hangs.
        MemdError: Whatever the daemon refuses the greeting with.
    """

    def __init__(self, sock: socket.socket, timeout_s: float) -> None:
        self.session = ClientSession()
        self.broken: MemdError | None = None
        self._sock = sock
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._sending = False
        self._waiters: dict[int, _Waiter] = {}
        self._leading = False
        try:
            self._exchange(self.session.hello, timeout_s, None, False)
        except DeadlineExceededError:
            self.close()
            raise DeadlineExceededError(
                f"the daemon took the connection and did not answer in {timeout_s:g} s",
                hint="The daemon is hung or overloaded: see its log, or end it and let it start anew.",
            ) from None
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{len(self._waiters)} waiting"
        return f"<Link {state}, {self.session!r}>"

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_s: float | None,
        on_progress: OnProgress | None = None,
        renew: bool = False,
    ) -> Mapping[str, Any]:
        """Send a request and wait for its reply, reading for the other threads meanwhile.

        Args:
            method: The request's name.
            params: Its parameters, ready for msgpack.
            timeout_s: How long to wait; None waits as long as the connection lives.
            on_progress: Called in this thread with every progress.
            renew: Every progress starts the time anew.

        Raises:
            DeadlineExceededError: No reply in time. The request is cancelled, the connection goes on.
            ConnectionLostError: The connection broke.
            MemdError: What the daemon answered.

        *Cancellation*: whatever interrupts the waiting (Ctrl-C, an error of `on_progress`) cancels the
        request; the connection goes on.
        """
        return self._exchange(lambda: self.session.request(method, params), timeout_s, on_progress, renew)

    def close(self) -> None:
        """Close the connection; requests of other threads end with `ConnectionLostError`."""
        self._break(ConnectionLostError("the connection was closed on this side"))

    def abandon(self) -> None:
        """Let go of a connection inherited by fork: the parent's goes on undisturbed."""
        self.session.close()
        self._sock.close()

    def _exchange(
        self,
        encode: Callable[[], tuple[int, bytes]],
        timeout_s: float | None,
        on_progress: OnProgress | None,
        renew: bool,
    ) -> Mapping[str, Any]:
        """Register, send, wait, and clean up on every way out."""
        request_id = 0
        try:
            with self._lock:
                self._raise_if_broken()
                request_id, data = encode()
                waiter = self._waiters[request_id] = _Waiter(self._lock)
            self._transmit(data, _deadline(waiter, timeout_s), request_id)
            while (outcome := self._next(waiter, timeout_s)) is None:
                progress, waiter.progress = waiter.progress, []
                for item in progress:
                    if renew:
                        waiter.since = time.monotonic()
                    if on_progress is not None:
                        on_progress(item)
        except BaseException:
            self._cancel(request_id)
            raise
        finally:
            with self._lock:
                self._waiters.pop(request_id, None)
                self._call_next_leader()
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome.result

    def _next(self, waiter: _Waiter, timeout_s: float | None) -> Reply | Failure | None:
        """Wait until there is news for the waiter: its outcome, or None for progress."""
        while True:
            leading = False  # set together with self._leading: an interrupt can't fall between
            try:
                with self._lock:
                    while self._leading and waiter.outcome is None and not waiter.progress:
                        self._raise_if_broken()
                        waiter.news.wait(_left(_deadline(waiter, timeout_s)))
                    if waiter.progress:
                        return None
                    if waiter.outcome is not None:
                        return waiter.outcome
                    self._raise_if_broken()
                    self._leading = leading = True
                self._read(_left(_deadline(waiter, timeout_s)))
            finally:
                if leading:
                    with self._lock:
                        self._leading = False
                        if waiter.progress:  # its callback may take long: another thread reads meanwhile
                            self._call_next_leader()

    def _call_next_leader(self) -> None:
        """Wake one thread that waits for a reply, if nobody reads. Whoever stops reading calls this."""
        if self._leading:
            return
        for waiter in self._waiters.values():
            if waiter.outcome is None and not waiter.progress:
                waiter.news.notify()
                return

    def _read(self, timeout_s: float | None) -> None:
        """Wait for bytes and hand out what they mean. Nothing is lost if the waiting is interrupted."""
        _wait_for(self._sock, select.POLLIN, timeout_s)
        try:
            self._take_in()
        except BaseException as error:
            # Between taking bytes and handing them out an interrupt would leave half a conversation.
            self._break(error if isinstance(error, MemdError) else ConnectionLostError(_lost(error)))
            if not isinstance(error, MemdError | OSError):
                raise

    def _take_in(self) -> bool:
        """Read what is there and put it before the threads it is for; False if nothing is there yet."""
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            raise ConnectionLostError("the daemon closed the connection")
        with self._lock:
            for event in self.session.receive(data):
                if event.id == 0 and isinstance(event, Failure):
                    raise event.error
                waiter = self._waiters.get(event.id)
                if waiter is None:
                    continue
                if isinstance(event, ProgressEvent):
                    waiter.progress.append(event.progress)
                else:
                    waiter.outcome = event
                waiter.news.notify()
        return True

    def _transmit(self, data: bytes, deadline: float | None, request_id: int) -> None:
        """Send a whole frame. A frame sent by half breaks the connection, one not begun does not."""
        view = memoryview(data)
        mine = begun = False
        try:
            with self._lock:
                while self._sending:
                    self._turn.wait(_left(deadline))
                self._raise_if_broken()
                self._sending = mine = True
            while view:
                begun = True  # before the call: an interrupt right after it must find this set
                try:
                    view = view[self._sock.send(view) :]
                except BlockingIOError:
                    begun = len(view) < len(data)
                    _wait_for(self._sock, select.POLLOUT, _left(deadline))
        except OSError as error:
            self._read_last_words()
            self._break(ConnectionLostError(_lost(error)))
            self._raise_if_broken()
        except BaseException:
            if begun:
                self._break(ConnectionLostError("a request was interrupted while it was sent"))
            with self._lock:
                self.session.retract(request_id)
            raise
        finally:
            if mine:
                with self._lock:
                    self._sending = False
                    self._turn.notify()

    def _read_last_words(self) -> None:
        """After a failed send: read why the daemon closed, if it said so and nobody else reads."""
        with self._lock:
            if self._leading:
                return
            self._leading = True
        try:
            while self._take_in():
                pass
        except MemdError as error:
            self._break(error)
        except OSError:
            pass
        finally:
            with self._lock:
                self._leading = False

    def _cancel(self, request_id: int) -> None:
        """Tell the daemon to stop a request; on a broken or hung connection there is nothing to tell."""
        with self._lock:
            data = b"" if self.broken else self.session.cancel(request_id)
        if not data:
            return
        try:
            self._transmit(data, time.monotonic() + CANCEL_S, 0)
        except MemdError:
            self._break(ConnectionLostError("the daemon took no data while a request was cancelled"))

    def _break(self, error: MemdError) -> None:
        """End the connection once: wake every thread and keep the first reason."""
        with self._lock:
            if self.broken is not None:
                return
            self.broken = error
            self.session.close()
            for waiter in self._waiters.values():
                waiter.news.notify()
        try:
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes a thread that polls it, close() alone doesn't
        except OSError:
            pass
        finally:
            self._sock.close()

    def _raise_if_broken(self) -> None:
        """Raise the reason the connection broke; a new instance, as several threads may raise it."""
        if self.broken is not None:
            raise MemdError.from_wire(self.broken.to_wire())


def _lost(error: BaseException) -> str:
    """Return the sentence for a connection that broke."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"the connection to the daemon broke: {reason}"


def _deadline(waiter: _Waiter, timeout_s: float | None) -> float | None:
    """Return the moment (monotonic) a waiter's time is up."""
    return None if timeout_s is None else waiter.since + timeout_s


def _left(deadline: float | None) -> float | None:
    """Return the seconds left.

    Raises:
        DeadlineExceededError: None are.
    """
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineExceededError("no reply in the time allowed")
    return left


def _wait_for(sock: socket.socket, event: int, timeout_s: float | None) -> None:
    """Wait until a socket can be read or written (or is broken).

    Raises:
        DeadlineExceededError: Not in this time.
    """
    number = sock.fileno()
    if number < 0:
        return  # closed by another thread: the next call on it says so
    poll = select.poll()  # unlike select(), at home with descriptors above 1023
    poll.register(number, event)
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = SIGNALS_S if until is None else max(0.0, until - time.monotonic())
        if poll.poll(min(left_s, SIGNALS_S) * 1000):
            return
        if left_s <= SIGNALS_S and until is not None:
            raise DeadlineExceededError("no reply in the time allowed")
