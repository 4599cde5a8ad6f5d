"""Blocking wrapper of the Node client: a Node process that receives commands line by line.

It passes the same contract tests as the Python clients; replies become records of `memd_client`, and errors its
exceptions.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memd_client import blocking, requests
from memd_client.errors import MemdError, RequestCancelledError
from memd_client.events import Event, SubscribeReply
from memd_client.messages import Progress
from memd_client.prepared_request import PreparedRequest
from memd_client.schema import from_wire, to_wire
from tests.support.node import MSGPACK, NODE_CLIENT, node, node_project

PROCESS_TIMEOUT_S = 120.0
"""How long a test waits for the process before it fails."""

BRIDGE = Path(__file__).with_name("node_bridge.mjs")


def node_client_project(where: Path) -> Path:
    """Create a Node project that can import `memd-client`, and return its folder."""
    return node_project(where, [MSGPACK], [NODE_CLIENT])


@functools.cache
def _project() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with the client and the bridge, removed with the test run."""
    folder = tempfile.TemporaryDirectory(prefix="memd-node-")
    where = node_client_project(Path(folder.name))
    (where / BRIDGE.name).write_text(BRIDGE.read_text())
    return folder


class CommandReplies:
    """Messages of the process about one command: progress, then the outcome."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def put(self, said: dict[str, Any]) -> None:
        """Store a message."""
        self._said.put(said)

    def step(self) -> Progress | None:
        """Return the next progress message; None if the outcome has arrived."""
        said = self._said.get(timeout=PROCESS_TIMEOUT_S)
        if "progress" in said:
            return from_wire(Progress, said["progress"])
        if "error" in said:
            raise MemdError.from_wire(said["error"])
        self.value = said["value"]
        return None

    def outcome(self) -> Any:
        """Wait for the outcome and return it."""
        while self.step() is not None:
            pass
        return self.value


class BlockingNodeClient:
    """A Node client. Its methods are those of `blocking.Client`; any thread may call them."""

    def __init__(
        self,
        socket_path: Path,
        *,
        agent: str | None = None,
        autostart: bool = False,
        command: Sequence[str] | None = None,
        environ: Mapping[str, str] | None = None,
        timeout_s: float | None = 30.0,
        connect_timeout_s: float = 5.0,
    ) -> None:
        options: dict[str, Any] = {
            "socketPath": str(socket_path),
            "autostart": autostart,
            "timeoutMs": None if timeout_s is None else timeout_s * 1000,
            "connectTimeoutMs": connect_timeout_s * 1000,
        }
        if agent is not None:
            options["agent"] = agent
        if command is not None:
            options["daemonCommand"] = list(command)
        self.agent = agent
        self._numbers = itertools.count(1)
        self._waiting: dict[int, CommandReplies] = {}
        self._writing = threading.Lock()
        self._name = ""
        where = Path(_project().name)
        self._process = subprocess.Popen(
            [node(), where / BRIDGE.name],
            cwd=where,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.tell("open", options=options)

    def __enter__(self) -> BlockingNodeClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
        assert self._process.wait(PROCESS_TIMEOUT_S) == 0

    def __repr__(self) -> str:
        return self._name or str(self.tell("describe"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(blocking.Client, name):
            raise AttributeError(name)
        return functools.partial(self._method, name)

    def begin(self, what: str, **more: Any) -> CommandReplies:
        """Send a command and return its replies."""
        answers = CommandReplies(next(self._numbers))
        self._waiting[answers.number] = answers
        line = json.dumps({"n": answers.number, "do": what, **more}, default=_as_json) + "\n"
        with self._writing:
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return answers

    def tell(self, what: str, **more: Any) -> Any:
        """Send a command and return its outcome."""
        return self.begin(what, **more).outcome()

    def request(self, ask: PreparedRequest[Any]) -> Any:
        """Send a request and return its reply."""
        with self.follow(ask) as steps:
            for step in steps:
                if ask.on_progress is not None:
                    ask.on_progress(step)
        return steps.reply

    def follow(self, ask: PreparedRequest[Any]) -> NodeProgress:
        """Return a request as an iterator over its progress."""
        return NodeProgress(self, ask)

    def subscribe(self, agent: str | None = None, kinds: Sequence[str] | None = None) -> NodeEvents:
        """Return an iterator over events."""
        params = {"agent": agent, "kinds": None if kinds is None else list(kinds)}
        return NodeEvents(self, params)

    def close(self) -> None:
        """Close the client and end its process. Idempotent."""
        if self._process.poll() is None and not self._name:
            self.tell("close")
            self._name = self.tell("describe")
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.wait(PROCESS_TIMEOUT_S)
        self._reader.join(PROCESS_TIMEOUT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call the method of that name."""
        build: Callable[..., PreparedRequest[Any]] = getattr(requests, name)
        return self.request(build(*args, **kwargs))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line, object_hook=_from_json)
            answers = self._waiting[said["n"]]
            if "progress" not in said:
                del self._waiting[said["n"]]
            answers.put(said)
        for answers in list(self._waiting.values()):
            answers.put({"n": 0, "error": {"code": "internal", "message": "the Node process ended"}})


