"""One model child: started, spoken to with deadlines, killed. Whether to try again is not decided here."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import structlog
import trio

from memd.embedding.local import wire
from memd.embedding.local.extra import extra_unusable
from memd_client.errors import (
    ModelChildError,
    ModelInvalidError,
    ProviderFailedError,
)

log = structlog.get_logger(__name__)

FloatArray = npt.NDArray[np.float32]

CHILD_COMMAND: Final = (sys.executable, "-P", "-m", "memd.embedding.local.child")
"""`-P`: the directory the daemon was started in is no place to import from."""

CHILD_ENVIRON: Final = {"GGML_NO_BACKTRACE": "1", "PYTHONUNBUFFERED": "1"}

SPIN_COUNT: Final = "1000"
"""How long a thread of llama.cpp spins for the others before it sleeps. By default it spins for seconds: as soon as
another process wants a core, a text takes twenty times as long (8 to 374 ms); so it takes 19, and alone 5 % more."""

MOST_TOGETHER: Final = 16
"""Texts of one request."""

MOST_SCORED: Final = 128
"""Texts of one request to score them: those of one search."""

Outcome = FloatArray | ProviderFailedError | None
"""What became of a text: its raw vector (dims,), why it can't be embedded, or None where it was given up."""

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

_CLOSED: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


class ModelProcess:
    """A running child.

    Resources: one process, three pipes and two tasks in `nursery`; `aclose` ends them all.
    """

    def __init__(self, path: Path, popen: subprocess.Popen[bytes], ends: tuple[int, int, int]) -> None:
        self._path = path
        self._popen = popen
        self._stdin, self._stdout, self._stderr = (trio.lowlevel.FdStream(end) for end in ends)
        self._tail: deque[str] = deque(maxlen=STDERR_TAIL_LINES)
        self._sender, self._replies = trio.open_memory_channel[wire.Message](2 * MOST_SCORED)
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
        ranks: bool = False,
        command: Sequence[str] = CHILD_COMMAND,
        on_gone: Callable[[], None] = lambda: None,
    ) -> ModelProcess:
        """Start a child; it loads the model by itself, `load` waits for it."""
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
                [*command, str(path), str(context), str(threads), *([wire.RANK] if ranks else [])],
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
        self, text: str, timeout_s: float, *, interruptible: bool = False, waits: bool = False
    ) -> FloatArray | None:
        """Return a text's raw vector (dims,), or None where `interrupt` made the child give it up."""
        self._requests += 1
        try:
            frame = wire.encode({"kind": "embed", "id": self._requests, "text": text, "waits": waits})
        except wire.WireError as error:
            raise ProviderFailedError(
                f"a text of {len(text)} characters can't be embedded: {error}"
            ) from None
        self._interruptible = self._requests if interruptible else 0
        try:
            outcome = self._outcome(await self._receive(timeout_s, "embed a text", frame), text)
        finally:
            self._interruptible = 0
        if isinstance(outcome, ProviderFailedError):
            raise outcome
        return outcome

    async def embed_many(
        self,
        texts: Sequence[str],
        timeout_s: float,
        told: Callable[[int, Outcome], None],
        *,
        interruptible: bool,
        question: str | None = None,
    ) -> None:
        """Have some texts embedded side by side; tell what became of each as it comes."""
        self._requests += 1
        request: wire.Message = {"kind": "embed_many", "id": self._requests, "texts": list(texts)}
        frame = wire.encode(request if question is None else {**request, "question": question})
        self._interruptible = self._requests if interruptible else 0
        waiting = set(range(len(texts)))
        try:
            while waiting:
                reply = await self._receive(timeout_s, "embed a text", frame)
                frame, place = b"", reply.get("place")
                if place not in waiting:
                    raise self._broken("answered a question nobody asked")
                waiting.remove(place)
                outcome = self._outcome(reply, texts[place])
                if reply["kind"] != "untouched":
                    told(place, outcome)
        finally:
            self._interruptible = 0

    async def score(
        self, question: str, texts: Sequence[str], timeout_s: float, scores: dict[int, float]
    ) -> bool:
        """Have some texts scored, the first ones first; return False where `interrupt` made the child give them up."""
        refused: list[ProviderFailedError] = []
        for start in range(0, len(texts), MOST_SCORED):

            def tell(place: int, outcome: Outcome, start: int = start) -> None:
                if isinstance(outcome, ProviderFailedError):
                    refused.append(outcome)
                elif outcome is not None:
                    scores[start + place] = float(outcome[0])

            some = texts[start : start + MOST_SCORED]
            await self.embed_many(some, timeout_s, tell, interruptible=True, question=question)
            if refused:
                raise refused[0]
            if len(scores) < start + len(some):
                return False
        return True

    def _outcome(self, reply: wire.Message, text: str) -> Outcome:
        """Return what a reply says became of a text."""
        if reply.get("id") != self._requests:
            raise self._broken("answered a question nobody asked")
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
        """Have the child give up the text it has, where that may be; whoever waits for it is told."""
        wanted = self._interruptible
        if not wanted:
            return
        with contextlib.suppress(OSError, *_CLOSED):  # who waits for the text hears of a dead child
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
