"""The blocking client: one object, one connection, any number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from . import discovery, requests
from .ask import Ask
from .errors import ConnectionLostError, DaemonUnreachableError
from .events import Event, SubscribeReply
from .link import Link
from .messages import Progress
from .methods import Methods
from .stream import Stream
from .unix_socket import not_greeted, open_socket

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


class _Shared:
    """What the threads of one process share; a forked child makes its own."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.link: Link | None = None


class Client(Methods):
    """A client of the daemon. Threads may share it; their requests run at the same time.

    The connection is made at the first request, and again whenever it was lost: a request whose
    connection broke is sent once more, as all requests may be repeated. Use it as a context manager.

    Args:
        socket_path: Where the daemon listens; None: found as `discovery.socket_path` says.
        agent: The agent of calls that name none; None: the daemon's default agent.
        autostart: Start the daemon if none answers; it must be installed on this machine.
        timeout_s: How long a request may take, in seconds; None: as long as the connection lives.
        connect_timeout_s: How long connecting and greeting may take, in seconds.

    Raises:
        SocketPathError: The path can't be a socket's.

    Every method raises `DaemonUnreachableError` (with `autostart` also `DaemonStartError`), `DeadlineExceededError`,
    `ConnectionLostError`, and the errors the daemon answers, as the class of their code. After Ctrl-C or a deadline the
    daemon is told to stop the request, and the client goes on.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        autostart: bool = False,
        timeout_s: float | None = 30.0,
        connect_timeout_s: float = 5.0,
    ) -> None:
        given = discovery.socket_path() if socket_path is None else discovery.check_socket_path(socket_path)
        self.socket_path = given
        self.agent = agent
        self.timeout_s = timeout_s
        self._autostart = autostart
        self._connect_timeout_s = connect_timeout_s
        self._shared = _Shared()
        self._closed = threading.Event()

    def __repr__(self) -> str:
        link = self._shared.link
        return (
            f"<Client {self.socket_path}, {'closed' if self._closed.is_set() else link or 'not connected'}>"
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Requests of other threads end with `ConnectionLostError`. Idempotent."""
        self._closed.set()
        shared = self._own_shared()
        link, shared.link = shared.link, None
        if link is not None:
            link.close()

    def call(self, ask: Ask[T]) -> T:
        """Send a request of `requests` and return its reply.

        `client.call(requests.search("x"))` is `client.search("x")`.

        Args:
            ask: The request.
        """
        with self.follow(ask) as steps:
            for step in steps:
                if ask.on_progress is not None:
                    ask.on_progress(step)
        return steps.reply

    def follow(self, ask: Ask[T]) -> Stream[Progress, T]:
        """Return a request as an iterator over its progress, to be used in a `with` block.

        After the loop its `reply` is there; leaving the block early cancels the request.

        Args:
            ask: The request: `requests.index(force=True)`.
        """
        return Stream(self._connected, ask, self.agent, self.timeout_s)

    def subscribe(
        self, agent: str | None = None, kinds: Sequence[str] | None = None
    ) -> Stream[Event, SubscribeReply]:
        """Return an iterator over the daemon's events from now on.

        To be used in a `with` block. It has no deadline, and ends with `close` or with the connection
        (`ConnectionLostError`). Events between two subscriptions are not repeated.

        Args:
            agent: Only events of this agent; None: of all. The client's own agent is not filled in.
            kinds: Only events of these kinds, as docs/protocol.md lists them: `["sync", "note"]`; None: of all.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: There is no such kind.
            DaemonUnreachableError, ShuttingDownError, ConnectionLostError: As with every request.
        """
        return Stream(self._connected, requests.subscribe(agent, kinds), self.agent, self.timeout_s)

    def _own_shared(self) -> _Shared:
        """Return this process's part; in a forked child the parent's connection is let go."""
        shared = self._shared
        if shared.pid != os.getpid():
            if shared.link is not None:
                shared.link.abandon()
            shared = self._shared = _Shared()
        return shared

    def _connected(self) -> Link:
        """Return the connection, a new one where there is none or it broke."""
        shared = self._own_shared()
        with shared.lock:
            if self._closed.is_set():
                raise ConnectionLostError("this Client is closed", hint="Make a new Client.")
            if shared.link is None or shared.link.broken is not None:
                shared.link = None
                link = self._connect()
                if self._closed.is_set():  # by another thread, meanwhile
                    link.close()
                shared.link = link
            return shared.link

    def _connect(self) -> Link:
        """Connect and greet; start the daemon where allowed and needed."""
        try:
            return self._try_connect()
        except DaemonUnreachableError:
            if not self._autostart:
                raise
        return discovery.start_and_wait(self.socket_path, self._try_connect)

    def _try_connect(self) -> Link:
        """Connect and greet once."""
        try:
            return Link(open_socket(self.socket_path, self._connect_timeout_s), self._connect_timeout_s)
        except ConnectionLostError:
            raise not_greeted(self.socket_path) from None
