"""The blocking client: one object, one connection, any number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from . import discovery, requests
from .destination import Destination
from .errors import ConnectionLostError, DaemonUnreachableError
from .events import Event, SubscribeReply
from .messages import HelloReply, Progress
from .methods import Methods
from .prepared_request import PreparedRequest
from .session import CLIENT_NAME
from .stream import Stream
from .threaded_connection import ThreadedConnection
from .unix_socket import UNGREETED_ERRORS, ended_before_greeting_error, open_socket

if TYPE_CHECKING:
    from .ssh_host import SshHost, SshProcess

T = TypeVar("T")


class _ProcessState:
    """What the threads of one process share; a forked child creates its own."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.connection: ThreadedConnection | None = None
        self.ssh: SshProcess | None = None


class Client(Methods):
    """A blocking client of the daemon. Threads may share it; their requests run concurrently.

    The client connects with the first request, and reconnects with the next request after the connection broke. If a
    connection breaks before the reply, the client sends the request again, unless executing it twice would do more
    than executing it once. Use the client as a context manager.

    Args:
        socket_path: The daemon's socket; None: found as `discovery.socket_path` describes.
        host: The machine of the daemon, as ssh takes it (`user@server`); None: this one. It needs `memctl`, and a login
            that asks for nothing.
        agent: The agent of calls that name none; None: the daemon's default agent.
        autostart: Start the daemon if none listens; it must be installed on this machine.
        timeout_s: The longest time a request may take, in seconds; None: until the connection breaks.
        connect_timeout_s: The longest time connecting and greeting may take, in seconds; None: 5, for a host 20.
        daemon_command: The command that `autostart` runs; None: found by `discovery.daemon_command`.
        state_dir: The state folder of the agents, such as `~/.openclaw-work`; None: found as `discovery.state_folder`
            describes; empty: any. A daemon of another folder refuses this client.
        client_name: The name of this client in the daemon's log.

    Raises:
        SocketPathError: The path can't be a socket's.
        ConfigInvalidError: The host can't be one, or is combined with `socket_path`, `autostart`, `daemon_command` or
            `state_dir`.

    Every method raises `DaemonUnreachableError` (with `autostart` also `DaemonStartError`), `DeadlineExceededError`,
    `ConnectionLostError`, and the errors of the daemon, as the class of their code; with `host` also
    `HostUnreachableError`, `HostAuthError`, `HostCommandError` and `DaemonStartError`. After Ctrl-C or a timeout the
    client cancels the request at the daemon and stays usable.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        host: str | None = None,
        agent: str | None = None,
        autostart: bool = False,
        timeout_s: float | None = 30.0,
        connect_timeout_s: float | None = None,
        daemon_command: Sequence[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        client_name: str = CLIENT_NAME,
    ) -> None:
        self._destination = Destination(
            socket_path,
            host,
            connect_timeout_s,
            autostart=autostart,
            daemon_command=daemon_command,
            state_dir=state_dir,
        )
        self.socket_path = self._destination.path
        self.host = host
        self.agent = agent
        self.timeout_s = timeout_s
        self._autostart = autostart
        self._connect_timeout_s = self._destination.connect_timeout_s
        self._daemon_command = daemon_command
        self._client_name = client_name
        self._state = _ProcessState()
        self._closed = threading.Event()

    def __repr__(self) -> str:
        connection = self._state.connection
        state = "closed" if self._closed.is_set() else connection or "not connected"
        return f"<Client {self._destination}, {state}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def daemon(self) -> HelloReply | None:
        """The daemon's reply to the greeting; None while there is no connection."""
        connection = self._process_state().connection
        return None if connection is None or connection.broken is not None else connection.session.daemon

    def close(self) -> None:
        """Close the connection. Requests of other threads fail with `ConnectionLostError`. Idempotent."""
        self._closed.set()
        state = self._process_state()
        connection, state.connection = state.connection, None
        if connection is not None:
            connection.close()

    def request(self, request: PreparedRequest[T]) -> T:
        """Send a request of `requests` and return its reply.

        `client.request(requests.search("x"))` is the same as `client.search("x")`.

        Args:
            request: The request.
        """
        with self.follow(request) as steps:
            for step in steps:
                if request.on_progress is not None:
                    request.on_progress(step)
        return steps.reply

    def follow(self, request: PreparedRequest[T]) -> Stream[Progress, T]:
        """Return an iterator over a request's progress, to be used in a `with` block.

        After the loop its `reply` is available; leaving the block early cancels the request.

        Args:
            request: The request, such as `requests.index(force=True)`.
        """
        return Stream(self._connected, request, self.agent, self.timeout_s)

    def subscribe(
        self, agent: str | None = None, kinds: Sequence[str] | None = None
    ) -> Stream[Event, SubscribeReply]:
        """Return an iterator over the daemon's events from now on.

        Use it in a `with` block. It has no deadline, and ends with `close` or with the connection
        (`ConnectionLostError`). Events between two subscriptions are not repeated.

        Args:
            agent: Only events of this agent; None: of all. The client's own agent is not filled in.
            kinds: Only events of these kinds, as listed in docs/protocol.md: `["sync", "note"]`; None: of all.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: There is no such kind.
            DaemonUnreachableError, ShuttingDownError, ConnectionLostError: As with every request.
        """
        return Stream(self._connected, requests.subscribe(agent, kinds), self.agent, self.timeout_s)

    def _process_state(self) -> _ProcessState:
        """Return this process's state; a forked child releases the connection of its parent."""
        state = self._state
        if state.pid != os.getpid():
            if state.connection is not None:
                state.connection.abandon()
            if state.ssh is not None:
                state.ssh.abandon()
            state = self._state = _ProcessState()
        return state

    def _connected(self) -> ThreadedConnection:
        """Return the connection, a new one if there is none or it broke."""
        state = self._process_state()
        with state.lock:
            if self._closed.is_set():
                raise ConnectionLostError("this client is closed", hint="create a new client")
            if state.connection is None or state.connection.broken is not None:
                state.connection = None
                connection = self._connect()
                if self._closed.is_set():  # by another thread, meanwhile
                    connection.close()
                state.connection = connection
            return state.connection

    def _connect(self) -> ThreadedConnection:
        """Connect and greet; start the daemon if that is allowed and necessary."""
        try:
            return self._try_connect()
        except DaemonUnreachableError:
            if not self._autostart:
                raise
        self._before_start()
        return discovery.start_and_wait(
            self.socket_path,
            self._try_connect,
            command=self._daemon_command,
            state_dir=self._destination.state_dir,
        )

    def _before_start(self) -> None:
        """Do nothing; a subclass may report that the daemon is being started."""

    def _try_connect(self) -> ThreadedConnection:
        """Connect and greet once."""
        timeout_s = self._connect_timeout_s
        if self._destination.ssh is not None:
            return self._connect_to_host(self._destination.ssh)
        try:
            state_dir = self._destination.required_state_dir()
            sock = open_socket(self.socket_path, timeout_s)
            return ThreadedConnection(sock, timeout_s, self._client_name, state_dir=state_dir)
        except ConnectionLostError:
            raise ended_before_greeting_error(self.socket_path) from None

    def _connect_to_host(self, host: SshHost) -> ThreadedConnection:
        """Connect and greet over ssh, which ends with the connection."""
        timeout_s = self._connect_timeout_s
        process = self._state.ssh = host.start(timeout_s)
        try:
            connection = ThreadedConnection(
                process.sock, timeout_s, self._client_name, f"the connection to {host.name} ended"
            )
        except UNGREETED_ERRORS as error:
            raise process.failure(error) from None
        except BaseException:
            process.reap()
            raise
        connection.on_close = process.reap
        return connection
