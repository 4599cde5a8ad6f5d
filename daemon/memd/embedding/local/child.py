"""The process that holds llama.cpp, and nothing else.

Run as ``python -m memd.embedding.local.child PATH CONTEXT THREADS``. Frames (see `wire`) come in on stdin and go out
on the original stdout; everything llama.cpp prints goes to stderr. llama.cpp aborts the whole process if an
assertion fails, which is why it runs here.

When stdin closes, or the parent dies, this process ends at once, in the middle of a text if need be.
Nothing printed here contains memory text: a text that fails is answered with the class of the failure only.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import queue
import signal
import sys
import threading
import traceback
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import mul
from typing import BinaryIO, Final

from memd.embedding.local import wire
from memd.embedding.local.fit import lane_count
from memd.embedding.local.llama import InferenceContext, LoadedFile, load_llama, release_pages
from memd.system.descriptors import open_missing_descriptors

PR_SET_PDEATHSIG: Final = 1
"""From <linux/prctl.h>: the signal this process gets when the thread that started it ends."""

POOLED: Final = (1, 2, 3)
"""llama.cpp's mean, first-token and last-token pooling: one vector a text, as embedding models give."""

REST_SECONDS: Final = 10.0
"""How long without a request until RAM that queries don't need is given back."""

KEPT_TOKENS: Final = 32
"""Scratch memory is kept if the longest text so far was a query's length. That of a whole chunk is 49 MB with
`minilm`; a new context takes 5 ms."""

SHORT_TOKENS: Final = 32
"""A query of fewer tokens has half the threads: its search looks up keywords on another core meanwhile, and threads
that wait for each other while one of them has no core take twice as long as one alone."""

BACKGROUND_NICENESS: Final = 10
"""What texts add to the niceness of the process: other programs go first, and so do queries."""

MAX_NICENESS: Final = 19

WINDOW_FILL: Final = 0.9
"""How full windows are meant to be: parts of equal length differ in tokens, and one beyond the limit is cut again."""

CUT_SEARCH_CHARACTERS: Final = 80
"""How far back from a window's end a space is looked for, so that no word is cut in two."""

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""A text longer than its tokens times this is cut before it is tokenized, which is slow on endless words."""


class UnusableModelError(Exception):
    """The file loads, but gives no vector for a text."""


class InterruptedTextError(Exception):
    """The owner cancelled the request under way."""


# --- windows --------------------------------------------------------------------------------------


def cut_windows(text: str, count_tokens: Callable[[str], int], limit: int) -> Iterator[tuple[str, int]]:
    """Yield a text in a few windows of at most `limit` tokens, with their token counts."""
    waiting = [text]
    while waiting:
        window = waiting.pop()
        parts = math.ceil(len(window) / (limit * MAX_CHARACTERS_PER_TOKEN))
        if parts <= 1:
            count = count_tokens(window)
            if count <= limit:
                yield window, count
                continue
            parts = max(2, math.ceil(count / (limit * WINDOW_FILL)))
        if len(window) < 2:
            raise UnusableModelError("one character is longer than the context")
        waiting += reversed(_cut_evenly(window, parts))


def _cut_evenly(text: str, parts: int) -> list[str]:
    """Return a text in `parts` of about equal length, cut at spaces if any are near."""
    cut, start = [], 0
    for left in range(min(parts, len(text)), 0, -1):
        end = start + math.ceil((len(text) - start) / left)
        if left > 1:
            space = text.rfind(" ", max(start + 1, end - CUT_SEARCH_CHARACTERS), end)
            end = space if space > start else end
        cut.append(text[start:end])
        start = end
    return cut


def normalize_text(text: str, *, is_word_piece: bool) -> str:
    """Return a text as llama.cpp should see it.

    Its WordPiece tokenizer keeps only the first letter of a Korean syllable; decomposed into letters, as BERT does,
    the syllable survives. Other tokenizers take the text unchanged.
    """
    return text if text.isascii() or not is_word_piece else unicodedata.normalize("NFD", text)


def average(vectors: Sequence[array[float]], counts: Sequence[int]) -> array[float]:
    """Return the mean of windows' vectors, weighted by their tokens; a single one unchanged, bit by bit."""
    if len(vectors) == 1:
        return vectors[0]
    tokens = sum(counts)
    rows = zip(*vectors, strict=True)
    return array("f", [sum(map(mul, counts, row)) / tokens for row in rows])


