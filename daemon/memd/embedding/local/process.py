"""A model process: start, requests with deadlines, kill; and its settings."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import trio
from msgspec import Struct

from memd.embedding.local import wire
from memd.embedding.local.engine import EngineUse, GpuLayers
from memd.embedding.local.extra import extra_unusable_error
from memd.embedding.local.jobs import FloatArray, JobKind
from memd.system.log import log
from memd_client.errors import (
    ModelChildError,
    ModelInvalidError,
    ProviderFailedError,
)

CHILD_COMMAND: Final = (sys.executable, "-P", "-m", "memd.embedding.local.child")
"""`-P` prevents imports from the daemon's working directory."""

CHILD_ENVIRON: Final = {"GGML_NO_BACKTRACE": "1", "PYTHONUNBUFFERED": "1"}

SPIN_COUNT: Final = "1000"
"""How long a thread of llama.cpp spins for the others before it sleeps. The default, seconds, makes texts many times
slower if another process needs a core; this value makes texts 5 % slower otherwise."""

MAX_TOGETHER: Final = 16
"""The maximum number of texts in a request."""

Outcome = FloatArray | ProviderFailedError | None
"""The result of a text: its raw vector (dims,), the error, or None if it was interrupted."""

STDERR_TAIL_LINES: Final = 20
"""The number of last stderr lines to keep: they contain the reason of a failure."""

STDERR_LINE_CHARACTERS: Final = 400

STDERR_WAIT_SECONDS: Final = 1.0
"""How long to wait for the rest of stderr after a failure: it contains the reason."""

OUT_OF_MEMORY: Final = re.compile(
    r"cannot allocate memory|bad_alloc|memory allocation|(failed|unable) to allocate|failed to map segment"
    r"|can't start new thread|thread creation failed|MemoryError|out of memory",
    re.IGNORECASE,
)
"""Out-of-memory messages of llama.cpp, NumPy, the dynamic loader and Python."""

OUT_OF_MEMORY_HINT: Final = (
    "Free memory, raise the memory limit (`MemoryMax` of the service, `ulimit -v`, the container's), or choose a "
    "smaller model. memd retries automatically; keyword search answers meanwhile."
)

PING_INTERVAL_S: Final = 1.0
MAX_SILENT_PINGS: Final = 3
"""A process is pinged while it embeds texts, and killed if it is silent for so many intervals. A thread that only reads
answers, so a silent process is stopped or can't continue, however long its texts take."""

REAP_SECONDS: Final = 5.0
"""How long a killed process may take to end; one that waits for a disk may take longer."""

READ_BYTES: Final = 65536

BACKOFF_FIRST_SECONDS: Final = 0.5
BACKOFF_MAX_SECONDS: Final = 30.0
"""The back-off before a restart doubles from the first to the maximum; an embedded text resets it."""

_CLOSED: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


class ModelSettings(Struct, frozen=True, kw_only=True):
    """Timeouts and command of a model process.

    `keep_alive_s` is how long an unused model stays loaded, 0 for ever. `threads` 0 is the number of physical cores, at
    most 8. A process that exceeds `query_timeout_s`, `text_timeout_s` or `load_timeout_s` counts as hung and is killed.
    A text that queries have interrupted for `interruptible_s` can't be interrupted any more, so that many queries don't
    block indexing.
    """

    keep_alive_s: float = 1800.0
    threads: int = 0
    query_timeout_s: float = 2.0
    text_timeout_s: float = 60.0
    load_timeout_s: float = 120.0
    interruptible_s: float = 2.0
    command: Sequence[str] = CHILD_COMMAND

    def timeout_s(self, kind: JobKind) -> float:
        """Return the timeout of the process for one text."""
        return self.query_timeout_s if kind == "query" else self.text_timeout_s

    def request_timeout_s(self, kind: JobKind) -> float:
        """Return the timeout of a request: two tries with loading and back-off."""
        return 2 * self.load_timeout_s + 2 * self.timeout_s(kind) + self.text_timeout_s + BACKOFF_MAX_SECONDS


