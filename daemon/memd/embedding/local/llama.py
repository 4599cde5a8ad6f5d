"""llama.cpp: a model's weights, the contexts its texts are computed in, and the pages it holds in RAM."""

from __future__ import annotations

import ctypes
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

WARNING_LEVELS: Final = (3, 4)
"""llama.cpp's log levels of warnings and errors."""

FACT_BYTES: Final = 1024
"""Buffer for one value of the file's header; a longer value is read with a buffer of its size."""

TILE_TOKENS: Final = 64
PADDED_FROM_TOKENS: Final = 40
"""llama.cpp computes attention in tiles from `TILE_TOKENS` on, and token by token below: 63 tokens took 52 ms on one
core, 64 took 22. From `PADDED_FROM_TOKENS` on a text is faster with padding."""

OUT_OF_MEMORY_CODE: Final = -2
"""What `llama_decode` returns if it can't allocate its buffers."""

MADV_DONTNEED: Final = 4
"""From <linux/mman.h>. A file that is only read loses nothing by it."""

READ_ONLY: Final = "r--"


def load_llama() -> Any:
    """Return the package `llama_cpp`; it takes half a second, and only the model's process imports it."""
    import llama_cpp

    return llama_cpp


class LoadedFile:
    """Weights and vocabulary, kept until the process ends, and the first context.

    Raises `ValueError` if llama.cpp can't load the file; its reason is on stderr.

    Attributes:
        cpp: llama.cpp's functions.
        context: The first context; its user may free it.
        pooling: How the vectors of tokens become one; see llama.h.
        can_pad: Whether a text may be computed beside padding that it doesn't see (`InferenceContext.embed`).
        facts: Keys and values of the file's header, without lists.
    """

    def __init__(self, path: str, tokens: int, threads: int) -> None:
        self.cpp = cpp = load_llama()
        if not os.path.exists(path):
            raise ValueError(f"Model path does not exist: {path}")
        cpp.llama_backend_init()
        options = cpp.llama_model_default_params()
        options.n_gpu_layers = 0
        self._model = cpp.llama_model_load_from_file(path.encode(), options)
        if not self._model:
            raise ValueError(f"Failed to load model from file: {path}")
        self._vocabulary = cpp.llama_model_get_vocab(self._model)
        self.facts = self._read_facts()
        self._options = self._context_options(tokens, threads)
        self.context = cpp.llama_init_from_model(self._model, self._options)
        if not self.context:  # not every model supports flash attention
            self._options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
            self.context = cpp.llama_init_from_model(self._model, self._options)
        if not self.context:
            raise ValueError("Failed to create llama_context")
        self.pooling = int(cpp.llama_pooling_type(self.context))
        in_tiles = self._options.flash_attn_type == cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        self.can_pad = in_tiles and self._options.n_seq_max > 1 and not cpp.llama_get_memory(self.context)

    def _context_options(self, tokens: int, threads: int) -> Any:
        """Return the parameters of a context for one whole text at a time, with a second sequence for padding."""
        cpp, options = self.cpp, self.cpp.llama_context_default_params()
        options.embeddings = True
        # A batch shorter than the context aborts the process on a text between the two.
        options.n_ctx = options.n_batch = options.n_ubatch = tokens
        is_causal = self.facts.get(f"{self.facts.get('general.architecture')}.attention.causal")
        # llama.cpp plans for sequences of equal length, and aborts if the tokens can't be halved.
        has_padding = is_causal == "false" and tokens % 2 == 0
        options.n_seq_max = 2 if has_padding else 1
        options.kv_unified = has_padding  # otherwise each sequence has half the tokens
        options.n_threads = options.n_threads_batch = threads
        options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        return options

    def new_context(self) -> Any:
        """Return a further context with the parameters of the first; the caller frees it."""
        context = self.cpp.llama_init_from_model(self._model, self._options)
        if not context:
            raise RuntimeError("no further context")
        return context

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return int(self.cpp.llama_model_n_embd(self._model))

    @property
    def vocabulary_size(self) -> int:
        return int(self.cpp.llama_vocab_n_tokens(self._vocabulary))

    def tokenize(self, text: str) -> list[int]:
        """Return a text's tokens, with those the model wants around them."""
        data = text.encode()
        capacity = len(data) + 8  # nearly always enough: a token has a byte at least
        for _ in range(2):
            tokens = (self.cpp.llama_token * capacity)()
            count: int = self.cpp.llama_tokenize(
                self._vocabulary, data, len(data), tokens, capacity, True, False
            )
            if count >= 0:
                return list(tokens[:count])
            capacity = -count
        raise RuntimeError(f"llama_tokenize needs {capacity} tokens")

    def silence(self) -> None:
        """Let llama.cpp write warnings and errors only to stderr."""

        def write(level: int, text: bytes, _: object) -> None:
            if level in WARNING_LEVELS:
                sys.stderr.write(text.decode("utf-8", "replace"))
                sys.stderr.flush()

        self._log_callback = self.cpp.llama_log_callback(write)  # llama.cpp keeps a bare pointer
        self.cpp.llama_log_set(self._log_callback, None)

    def _read_facts(self) -> dict[str, str]:
        cpp, model = self.cpp, self._model
        facts = {}
        for number in range(cpp.llama_model_meta_count(model)):
            key = self._read_fact(cpp.llama_model_meta_key_by_index, number)
            facts[key] = self._read_fact(cpp.llama_model_meta_val_str_by_index, number)
        return facts

    def _read_fact(self, read: Any, number: int) -> str:
        buffer = ctypes.create_string_buffer(FACT_BYTES)
        size: int = read(self._model, number, buffer, FACT_BYTES)
        if size >= FACT_BYTES:
            buffer = ctypes.create_string_buffer(size + 1)
            read(self._model, number, buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")


class InferenceContext:
    """A context, the scratch memory of one text at a time, and the batch its texts go through.

    On a CPU several texts in parallel, a core each, are faster than one text on all cores: the cores never wait for
    each other. The vector of a text is the same, bit by bit, whatever its context and the number of its threads.

    One thread at a time. `close` frees the context and the batch.

    Attributes:
        longest: Tokens of the longest text so far: llama.cpp's scratch memory grows with it, and never shrinks.
    """

    def __init__(
        self, file: LoadedFile, tokens: int, is_cancelled: Callable[[], bool], context: Any = None
    ) -> None:
        """Take a context of the file, or make one; a text is given up when `is_cancelled` turns true."""
        self._cpp = cpp = file.cpp
        self._context = context or file.new_context()
        self._dims = file.dims
        self._can_pad = file.can_pad and tokens >= TILE_TOKENS
        self.longest = 0
        self._abort_callback = cpp.ggml_abort_callback(
            lambda _: is_cancelled()
        )  # llama.cpp keeps a bare pointer
        cpp.llama_set_abort_callback(self._context, self._abort_callback, None)
        self._batch = cpp.llama_batch_init(tokens, 0, 1)
        for place in range(tokens):  # all but the tokens is the same for every text
            self._batch.pos[place] = place
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0
            self._batch.logits[place] = True

    def close(self) -> None:
        """Free the context; once."""
        self._cpp.llama_batch_free(self._batch)
        self._cpp.llama_free(self._context)

    def embed(self, tokens: Sequence[int], threads: int) -> array[float]:
        """Return the raw vector (dims,) of a text as float32."""
        is_padded = self._can_pad and PADDED_FROM_TOKENS <= len(tokens) < TILE_TOKENS
        count = TILE_TOKENS if is_padded else len(tokens)
        self.longest = max(self.longest, count)
        packed = (self._cpp.llama_token * count)(*tokens)  # the rest is 0
        ctypes.memmove(self._batch.token, packed, ctypes.sizeof(packed))
        self._batch.n_tokens = count
        # The padding is a sequence of its own: neither sees the other.
        for place in range(PADDED_FROM_TOKENS, min(TILE_TOKENS, count)):
            self._batch.seq_id[place][0] = int(place >= len(tokens))
        self._cpp.llama_set_n_threads(self._context, threads, threads)
        memory = self._cpp.llama_get_memory(self._context)
        if memory:  # models that read in both directions have none
            self._cpp.llama_memory_clear(memory, True)
        code = self._cpp.llama_decode(self._context, self._batch)
        if code == OUT_OF_MEMORY_CODE:
            raise MemoryError
        if code != 0:
            raise RuntimeError(f"llama_decode returned {code}")
        pointer = self._cpp.llama_get_embeddings_seq(self._context, 0)
        return array("f", ctypes.string_at(pointer, self._dims * ctypes.sizeof(ctypes.c_float)))


def release_pages(file: str, maps: Path = Path("/proc/self/maps")) -> int:
    """Give back the pages of a mapped file; return their bytes.

    llama.cpp has every page of a model brought in at once, and half of a small model are rows of words that no text
    here has. A page comes back from the system's file cache when it is touched.
    """
    if sys.platform != "linux":
        return 0
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    try:
        listed = maps.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return 0
    spans = list(_spans(listed, os.path.realpath(file)))
    return sum(size for start, size in spans if advise(start, size, MADV_DONTNEED) == 0)


def _spans(listed: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of each read-only mapping of a file."""
    for line in listed.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == path and fields[1].startswith(READ_ONLY):
            start, end = (int(address, 16) for address in fields[0].split("-"))
            yield start, end - start