class NodeProgress:
    """A running request: an iterator over its progress, and a context manager."""

    def __init__(self, shell: BlockingNodeClient, ask: PreparedRequest[Any]) -> None:
        self._shell = shell
        self._ask = ask
        self._answers: CommandReplies | None = None
        self._over = self._closed = self._answered = False

    def __enter__(self) -> NodeProgress:
        ask = self._ask
        params = {key: value for key, value in to_wire(ask.params).items() if value is not None}
        options = {} if ask.repeatable else {"repeatable": False}
        self._answers = self._shell.begin("request", method=ask.method, params=params, options=options)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Progress]:
        return self

    def __next__(self) -> Progress:
        if self._over:
            raise StopIteration
        assert self._answers is not None
        try:
            step = self._answers.step()
        except RequestCancelledError:
            self._over = True
            if self._closed:
                raise StopIteration from None
            raise
        except MemdError:
            self._over = True
            raise
        if step is None:
            self._over = self._answered = True
            raise StopIteration
        return step

    def close(self) -> None:
        """Cancel the request if it is running."""
        self._closed = True
        if not self._over and self._answers is not None:
            self._shell.tell("abort", of=self._answers.number)

    @property
    def reply(self) -> Any:
        """The reply, once the loop is over."""
        if not self._answered or self._answers is None:
            raise RequestCancelledError(f"{self._ask.method} has no reply")
        return self._ask.parse_reply(self._answers.value)


class NodeEvents:
    """A subscription: an iterator, and a context manager."""

    def __init__(self, shell: BlockingNodeClient, params: dict[str, Any]) -> None:
        self._shell = shell
        self._params = params
        self._number = 0
        self._over = False

    def __enter__(self) -> NodeEvents:
        answers = self._shell.begin("subscribe", params=self._params)
        self._number = answers.number
        answers.outcome()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self._over:
            raise StopIteration
        said = self._shell.tell("next", of=self._number)
        if said["done"]:
            self._over = True
            raise StopIteration
        return from_wire(Event, said["value"])

    def close(self) -> None:
        """End the subscription."""
        self._over = True
        if self._number:
            self._shell.tell("abort", of=self._number)

    @property
    def reply(self) -> SubscribeReply:
        """The daemon's reply at the end of the subscription."""
        return from_wire(SubscribeReply, self._shell.tell("reply", of=self._number))

    @property
    def dropped(self) -> int:
        """Number of events dropped by the client."""
        return int(self._shell.tell("dropped", of=self._number))


def _as_json(value: Any) -> Any:
    assert isinstance(value, bytes), type(value)
    return {"$bytes": base64.b64encode(value).decode()}


def _from_json(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["$bytes"]) if "$bytes" in value else value
