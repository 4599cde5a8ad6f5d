"""One context of llama.cpp: the scratch memory of one text under way. The weights are the model's, for all lanes.

On a CPU several texts side by side, a core each, are faster than one text on all cores: the cores never wait for each
other. The vector of a text is the same, bit by bit, whatever its lane and the number of its threads.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from typing import Any

from memd.embedding.local.binding import LoadedFile

TILE = 64
FILLED_FROM = 40
"""llama.cpp computes the attention of so many tokens and more in tiles, and that of fewer token by token, which takes
longer: 63 tokens took 52 ms on one core, 64 took 22. From the second figure on a text is done sooner with a filling."""

NO_MEMORY = -2
"""What llama.cpp's decoding returns where it can't have its buffers."""


class InferenceContext:
    """A context and the batch its texts go through.

    Args:
        file: A loaded model.
        context: Its context, or another of its model.
        tokens: The longest text.
        flag: An empty string; the text under way is given up when it isn't empty.

    Attributes:
        longest: Tokens of the longest text so far: llama.cpp's scratch memory grows with it, and never shrinks.

    One thread at a time.

    Resources: the context and the batch's memory; `close` frees both.
    """

    def __init__(
        self, file: LoadedFile, context: Any, tokens: int, flag: ctypes.Array[ctypes.c_char]
    ) -> None:
        self._cpp = cpp = file.cpp
        self._context = context
        self._outputs = file.outputs
        self._may_fill = file.may_fill and tokens >= TILE
        self.longest = 0
        # A function of C's library, not one of Python's: lanes would wait for each other at the interpreter's lock.
        is_set = ctypes.cast(ctypes.CDLL(None).strlen, cpp.ggml_abort_callback)
        self._kept = (is_set, flag)  # llama.cpp holds bare pointers
        cpp.llama_set_abort_callback(context, is_set, ctypes.cast(flag, ctypes.c_void_p))
        self._batch = cpp.llama_batch_init(tokens, 0, 1)
        for place in range(tokens):  # all but the tokens is the same for every text
            self._batch.pos[place] = place
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0
            self._batch.logits[place] = True

    @classmethod
    def beside(cls, file: LoadedFile, tokens: int, flag: ctypes.Array[ctypes.c_char]) -> InferenceContext:
        """Return a lane with a context of its own, made like the model's first one."""
        return cls(file, file.further_context(), tokens, flag)

    def close(self) -> None:
        """Free the lane and its context; once."""
        self._cpp.llama_batch_free(self._batch)
        self._cpp.llama_free(self._context)

    def embed(self, tokens: Sequence[int], threads: int) -> array[float]:
        """Return the raw vector (dims,) of a text as float32, or the raw scores (outputs,) of a model that ranks."""
        filling = TILE - len(tokens) if self._may_fill and FILLED_FROM <= len(tokens) < TILE else 0
        count = len(tokens) + filling
        self.longest = max(self.longest, count)
        packed = (self._cpp.llama_token * count)(*tokens, *[0] * filling)
        ctypes.memmove(self._batch.token, packed, ctypes.sizeof(packed))
        self._batch.n_tokens = count
        # A filling is a text of its own: neither sees the other.
        for place in range(FILLED_FROM, min(TILE, count)):
            self._batch.seq_id[place][0] = int(place >= len(tokens))
        self._cpp.llama_set_n_threads(self._context, threads, threads)
        memory = self._cpp.llama_get_memory(self._context)
        if memory:  # models that read in both directions have none
            self._cpp.llama_memory_clear(memory, True)
        code = self._cpp.llama_decode(self._context, self._batch)
        if code == NO_MEMORY:
            raise MemoryError
        if code != 0:
            raise RuntimeError(f"llama_decode returned {code}")
        pointer = self._cpp.llama_get_embeddings_seq(self._context, 0)
        return array("f", ctypes.string_at(pointer, self._outputs * ctypes.sizeof(ctypes.c_float)))
