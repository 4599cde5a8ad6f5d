"""Converts multilingual-e5-small to a GGUF file, from files that two Python packages store.

`e5-small-q4.bin` has the weights: matrices as blocks of Q4_0, which GGUF stores alike and which are copied, and other
tensors in float32. `tokenizer.json` has the vocabulary with its scores, and the character map that normalizes text.
"""

from __future__ import annotations

import base64
import json
import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memd.embedding.local.bert_file import (
    FEED_FORWARD_WIDTH,
    TOP_TENSORS,
    WIDTH,
    BertFile,
    Tensor,
    load_gguf,
    write_bert,
)

LAYERS: Final = 12

Q4_0_FILE: Final = 2

BLOCK_WEIGHTS: Final = 32
BLOCK_BYTES: Final = 18
"""A Q4_0 block: 32 weights of 4 bits, and their scale."""

CONTROL_TOKENS: Final = {"<s>": "bos", "<pad>": "pad", "</s>": "eos", "<mask>": "mask"}
UNKNOWN_TOKEN: Final = "<unk>"

_TOP_SOURCES: Final = ("emb.word", "emb.pos", "emb.type", "emb.ln.w", "emb.ln.b")
_BLOCK_TENSORS: Final = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "ao": "attn_output",
    "aln": "attn_output_norm",
    "fi": "ffn_up",
    "fo": "ffn_down",
    "oln": "layer_output_norm",
}

_SIZES: Final = struct.Struct("<4sI7ifi")
_VOCABULARY: Final = struct.Struct("<5iQ")
_CHARACTERS: Final = struct.Struct("<iI")
_COUNT: Final = struct.Struct("<i")
_NAME_LENGTH: Final = struct.Struct("<H")
_ENTRY: Final = struct.Struct("<BIQQ")
"""The parts of the weights file: sizes, vocabulary, character map, and the directory of its tensors."""


class PackedTensor(Struct, frozen=True):
    """A tensor of the weights file; `data` are blocks of Q4_0 or float32 numbers."""

    name: str
    is_quantized: bool
    data: npt.NDArray[np.uint8]


def tensor_names() -> dict[str, str]:
    """Return the names of all needed tensors: name in the weights file -> GGUF name."""
    names = dict(zip(_TOP_SOURCES, TOP_TENSORS, strict=True))
    for block in range(LAYERS):
        for source, target in _BLOCK_TENSORS.items():
            for short, part in (("w", "weight"), ("b", "bias")):
                names[f"l{block}.{source}.{short}"] = f"blk.{block}.{target}.{part}"
    return names


def convert_e5(source_dir: Path, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """Write the GGUF file of multilingual-e5-small."""
    tokenizer = json.loads((source_dir / "tokenizer.json").read_bytes())
    size = len(tokenizer["model"]["vocab"])
    names = tensor_names()
    tensors = (
        _stored(names[tensor.name], tensor, size)
        for tensor in load_packed_tensors(source_dir / "e5-small-q4.bin")
        if tensor.name in names
    )
    facts = BertFile("multilingual-e5-small", "mit", LAYERS, size, Q4_0_FILE)
    write_bert(
        target, facts, lambda writer: _add_tokenizer(writer, tokenizer), tensors, names.values(), progress
    )


def load_packed_tensors(path: Path) -> Iterator[PackedTensor]:
    """Yield the tensors of a weights file, memory-mapped."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    position = _SIZES.size
    try:
        tokens, *_, characters = _VOCABULARY.unpack_from(data, position)
        position += (
            _VOCABULARY.size + 4 * (tokens + 1) + 4 * tokens + characters
        )  # offsets, scores, characters
        position += _CHARACTERS.size + _CHARACTERS.unpack_from(data, position)[1]
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        for _ in range(count):
            (length,) = _NAME_LENGTH.unpack_from(data, position)
            position += _NAME_LENGTH.size + length
            name = data[position - length : position].decode("ascii")
            kind, _, offset, size = _ENTRY.unpack_from(data, position)
            position += _ENTRY.size
            yield PackedTensor(name, kind == 1, np.frombuffer(data, np.uint8, size, offset))
    except struct.error as error:
        raise ValueError(f"{path.name} is not a weights file: {error}") from None


def _stored(name: str, tensor: PackedTensor, vocabulary: int) -> Tensor:
    """Return a tensor as GGUF stores it."""
    kinds = load_gguf().GGMLQuantizationType
    width = FEED_FORWARD_WIDTH if name.endswith("ffn_down.weight") else WIDTH
    if tensor.is_quantized:
        rows = tensor.data.reshape(-1, width // BLOCK_WEIGHTS * BLOCK_BYTES)
        # The matrix of tokens is padded: it has more rows than the vocabulary.
        return name, rows[:vocabulary] if name == TOP_TENSORS[0] else rows, kinds.Q4_0
    numbers = tensor.data.view(np.float32)
    is_matrix = name in ("position_embd.weight", "token_types.weight")
    return name, numbers.reshape(-1, WIDTH) if is_matrix else numbers, kinds.F32


def _add_tokenizer(writer: Any, tokenizer: dict[str, Any]) -> None:
    """Add the unigram tokenizer, which llama.cpp names after T5."""
    vocabulary: list[tuple[str, float]] = tokenizer["model"]["vocab"]
    tokens = [token for token, _ in vocabulary]
    kinds = load_gguf().TokenType
    special = {**dict.fromkeys(CONTROL_TOKENS, kinds.CONTROL), UNKNOWN_TOKEN: kinds.UNKNOWN}
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([score for _, score in vocabulary])
    writer.add_token_types([special.get(token, kinds.NORMAL) for token in tokens])
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    character_map = tokenizer["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    writer.add_precompiled_charsmap(base64.b64decode(character_map))
    for token, role in CONTROL_TOKENS.items():
        getattr(writer, f"add_{role}_token_id")(tokens.index(token))
    writer.add_sep_token_id(tokens.index("</s>"))
    writer.add_unk_token_id(tokens.index(UNKNOWN_TOKEN))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
