"""One model child: started, spoken to with deadlines, killed; and the settings it is run with."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import structlog
import trio

from memd.embedding.local import wire
from memd.embedding.local.extra import extra_unusable
from memd.embedding.local.jobs import FloatArray, Kind
from memd_client.errors import (
    ModelChildError,
    ModelInvalidError,
    ProviderFailedError,
)

log = structlog.get_logger(__name__)

CHILD_COMMAND: Final = (sys.executable, "-P", "-m", "memd.embedding.local.child")
"""`-P`: the directory the daemon was started in is no place to import from."""

CHILD_ENVIRON: Final = {"GGML_NO_BACKTRACE": "1", "PYTHONUNBUFFERED": "1"}

SPIN_COUNT: Final = "1000"
"""How long a thread of llama.cpp spins for the others before it sleeps. By default it spins for seconds: as soon as
another process wants a core, a text takes twenty times as long (8 to 374 ms); so it takes 19, and alone 5 % more."""

MAX_TOGETHER: Final = 16
"""Texts of one request."""

Outcome = FloatArray | ProviderFailedError | None
"""What became of a text: its raw vector (dims,), why it can't be embedded, or None if it was interrupted."""

STDERR_TAIL_LINES: Final = 20
"""What is kept of llama.cpp's chatter: the last lines name the reason of a failure."""

STDERR_LINE_CHARACTERS: Final = 400

LAST_WORDS_SECONDS: Final = 1.0
"""How long the rest of its error output is waited for when a child has failed: the reason stands there."""

OUT_OF_MEMORY: Final = re.compile(
    r"cannot allocate memory|bad_alloc|memory allocation|(failed|unable) to allocate|failed to map segment"
    r"|can't start new thread|thread creation failed|MemoryError|out of memory",
    re.IGNORECASE,
)
"""What llama.cpp, numpy, the loader of libraries and Python say where the system gives no more memory."""

MORE_MEMORY: Final = (
    "Free memory, raise the limit it runs under (`MemoryMax` of the service, `ulimit -v`, the container's), or choose "
    "a smaller model. It is tried again by itself; words answer meanwhile."
)

REAP_SECONDS: Final = 5.0
"""How long a killed process may take to go; the kernel may hold one that waits for a disk."""

READ_BYTES: Final = 65536

BACKOFF_FIRST_SECONDS: Final = 0.5
BACKOFF_MAX_SECONDS: Final = 30.0
"""The wait before a restart doubles from the first to the last; an answered text resets it."""

_CLOSED: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """Deadlines of a model's process, and how it is run.

    `keep_alive_s` is how long an unused model stays loaded; 0: as long as the daemon runs. `threads` 0: as many as
    there are physical cores, up to 8. A child that takes longer than `query_timeout_s`, `text_timeout_s` or
    `load_timeout_s` counts as hung and is killed. A text that queries interrupted for `interruptible_s` is embedded
    to its end, so that a stream of queries can't starve the index of vectors.
    """

    keep_alive_s: float = 1800.0
    threads: int = 0
    query_timeout_s: float = 2.0
    text_timeout_s: float = 60.0
    load_timeout_s: float = 120.0
    interruptible_s: float = 2.0
    command: Sequence[str] = CHILD_COMMAND

    def timeout_s(self, kind: Kind) -> float:
        """Return how long the child may take over one text."""
        return self.query_timeout_s if kind == "query" else self.text_timeout_s

    def patience_s(self, kind: Kind) -> float:
        """Return how long a request may wait in all: two loads and tries, a text before it, the back-off."""
        return 2 * self.load_timeout_s + 2 * self.timeout_s(kind) + self.text_timeout_s + BACKOFF_MAX_SECONDS


