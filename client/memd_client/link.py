"""One open connection, shared by the threads of a process.

There is no background thread. Of the threads that wait for replies one reads for all (the leader); when
it has its own reply it hands the reading to another. A process with one thread never switches threads.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .errors import (
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    PeerRefusedError,
)
from .messages import Progress
from .session import ClientSession, Failure, ProgressEvent, Reply

READ_BYTES = 256 * 1024
"""Bytes asked for at once: a large reply takes few calls."""

CANCEL_S = 1.0
"""How long telling the daemon to stop a request may take: only a hung daemon doesn't take it at once."""

BUSY_WAIT_S = 0.005
"""Wait between tries while the daemon's queue of new connections is full (EAGAIN on Linux)."""

OnProgress = Callable[[Progress], None]


def peer_uid(sock: Any) -> int | None:
    """Return the user id of the process at the other end of a Unix socket; None where that can't be told.

    Args:
        sock: A connected socket, of the standard library or of trio.
    """
    if sys.platform == "linux":
        facts = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", facts)[1])
    if sys.platform == "darwin":
        # struct xucred {u_int version; uid_t uid; short ngroups; gid_t groups[16]} by (SOL_LOCAL, LOCAL_PEERCRED)
        return int(struct.unpack_from("2I", sock.getsockopt(0, 0x001, 76))[1])
    return None


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
            raise DaemonUnreachableError(f"nobody answers at {path}: {os.strerror(code)}", data={"path": path})
        uid = peer_uid(sock)
        if uid not in (None, 0, os.geteuid()):
            raise PeerRefusedError(f"the daemon at {path} belongs to another user (uid {uid})")
    except BaseException:
        sock.close()
        raise
    return sock


class _Waiter:
    """A thread's place in the queue for one reply."""

    __slots__ = ("news", "outcome", "progress", "request_id", "since")

    def __init__(self, request_id: int, lock: threading.Lock) -> None:
        self.request_id = request_id
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
        self._sending = threading.Lock()
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
        with self._lock:
            self._raise_if_broken()
            request_id, data = encode()
            waiter = self._waiters[request_id] = _Waiter(request_id, self._lock)
        try:
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
            self._waiters.pop(request_id, None)
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome.result

    def _next(self, waiter: _Waiter, timeout_s: float | None) -> Reply | Failure | None:
        """Wait until there is news for the waiter: its outcome, or None for progress."""
        while True:
            with self._lock:
                while self._leading and waiter.outcome is None and not waiter.progress:
                    self._raise_if_broken()
                    waiter.news.wait(_left(_deadline(waiter, timeout_s)))
                if waiter.progress:
                    return None
                if waiter.outcome is not None:
                    return waiter.outcome
                self._raise_if_broken()
                self._leading = True
            try:
                self._read(_left(_deadline(waiter, timeout_s)))
            finally:
                with self._lock:
                    self._leading = False
                    self._call_next_leader(waiter)

    def _call_next_leader(self, leader: _Waiter) -> None:
        """Wake one thread that still waits, unless the leader goes on itself."""
        if leader.outcome is None and not leader.progress and self.broken is None:
            return
        for waiter in self._waiters.values():
            if waiter is not leader and waiter.outcome is None:
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

    def _take_in(self) -> None:
        """Read what is there and put it before the threads it is for."""
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return
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

    def _transmit(self, data: bytes, deadline: float | None, request_id: int) -> None:
        """Send a whole frame. A frame sent by half breaks the connection, one not begun does not."""
        left = _left(deadline)
        if not self._sending.acquire(timeout=-1 if left is None else left):
            self.session.retract(request_id)
            raise DeadlineExceededError("the connection took no data in the time allowed")
        view = memoryview(data)
        begun = False
        try:
            while view:
                try:
                    begun, count = True, self._sock.send(view)
                    view = view[count:]
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
            else:
                self.session.retract(request_id)
            raise
        finally:
            self._sending.release()

    def _read_last_words(self) -> None:
        """After a failed send: read why the daemon closed, if it said so."""
        try:
            self._take_in()
        except MemdError as error:
            self._break(error)
        except OSError:
            return

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
    if not poll.poll(None if timeout_s is None else timeout_s * 1000):
        raise DeadlineExceededError("no reply in the time allowed")
