"""The model process: runs llama.cpp, whose failed assertions abort it.

Run as ``python -m memd.embedding.local.child PATH CONTEXT THREADS GPU_LAYERS [EXCLUDED_ENGINE]...``. Reads frames (see
`wire`) from stdin and writes frames to the original stdout; all output of llama.cpp goes to stderr.

The process ends at once when stdin closes or its parent dies, also while it embeds a text. Its output contains no text
of the memory: the reply to a failed text has only the class of the error.
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
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import mul
from typing import Any, BinaryIO, Final

from memd.embedding.local import wire
from memd.embedding.local.engine import GpuLayers, load_engine
from memd.embedding.local.fit import parallel_text_count
from memd.embedding.local.llama import InferenceContext, LoadedFile, release_pages
from memd.system.descriptors import open_missing_descriptors

PR_SET_PDEATHSIG: Final = 1
"""From <linux/prctl.h>: sets the signal for this process when the thread that started it ends."""

POOLED: Final = (1, 2, 3)
"""llama.cpp's mean, first-token and last-token pooling, which return one vector per text."""

RELEASE_AFTER_SECONDS: Final = 10.0
"""The idle time after which RAM that queries don't need is freed."""

KEPT_TOKENS: Final = 32
"""Scratch memory is kept if no text was longer than this, a query's length. That of a chunk is several times larger,
and a new context takes a few milliseconds."""

SHORT_TOKENS: Final = 32
"""Shorter queries use half the threads: keyword search needs another core meanwhile, and threads that wait for one
without a core are slower than a single thread."""

BACKGROUND_NICENESS: Final = 10
"""The niceness added for texts, so that queries and other programs have priority."""

MAX_NICENESS: Final = 19

WINDOW_FILL: Final = 0.9
"""The intended share of a window's limit: parts of equal length differ in tokens, and longer ones are split again."""

CUT_SEARCH_CHARACTERS: Final = 80
"""How far before a window's end to search for a space to split at."""

ALL_LAYERS: Final = 0x7FFFFFFF
"""llama.cpp computes as many layers on a GPU as the model has at most."""

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""Texts longer than the token limit times this are split before tokenizing, which is slow for very long words."""


class UnusableModelError(Exception):
    """The model loads, but can't embed a text."""


class TextInterruptedError(Exception):
    """The request under way was cancelled."""


# --- windows --------------------------------------------------------------------------------------


def split_into_windows(
    text: str, count_tokens: Callable[[str], int], limit: int
) -> Iterator[tuple[str, int]]:
    """Yield the windows of a text, of at most `limit` tokens, with their token counts."""
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
            raise UnusableModelError("one character has more tokens than the context")
        waiting += reversed(_split_evenly(window, parts))


def _split_evenly(text: str, parts: int) -> list[str]:
    """Split a text into parts of about equal length, at spaces if possible."""
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
    """Return a text normalized for llama.cpp's tokenizer.

    Its WordPiece tokenizer drops all but the first letter of a Korean syllable, unless the syllable is decomposed into
    letters, as BERT does. Other tokenizers need no change.
    """
    return text if text.isascii() or not is_word_piece else unicodedata.normalize("NFD", text)


def average(vectors: Sequence[array[float]], counts: Sequence[int]) -> array[float]:
    """Return the mean of vectors, weighted by tokens; a single one unchanged."""
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
    """The ids of the current and the cancelled request, each set by one thread."""

    def __init__(self) -> None:
        self.current_id = 0
        self.cancelled_id = 0

    def is_interrupted(self) -> bool:
        """Return whether the current request is cancelled."""
        return self.cancelled_id == self.current_id > 0