class ModelProcess:
    """A running child.

    Resources: one process, three pipes and two tasks in `nursery`; `aclose` ends them all.
    """

    def __init__(self, path: Path, popen: subprocess.Popen[bytes], ends: tuple[int, int, int]) -> None:
        self._path = path
        self._popen = popen
        self._stdin, self._stdout, self._stderr = (trio.lowlevel.FdStream(end) for end in ends)
        self._tail: deque[str] = deque(maxlen=STDERR_TAIL_LINES)
        self._sender, self._replies = trio.open_memory_channel[wire.Message](2 * MAX_TOGETHER)
        self._requests = 0
        self._interruptible = 0
        self._sending = trio.Lock()
        self.gone = trio.Event()
        self._has_spoken = trio.Event()
        self.dims = 0
        self.window = 0
        self.lanes = 1

    @classmethod
    def start(
        cls,
        nursery: trio.Nursery,
        path: Path,
        *,
        context: int,
        threads: int,
        command: Sequence[str] = CHILD_COMMAND,
        on_gone: Callable[[], None] = lambda: None,
    ) -> ModelProcess:
        """Start a child, which loads the model; `load` waits for it."""
        child_ends: list[int] = []
        own_ends: list[int] = []
        try:
            for own, theirs in ((1, 0), (0, 1), (0, 1)):
                pipe = os.pipe()
                own_ends.append(pipe[own])
                child_ends.append(pipe[theirs])
            # Not in a worker thread: Linux kills the child when the *thread* that started it ends, and
            # idle worker threads end. It takes a millisecond or two, once a start.
            popen = subprocess.Popen(
                [*command, str(path), str(context), str(threads)],
                stdin=child_ends[0],
                stdout=child_ends[1],
                stderr=child_ends[2],
                env={"GOMP_SPINCOUNT": SPIN_COUNT, **os.environ, **CHILD_ENVIRON},
                start_new_session=True,  # Ctrl-C is for the daemon, which still has to drain
            )
        except OSError as error:
            for end in own_ends:
                os.close(end)
            raise ModelChildError(f"the model process can't be started: {error.strerror}") from None
        finally:
            for end in child_ends:
                os.close(end)
        process = cls(path, popen, (own_ends[0], own_ends[1], own_ends[2]))
        nursery.start_soon(process._read_replies, on_gone)
        nursery.start_soon(process._read_stderr)
        return process

    def __repr__(self) -> str:
        return (
            f"<ModelProcess {self._path.name} pid={self.pid} {'gone' if self.gone.is_set() else 'running'}>"
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    async def load(self, timeout_s: float) -> None:
        """Wait until the model is loaded."""
        reply = await self._receive(timeout_s, "load the model")
        if reply["kind"] == "failed":
            await self._hear_out()
            if self._lacks_memory(str(reply.get("message"))):
                raise self._starved("load the model")
        if reply["kind"] == "failed" and reply.get("reason") == "extra":
            message = f"llama-cpp-python can't be used: {reply.get('message')}"
            raise await trio.to_thread.run_sync(extra_unusable, message)
        if reply["kind"] == "failed":
            raise ModelInvalidError(
                f"{self._path} is not a usable model: {reply.get('message')}", data=self._facts()
            )
        dims, window, lanes = reply.get("dims"), reply.get("window"), reply.get("lanes", 1)
        if not (isinstance(dims, int) and isinstance(window, int) and isinstance(lanes, int)) or dims <= 0:
            raise self._broken("answered with something else than its model's size")
        self.dims, self.window, self.lanes = dims, window, lanes

    async def embed(
        self,
        texts: Sequence[str],
        timeout_s: float,
        on_outcome: Callable[[int, Outcome], None],
        *,
        interruptible: bool,
        background: bool,
    ) -> None:
        """Have some texts embedded: one on all threads, several in parallel.

        `on_outcome` hears of each text by its place as it is done; not of those that `interrupt` left untouched.
        """
        self._requests += 1
        request = {"kind": "embed", "id": self._requests, "texts": list(texts), "background": background}
        try:
            frame = wire.encode(request)
        except wire.WireError as error:
            characters = sum(map(len, texts))
            raise ProviderFailedError(
                f"a text of {characters} characters can't be embedded: {error}"
            ) from None
        self._interruptible = self._requests if interruptible else 0
        waiting = set(range(len(texts)))
        try:
            while waiting:
                reply = await self._receive(timeout_s, "embed a text", frame)
                frame, place = b"", reply.get("place")
                if place not in waiting or reply.get("id") != self._requests:
                    raise self._broken("sent a reply without a request")
                waiting.remove(place)
                outcome = self._outcome(reply, texts[place])
                if reply["kind"] != "untouched":
                    on_outcome(place, outcome)
        finally:
            self._interruptible = 0

    def _outcome(self, reply: wire.Message, text: str) -> Outcome:
        """Return what a reply says became of a text."""
        if reply["kind"] in ("interrupted", "untouched"):
            return None
        if reply["kind"] == "refused":
            return ProviderFailedError(
                f"the model can't embed a text of {len(text)} characters: {reply.get('message')}"
            )
        data = reply.get("data")
        if not isinstance(data, bytes) or len(data) != 4 * self.dims:
            raise self._broken("sent a vector of the wrong size")
        return np.frombuffer(data, dtype="<f4").astype(np.float32)

    async def interrupt(self) -> None:
        """Have the child cancel the request under way, if it is interruptible."""
        wanted = self._interruptible
        if not wanted:
            return
        with contextlib.suppress(OSError, *_CLOSED):  # `embed` reports a dead child
            async with self._sending:
                await self._stdin.send_all(wire.encode({"kind": "interrupt", "id": wanted}))

    async def _receive(self, timeout_s: float, task: str, frame: bytes = b"") -> wire.Message:
        """Send a frame, where there is one, and return the reply; sending counts against the time too."""
        with trio.move_on_after(timeout_s):
            try:
                if frame:
                    async with self._sending:
                        await self._stdin.send_all(frame)
                return await self._replies.receive()
            except (*_CLOSED, trio.EndOfChannel):
                await self._hear_out()
                if self._lacks_memory():
                    raise self._starved(task) from None
                raise self._broken(f"ended while it was to {task}") from None
        raise self._broken(f"did not {task} in {timeout_s:g} s")

    async def _hear_out(self) -> None:
        """Wait for the last lines of a child that has failed."""
        with trio.move_on_after(LAST_WORDS_SECONDS):
            await self._has_spoken.wait()

    def _lacks_memory(self, message: str = "") -> bool:
        """Return whether the child failed because the system gave it no memory, by its last words."""
        return any(OUT_OF_MEMORY.search(line) for line in (message, *self._tail))

    def _starved(self, task: str) -> ModelChildError:
        return ModelChildError(
            f"the model process of {self._path.name} got no memory when it was to {task}",
            hint=MORE_MEMORY,
            data=self._facts(),
        )

    def _broken(self, what: str) -> ModelChildError:
        return ModelChildError(f"the model process of {self._path.name} {what}", data=self._facts())

    def _facts(self) -> dict[str, object]:
        return {"model": str(self._path), "exit_code": self._popen.poll(), "stderr": list(self._tail)[-5:]}

    async def _read_replies(self, on_gone: Callable[[], None]) -> None:
        reader = wire.FrameReader()
        with self._sender:
            try:
                while data := await self._stdout.receive_some(READ_BYTES):
                    for message in reader.feed(data):
                        self._sender.send_nowait(message)
            except (OSError, *_CLOSED, wire.WireError, trio.WouldBlock):
                log.warning("embedding.model_child_unreadable", pid=self.pid)
            finally:
                self.gone.set()
                on_gone()

    async def _read_stderr(self) -> None:
        rest = ""
        try:
            while data := await self._stderr.receive_some(READ_BYTES):
                *lines, rest = (rest + data.decode("utf-8", "replace")).splitlines(keepends=True) or [""]
                if rest.endswith("\n"):
                    lines, rest = [*lines, rest], ""
                self._tail.extend(line.strip()[:STDERR_LINE_CHARACTERS] for line in lines)
                rest = rest[-STDERR_LINE_CHARACTERS:]
        except (OSError, *_CLOSED):
            log.debug("embedding.model_child_stderr_closed", pid=self.pid)
        finally:
            self._has_spoken.set()

    async def aclose(self) -> None:
        """Kill the child and wait until it is gone.

        Not politely: it holds nothing but the model, and a hung child hears no politeness.

        Cancellation: done to the end even where the caller is cancelled, within `REAP_SECONDS`.
        """
        self._popen.kill()
        with trio.move_on_after(REAP_SECONDS, shield=True):
            await trio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
        for stream in (self._stdin, self._stdout, self._stderr):
            with trio.CancelScope(shield=True):
                await stream.aclose()
