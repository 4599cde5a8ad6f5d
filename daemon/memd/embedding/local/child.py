"""The process that holds llama.cpp, and nothing else.

Run as ``python -m memd.embedding.local.child PATH CONTEXT THREADS [rank]``. Frames (see `wire`) come in on stdin
and go out on what was stdout; everything llama.cpp itself prints goes to stderr. llama.cpp aborts the
whole process where an assertion fails, which is why it lives here.

When stdin closes, or the parent dies, this process ends at once, in the middle of a text if need be.
Nothing printed here holds memory text: a text that fails is answered with the kind of failure only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import sys
import threading
import traceback
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Final

from memd.embedding.local import wire
from memd.embedding.local.binding import LoadedFile, load_binding
from memd.embedding.local.fit import lane_count
from memd.embedding.local.inference_context import InferenceContext
from memd.embedding.local.pages import let_go
from memd.embedding.local.pair import Pairs, logit_of
from memd.embedding.local.windows import UnusableModelError, averaged, cut_windows, packed, prepared
from memd.system.descriptors import open_missing_descriptors

PR_SET_PDEATHSIG: Final = 1
"""From <linux/prctl.h>: the signal this process gets when the thread that started it ends."""

POOLED: Final = (1, 2, 3)
"""llama.cpp's mean, first-token and last-token pooling: one vector a text, as embedding models give."""

REST_SECONDS: Final = 10.0
"""How long memory that questions don't need is kept without any request."""

KEPT_TOKENS: Final = 32
"""Tokens of a text whose scratch memory is kept: a question's. A whole chunk's is 49 MB with `minilm`, of which most
is for words that nobody asks it to foretell; to begin anew takes 5 ms."""

SHORT_TOKENS: Final = 32
"""A question of fewer tokens has half the threads: its search looks words up on another core meanwhile, and threads
that wait for each other while one of them has no core take twice as long as one alone."""

NICENESS: Final = 10
"""What a text adds to the niceness of its process: whatever else the user runs goes first, questions too."""

MAX_NICENESS: Final = 19


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, however it ends; elsewhere stdin tells."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def step_back() -> None:
    """Have this thread, and those llama.cpp starts from it, take second place to other programs' work."""
    if sys.platform == "linux":  # elsewhere only a whole process has a priority
        with contextlib.suppress(OSError):  # where it is refused, the usual priority will do
            usual = os.getpriority(os.PRIO_PROCESS, os.getpid())  # of the first thread, which keeps it
            niceness = min(MAX_NICENESS, usual + NICENESS)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class InterruptedTextError(Exception):
    """The owner wants something else first."""


class CancellationFlag:
    """Which request is under way, and which one is to be given up; one thread writes each.

    `flag` is what llama.cpp looks at: a string, empty unless the request under way is to be given up.
    """

    def __init__(self) -> None:
        self.flag = ctypes.create_string_buffer(2)
        self._lock = threading.Lock()
        self._under_way = self._unwanted = 0

    @property
    def under_way(self) -> int:
        """The number of the request under way, 0 where there is none."""
        return self._under_way

    @under_way.setter
    def under_way(self, number: int) -> None:
        with self._lock:
            self._under_way = number
            self.flag.value = b"x" if self.is_interrupted() else b""

    @property
    def unwanted(self) -> int:
        """The number of the last request that was to be given up."""
        return self._unwanted

    @unwanted.setter
    def unwanted(self, number: int) -> None:
        with self._lock:
            self._unwanted = number
            self.flag.value = b"x" if self.is_interrupted() else b""

    def is_interrupted(self) -> bool:
        """Return whether the request under way is to be given up."""
        return self._unwanted == self._under_way > 0


