"""One open connection, shared by the threads of a process.

There is no background thread. One of the threads that wait for replies reads for all; when it has its own reply,
another waiting thread takes over reading. A process with one thread never switches threads.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Mapping
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING, Any

from .errors import ConnectionLostError, DeadlineExceededError, MemdError
from .exchange import Exchange
from .inbox import DAEMON_CLOSED, copy_error, describe_break
from .session import CLIENT_NAME, ClientSession, Failure
from .unix_socket import READ_BYTES, greeting_timeout_error, seconds_left, wait_for

if TYPE_CHECKING:
    from .events import Event
    from .messages import Progress

CANCEL_TIMEOUT_S = 1.0
"""Longest time to send a cancellation: only a hung daemon doesn't accept it at once."""


class ThreadedConnection:
    """A greeted connection.

    Args:
        sock: Connected and non-blocking; the connection owns it from now on.
        timeout_s: The longest time the greeting may take.
        client_name: The name sent in the greeting.
        end_message: The message of the error if the other end closes the connection.
        state_dir: The state folder that the daemon must serve; empty: any.

    `on_close` is called once after the socket was closed.

    Raises:
        DeadlineExceededError: The daemon accepted the connection but does not reply.
        MemdError: The daemon rejects the greeting.
    """

    def __init__(
        self,
        sock: socket,
        timeout_s: float,
        client_name: str = CLIENT_NAME,
        end_message: str = DAEMON_CLOSED,
        state_dir: str = "",
    ) -> None:
        self.session = ClientSession(client_name)
        self.broken: MemdError | None = None
        self.on_close: Callable[[], object] | None = None
        self._end_message = end_message
        self._sock = sock
        self._lock = threading.Lock()
        self._send_ready = threading.Condition(self._lock)
        self._sending = False
        self._exchanges: dict[int, Exchange] = {}
        self._is_reading = False
        greeting = Exchange(timeout_s)
        try:
            self._send_first(greeting, lambda: self.session.hello(state_dir))
            self.step(greeting)
            greeting.result()
        except DeadlineExceededError:
            self.close()
            raise greeting_timeout_error(timeout_s) from None
        except BaseException:
            self.close()
            raise
        self._exchanges.clear()

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{len(self._exchanges)} waiting"
        return f"<ThreadedConnection {state}, {self.session!r}>"

    def begin(self, exchange: Exchange, method: str, params: Mapping[str, Any]) -> None:
        """Send a request. The caller must call `end`, whether or not this succeeds.

        Args:
            exchange: An unused exchange.
            method: The request's name.
            params: Its parameters, ready for msgpack.

        Raises:
            DeadlineExceededError: The daemon did not accept it in time.
            ConnectionLostError: The connection broke; `data` has `sent: False` if no byte of it was sent.
        """
        self._send_first(exchange, lambda: self.session.request(method, params))

    def step(self, exchange: Exchange) -> Progress | Event | None:
        """Wait for a request's next step, reading for the other threads meanwhile.

        Returns:
            A step; None once there is an outcome, which `exchange.result` returns.

        Raises:
            DeadlineExceededError: Nothing arrived within the deadline.
            ConnectionLostError: The connection broke.
            MemdError: The daemon closed the connection and sent the reason.

        *Cancellation*: an interrupt (Ctrl-C) leaves the connection usable; `end` then cancels the request.
        """
        if exchange.renews_deadline:
            exchange.since = time.monotonic()
        self._wait(exchange)
        with self._lock:
            return exchange.pop_step()

    def end(self, exchange: Exchange) -> None:
        """Forget a request; without a reply it is cancelled and its thread woken. Idempotent, from any thread."""
        with self._lock:
            exchange.stop()  # before the cancellation's reply wakes the reading thread
            exchange.wake()
            self._exchanges.pop(exchange.id, None)
        try:
            self._cancel(exchange)
        finally:
            with self._lock:
                self._wake_next_reader()

    def request(self, method: str, params: Mapping[str, Any], timeout_s: float | None) -> Mapping[str, Any]:
        """Send a request and return its reply; the timeout or Ctrl-C cancels it.

        Raises:
            MemdError: The daemon's error, and the errors of `begin` and `step`.
        """
        exchange = Exchange(timeout_s)
        try:
            self.begin(exchange, method, params)
            while self.step(exchange) is not None:
                pass
            return exchange.result()
        finally:
            self.end(exchange)

    def close(self) -> None:
        """Close the connection; requests of other threads fail with `ConnectionLostError`."""
        self._break(ConnectionLostError("the client closed the connection"))

    def abandon(self) -> None:
        """Release a connection inherited by fork; the parent's stays open."""
        self.session.close()
        self._sock.close()

    def _send_first(self, exchange: Exchange, encode: Callable[[], tuple[int, bytes]]) -> None:
        """Register a request and send it."""
        with self._lock:
            self._raise_if_broken()
            exchange.news = threading.Condition(self._lock)
            exchange.since = time.monotonic()
            exchange.id, data = encode()
            self._exchanges[exchange.id] = exchange
        self._transmit(data, exchange.deadline(), exchange.id)

    def _wait(self, exchange: Exchange) -> None:
        """Wait until a step or the outcome of an exchange has arrived."""
        while True:
            is_reading = False  # set in one statement with self._is_reading: no interrupt in between
            try:
                with self._lock:
                    while self._is_reading and not exchange.is_ready:
                        self._raise_if_broken(sent=True)
                        exchange.sleep()
                    if exchange.is_ready:
                        return
                    self._raise_if_broken(sent=True)
                    self._is_reading = is_reading = True
                self._read(seconds_left(exchange.deadline()))
            finally:
                if is_reading:
                    with self._lock:
                        self._is_reading = False
                        if exchange.steps:  # the caller may be slow with them: another thread reads meanwhile
                            self._wake_next_reader()

    def _wake_next_reader(self) -> None:
        """Wake one waiting thread if no thread reads. A thread calls this when it stops reading."""
        if self._is_reading:
            return
        for exchange in self._exchanges.values():
            if exchange.asleep and not exchange.is_ready:
                exchange.wake()
                return

    def _read(self, timeout_s: float | None) -> None:
        """Wait for bytes and deliver the messages in them. An interrupted wait loses nothing."""
        if not wait_for(self._sock, select.POLLIN, timeout_s):
            return
        try:
            self._deliver()
        except BaseException as error:
            # An interrupt between receiving bytes and delivering them would lose messages.
            self._break(error if isinstance(error, MemdError) else ConnectionLostError(describe_break(error)))
            if not isinstance(error, MemdError | OSError):
                raise

    def _deliver(self) -> bool:
        """Receive bytes and add their messages to the exchanges; False if there are none yet."""
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            raise ConnectionLostError(self._end_message)
        with self._lock:
            for arrival in self.session.receive(data):
                if arrival.id == 0 and isinstance(arrival, Failure):
                    raise arrival.error
                exchange = self._exchanges.get(arrival.id)
                if exchange is not None:
                    exchange.add(arrival)
                    exchange.wake()
        return True

    def _transmit(self, data: bytes, deadline: float | None, request_id: int) -> None:
        """Send a whole frame. A partly sent frame breaks the connection, an unsent one doesn't."""
        view = memoryview(data)
        mine = begun = False
        try:
            with self._lock:
                while self._sending:
                    self._send_ready.wait(seconds_left(deadline))
                self._raise_if_broken()
                self._sending = mine = True
            while view:
                begun = True  # before the call, so that an interrupt right after it finds this set
                try:
                    view = view[self._sock.send(view) :]
                except BlockingIOError:
                    begun = len(view) < len(data)
                    wait_for(self._sock, select.POLLOUT, seconds_left(deadline))
        except OSError as error:
            self._read_close_reason()
            self._break(ConnectionLostError(describe_break(error)))
            self._raise_if_broken(sent=len(view) < len(data))
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
                    self._send_ready.notify()

    def _read_close_reason(self) -> None:
        """After a failed send, read the daemon's reason for closing, unless another thread reads."""
        with self._lock:
            if self._is_reading:
                return
            self._is_reading = True
        try:
            while self._deliver():
                pass
        except MemdError as error:
            self._break(error)
        except OSError:
            pass
        finally:
            with self._lock:
                self._is_reading = False

    def _cancel(self, exchange: Exchange) -> None:
        """Cancel a request at the daemon, unless the connection is broken."""
        with self._lock:
            data = b"" if self.broken else self.session.cancel(exchange.id)
        if not data:
            return
        try:
            self._transmit(data, time.monotonic() + CANCEL_TIMEOUT_S, 0)
        except MemdError:
            self._break(ConnectionLostError("the daemon accepted no data while a request was cancelled"))

    def _break(self, error: MemdError) -> None:
        """Close the connection: wake all threads and keep the first reason."""
        with self._lock:
            if self.broken is not None:
                return
            self.broken = error
            self.session.close()
            for exchange in self._exchanges.values():
                exchange.wake()
        try:
            self._sock.shutdown(SHUT_RDWR)  # wakes a thread that polls it, close() alone doesn't
        except OSError:
            pass
        finally:
            self._sock.close()
            if self.on_close is not None:
                self.on_close()

    def _raise_if_broken(self, sent: bool = False) -> None:
        """Raise the reason the connection broke, if it did.

        Args:
            sent: Whether any byte of the caller's request may have been sent.
        """
        if self.broken is not None:
            raise copy_error(self.broken, sent)
