"""One open connection, shared by the threads of a process.

There is no background thread. Of the threads that wait for replies one reads for all (the leader); when
it has its own reply it hands the reading to another. A process with one thread never switches threads.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Mapping
from socket import SHUT_RDWR, socket

from .errors import ConnectionLostError, DeadlineExceededError, MemdError
from .exchange import Exchange
from .inbox import lost, reason_again
from .session import ClientSession, Failure
from .unix_socket import READ_BYTES, no_greeting, seconds_left, wait_for

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from .events import Event
    from .messages import Progress

CANCEL_S = 1.0
"""How long telling the daemon to stop a request may take: only a hung daemon doesn't take it at once."""


class Link:
    """A greeted connection.

    Args:
        sock: Connected and non-blocking; the link owns it from now on.
        timeout_s: How long the greeting may take.

    Raises:
        DeadlineExceededError: The daemon accepted the connection and doesn't answer: it hangs.
        MemdError: Whatever the daemon refuses the greeting with.
    """

    def __init__(self, sock: socket, timeout_s: float) -> None:
        self.session = ClientSession()
        self.broken: MemdError | None = None
        self._sock = sock
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._sending = False
        self._exchanges: dict[int, Exchange] = {}
        self._leading = False
        greeting = Exchange(timeout_s)
        try:
            self._send_first(greeting, self.session.hello)
            self.step(greeting)
            greeting.result()
        except DeadlineExceededError:
            self.close()
            raise no_greeting(timeout_s) from None
        except BaseException:
            self.close()
            raise
        self._exchanges.clear()

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{len(self._exchanges)} waiting"
        return f"<Link {state}, {self.session!r}>"

    def begin(self, exchange: Exchange, method: str, params: Mapping[str, Any]) -> None:
        """Send a request. Whatever comes of it, `end` is to be called.

        Args:
            exchange: Its place, which nothing was begun with yet.
            method: The request's name.
            params: Its parameters, ready for msgpack.

        Raises:
            DeadlineExceededError: The daemon took it not in time.
            ConnectionLostError: The connection broke; `data` says `sent: False` where nothing of it went out.
        """
        self._send_first(exchange, lambda: self.session.request(method, params))

    def step(self, exchange: Exchange) -> Progress | Event | None:
        """Wait for the next thing told of a request, reading for the other threads meanwhile.

        Returns:
            A step; None once there is an outcome, which `exchange.result` gives.

        Raises:
            DeadlineExceededError: Nothing in time.
            ConnectionLostError: The connection broke.
            MemdError: The daemon ended the connection, and said why.

        *Cancellation*: an interrupt (Ctrl-C) leaves everything whole; `end` then stops the request.
        """
        if exchange.renew:
            exchange.since = time.monotonic()
        self._wait(exchange)
        with self._lock:
            return exchange.next_step()

    def end(self, exchange: Exchange) -> None:
        """Forget a request; one that wasn't answered is cancelled, and its thread woken. Idempotent, any thread."""
        with self._lock:
            exchange.stop()  # before the daemon's last words wake the thread that reads
            exchange.wake()
            self._exchanges.pop(exchange.id, None)
        try:
            self._cancel(exchange)
        finally:
            with self._lock:
                self._call_next_leader()

    def request(self, method: str, params: Mapping[str, Any], timeout_s: float | None) -> Mapping[str, Any]:
        """Send a request and return its reply, in this many seconds; a deadline or Ctrl-C cancels it.

        Raises:
            MemdError: What the daemon answered, and what `begin` and `step` raise.
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
        """Close the connection; requests of other threads end with `ConnectionLostError`."""
        self._break(ConnectionLostError("the connection was closed on this side"))

    def abandon(self) -> None:
        """Let go of a connection inherited by fork: the parent's goes on undisturbed."""
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
        """Wait until there is news for an exchange."""
        while True:
            leading = False  # set together with self._leading: an interrupt can't fall between
            try:
                with self._lock:
                    while self._leading and not exchange.has_news:
                        self._raise_if_broken(sent=True)
                        exchange.sleep()
                    if exchange.has_news:
                        return
                    self._raise_if_broken(sent=True)
                    self._leading = leading = True
                self._read(seconds_left(exchange.deadline()))
            finally:
                if leading:
                    with self._lock:
                        self._leading = False
                        if exchange.steps:  # its caller may take long: another thread reads meanwhile
                            self._call_next_leader()

    def _call_next_leader(self) -> None:
        """Wake one thread that waits for a reply, if nobody reads. Whoever stops reading calls this."""
        if self._leading:
            return
        for exchange in self._exchanges.values():
            if exchange.asleep and not exchange.has_news:
                exchange.wake()
                return

    def _read(self, timeout_s: float | None) -> None:
        """Wait for bytes and hand out what they mean. Nothing is lost if the waiting is interrupted."""
        if not wait_for(self._sock, select.POLLIN, timeout_s):
            return
        try:
            self._take_in()
        except BaseException as error:
            # Between taking bytes and handing them out an interrupt would leave half a conversation.
            self._break(error if isinstance(error, MemdError) else ConnectionLostError(lost(error)))
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
            for arrival in self.session.receive(data):
                if arrival.id == 0 and isinstance(arrival, Failure):
                    raise arrival.error
                exchange = self._exchanges.get(arrival.id)
                if exchange is not None:
                    exchange.take_in(arrival)
                    exchange.wake()
        return True

    def _transmit(self, data: bytes, deadline: float | None, request_id: int) -> None:
        """Send a whole frame. A frame sent by half breaks the connection, one not begun does not."""
        view = memoryview(data)
        mine = begun = False
        try:
            with self._lock:
                while self._sending:
                    self._turn.wait(seconds_left(deadline))
                self._raise_if_broken()
                self._sending = mine = True
            while view:
                begun = True  # before the call: an interrupt right after it must find this set
                try:
                    view = view[self._sock.send(view) :]
                except BlockingIOError:
                    begun = len(view) < len(data)
                    wait_for(self._sock, select.POLLOUT, seconds_left(deadline))
        except OSError as error:
            self._read_last_words()
            self._break(ConnectionLostError(lost(error)))
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

    def _cancel(self, exchange: Exchange) -> None:
        """Tell the daemon to stop a request; on a broken or hung connection there is nothing to tell."""
        with self._lock:
            data = b"" if self.broken else self.session.cancel(exchange.id)
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
            for exchange in self._exchanges.values():
                exchange.wake()
        try:
            self._sock.shutdown(SHUT_RDWR)  # wakes a thread that polls it, close() alone doesn't
        except OSError:
            pass
        finally:
            self._sock.close()

    def _raise_if_broken(self, sent: bool = False) -> None:
        """Raise the reason the connection broke, if it did.

        Args:
            sent: Whether something of the caller's request may have gone out.
        """
        if self.broken is not None:
            raise reason_again(self.broken, sent)
