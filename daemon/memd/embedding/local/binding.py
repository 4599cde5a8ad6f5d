"""A model file loaded by llama.cpp's own functions.

Of llama-cpp-python only its module of C functions is imported. The rest of the package brings numpy, templates and a
cache on disk along, none of which an embedding needs: that would be most of the time until a model is loaded, and
twice the memory of this process beside the model's.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Final

LOUD: Final = (3, 4)
"""llama.cpp's warnings and errors; once a model is loaded nothing else is written to stderr."""

FACT_BYTES: Final = 1024
"""Room for a fact from the file's header; a longer one (a template, say) is read with as much as it needs."""


def load_binding() -> Any:
    """Return llama.cpp's C functions."""
    name = "llama_cpp"
    if name not in sys.modules:
        found = importlib.util.find_spec(name)
        if found is None or found.submodule_search_locations is None:
            raise ModuleNotFoundError("No module named 'llama_cpp'")
        package = ModuleType(name)  # the package without what its `__init__` imports
        package.__path__ = list(found.submodule_search_locations)
        sys.modules[name] = package
    return importlib.import_module(f"{name}.llama_cpp")


class LoadedFile:
    """Weights, vocabulary and the first context.

    Args:
        path: The GGUF file.
        tokens: Length of a context: of the longest text.
        threads: Threads that compute.
        ranks: Whether to use it as a reranker; many rerankers' files don't say that they are.

    Attributes:
        cpp: llama.cpp's functions.
        model: Its model.
        context: The first context; whoever uses it may free it.
        pooling: How the vectors of tokens become one; see llama.h.
        may_fill: Whether a text may be computed beside a filling that it doesn't see (`Lane.embed`).
        facts: What the file's header says, by its keys.

    Raises:
        ValueError: It can't be loaded; stderr says why.

    Resources: kept until the process ends.
    """

    def __init__(self, path: str, tokens: int, threads: int, *, ranks: bool = False) -> None:
        self.cpp = cpp = load_binding()
        if not os.path.exists(path):
            raise ValueError(f"Model path does not exist: {path}")
        cpp.llama_backend_init()
        options = cpp.llama_model_default_params()
        options.n_gpu_layers = 0
        self.model = cpp.llama_model_load_from_file(path.encode(), options)
        if not self.model:
            raise ValueError(f"Failed to load model from file: {path}")
        self._vocabulary = cpp.llama_model_get_vocab(self.model)
        self.facts = self._read_facts()
        self._options = self._context_options(tokens, threads, ranks=ranks)
        self.context = cpp.llama_init_from_model(self.model, self._options)
        if not self.context:  # not every model knows flash attention
            self._options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
            self.context = cpp.llama_init_from_model(self.model, self._options)
        if not self.context:
            raise ValueError("Failed to create llama_context")
        self.pooling = int(cpp.llama_pooling_type(self.context))
        in_tiles = self._options.flash_attn_type == cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        self.may_fill = in_tiles and self._options.n_seq_max > 1 and not cpp.llama_get_memory(self.context)

    def _context_options(self, tokens: int, threads: int, *, ranks: bool) -> Any:
        """Return what a context is made by: one text at a time, whole, with room for a filling beside it."""
        cpp, options = self.cpp, self.cpp.llama_context_default_params()
        options.embeddings = True
        # A batch shorter than the context aborts on a text between the two.
        options.n_ctx = options.n_batch = options.n_ubatch = tokens
        is_causal = self.facts.get(f"{self.facts.get('general.architecture')}.attention.causal")
        # llama.cpp plans for texts of equal length: where they can't be, it aborts.
        has_room = is_causal == "false" and not ranks and tokens % 2 == 0
        options.n_seq_max = 2 if has_room else 1
        options.kv_unified = has_room  # else each of the two had half the tokens
        options.n_threads = options.n_threads_batch = threads
        options.flash_attn_type = cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if ranks:
            options.pooling_type = cpp.LLAMA_POOLING_TYPE_RANK
        return options

    def further_context(self) -> Any:
        """Return a context made like the first one, for whoever asked to free."""
        context = self.cpp.llama_init_from_model(self.model, self._options)
        if not context:
            raise RuntimeError("no further context")
        return context

    @property
    def outputs(self) -> int:
        """How many numbers a text gives: its vector's length, or its scores where the model ranks."""
        if self.pooling == self.cpp.LLAMA_POOLING_TYPE_RANK:
            return int(self.cpp.llama_model_n_cls_out(self.model))
        return int(self.cpp.llama_model_n_embd(self.model))

    @property
    def words(self) -> int:
        """How many tokens the vocabulary holds."""
        return int(self.cpp.llama_vocab_n_tokens(self._vocabulary))

    def tokenize(self, text: str, *, whole: bool = True, special: bool = False) -> list[int]:
        """Return a text's tokens."""
        data = text.encode()
        room = len(data) + 8  # as good as never more than the bytes, and those around
        for _ in range(2):
            tokens = (self.cpp.llama_token * room)()
            count: int = self.cpp.llama_tokenize(
                self._vocabulary, data, len(data), tokens, room, whole, special
            )
            if count >= 0:
                return list(tokens[:count])
            room = -count
        raise RuntimeError(f"llama_tokenize wants room for {room} tokens")

    def hush(self) -> None:
        """Have llama.cpp write nothing more to stderr but warnings and errors."""

        def write(level: int, text: bytes, _: object) -> None:
            if level in LOUD:
                sys.stderr.write(text.decode("utf-8", "replace"))
                sys.stderr.flush()

        self._kept = self.cpp.llama_log_callback(write)  # llama.cpp holds a bare pointer
        self.cpp.llama_log_set(self._kept, None)

    def _read_facts(self) -> dict[str, str]:
        """Return the header's keys and values, lists left out."""
        cpp, model = self.cpp, self.model
        facts = {}
        for number in range(cpp.llama_model_meta_count(model)):
            key = self._read_fact(cpp.llama_model_meta_key_by_index, number)
            facts[key] = self._read_fact(cpp.llama_model_meta_val_str_by_index, number)
        return facts

    def _read_fact(self, read: Any, number: int) -> str:
        buffer = ctypes.create_string_buffer(FACT_BYTES)
        size: int = read(self.model, number, buffer, FACT_BYTES)
        if size >= FACT_BYTES:
            buffer = ctypes.create_string_buffer(size + 1)
            read(self.model, number, buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")