class LoadedModel:
    """A model in llama.cpp: embeds one text on all threads, or several in parallel."""

    def __init__(
        self,
        functions: Any,
        path: str,
        context: int,
        threads: int,
        cancellation: CancellationFlag,
        gpu_layers: int = 0,
    ) -> None:
        self._file = file = LoadedFile(functions, path, context, threads, gpu_layers)
        file.silence()
        if file.pooling not in POOLED:
            raise UnusableModelError("it returns a vector per token, not per text")
        self._path = path
        self._cancellation = cancellation
        self._tokens, self._threads = context, threads
        self.has_gpu = bool(functions.llama_supports_gpu_offload())
        self.gpu_layers = file.gpu_layers
        # A GPU computes one text with all its cores.
        self.parallel_texts = (
            1 if self.gpu_layers else parallel_text_count(threads, context, file.kept_logits)
        )
        self._contexts = [InferenceContext(file, context, cancellation.is_interrupted, file.context)]
        metadata = file.metadata
        trained = int(metadata.get(f"{metadata.get('general.architecture')}.context_length", context))
        self.dims = file.dims
        self.window = min(context, trained)
        self._is_word_piece = metadata.get("tokenizer.ggml.model") == "bert"
        self._has_all_pages = True

    def _new_context(self) -> InferenceContext:
        return InferenceContext(self._file, self._tokens, self._cancellation.is_interrupted)

    def open_contexts(self) -> int:
        """Create the contexts for parallel texts; return their number."""
        try:
            while len(self._contexts) < self.parallel_texts:
                self._contexts.append(self._new_context())
        except RuntimeError as error:
            self.parallel_texts = len(self._contexts)  # don't retry
            sys.stderr.write(f"{error}: {self.parallel_texts} texts in parallel\n")
        return len(self._contexts)

    def free_unused_ram(self) -> None:
        """Free extra contexts, scratch memory of long texts, and the model's pages."""
        if self._has_scratch_memory:
            self._free_scratch_memory()
        release_pages(self._path)
        self._has_all_pages = False

    def _free_scratch_memory(self) -> None:
        """Replace all contexts by a new one."""
        try:
            contexts = [self._new_context()]
        except RuntimeError:  # out of memory: keep the first one
            contexts = [self._contexts.pop(0)]
        for context in self._contexts:
            context.close()
        self._contexts = contexts
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)  # otherwise glibc keeps tens of MB

    @property
    def _has_scratch_memory(self) -> bool:
        return len(self._contexts) > 1 or self._contexts[0].longest > KEPT_TOKENS

    @property
    def has_unused_ram(self) -> bool:
        """Whether `free_unused_ram` has anything to free."""
        return self._has_all_pages or self._has_scratch_memory

    def embed(self, text: str, context_index: int | None = None) -> tuple[bytes, int, int]:
        """Return a text's vector as float32 bytes, its number of tokens and of windows.

        A text longer than the context is embedded in windows; its vector is their mean, weighted by tokens.
        """
        text = normalize_text(text, is_word_piece=self._is_word_piece)
        vectors: list[array[float]] = []
        counts: list[int] = []
        for window, count in split_into_windows(text, self._count_tokens, self.window):
            if count == 0:
                raise UnusableModelError("text has no tokens")
            vectors.append(self._compute(self._file.tokenize(window), context_index))
            counts.append(count)
        return pack(average(vectors, counts)), sum(counts), len(counts)

    def _compute(self, tokens: list[int], context_index: int | None) -> array[float]:
        try:
            return self._contexts[context_index or 0].embed(tokens, self._threads_for(tokens, context_index))
        except RuntimeError:
            if self._cancellation.is_interrupted():
                raise TextInterruptedError from None
            raise

    def _threads_for(self, tokens: list[int], context_index: int | None) -> int:
        """Return the number of threads for a text."""
        if context_index is not None:
            return max(1, self._threads // len(self._contexts))
        return max(1, self._threads // 2) if len(tokens) < SHORT_TOKENS else self._threads

    def _count_tokens(self, text: str) -> int:
        return len(self._file.tokenize(text))


def load_model(
    path: str,
    context: int,
    threads: int,
    cancellation: CancellationFlag,
    *,
    gpu_layers: GpuLayers = "auto",
    excluded: Container[str] = (),
    on_engine: Callable[[str], None] = lambda _: None,
) -> LoadedModel | wire.Message:
    """Return the model, or the `failed` reply with the reason; `on_engine` gets each engine before it is loaded.

    A model that `auto` can't load into the GPU is loaded into RAM.
    """
    try:
        _, functions = load_engine(excluded, on_engine)  # here: a missing package is a reply and not a crash
    except (ImportError, OSError, RuntimeError) as error:  # a broken shared library raises any of them
        return {"kind": "failed", "reason": "extra", "message": f"{type(error).__name__}: {error}"}
    most = ALL_LAYERS if functions.llama_supports_gpu_offload() else 0
    reason = ""
    for layers in dict.fromkeys((most, 0) if gpu_layers == "auto" else (min(gpu_layers, most),)):
        try:
            return LoadedModel(functions, path, context, threads, cancellation, layers)
        except (ValueError, RuntimeError, UnusableModelError) as error:
            reason = str(error)
    return {"kind": "failed", "reason": "model", "message": reason}


# --- the process ----------------------------------------------------------------------------------


def end_with_parent() -> None:
    """Make Linux kill this process when its parent ends; other systems close stdin."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def lower_priority() -> None:
    """Lower the priority of this thread and of those that llama.cpp starts from it."""
    if sys.platform == "linux":  # other systems only have priorities of processes
        with contextlib.suppress(OSError):  # not essential
            usual = os.getpriority(os.PRIO_PROCESS, os.getpid())  # of the first thread
            niceness = min(MAX_NICENESS, usual + BACKGROUND_NICENESS)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class RequestServer:
    """Serves requests: a single text on all threads, several with a context each."""

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
        """Send a reply for every text of a request."""
        texts = request["texts"]
        if len(texts) > 1:
            self._serve_in_parallel(request["id"], texts)
            return
        if request["background"]:
            reply = self._background.submit(self._embed, texts[0]).result()
        else:
            reply = self._embed(texts[0])
        self._reply({**reply, "id": request["id"], "position": 0})

    def _serve_in_parallel(self, request_id: int, texts: list[str]) -> None:
        count = self._model.open_contexts()
        if self._workers is None:
            self._workers = ThreadPoolExecutor(count, initializer=lower_priority)
        # Longest first, so that no worker starts a long text last.
        waiting = iter(sorted(enumerate(texts), key=lambda item: -len(item[1])))
        for worker in [
            self._workers.submit(self._drain, context_index, waiting, request_id)
            for context_index in range(count)
        ]:
            worker.result()

    def _drain(self, context_index: int, waiting: Iterator[tuple[int, str]], request_id: int) -> None:
        while True:
            with self._lock:
                position, text = next(waiting, (-1, ""))
            if position < 0:
                return
            reply: wire.Message = {"kind": "untouched"}
            if not self._cancellation.is_interrupted():
                reply = self._embed(text, context_index)
            with self._lock:
                self._reply({**reply, "id": request_id, "position": position})

    def _embed(self, text: str, context_index: int | None = None) -> wire.Message:
        """Return the reply to one text, without `id` and `position`."""
        try:
            data, tokens, windows = self._model.embed(text, context_index)
        except TextInterruptedError:
            return {"kind": "interrupted"}
        except MemoryError:
            raise  # not caused by the text: a new process may have enough memory
        except Exception as error:
            return {"kind": "refused", "message": type(error).__name__}
        return {"kind": "vector", "data": data, "tokens": tokens, "windows": windows}


def read_requests(
    requests: BinaryIO,
    waiting: queue.SimpleQueue[wire.Message],
    cancellation: CancellationFlag,
    reply: Callable[[wire.Message], None],
) -> None:
    """Queue requests, set the cancellation flag, and answer pings; end the process with the stream."""
    try:
        while (message := wire.read_message(requests)) is not None:
            if message["kind"] == "interrupt":
                cancellation.cancelled_id = message["id"]
            elif message["kind"] == "ping":
                reply({"kind": "pong"})
            else:
                waiting.put(message)
    finally:
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Serve until stdin closes; return the exit code if loading fails."""
    open_missing_descriptors()
    end_with_parent()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    writing = threading.Lock()

    def reply(message: wire.Message) -> None:
        with writing:
            replies.write(wire.encode(message))
            replies.flush()

    path, context, threads, gpu_layers, *excluded = arguments
    waiting: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    cancellation = CancellationFlag()
    reader_arguments = (sys.stdin.buffer, waiting, cancellation, reply)
    threading.Thread(target=read_requests, args=reader_arguments, daemon=True).start()
    model = load_model(
        path,
        int(context),
        int(threads),
        cancellation,
        gpu_layers="auto" if gpu_layers == "auto" else int(gpu_layers),
        excluded=excluded,
        on_engine=lambda package: reply({"kind": "loading", "engine": package}),
    )
    if isinstance(model, dict):
        reply(model)
        return 1
    reply(
        {
            "kind": "ready",
            "dims": model.dims,
            "window": model.window,
            "parallel_texts": model.parallel_texts,
            "has_gpu": model.has_gpu,
            "gpu_layers": model.gpu_layers,
        }
    )
    server = RequestServer(model, cancellation, reply)
    while True:
        try:
            request = waiting.get(timeout=RELEASE_AFTER_SECONDS if model.has_unused_ram else None)
        except queue.Empty:
            cancellation.current_id = 0
            model.free_unused_ram()
            continue
        cancellation.current_id = request["id"]
        server.serve(request)


if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    except Exception:
        traceback.print_exc()  # contains code locations, no text of the memory
    sys.stderr.flush()
    os._exit(code)  # a normal exit would wait for the thread that reads stdin
