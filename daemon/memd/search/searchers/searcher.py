"""One process that searches beside the daemon, as the daemon has it: started, asked with deadlines, ended."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import structlog
import trio

from memd.search.query import Found, Question
from memd.search.searchers import wire

log = structlog.get_logger(__name__)

COMMAND: Final = (sys.executable, "-P", "-m", "memd.search.searchers.child")
"""`-P`: the directory the daemon was started in is no place to import from."""

SEARCH_S: Final = 5.0
"""How long a search may take: a thousand times the usual. Then the process counts as hung."""

HOLD_S: Final = 60.0
"""How long bringing vectors into memory may take; a million take some seconds."""

REAP_S: Final = 5.0
"""How long an ended process may take to go; the kernel may hold one that waits for a disk."""

DEPTH: Final = 2 * wire.TOGETHER
"""Searches a process has at a time: as many again as it answers in step, so that the next are there when it has."""


class SearcherGoneError(Exception):
    """The process ended, hung or can't do what it was asked for: another way has to be taken."""


class Searcher:
    """A process that searches.

    Args:
        number: Which of them it is, for the log.
        pages_bytes: What SQLite may hold in its memory.

    Attributes:
        in_flight: Places that are taken: searches it has, or is about to get.
        is_gone: Whether it can't be asked any more.

    Resources: one process and two pipes while `run` runs.
    """

    def __init__(self, number: int, pages_bytes: int) -> None:
        self._number = number
        self._pages_bytes = pages_bytes
        self._ids = 0
        self._waiting: dict[int, _Waiting] = {}
        self._outbox, self._to_send = trio.open_memory_channel[bytes](math.inf)
        self._end = trio.CancelScope()
        self.pid: int | None = None
        self.in_flight = 0
        self.is_gone = False

    def __repr__(self) -> str:
        return f"<Searcher {self._number}, pid {self.pid}, {self.in_flight} searches>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the process until it ends, or `end` is called.

        When it fails: whoever waits for an answer gets `SearcherGoneError`; nothing is raised here.

        Cancellation: the process is killed.
        """
        process = None
        try:
            process = await trio.lowlevel.open_process(
                [*COMMAND, str(self._pages_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the daemon, which still has to drain
            )
            self.pid = process.pid
            task_status.started()
            with self._end:
                await self._talk(process)
        except OSError as error:
            log.warning("search.process_not_started", error=error.strerror)
        finally:
            self._give_up()
            if process is not None:
                await _reap(process)

    async def _talk(self, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, process.stdin)
            # A broken pipe, or bytes that are no reply, end it as the end of its output does.
            with contextlib.suppress(trio.BrokenResourceError, msgspec.DecodeError):
                await self._read(process.stdout)
            nursery.cancel_scope.cancel()

    async def _write(self, stdin: trio.abc.SendStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the end of its output tells as well
            async for data in self._to_send:
                await stdin.send_all(b"".join([data, *_rest_of(self._to_send)]))

    async def _read(self, stdout: trio.abc.ReceiveStream) -> None:
        buffer = bytearray()
        while data := await stdout.receive_some(wire.READ_BYTES):
            buffer += data
            for reply in wire.take_replies(buffer):
                waiting = self._waiting.pop(reply.id, None)
                if waiting is not None:
                    waiting.reply = reply
                    waiting.came.set()

    def _give_up(self) -> None:
        """Let nobody wait any longer."""
        self.is_gone = True
        self._outbox.close()
        for waiting in self._waiting.values():
            waiting.came.set()
        self._waiting.clear()

    def end(self) -> None:
        """End the process; what it has not answered it won't."""
        self.is_gone = True
        self._end.cancel()

    async def find(self, index: str, question: Question) -> Found:
        """Have a question answered whose vector is known."""
        self._ids += 1
        reply = await self._ask(wire.search_of(self._ids, index, question), SEARCH_S)
        if not isinstance(reply, wire.Answer):
            raise SearcherGoneError
        return wire.found_of(reply)

    @property
    def has_place(self) -> bool:
        """Whether it can be given another search."""
        return self.in_flight < DEPTH and not self.is_gone

    def give_back(self) -> None:
        """Leave a place to the next search."""
        self.in_flight -= 1

    async def hold(self, index: str, space_id: str) -> None:
        """Have an index opened, and its vectors brought into memory."""
        self._ids += 1
        if not isinstance(await self._ask(wire.Hold(self._ids, index, space_id), HOLD_S), wire.Held):
            raise SearcherGoneError

    def change(
        self,
        index: str,
        space_id: str,
        gone: Sequence[int],
        come: Sequence[int],
        text: tuple[int, str] | None = None,
    ) -> None:
        """Tell that vectors went out of use, and came into it, or a text changed; what is asked after this knows it."""
        self._tell(wire.Change(index, space_id, list(gone), [key for key in come if key], text))

    def forget(self, index: str) -> None:
        """Have an index closed."""
        self._tell(wire.Forget(index))

    def _tell(self, request: wire.Request) -> None:
        if not self.is_gone:
            self._outbox.send_nowait(wire.frame_of(request))

    async def _ask(self, request: wire.Search | wire.Hold, timeout_s: float) -> wire.Reply:
        """Return the reply to a request."""
        if self.is_gone:
            raise SearcherGoneError
        waiting = self._waiting[request.id] = _Waiting()
        self._tell(request)
        try:
            with trio.move_on_after(timeout_s) as patience:
                await waiting.came.wait()
        finally:
            self._waiting.pop(request.id, None)
        if patience.cancelled_caught:
            log.warning("search.process_hung", process=self._number, after_s=timeout_s)
            self.end()
        if isinstance(waiting.reply, wire.Failed):
            log.warning("search.process_failed", process=self._number, error=waiting.reply.error)
        if waiting.reply is None:
            raise SearcherGoneError
        return waiting.reply


class _Waiting:
    """Somebody who waits for a reply."""

    def __init__(self) -> None:
        self.came = trio.Event()
        self.reply: wire.Reply | None = None


def _rest_of(channel: trio.MemoryReceiveChannel[bytes]) -> Iterator[bytes]:
    """Yield what waits in a channel."""
    with contextlib.suppress(trio.WouldBlock, trio.EndOfChannel):
        while True:
            yield channel.receive_nowait()


async def _reap(process: trio.Process) -> None:
    """Kill a process and wait until it is gone, for a while."""
    with trio.move_on_after(REAP_S, shield=True):
        process.kill()
        await process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                await stream.aclose()
