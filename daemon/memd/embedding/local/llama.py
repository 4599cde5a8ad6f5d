"""llama.cpp: a model's weights, its inference contexts, and its pages in RAM."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from memd.embedding.local.fit import RELEASES_LOGITS

WARNING_LEVELS: Final = (3, 4)
"""llama.cpp's log levels of warnings and errors."""

METADATA_VALUE_BYTES: Final = 1024
"""The first buffer size for a metadata value; longer values are read again with their size."""

TILE_TOKENS: Final = 64
PADDED_FROM_TOKENS: Final = 40
"""llama.cpp computes attention in fast tiles from `TILE_TOKENS` on, otherwise token by token. From `PADDED_FROM_TOKENS`
on a text is faster with padding up to `TILE_TOKENS`."""

OUT_OF_MEMORY_CODE: Final = -2
"""The result of `llama_decode` if it can't allocate memory."""

MADV_DONTNEED: Final = 4
"""From <linux/mman.h>. Safe for mappings that are only read."""

READ_ONLY: Final = "r--"

MEAN_POOLING: Final = 1
LAST_POOLING: Final = 3
"""llama.cpp's pooling types that are defaults below."""

DEFAULT_POOLING: Final = {
    "gemma-embedding": MEAN_POOLING,
    "nomic-bert": MEAN_POOLING,
    "nomic-bert-moe": MEAN_POOLING,
}
"""The pooling of architectures made for embeddings, for files without `pooling_type`."""

QWEN_EMBEDDING: Final = re.compile(r"qwen3?[ _-]*embedding", re.IGNORECASE)
"""The name of embedding models with the architecture of a language model; early files have no `pooling_type`."""

QWEN_END_TOKEN: Final = b"<|endoftext|>"
"""The token that ends a text in Qwen's embedding models; some files name another one as their end token."""