def pack(numbers: array[float]) -> bytes:
    """Return float32 numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()


# --- the model ------------------------------------------------------------------------------------


class CancellationFlag:
    """The request under way and the last one to be cancelled, 0 for none; one thread writes each."""

    def __init__(self) -> None:
        self.under_way = 0
        self.unwanted = 0

    def is_interrupted(self) -> bool:
        """Return whether the request under way is to be cancelled."""
        return self.unwanted == self.under_way > 0


class LoadedModel:
    """llama.cpp with one model: texts in, raw vectors out; one text on all threads, or several in parallel."""

    def __init__(self, path: str, context: int, threads: int, cancellation: CancellationFlag) -> None:
        self._file = file = LoadedFile(path, context, threads)
        file.silence()
        if file.pooling not in POOLED:
            raise UnusableModelError("it gives a vector for each token, not one for a text")
        self._path = path
        self._cancellation = cancellation
        self._tokens, self._threads = context, threads
        self.lanes = lane_count(threads, context, file.vocabulary_size)
        self._contexts = [InferenceContext(file, context, cancellation.is_interrupted, file.context)]
        facts = file.facts
        trained = int(facts.get(f"{facts.get('general.architecture')}.context_length", context))
        self.dims = file.dims
        self.window = min(context, trained)
        self._is_word_piece = facts.get("tokenizer.ggml.model") == "bert"
        self._has_all_pages = True

    def _new_context(self) -> InferenceContext:
        return InferenceContext(self._file, self._tokens, self._cancellation.is_interrupted)

    def open_contexts(self) -> int:
        """Make the contexts for texts in parallel; return how many there are."""
        try:
            while len(self._contexts) < self.lanes:
                self._contexts.append(self._new_context())
        except RuntimeError as error:
            self.lanes = len(self._contexts)  # not tried again
            sys.stderr.write(f"{error}: {self.lanes} texts in parallel\n")
        return len(self._contexts)

    def rest(self) -> None:
        """Give back the RAM that a query doesn't need: of contexts and long texts, and all pages of the model."""
        if self._has_scratch:
            self._free_scratch()
        release_pages(self._path)
        self._has_all_pages = False

    def _free_scratch(self) -> None:
        """Free all contexts and make a new first one."""
        try:
            contexts = [self._new_context()]
        except RuntimeError:  # no memory for a moment: the first one stays
            contexts = [self._contexts.pop(0)]
        for context in self._contexts:
            context.close()
        self._contexts = contexts
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)  # glibc would keep some 40 MB of it

    @property
    def _has_scratch(self) -> bool:
        return len(self._contexts) > 1 or self._contexts[0].longest > KEPT_TOKENS

    @property
    def can_rest(self) -> bool:
        """Whether `rest` has anything to give back."""
        return self._has_all_pages or self._has_scratch

    def embed(self, text: str, lane: int | None = None) -> tuple[bytes, int, int]:
        """Return a text's vector as raw float32, its tokens, and in how many windows it was embedded.

        A text longer than the context is embedded window by window and averaged, each window weighted by its
        tokens. Nothing is left out.
        """
        text = normalize_text(text, is_word_piece=self._is_word_piece)
        vectors: list[array[float]] = []
        counts: list[int] = []
        for window, count in cut_windows(text, self._count_tokens, self.window):
            if count == 0:
                raise UnusableModelError("a text without tokens")
            vectors.append(self._compute(self._file.tokenize(window), lane))
            counts.append(count)
        return pack(average(vectors, counts)), sum(counts), len(counts)

    def _compute(self, tokens: list[int], lane: int | None) -> array[float]:
        try:
            return self._contexts[lane or 0].embed(tokens, self._threads_for(tokens, lane))
        except RuntimeError:
            if self._cancellation.is_interrupted():
                raise InterruptedTextError from None
            raise

    def _threads_for(self, tokens: list[int], lane: int | None) -> int:
        """Return how many threads compute a text."""
        if lane is not None:
            return max(1, self._threads // len(self._contexts))
        return max(1, self._threads // 2) if len(tokens) < SHORT_TOKENS else self._threads

    def _count_tokens(self, text: str) -> int:
        return len(self._file.tokenize(text))


def load_model(
    path: str, context: int, threads: int, cancellation: CancellationFlag
) -> LoadedModel | wire.Message:
    """Return the model, or the `failed` message that says why it can't be loaded."""
    try:
        load_llama()  # here, so that its absence is an answer and not a crash
    except (ImportError, OSError, RuntimeError) as error:  # a missing or broken shared library is any of them
        return {"kind": "failed", "reason": "extra", "message": f"{type(error).__name__}: {error}"}
    try:
        return LoadedModel(path, context, threads, cancellation)
    except (ValueError, RuntimeError, UnusableModelError) as error:
        return {"kind": "failed", "reason": "model", "message": str(error)}


# --- the process ----------------------------------------------------------------------------------


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, however it ends; elsewhere stdin tells."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def lower_priority() -> None:
    """Give this thread, and those llama.cpp starts from it, a lower priority than other programs have."""
    if sys.platform == "linux":  # elsewhere only a whole process has a priority
        with contextlib.suppress(OSError):  # if it is refused, the usual priority will do
            usual = os.getpriority(os.PRIO_PROCESS, os.getpid())  # of the first thread, which keeps it
            niceness = min(MAX_NICENESS, usual + BACKGROUND_NICENESS)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class RequestServer:
    """Answers requests: a single text on all threads, several on a context each."""

    def __init__(
        self, model: LoadedModel, cancellation: CancellationFlag, reply: Callable[[wire.Message], None]
    ) -> None:
        self._model = model
        self._cancellation = cancellation
        self._reply = reply
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, initializer=lower_priority)
        self._workers: ThreadPoolExecutor | None = None

    def serve(self, request: wire.Message) -> None:
        """Answer every text of a request; returns when all are."""
        texts = request["texts"]
        if len(texts) > 1:
            self._serve_in_parallel(request["id"], texts)
            return
        if request["background"]:
            answer = self._background.submit(self._embed, texts[0]).result()
        else:
            answer = self._embed(texts[0])
        self._reply({**answer, "id": request["id"], "place": 0})

    def _serve_in_parallel(self, number: int, texts: list[str]) -> None:
        count = self._model.open_contexts()
        if self._workers is None:
            self._workers = ThreadPoolExecutor(count, initializer=lower_priority)
        # Long ones first: so no worker still has one when the others are done.
        waiting = iter(sorted(enumerate(texts), key=lambda item: -len(item[1])))
        for worker in [self._workers.submit(self._drain, lane, waiting, number) for lane in range(count)]:
            worker.result()

    def _drain(self, lane: int, waiting: Iterator[tuple[int, str]], number: int) -> None:
        while True:
            with self._lock:
                place, text = next(waiting, (-1, ""))
            if place < 0:
                return
            answer: wire.Message = {"kind": "untouched"}
            if not self._cancellation.is_interrupted():
                answer = self._embed(text, lane)
            with self._lock:
                self._reply({**answer, "id": number, "place": place})

    def _embed(self, text: str, lane: int | None = None) -> wire.Message:
        """Return the reply to one text, without `id` and `place`."""
        try:
            data, tokens, windows = self._model.embed(text, lane)
        except InterruptedTextError:
            return {"kind": "interrupted"}
        except MemoryError:
            raise  # not the text's fault: a fresh process may have memory for it
        except Exception as error:
            return {"kind": "refused", "message": type(error).__name__}
        return {"kind": "vector", "data": data, "tokens": tokens, "windows": windows}


def follow_requests(
    requests: BinaryIO, waiting: queue.SimpleQueue[wire.Message], cancellation: CancellationFlag
) -> None:
    """Queue requests and pass interrupts on; end the process when the stream ends or breaks."""
    try:
        while (message := wire.read_message(requests)) is not None:
            if message["kind"] == "interrupt":
                cancellation.unwanted = message["id"]
            else:
                waiting.put(message)
    finally:
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Serve until stdin closes; return the exit code if the model can't be loaded."""
    open_missing_descriptors()
    die_with_parent()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def reply(message: wire.Message) -> None:
        replies.write(wire.encode(message))
        replies.flush()

    path, context, threads = arguments
    waiting: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    cancellation = CancellationFlag()
    follow = (sys.stdin.buffer, waiting, cancellation)
    threading.Thread(target=follow_requests, args=follow, daemon=True).start()
    model = load_model(path, int(context), int(threads), cancellation)
    if isinstance(model, dict):
        reply(model)
        return 1
    reply({"kind": "ready", "dims": model.dims, "window": model.window, "lanes": model.lanes})
    server = RequestServer(model, cancellation, reply)
    while True:
        try:
            request = waiting.get(timeout=REST_SECONDS if model.can_rest else None)
        except queue.Empty:
            cancellation.under_way = 0
            model.rest()
            continue
        cancellation.under_way = request["id"]
        server.serve(request)


if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    except Exception:
        traceback.print_exc()  # names places in the code, no text
    sys.stderr.flush()
    os._exit(code)  # an ordinary exit would wait for the thread that reads stdin
