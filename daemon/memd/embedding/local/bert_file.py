"""Writes GGUF files of BERT-like embedding models, whose vectors are the mean over their tokens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memd.system.temp_files import temp_file

WIDTH: Final = 384
FEED_FORWARD_WIDTH: Final = 1536
HEADS: Final = 12
CONTEXT_TOKENS: Final = 512
NORM_EPSILON: Final = 1e-12
TOKEN_TYPES: Final = 2
"""The sizes that all-MiniLM-L6-v2 and multilingual-e5-small share, from their config.json."""

TOP_TENSORS: Final = (
    "token_embd.weight",
    "position_embd.weight",
    "token_types.weight",
    "token_embd_norm.weight",
    "token_embd_norm.bias",
)


class BertFile(Struct, frozen=True):
    """The metadata of a GGUF file, except its tokenizer. `file_type` is llama.cpp's number of the weights' type."""

    name: str
    license: str
    layers: int
    vocabulary: int
    file_type: int


Tensor = tuple[str, npt.NDArray[Any], Any]
"""A tensor's name, its stored bytes or numbers, and their GGML type."""


def load_gguf() -> Any:
    """Import and return the gguf package, which only a conversion needs."""
    import gguf

    return gguf


def write_bert(
    target: Path,
    facts: BertFile,
    add_tokenizer: Callable[[Any], None],
    tensors: Iterable[Tensor],
    expected: Iterable[str],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a model and replace `target` atomically.

    Raises:
        ValueError: One of the expected tensors is missing.
    """
    missing = set(expected)
    total = len(missing)
    with temp_file(target.parent) as (handle, temporary):
        writer = load_gguf().GGUFWriter(temporary, "bert")
        _add_network(writer, facts)
        add_tokenizer(writer)
        for name, stored, kind in tensors:
            writer.add_tensor(name, np.ascontiguousarray(stored), raw_dtype=kind)
            missing.remove(name)
            if progress:
                progress(total - len(missing), total)
        if missing:
            raise ValueError(f"the source lacks the tensor {min(missing)}")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        os.fsync(handle)
        temporary.replace(target)


def _add_network(writer: Any, facts: BertFile) -> None:
    """Add the sizes of the network and its pooling."""
    writer.add_name(facts.name)
    writer.add_license(facts.license)
    writer.add_file_type(facts.file_type)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD_WIDTH)
    writer.add_block_count(facts.layers)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(NORM_EPSILON)
    writer.add_causal_attention(False)
    writer.add_pooling_type(load_gguf().PoolingType.MEAN)
    writer.add_vocab_size(facts.vocabulary)
    writer.add_token_type_count(TOKEN_TYPES)
