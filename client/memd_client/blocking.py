"""The blocking client: one object, one connection, any number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence

from . import discovery
from .errors import ConnectionLostError, DaemonUnreachableError, FrameInvalidError, IdleTimeoutError
from .link import Link, OnProgress, open_socket
from .messages import (
    CompactionDoneParams,
    CompactionDoneReply,
    EmbedParams,
    EmbedReply,
    GetParams,
    GetReply,
    HelloParams,
    HelloReply,
    IndexParams,
    IndexReply,
    MetricsParams,
    MetricsReply,
    ModelParams,
    ModelReply,
    ResetParams,
    ResetReply,
    SearchParams,
    SearchReply,
    SessionStartedParams,
    SessionStartedReply,
    StatusParams,
    StatusReply,
    VacuumParams,
    VacuumReply,
)
from .session import CLIENT_VERSION
from .wire import from_wire, to_wire

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

LONG_SILENCE_S = 300.0
"""`index` and `model` may take hours; they are given up after this long without progress."""

REPLY_S = 5.0
"""Added to a search's own deadline: the daemon keeps it, and its answer still has to arrive."""


class _Shared:
    """What the threads of one process share; a forked child makes its own."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.link: Link | None = None


class Client:
    """A client of the daemon. Threads may share it; their requests run at the same time.

    The connection is made at the first request, and again whenever it was lost: a request whose
    connection broke is sent once more, as all requests may be repeated. Use it as a context manager.

    Args:
        socket_path: Where the daemon listens; found as `discovery.socket_path` says when left out.
        agent: The agent meant where a call names none; the daemon's default agent when left out.
        autostart: Start the daemon if nobody listens.
        timeout_s: How long a request may take, in seconds; None: as long as the connection lives.
        connect_timeout_s: How long connecting and greeting may take, in seconds.

    Raises:
        SocketPathError: The path can't be a socket's.

    Every method raises `DaemonUnreachableError`, `DeadlineExceededError`, `ConnectionLostError`, and
    the errors the daemon answers, as the class of their code. After Ctrl-C or a deadline the daemon is
    told to stop the request, and the client goes on.
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

    def hello(self) -> HelloReply:
        """Greet the daemon again and return who it is: the cheapest sign of life."""
        params = HelloParams(client="memd-client", version=CLIENT_VERSION)
        return self._call("hello", params, HelloReply, self.timeout_s)

    def status(self, agent: str | None = None, *, deep: bool = False) -> StatusReply:
        """Return the state of the daemon and of one agent, or of all where none is named.

        Args:
            agent: Only this agent. The client's own agent is not filled in here.
            deep: Also probe embeddings, vectors and keyword index.
        """
        return self._call("status", StatusParams(agent=agent, deep=deep), StatusReply, self.timeout_s)

    def metrics(self) -> MetricsReply:
        """Return everything the daemon counts."""
        return self._call("metrics", MetricsParams(), MetricsReply, self.timeout_s)

    def search(
        self,
        query: str,
        *,
        agent: str | None = None,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Sequence[str] | None = None,
        path: str | None = None,
        deadline_ms: int | None = None,
        explain: bool = False,
    ) -> SearchReply:
        """Search an agent's memory; the parameters are those of `messages.SearchParams`."""
        params = SearchParams(
            query=query,
            agent=agent or self.agent,
            max_results=max_results,
            min_score=min_score,
            sources=None if sources is None else list(sources),
            path=path,
            deadline_ms=deadline_ms,
            explain=explain,
        )
        timeout_s = self.timeout_s
        if timeout_s is not None and deadline_ms is not None:
            timeout_s = max(timeout_s, deadline_ms / 1000 + REPLY_S)
        return self._call("search", params, SearchReply, timeout_s)

    def get(
        self, path: str, *, agent: str | None = None, from_line: int = 1, lines: int | None = None
    ) -> GetReply:
        """Return lines of a memory file, to its end where `lines` is left out."""
        params = GetParams(path=path, agent=agent or self.agent, from_line=from_line, lines=lines)
        return self._call("get", params, GetReply, self.timeout_s)

    def index(
        self, agent: str | None = None, *, force: bool = False, on_progress: OnProgress | None = None
    ) -> IndexReply:
        """Bring an agent's index up to date now; the client's agent, or all where it has none.

        Args:
            agent: The agent meant.
            force: Read, chunk and embed everything again.
            on_progress: Called in this thread with every progress.
        """
        params = IndexParams(agent=agent or self.agent, force=force)
        return self._call_long("index", params, IndexReply, on_progress)

    def reset(
        self, agent: str | None = None, *, vectors: bool = False, on_progress: OnProgress | None = None
    ) -> ResetReply:
        """Drop an agent's index and build it anew from its files; the client's agent, or all where it has none.

        Args:
            agent: The agent meant.
            vectors: Drop its vectors too, so that every text is embedded again.
            on_progress: Called in this thread with every progress.
        """
        params = ResetParams(agent=agent or self.agent, vectors=vectors)
        return self._call_long("reset", params, ResetReply, on_progress)

    def vacuum(self, agent: str | None = None, *, on_progress: OnProgress | None = None) -> VacuumReply:
        """Make an agent's index as small as it can be; the client's agent, or all where it has none.

        Args:
            agent: The agent meant.
            on_progress: Called in this thread with every progress.
        """
        params = VacuumParams(agent=agent or self.agent)
        return self._call_long("vacuum", params, VacuumReply, on_progress)

    def embed(self, texts: Sequence[str], *, agent: str | None = None, kind: str = "document") -> EmbedReply:
        """Return the vectors of texts by the warm model; `kind` is `query` or `document`."""
        params = EmbedParams(texts=list(texts), agent=agent or self.agent, kind=kind)
        return self._call("embed", params, EmbedReply, self.timeout_s)

    def model(
        self,
        ref: str = "",
        *,
        action: str = "pull",
        force: bool = False,
        on_progress: OnProgress | None = None,
    ) -> ModelReply:
        """Make a model ready on disk, remove one, or list all.

        Args:
            ref: `minilm`, a path, or an `hf:` or `https:` reference; none for `list`.
            action: `pull`, `list` or `remove`.
            force: Remove it even where an agent's settings name it.
            on_progress: Called in this thread with every progress.
        """
        params = ModelParams(ref=ref, action=action, force=force)
        return self._call_long("model", params, ModelReply, on_progress)

    def session_started(self, session_key: str, *, agent: str | None = None) -> SessionStartedReply:
        """Say that an agent's session begins: its memory is brought up to date, once for each key."""
        params = SessionStartedParams(session_key=session_key, agent=agent or self.agent)
        return self._call("session_started", params, SessionStartedReply, self.timeout_s)

    def compaction_done(self, session_key: str = "", *, agent: str | None = None) -> CompactionDoneReply:
        """Say that an agent's context was compacted: what its flush wrote is brought in."""
        params = CompactionDoneParams(session_key=session_key, agent=agent or self.agent)
        return self._call("compaction_done", params, CompactionDoneReply, self.timeout_s)

    def _call(self, method: str, params: Any, kind: type[T], timeout_s: float | None) -> T:
        """Send a request whose reply is expected soon."""
        wire = to_wire(params)
        return _typed(kind, method, self._repeatable(lambda link: link.request(method, wire, timeout_s)))

    def _call_long(self, method: str, params: Any, kind: type[T], on_progress: OnProgress | None) -> T:
        """Send a request that lives as long as it makes progress."""
        wire = to_wire(params)
        silence_s = None if self.timeout_s is None else max(self.timeout_s, LONG_SILENCE_S)
        return _typed(
            kind,
            method,
            self._repeatable(lambda link: link.request(method, wire, silence_s, on_progress, renew=True)),
        )

    def _repeatable(self, send: Callable[[Link], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Send a request over the connection, and once more over a new one if that broke."""
        try:
            return send(self._connected())
        except (ConnectionLostError, IdleTimeoutError):
            if self._closed.is_set():
                raise
        return send(self._connected())

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
        return Link(open_socket(self.socket_path, self._connect_timeout_s), self._connect_timeout_s)


def _typed(kind: type[T], method: str, result: Mapping[str, Any]) -> T:
    """Return a reply as its type."""
    try:
        return from_wire(kind, result)
    except (TypeError, AttributeError) as error:
        raise FrameInvalidError(f"the daemon's reply to {method} is incomplete: {error}") from error
