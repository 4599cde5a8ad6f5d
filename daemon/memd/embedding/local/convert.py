"""Converts the two files of all-MiniLM-L6-v2 to a GGUF file.

Run as ``python -m memd.embedding.local.convert SOURCE_DIR TARGET [DTYPE]``. Writes progress to stdout, one JSON list
``[done, total]`` a line. A failure is one line on stderr and exit code 1. The target is replaced atomically.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from memd.system.temp_files import temp_file

ARCHITECTURE: Final = "bert"
LAYERS: Final = 6
"""Transformer blocks. This and the sizes below are from the config.json of all-MiniLM-L6-v2."""
HEADS: Final = 12
WIDTH: Final = 384
FEED_FORWARD_WIDTH: Final = 1536
CONTEXT_TOKENS: Final = 512
NORM_EPSILON: Final = 1e-12
TOKEN_TYPES: Final = 2

CONTROL_TOKENS: Final = {"[PAD]": "pad", "[UNK]": "unk", "[CLS]": "bos", "[SEP]": "sep", "[MASK]": "mask"}
WORD_START: Final = "\u2581"
"""GGUF marks the first token of a word with it; WordPiece marks the other tokens instead, with ``##``."""

_TOP_TENSORS: Final = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
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
    names = dict(_TOP_TENSORS)
    for block in range(LAYERS):
        for source, target in _BLOCK_TENSORS.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{block}.{source}.{part}"] = f"blk.{block}.{target}.{part}"
    return names


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


def _write_metadata(writer: Any, vocabulary: list[str], file_type: int) -> None:
    """Write the metadata: network sizes, pooling, vocabulary."""
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_file_type(file_type)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD_WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(NORM_EPSILON)
    writer.add_causal_attention(False)
    writer.add_pooling_type(_gguf().PoolingType.MEAN)
    writer.add_vocab_size(len(vocabulary))
    writer.add_token_type_count(TOKEN_TYPES)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(gguf_tokens(vocabulary))
    kinds = _gguf().TokenType
    writer.add_token_types(
        [kinds.CONTROL if token in CONTROL_TOKENS else kinds.NORMAL for token in vocabulary]
    )
    for token, role in CONTROL_TOKENS.items():
        getattr(writer, f"add_{role}_token_id")(vocabulary.index(token))


def _gguf() -> Any:
    """Import and return the gguf package, which only a conversion needs."""
    import gguf

    return gguf


def _to_stored_type(values: FloatArray, name: str, dtype: str) -> tuple[npt.NDArray[Any], Any]:
    """Return a tensor in its stored type: matrices in `dtype`, others in float32."""
    kinds = _gguf().GGMLQuantizationType
    if values.ndim < 2 or name in ("position_embd.weight", "token_types.weight") or dtype == "f32":
        return values, kinds.F32
    if dtype == "bf16":
        return _gguf().quants.quantize(values, kinds.BF16), kinds.BF16
    return values.astype(np.float16), kinds.F16


def convert_minilm(
    source_dir: Path, target: Path, dtype: str = "f16", progress: Callable[[int, int], None] | None = None
) -> None:
    """Convert `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2 to a GGUF file."""
    gguf = _gguf()
    names = tensor_names()
    vocabulary = (source_dir / "vocab.txt").read_text(encoding="utf-8").splitlines()
    file_types = {"f16": 1, "bf16": 32, "f32": 0}
    with temp_file(target.parent) as (handle, temporary):
        writer = gguf.GGUFWriter(temporary, ARCHITECTURE)
        _write_metadata(writer, vocabulary, file_types[dtype])
        missing, done = set(names), 0
        for name, values in load_safetensors(source_dir / "model.safetensors"):
            if name not in names:
                continue
            stored, kind = _to_stored_type(values, names[name], dtype)
            writer.add_tensor(names[name], np.ascontiguousarray(stored), raw_dtype=kind)
            missing.remove(name)
            done += 1
            if progress:
                progress(done, len(names))
        if missing:
            raise ValueError(f"{source_dir} lacks the tensor {min(missing)}")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        os.fsync(handle)
        temporary.replace(target)


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""

    def report(done: int, total: int) -> None:
        sys.stdout.write(json.dumps([done, total]) + "\n")
        sys.stdout.flush()

    source_dir, target, *more = arguments
    try:
        convert_minilm(Path(source_dir), Path(target), more[0] if more else "f16", report)
    except (ImportError, OSError, ValueError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