class LoadedFile:
    """A model's weights and vocabulary, never freed, and its first context.

    Raises `ValueError` if llama.cpp can't load the file; its reason is on stderr.

    Attributes:
        cpp: llama.cpp's functions.
        context: The first context; its user frees it.
        pooling: The pooling type; see llama.h.
        is_bidirectional: Whether each token attends to all; such models have no key-value cache and write no logits.
        growth: Held while a context reserves RAM for its longest text so far.
        can_pad: Whether texts can be padded by a separate sequence (`InferenceContext.embed`).
        gpu_layers: The number of layers that a GPU computes.
        releases_logits: Whether the RAM of logits is released, which the model never writes.
        metadata: The file's metadata, without lists.
    """

    def __init__(self, cpp: Any, path: str, tokens: int, threads: int, gpu_layers: int) -> None:
        """Load a file with llama.cpp's functions, those of an engine; more GPU layers than the model has are all."""
        self.cpp = cpp
        if not os.path.exists(path):
            raise ValueError(f"Model path does not exist: {path}")
        cpp.llama_backend_init()
        options = cpp.llama_model_default_params()
        options.n_gpu_layers = gpu_layers
        no_devices = (ctypes.c_void_p * 1)(None)
        if gpu_layers == 0:  # otherwise a GPU computes long texts even so
            options.devices = ctypes.addressof(no_devices)
        self._model = cpp.llama_model_load_from_file(path.encode(), options)
        if not self._model:
            raise ValueError(f"Failed to load model from file: {path}")
        self.gpu_layers = min(gpu_layers, int(cpp.llama_model_n_layer(self._model)))
        self._vocabulary = cpp.llama_model_get_vocab(self._model)
        self.metadata = self._read_metadata()
        self._options = self._context_options(tokens, threads)
        self.context = cpp.llama_init_from_model(self._model, self._options)
        if not self.context:  # not every model supports flash attention
            self._options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
            self.context = cpp.llama_init_from_model(self._model, self._options)
        if not self.context:
            raise ValueError("Failed to create llama_context")
        self.pooling = int(cpp.llama_pooling_type(self.context))
        self._end_tokens = self._missing_end_tokens()
        in_tiles = self._options.flash_attn_type == cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        self.is_bidirectional = not cpp.llama_get_memory(self.context)
        # With a GPU the logits may be in memory that its driver maps.
        self.releases_logits = self.is_bidirectional and RELEASES_LOGITS and self.gpu_layers == 0
        self.growth = threading.Lock()
        self.can_pad = in_tiles and self._options.n_seq_max > 1 and self.is_bidirectional

    def _context_options(self, tokens: int, threads: int) -> Any:
        """Return the options of a context for one text and its padding."""
        cpp, options = self.cpp, self.cpp.llama_context_default_params()
        options.embeddings = True
        # With a batch smaller than the context, a text of a length between aborts the process.
        options.n_ctx = options.n_batch = options.n_ubatch = tokens
        is_causal = self.metadata.get(f"{self.metadata.get('general.architecture')}.attention.causal")
        # llama.cpp assumes sequences of equal length, and aborts if the number of tokens is odd.
        has_padding = is_causal == "false" and tokens % 2 == 0
        options.n_seq_max = 2 if has_padding else 1
        options.kv_unified = has_padding  # otherwise each sequence has half the tokens
        options.n_threads = options.n_threads_batch = threads
        options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if (pooling := self._default_pooling()) is not None:
            options.pooling_type = pooling
        return options

    def _default_pooling(self) -> int | None:
        """Return the pooling of a known model whose file has none, else None."""
        architecture = self.metadata.get("general.architecture", "")
        if f"{architecture}.pooling_type" in self.metadata:
            return None
        if architecture == "qwen3" and QWEN_EMBEDDING.search(self.metadata.get("general.name", "")):
            return LAST_POOLING
        return DEFAULT_POOLING.get(architecture)

    def _missing_end_tokens(self) -> list[int]:
        """Return what to append to a text: the end token, if the vector is that of the last token.

        Such models are trained with an end token. Files from before llama.cpp converted them don't ask for one.
        """
        if self.pooling != LAST_POOLING or "tokenizer.ggml.add_eos_token" in self.metadata:
            return []
        special = self._tokenize(QWEN_END_TOKEN, add_special=False, parse_special=True)
        end = special[0] if len(special) == 1 else int(self.cpp.llama_vocab_eos(self._vocabulary))
        return [end] if end >= 0 else []

    def new_context(self) -> Any:
        """Return another context with the parameters of the first; the caller frees it."""
        context = self.cpp.llama_init_from_model(self._model, self._options)
        if not context:
            raise RuntimeError("could not create another context")
        return context

    @property
    def dims(self) -> int:
        """The vector size."""
        return int(self.cpp.llama_model_n_embd(self._model))

    @property
    def vocabulary_size(self) -> int:
        return int(self.cpp.llama_vocab_n_tokens(self._vocabulary))

    @property
    def kept_logits(self) -> int:
        """The number of logits of a token that stay in RAM."""
        return 0 if self.releases_logits else self.vocabulary_size

    def tokenize(self, text: str) -> list[int]:
        """Return a text's tokens, with the model's start and end tokens."""
        return self._tokenize(text.encode(), add_special=True, parse_special=False) + self._end_tokens

    def _tokenize(self, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        capacity = len(data) + 8  # nearly always enough: most tokens have one byte or more
        for _ in range(2):
            tokens = (self.cpp.llama_token * capacity)()
            count: int = self.cpp.llama_tokenize(
                self._vocabulary, data, len(data), tokens, capacity, add_special, parse_special
            )
            if count >= 0:
                return list(tokens[:count])
            capacity = -count
        raise RuntimeError(f"llama_tokenize needs {capacity} tokens")

    def silence(self) -> None:
        """Limit llama.cpp's log to warnings and errors, on stderr."""

        def write(level: int, text: bytes, _: object) -> None:
            if level in WARNING_LEVELS:
                sys.stderr.write(text.decode("utf-8", "replace"))
                sys.stderr.flush()

        self._log_callback = self.cpp.llama_log_callback(
            write
        )  # referenced here, because llama.cpp keeps a bare pointer
        self.cpp.llama_log_set(self._log_callback, None)

    def _read_metadata(self) -> dict[str, str]:
        cpp, model = self.cpp, self._model
        metadata = {}
        for number in range(cpp.llama_model_meta_count(model)):
            key = self._read_metadata_value(cpp.llama_model_meta_key_by_index, number)
            metadata[key] = self._read_metadata_value(cpp.llama_model_meta_val_str_by_index, number)
        return metadata

    def _read_metadata_value(self, read: Any, number: int) -> str:
        buffer = ctypes.create_string_buffer(METADATA_VALUE_BYTES)
        size: int = read(self._model, number, buffer, METADATA_VALUE_BYTES)
        if size >= METADATA_VALUE_BYTES:
            buffer = ctypes.create_string_buffer(size + 1)
            read(self._model, number, buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")


class InferenceContext:
    """A llama.cpp context with its batch and scratch memory, for one text at a time.

    On a CPU several texts in parallel contexts, with one core each, are faster than one text on all cores, because the
    cores don't wait for each other. A text's vector is bit-identical for all contexts and numbers of threads.

    Not thread-safe. `close` frees the context and the batch.

    Attributes:
        longest: Tokens of the longest text so far; llama.cpp's scratch memory grows with it and never shrinks.
    """

    def __init__(
        self, file: LoadedFile, tokens: int, is_cancelled: Callable[[], bool], context: Any = None
    ) -> None:
        """Use or create a context; `is_cancelled` returning true cancels a text."""
        self._file = file
        self._cpp = cpp = file.cpp
        self._context = context or file.new_context()
        self._dims = file.dims
        self._can_pad = file.can_pad and tokens >= TILE_TOKENS
        self.longest = self._released = 0
        # referenced here, because llama.cpp keeps a bare pointer
        self._abort_callback = cpp.ggml_abort_callback(lambda _: is_cancelled())
        cpp.llama_set_abort_callback(self._context, self._abort_callback, None)
        self._batch = cpp.llama_batch_init(tokens, 0, 1)
        for position in range(tokens):  # the same for every text
            self._batch.pos[position] = position
            self._batch.n_seq_id[position] = 1
            self._batch.seq_id[position][0] = 0
            self._batch.logits[position] = True

    def close(self) -> None:
        """Free the context and the batch; call once."""
        self._cpp.llama_batch_free(self._batch)
        self._cpp.llama_free(self._context)

    def embed(self, tokens: Sequence[int], threads: int) -> array[float]:
        """Return the raw vector (dims,) of a text as float32."""
        is_padded = self._can_pad and PADDED_FROM_TOKENS <= len(tokens) < TILE_TOKENS
        count = TILE_TOKENS if is_padded else len(tokens)
        self.longest = max(self.longest, count)
        packed = (self._cpp.llama_token * count)(*tokens)  # the padding is 0
        ctypes.memmove(self._batch.token, packed, ctypes.sizeof(packed))
        self._batch.n_tokens = count
        # The padding is a separate sequence, which doesn't affect the text.
        for position in range(PADDED_FROM_TOKENS, min(TILE_TOKENS, count)):
            self._batch.seq_id[position][0] = int(position >= len(tokens))
        self._cpp.llama_set_n_threads(self._context, threads, threads)
        if self._file.releases_logits and count > self._released:
            with self._file.growth:  # so that the process has the logits of one text at most
                self._decode()
                self._release_logits(count)
        else:
            self._decode()
        pointer = self._cpp.llama_get_embeddings_seq(self._context, 0)
        return array("f", ctypes.string_at(pointer, self._dims * ctypes.sizeof(ctypes.c_float)))

    def _decode(self) -> None:
        """Compute the batch."""
        if not self._file.is_bidirectional:
            self._cpp.llama_memory_clear(self._cpp.llama_get_memory(self._context), True)
        code = self._cpp.llama_decode(self._context, self._batch)
        if code == OUT_OF_MEMORY_CODE:
            raise MemoryError
        if code != 0:
            raise RuntimeError(f"llama_decode returned {code}")

    def _release_logits(self, count: int) -> None:
        """Release the RAM of the logits of a text of `count` tokens.

        llama.cpp reserves and clears a number for each token and each entry of the vocabulary: 1 MB per token for
        EmbeddingGemma. Bidirectional models never write them. Released pages read as zeros, as before.
        """
        self._released = count
        start: int | None = ctypes.cast(self._cpp.llama_get_logits(self._context), ctypes.c_void_p).value
        if start is None:
            return
        end = start + count * self._file.vocabulary_size * ctypes.sizeof(ctypes.c_float)
        first, last = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            _madvise()(first, last - first, MADV_DONTNEED)


def release_pages(file: str, maps: Path = Path("/proc/self/maps")) -> int:
    """Release the pages of a mapped file from RAM; return their bytes.

    llama.cpp loads all pages of a model, but half of a small model are embeddings of tokens that no text contains. The
    system loads a page again when it is accessed.
    """
    if sys.platform != "linux":
        return 0
    advise = _madvise()
    try:
        maps_text = maps.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return 0
    mappings = list(_mappings(maps_text, os.path.realpath(file)))
    return sum(size for start, size in mappings if advise(start, size, MADV_DONTNEED) == 0)


def _madvise() -> Any:
    """Return the C function `madvise`."""
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return advise


def _mappings(maps_text: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield address and size of each read-only mapping of a file."""
    for line in maps_text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == path and fields[1].startswith(READ_ONLY):
            start, end = (int(address, 16) for address in fields[0].split("-"))
            yield start, end - start