class ModelProcess:
    """A running model process.

    Resources: one process, three pipes and two tasks in `nursery`; `aclose` ends them.
    """

    def __init__(
        self,
        path: Path,
        popen: subprocess.Popen[bytes],
        ends: tuple[int, int, int],
        excluded: Sequence[str] = (),
    ) -> None:
        self._path = path
        self._excluded = excluded
        self._popen = popen
        self._stdin, self._stdout, self._stderr = (trio.lowlevel.FdStream(end) for end in ends)
        self._stderr_tail: deque[str] = deque(maxlen=STDERR_TAIL_LINES)
        self._sender, self._replies = trio.open_memory_channel[wire.Message](2 * MAX_TOGETHER)
        self._requests = 0
        self._interruptible = 0
        self._sending = trio.Lock()
        self._working = trio.Event()
        self._is_heard = True
        self.exited = trio.Event()
        self._stderr_ended = trio.Event()
        self.dims = 0
        self.window = 0
        self.parallel_texts = 1
        self.engine = EngineUse()

    @classmethod
    def start(
        cls,
        nursery: trio.Nursery,
        path: Path,
        *,
        context: int,
        threads: int,
        gpu_layers: GpuLayers = "auto",
        excluded: Sequence[str] = (),
        command: Sequence[str] = CHILD_COMMAND,
        on_exit: Callable[[], None] = lambda: None,
    ) -> ModelProcess:
        """Start a child, which loads the model with an engine that isn't excluded; `load` waits for it."""
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
                [*command, str(path), str(context), str(threads), str(gpu_layers), *excluded],
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
        process = cls(path, popen, (own_ends[0], own_ends[1], own_ends[2]), excluded)
        nursery.start_soon(process._read_replies, on_exit)
        nursery.start_soon(process._read_stderr)
        nursery.start_soon(process._watch)
        return process

    def __repr__(self) -> str:
        return f"<ModelProcess {self._path.name} pid={self.pid} {'exited' if self.exited.is_set() else 'running'}>"

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    @property
    def has_illegal_instruction(self) -> bool:
        """Whether the closed process ended because the processor lacks an instruction of its engine."""
        return self._popen.returncode == -signal.SIGILL

    async def load(self, timeout_s: float) -> None:
        """Wait until the model is loaded, or raise."""
        while (reply := await self._receive(timeout_s, "load the model"))["kind"] == "loading":
            self.engine = EngineUse(str(reply.get("engine")))
        if reply["kind"] == "failed":
            await self._wait_for_stderr()
            if self._is_out_of_memory(str(reply.get("message"))):
                raise self._out_of_memory_error("load the model")
        if reply["kind"] == "failed" and reply.get("reason") == "extra":
            message = f"llama.cpp can't be used: {reply.get('message')}"
            raise await trio.to_thread.run_sync(extra_unusable_error, message, self._excluded)
        if reply["kind"] == "failed":
            raise ModelInvalidError(
                f"{self._path} is not a usable model: {reply.get('message')}", data=self._error_data()
            )
        dims, window, parallel_texts = reply.get("dims"), reply.get("window"), reply.get("parallel_texts", 1)
        if (
            not (isinstance(dims, int) and isinstance(window, int) and isinstance(parallel_texts, int))
            or dims <= 0
        ):
            raise self._process_error("sent an invalid reply after loading")
        self.dims, self.window, self.parallel_texts = dims, window, parallel_texts
        self.engine = EngineUse(self.engine.package, reply.get("has_gpu"), reply.get("gpu_layers"))

    async def embed(
        self,
        texts: Sequence[str],
        timeout_s: float,
        on_outcome: Callable[[int, Outcome], None],
        *,
        interruptible: bool,
        background: bool,
    ) -> None:
        """Embed one text on all threads, or several in parallel.

        Calls `on_outcome` with the position of each embedded, refused or interrupted text; not for texts that weren't
        started when `interrupt` came.
        """
        self._requests += 1
        request = {"kind": "embed", "id": self._requests, "texts": list(texts), "background": background}
        try:
            frame = wire.encode(request)
        except wire.WireError as error:
            characters = sum(map(len, texts))
            raise ProviderFailedError(f"text of {characters} characters can't be embedded: {error}") from None
        self._interruptible = self._requests if interruptible else 0
        missing = set(range(len(texts)))
        self._working.set()
        try:
            while missing:
                reply = await self._receive(timeout_s, "embed a text", frame)
                frame, position = b"", reply.get("position")
                if position not in missing or reply.get("id") != self._requests:
                    raise self._process_error("sent a reply without a request")
                missing.remove(position)
                outcome = self._outcome(reply, texts[position])
                if reply["kind"] != "untouched":
                    on_outcome(position, outcome)
        finally:
            self._interruptible = 0
            self._working = trio.Event()

    def _outcome(self, reply: wire.Message, text: str) -> Outcome:
        """Return the outcome of a text by its reply."""
        if reply["kind"] in ("interrupted", "untouched"):
            return None
        if reply["kind"] == "refused":
            return ProviderFailedError(
                f"the model can't embed a text of {len(text)} characters: {reply.get('message')}"
            )
        data = reply.get("data")
        if not isinstance(data, bytes) or len(data) != 4 * self.dims:
            raise self._process_error("sent a vector of the wrong size")
        return np.frombuffer(data, dtype="<f4").astype(np.float32)

    async def interrupt(self) -> None:
        """Cancel the request under way, if it is interruptible."""
        if wanted := self._interruptible:
            await self._signal({"kind": "interrupt", "id": wanted})

    async def _signal(self, message: wire.Message) -> None:
        with contextlib.suppress(OSError, *_CLOSED):  # `embed` reports a dead process
            async with self._sending:
                await self._stdin.send_all(wire.encode(message))

    async def _watch(self) -> None:
        """Kill the process if it is silent while it embeds texts; `embed` then reports its end."""
        silent = 0
        while silent < MAX_SILENT_PINGS:
            await self._working.wait()
            self._is_heard = False
            with trio.move_on_after(PING_INTERVAL_S):
                await self._signal({"kind": "ping"})
            await trio.sleep(PING_INTERVAL_S)
            silent = 0 if self._is_heard or not self._working.is_set() else silent + 1
        log.warning("embedding.model_child_silent", pid=self.pid)
        self._popen.kill()

    async def _receive(self, timeout_s: float, task: str, frame: bytes = b"") -> wire.Message:
        """Send a frame, if any, and return the next reply, within the timeout."""
        with trio.move_on_after(timeout_s):
            try:
                if frame:
                    async with self._sending:
                        await self._stdin.send_all(frame)
                return await self._replies.receive()
            except (*_CLOSED, trio.EndOfChannel):
                await self._wait_for_stderr()
                if self._is_out_of_memory():
                    raise self._out_of_memory_error(task) from None
                raise self._process_error(f"ended: could not {task}") from None
        raise self._process_error(f"did not {task} in {timeout_s:g} s")

    async def _wait_for_stderr(self) -> None:
        """Wait for the last stderr lines of a failed process."""
        with trio.move_on_after(STDERR_WAIT_SECONDS):
            await self._stderr_ended.wait()

    def _is_out_of_memory(self, message: str = "") -> bool:
        """Return whether the process failed for lack of memory, by its last stderr lines."""
        return any(OUT_OF_MEMORY.search(line) for line in (message, *self._stderr_tail))

    def _out_of_memory_error(self, task: str) -> ModelChildError:
        return ModelChildError(
            f"the model process of {self._path.name} ran out of memory: could not {task}",
            hint=OUT_OF_MEMORY_HINT,
            data=self._error_data(),
        )

    def _process_error(self, what: str) -> ModelChildError:
        return ModelChildError(f"the model process of {self._path.name} {what}", data=self._error_data())

    def _error_data(self) -> dict[str, object]:
        return {
            "model": str(self._path),
            "exit_code": self._popen.poll(),
            "stderr": list(self._stderr_tail)[-5:],
        }

    async def _read_replies(self, on_exit: Callable[[], None]) -> None:
        reader = wire.FrameReader()
        with self._sender:
            try:
                while data := await self._stdout.receive_some(READ_BYTES):
                    self._is_heard = True
                    for message in reader.feed(data):
                        if message["kind"] != "pong":
                            self._sender.send_nowait(message)
            except (OSError, *_CLOSED, wire.WireError, trio.WouldBlock):
                log.warning("embedding.model_child_unreadable", pid=self.pid)
            finally:
                self.exited.set()
                on_exit()

    async def _read_stderr(self) -> None:
        rest = ""
        try:
            while data := await self._stderr.receive_some(READ_BYTES):
                *lines, rest = (rest + data.decode("utf-8", "replace")).splitlines(keepends=True) or [""]
                if rest.endswith("\n"):
                    lines, rest = [*lines, rest], ""
                self._stderr_tail.extend(line.strip()[:STDERR_LINE_CHARACTERS] for line in lines)
                rest = rest[-STDERR_LINE_CHARACTERS:]
        except (OSError, *_CLOSED):
            log.debug("embedding.model_child_stderr_closed", pid=self.pid)
        finally:
            self._stderr_ended.set()

    async def aclose(self) -> None:
        """Kill the process, which has no state to save, and wait for its end.

        Cancellation: shielded, for up to `REAP_SECONDS`.
        """
        self._popen.kill()
        with trio.move_on_after(REAP_SECONDS, shield=True):
            await trio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
        for stream in (self._stdin, self._stdout, self._stderr):
            with trio.CancelScope(shield=True):
                await stream.aclose()