class LoadedModel:
    """llama.cpp with one model: texts in, raw vectors or scores out; one on all threads, or some side by side."""

    def __init__(
        self, path: str, context: int, threads: int, interrupts: CancellationFlag, *, ranks: bool = False
    ) -> None:
        self._file = file = LoadedFile(path, context, threads, ranks=ranks)
        file.hush()
        self._path = path
        self._interrupts = interrupts
        self._context, self._threads = context, threads
        self.lanes = lane_count(threads, context, file.words)
        self._lanes = [InferenceContext(file, file.context, context, interrupts.flag)]
        if not ranks and file.pooling not in POOLED:
            raise UnusableModelError("it gives a vector for each token, not one for a text")
        facts = file.facts
        trained = int(facts.get(f"{facts.get('general.architecture')}.context_length", context))
        self.dims = 1 if ranks else file.outputs
        self.window = min(context, trained)
        self._word_piece = facts.get("tokenizer.ggml.model") == "bert"
        self.ranks = ranks
        self._pairs = Pairs(file, self._tokenize_plain) if ranks else None
        self._holds_all_pages = True

    def open_lanes(self) -> int:
        """Make the lanes for texts side by side, where they aren't there; return how many there are."""
        try:
            while len(self._lanes) < self.lanes:
                self._lanes.append(InferenceContext.beside(self._file, self._context, self._interrupts.flag))
        except RuntimeError as error:
            self.lanes = len(self._lanes)  # not tried again: those there are do the work
            sys.stderr.write(f"{error}: {len(self._lanes)} texts side by side\n")
        return len(self._lanes)

    def rest(self) -> None:
        """Give back the memory that a question doesn't need: of lanes, of long texts, of words that no text has."""
        if self._has_scratch:
            self._give_scratch_back()
        let_go(self._path)
        self._holds_all_pages = False
        # Any text brings back what every text needs, while nobody waits for it.
        with contextlib.suppress(RuntimeError, InterruptedTextError):
            self._run(self._tokenize("a"), None)

    def _give_scratch_back(self) -> None:
        """Free the memory of all lanes; the first begins anew."""
        try:
            lanes = [InferenceContext.beside(self._file, self._context, self._interrupts.flag)]
        except RuntimeError:  # no memory for a moment: the first stays as it is
            lanes = [self._lanes.pop(0)]
        for lane in self._lanes:
            lane.close()
        self._lanes = lanes
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)  # glibc would keep some 40 MB of it

    @property
    def _has_scratch(self) -> bool:
        """Whether there is anything for `_give_scratch_back`."""
        return len(self._lanes) > 1 or self._lanes[0].longest > KEPT_TOKENS

    @property
    def may_rest(self) -> bool:
        """Whether there is anything for `rest`."""
        return self._holds_all_pages or self._has_scratch

    def embed(self, text: str, lane: int | None = None) -> tuple[bytes, int, int]:
        """Return a text's vector as raw float32, its tokens, and in how many windows it was embedded.

        A text longer than the context is embedded window by window and averaged, each window counting
        by its tokens. Nothing is left out.
        """
        text = prepared(text, word_piece=self._word_piece)
        vectors: list[array[float]] = []
        counts: list[int] = []
        for piece, count in cut_windows(text, self._count_tokens, self.window):
            if count == 0:
                raise UnusableModelError("a text without tokens")
            vectors.append(self._run(self._tokenize(piece), lane))
            counts.append(count)
        return packed(averaged(vectors, counts)), sum(counts), len(counts)

    def score(self, question: str, text: str, lane: int | None = None) -> bytes:
        """Return how relevant a text is to a question: one raw float32, as large as it likes."""
        if self._pairs is None:
            raise UnusableModelError("it is no reranker")
        outputs = self._run(self._pairs.join(question, text, self.window), lane)
        return packed(array("f", [logit_of(outputs)]))

    def _run(self, tokens: list[int], lane: int | None) -> array[float]:
        """Return what the model makes of some tokens."""
        try:
            return self._lanes[lane or 0].embed(tokens, self._threads_for(tokens, lane))
        except RuntimeError:
            if self._interrupts.is_interrupted():
                raise InterruptedTextError from None
            raise

    def _threads_for(self, tokens: list[int], lane: int | None) -> int:
        """Return how many threads compute a text."""
        if lane is not None:
            return max(1, self._threads // len(self._lanes))
        if len(tokens) < SHORT_TOKENS and not self.ranks:
            return max(1, self._threads // 2)
        return self._threads

    def _tokenize(self, text: str) -> list[int]:
        return self._file.tokenize(text)

    def _tokenize_plain(self, text: str) -> list[int]:
        return self._file.tokenize(prepared(text, word_piece=self._word_piece), whole=False)

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenize(text))


def load_model(
    path: str, context: int, threads: int, interrupts: CancellationFlag, *, ranks: bool
) -> LoadedModel | wire.Message:
    """Return the model, or the `failed` message that says why there is none."""
    try:
        load_binding()  # here, so that its absence is an answer and not a crash
    except (ImportError, OSError, RuntimeError) as error:  # a missing or broken shared library is any of them
        return {"kind": "failed", "reason": "extra", "message": f"{type(error).__name__}: {error}"}
    try:
        return LoadedModel(path, context, threads, interrupts, ranks=ranks)
    except (ValueError, RuntimeError, UnusableModelError) as error:
        return {"kind": "failed", "reason": "model", "message": str(error)}


def _answer(
    model: LoadedModel, text: str, lane: int | None = None, question: str | None = None
) -> wire.Message:
    """Return the reply to one text, without what it is a reply to."""
    try:
        if question is not None:
            return {"kind": "vector", "data": model.score(question, text, lane)}
        data, tokens, windows = model.embed(text, lane)
    except InterruptedTextError:
        return {"kind": "interrupted"}
    except MemoryError:
        raise  # no fault of the text: a fresh process may have room for it
    except Exception as error:
        return {"kind": "refused", "message": type(error).__name__}
    return {"kind": "vector", "data": data, "tokens": tokens, "windows": windows}


class SideBySide:
    """Some texts of one request on several lanes: each lane takes the next text when it is done with one."""

    def __init__(
        self, model: LoadedModel, interrupts: CancellationFlag, reply: Callable[[wire.Message], None]
    ) -> None:
        self._model = model
        self._interrupts = interrupts
        self._reply = reply
        self._begin = (lambda: None) if model.ranks else step_back  # somebody waits for a reranker
        self._lock = threading.Lock()
        self._lanes: ThreadPoolExecutor | None = None

    def serve(self, request: wire.Message) -> None:
        """Answer every text of a request; returns when all are."""
        count = self._model.open_lanes()
        if self._lanes is None:
            self._lanes = ThreadPoolExecutor(count, initializer=self._begin)
        texts: Iterator[tuple[int, str]] = enumerate(request["texts"])
        if "question" not in request:  # long ones first: so no lane is left with one when the others are done
            texts = iter(sorted(texts, key=lambda item: -len(item[1])))
        for done in [self._lanes.submit(self._drain, lane, texts, request) for lane in range(count)]:
            done.result()

    def _drain(self, lane: int, texts: Iterator[tuple[int, str]], request: wire.Message) -> None:
        while True:
            with self._lock:
                place, text = next(texts, (-1, ""))
            if place < 0:
                return
            answer: wire.Message = {"kind": "untouched"}
            if not self._interrupts.is_interrupted():
                answer = _answer(self._model, text, lane, request.get("question"))
            with self._lock:
                self._reply({**answer, "id": request["id"], "place": place})


def _follow(
    requests: BinaryIO, waiting: queue.SimpleQueue[wire.Message], interrupts: CancellationFlag
) -> None:
    """Queue the texts, pass interrupts on; end the process the moment the owner closes its end or speaks gibberish."""
    try:
        while (message := wire.read_message(requests)) is not None:
            if message["kind"] == "interrupt":
                interrupts.unwanted = message["id"]
            else:
                waiting.put(message)
    finally:
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Serve until stdin closes; return the exit code where the model can't be loaded."""
    open_missing_descriptors()
    die_with_parent()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def reply(message: wire.Message) -> None:
        replies.write(wire.encode(message))
        replies.flush()

    path, context, threads, *role = arguments
    waiting: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    interrupts = CancellationFlag()
    threading.Thread(target=_follow, args=(sys.stdin.buffer, waiting, interrupts), daemon=True).start()
    model = load_model(path, int(context), int(threads), interrupts, ranks=role == [wire.RANK])
    if isinstance(model, dict):
        reply(model)
        return 1
    reply({"kind": "ready", "dims": model.dims, "window": model.window, "lanes": model.lanes})
    side_by_side = SideBySide(model, interrupts, reply)
    behind = ThreadPoolExecutor(1, initializer=step_back)
    while True:
        try:
            request = waiting.get(timeout=REST_SECONDS if model.may_rest else None)
        except queue.Empty:
            interrupts.under_way = 0
            model.rest()
            continue
        interrupts.under_way = request["id"]
        if request["kind"] == "embed_many":
            side_by_side.serve(request)
        elif request.get("waits"):
            reply({**behind.submit(_answer, model, request["text"]).result(), "id": request["id"]})
        else:
            reply({**_answer(model, request["text"]), "id": request["id"]})


if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    except Exception:
        traceback.print_exc()  # names places in the code, no text
    sys.stderr.flush()
    os._exit(code)  # an ordinary exit would wait for the thread that reads stdin
