"""Converts the two files of all-MiniLM-L6-v2, `model.safetensors` and `vocab.txt`, to a GGUF file."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from memd.embedding.local.bert_file import TOP_TENSORS, BertFile, Tensor, load_gguf, write_bert

LAYERS: Final = 6

F16_FILE: Final = 1

CONTROL_TOKENS: Final = {"[PAD]": "pad", "[UNK]": "unk", "[CLS]": "bos", "[SEP]": "sep", "[MASK]": "mask"}
WORD_START: Final = "\u2581"
"""GGUF marks the first token of a word with it; WordPiece marks the other tokens instead, with ``##``."""

_TOP_SOURCES: Final = (
    "embeddings.word_embeddings.weight",
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
    "embeddings.LayerNorm.weight",
    "embeddings.LayerNorm.bias",
)
_BLOCK_TENSORS: Final = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}

FloatArray = npt.NDArray[np.float32]


def tensor_names() -> dict[str, str]:
    """Return the names of all needed tensors: safetensors name -> GGUF name."""
    names = dict(zip(_TOP_SOURCES, TOP_TENSORS, strict=True))
    for block in range(LAYERS):
        for source, target in _BLOCK_TENSORS.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{block}.{source}.{part}"] = f"blk.{block}.{target}.{part}"
    return names


def convert_minilm(
    source_dir: Path, target: Path, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the GGUF file of all-MiniLM-L6-v2: matrices in float16, the rest in float32."""
    vocabulary = (source_dir / "vocab.txt").read_text(encoding="utf-8").splitlines()
    names = tensor_names()
    tensors = (
        _stored(names[name], values)
        for name, values in load_safetensors(source_dir / "model.safetensors")
        if name in names
    )
    facts = BertFile("all-MiniLM-L6-v2", "apache-2.0", LAYERS, len(vocabulary), F16_FILE)
    write_bert(
        target, facts, lambda writer: _add_tokenizer(writer, vocabulary), tensors, names.values(), progress
    )


def load_safetensors(path: Path) -> Iterator[tuple[str, FloatArray]]:
    """Yield each float32 tensor of a safetensors file, memory-mapped."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > path.stat().st_size:
            raise ValueError(f"{path} is not a safetensors file")
        header: dict[str, Any] = json.loads(file.read(length))
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] == "I64":  # position ids, implied in GGUF
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"tensor {name} of {path} is {entry['dtype']}, expected F32")
        start, end = entry["data_offsets"]
        yield name, data[start:end].view(np.float32).reshape(entry["shape"])


def gguf_tokens(vocabulary: list[str]) -> list[str]:
    """Convert WordPiece tokens to GGUF: ``##ing`` -> ``ing``, ``run`` -> ``▁run``."""

    def convert(token: str) -> str:
        if token in CONTROL_TOKENS:
            return token
        return token[2:] if token.startswith("##") else WORD_START + token

    return [convert(token) for token in vocabulary]


def _add_tokenizer(writer: Any, vocabulary: list[str]) -> None:
    """Add the WordPiece tokenizer."""
    writer.add_tokenizer_model("bert")
    writer.add_token_list(gguf_tokens(vocabulary))
    kinds = load_gguf().TokenType
    writer.add_token_types(
        [kinds.CONTROL if token in CONTROL_TOKENS else kinds.NORMAL for token in vocabulary]
    )
    for token, role in CONTROL_TOKENS.items():
        getattr(writer, f"add_{role}_token_id")(vocabulary.index(token))


def _stored(name: str, values: FloatArray) -> Tensor:
    """Return a tensor in its stored type."""
    kinds = load_gguf().GGMLQuantizationType
    if values.ndim < 2 or name in ("position_embd.weight", "token_types.weight"):
        return name, values, kinds.F32
    return name, values.astype(np.float16), kinds.F16
