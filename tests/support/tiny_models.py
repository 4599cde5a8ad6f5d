"""Tiny GGUF models with random weights, of the architectures that embedding models have.

A file has the metadata and tensors that llama.cpp's converter writes for the architecture, in small: a few layers, a
vocabulary of characters and some words. The same arguments give the same bytes.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import pytest

from memd.embedding.local.convert_minilm import CONTROL_TOKENS, gguf_tokens
from memd.embedding.local.engine import find_engine

WORDS = ("the", "gateway", "port", "deploy", "server", "bread", "recipe", "query", "text")
"""Words that are one token in each vocabulary."""

GPT2_END = "<|endoftext|>"
GPT2_TURN_END = "<|im_end|>"

_WORD_START = "\u2581"
_ALPHABET = [chr(code) for code in range(0x21, 0x7F)]
_NEVER_QUANTIZED = ("position_embd.weight", "token_types.weight")
_SPREAD = 0.15
"""The standard deviation of weights that are near 1, and of biases."""


@dataclass(frozen=True)
class TinyModel:
    """The sizes and metadata of a model; `facts` replaces metadata, or removes them by None."""

    architecture: str
    name: str
    tokenizer: str
    pooling: gguf.PoolingType
    width: int = 64
    heads: int = 4
    kv_heads: int = 4
    head_size: int = 16
    feed_forward: int = 96
    layers: int = 2
    context: int = 512
    window: int = 0
    padding_tokens: int = 0
    is_quantized: bool = False
    has_dense_layers: bool = True
    seed: int = 1
    facts: Mapping[str, Any] = field(default_factory=dict)


GEMMA = TinyModel(
    "gemma-embedding",
    "Embeddinggemma 300M",
    "llama",
    gguf.PoolingType.MEAN,
    width=768,
    heads=3,
    kv_heads=1,
    head_size=32,
    layers=7,  # every sixth layer has no sliding window
    context=2048,
    window=16,
)
NOMIC = TinyModel("nomic-bert", "Nomic Embed Text v1.5", "bert", gguf.PoolingType.MEAN, context=2048)
BERT = TinyModel("bert", "Bge Small En v1.5", "bert", gguf.PoolingType.CLS)
QWEN = TinyModel(
    "qwen3",
    "Qwen3 Embedding 0.6B",
    "gpt2",
    gguf.PoolingType.LAST,
    kv_heads=2,
    head_size=32,
    context=32768,
)
TINY_MODELS = {model.architecture: model for model in (GEMMA, NOMIC, BERT, QWEN)}


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="memd-tiny-models-")


@functools.cache
def tiny_model(architecture: str) -> Path:
    """Return a model file of an architecture, written once per test run; skip the test without llama.cpp."""
    if find_engine() is None:
        pytest.skip("llama.cpp is not installed")
    return write_tiny_model(Path(_directory().name) / f"tiny-{architecture}.gguf", TINY_MODELS[architecture])


def write_tiny_model(path: Path, model: TinyModel) -> Path:
    """Write a model file and return its path."""
    writer = gguf.GGUFWriter(path, model.architecture)
    writer.add_name(model.name)
    _write_sizes(writer, model)
    vocabulary = _TOKENIZERS[model.tokenizer](writer)
    if model.padding_tokens:
        vocabulary = _pad_vocabulary(writer, model.padding_tokens)
    for key, value in model.facts.items():
        _replace_fact(writer, key, value)
    rng = np.random.default_rng(model.seed)
    for name, shape in _tensor_shapes(model, vocabulary).items():
        weights = _weights(rng, name, shape)
        if model.is_quantized and len(shape) > 1 and name not in _NEVER_QUANTIZED:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(weights, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def variant(architecture: str, path: Path, **changes: Any) -> Path:
    """Write a variation of an architecture's model."""
    return write_tiny_model(path, replace(TINY_MODELS[architecture], **changes))


def _replace_fact(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """Replace a metadata value, keeping its type; remove it by None."""
    facts = writer.kv_data[0]
    if value is None:
        facts.pop(key, None)
    elif key in facts:
        facts[key].value = value
    else:
        writer.add_key_value(key, value, gguf.GGUFValueType.get_type(value))


# --- metadata -------------------------------------------------------------------------------------


def _write_sizes(writer: gguf.GGUFWriter, model: TinyModel) -> None:
    writer.add_context_length(model.context)
    writer.add_embedding_length(model.width)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(model.feed_forward)
    writer.add_head_count(model.heads)
    writer.add_pooling_type(model.pooling)
    if model.architecture in ("bert", "nomic-bert"):
        writer.add_causal_attention(False)
        writer.add_layer_norm_eps(1e-12)
        writer.add_token_type_count(2)
        if model.architecture == "nomic-bert":
            writer.add_rope_freq_base(1000.0)
        return
    writer.add_head_count_kv(model.kv_heads)
    writer.add_key_length(model.head_size)
    writer.add_value_length(model.head_size)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1_000_000.0)
    if model.architecture == "gemma-embedding":
        writer.add_sliding_window(model.window)
        writer.add_rope_freq_base_swa(10_000.0)
        if model.has_dense_layers:
            writer.add_dense_features_dims("dense_2", model.width, 2 * model.width)
            writer.add_dense_features_dims("dense_3", 2 * model.width, model.width)


def _write_word_piece(writer: gguf.GGUFWriter) -> int:
    """Write a WordPiece vocabulary, as BERT's."""
    pieces = [*CONTROL_TOKENS, *_ALPHABET, *(f"##{char}" for char in _ALPHABET), *WORDS]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(gguf_tokens(pieces))
    writer.add_token_types(
        [gguf.TokenType.CONTROL if piece in CONTROL_TOKENS else gguf.TokenType.NORMAL for piece in pieces]
    )
    for token, role in CONTROL_TOKENS.items():
        getattr(writer, f"add_{role}_token_id")(pieces.index(token))
    return len(pieces)


def _write_sentence_piece(writer: gguf.GGUFWriter) -> int:
    """Write a SentencePiece vocabulary, as Gemma's: tokens for all bytes, a start and an end token."""
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    # A word is merged from its beginning, the longest part last and with the highest score.
    parts = {word[:end] for word in WORDS for end in range(2, len(word) + 1)}
    pieces = [*_ALPHABET, _WORD_START, *sorted(parts, key=lambda part: (len(part), part))]
    kinds = gguf.TokenType
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*specials, *bytes_, *pieces])
    writer.add_token_scores([-1000.0] * 260 + [float(len(piece)) for piece in pieces])
    writer.add_token_types(
        [kinds.CONTROL] * 3 + [kinds.UNKNOWN] + [kinds.BYTE] * 256 + [kinds.NORMAL] * len(pieces)
    )
    for number, role in enumerate(("pad", "eos", "bos", "unk")):
        getattr(writer, f"add_{role}_token_id")(number)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_space_prefix(False)
    return 260 + len(pieces)


def _write_gpt2(writer: gguf.GGUFWriter) -> int:
    """Write a byte-level BPE vocabulary, as Qwen's: an end token and none at the start."""
    merges = list(dict.fromkeys(f"{word[:end]} {word[end]}" for word in WORDS for end in range(1, len(word))))
    pieces = [*_byte_characters(), *(merge.replace(" ", "") for merge in merges), GPT2_END, GPT2_TURN_END]
    kinds = gguf.TokenType
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(pieces)
    writer.add_token_types([kinds.NORMAL] * (len(pieces) - 2) + [kinds.CONTROL] * 2)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(pieces.index(GPT2_END))
    writer.add_pad_token_id(pieces.index(GPT2_END))
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)
    return len(pieces)


def _byte_characters() -> list[str]:
    """Return GPT-2's characters for the 256 bytes: printable ones are themselves."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


_TOKENIZERS: dict[str, Callable[[gguf.GGUFWriter], int]] = {
    "bert": _write_word_piece,
    "llama": _write_sentence_piece,
    "gpt2": _write_gpt2,
}


def _pad_vocabulary(writer: gguf.GGUFWriter, added: int) -> int:
    """Add tokens that no text contains; return the size of the vocabulary."""
    facts = writer.kv_data[0]
    facts["tokenizer.ggml.tokens"].value.extend(f"<unused{number}>" for number in range(added))
    facts["tokenizer.ggml.token_type"].value.extend([gguf.TokenType.UNUSED] * added)
    if scores := facts.get("tokenizer.ggml.scores"):
        scores.value.extend([-1000.0] * added)
    return len(facts["tokenizer.ggml.tokens"].value)


# --- tensors --------------------------------------------------------------------------------------


def _tensor_shapes(model: TinyModel, vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor, as (outputs, inputs)."""
    width = model.width
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocabulary, width)}
    if model.architecture in ("bert", "nomic-bert"):
        shapes |= {"token_types.weight": (2, width), **_norm("token_embd_norm", width)}
        if model.architecture == "bert":
            shapes["position_embd.weight"] = (model.context, width)
    else:
        shapes["output_norm.weight"] = (width,)
    if model.architecture == "gemma-embedding" and model.has_dense_layers:
        shapes |= {"dense_2.weight": (2 * width, width), "dense_3.weight": (width, 2 * width)}
    block = {"bert": _bert_block, "nomic-bert": _nomic_block}.get(model.architecture, _decoder_block)
    for number in range(model.layers):
        shapes |= {f"blk.{number}.{name}": shape for name, shape in block(model).items()}
    return shapes


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _bert_block(model: TinyModel) -> dict[str, tuple[int, ...]]:
    width, wide = model.width, model.feed_forward
    shapes = _linear("ffn_up", wide, width) | _linear("ffn_down", width, wide)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        shapes |= _linear(name, width, width)
    return shapes | _norm("attn_output_norm", width) | _norm("layer_output_norm", width)


def _nomic_block(model: TinyModel) -> dict[str, tuple[int, ...]]:
    width, wide = model.width, model.feed_forward
    return {
        "attn_qkv.weight": (3 * width, width),
        "attn_output.weight": (width, width),
        "ffn_gate.weight": (wide, width),
        "ffn_up.weight": (wide, width),
        "ffn_down.weight": (width, wide),
        **_norm("attn_output_norm", width),
        **_norm("layer_output_norm", width),
    }


def _decoder_block(model: TinyModel) -> dict[str, tuple[int, ...]]:
    width, wide, size = model.width, model.feed_forward, model.head_size
    norms = ["attn_norm", "ffn_norm"]
    if model.architecture == "gemma-embedding":
        norms += ["post_attention_norm", "post_ffw_norm"]
    return {
        "attn_q.weight": (model.heads * size, width),
        "attn_k.weight": (model.kv_heads * size, width),
        "attn_v.weight": (model.kv_heads * size, width),
        "attn_output.weight": (width, model.heads * size),
        "attn_q_norm.weight": (size,),
        "attn_k_norm.weight": (size,),
        "ffn_gate.weight": (wide, width),
        "ffn_up.weight": (wide, width),
        "ffn_down.weight": (width, wide),
        **{f"{name}.weight": (width,) for name in norms},
    }


def _weights(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return random weights of a size that keeps activations near 1."""
    if len(shape) == 1:
        mean = 1.0 if name.endswith("norm.weight") else 0.0
        return mean + _SPREAD * rng.standard_normal(shape, dtype=np.float32)
    inputs = 1 if "_embd" in name or "token_types" in name else shape[1]
    return np.float32(inputs**-0.5) * rng.standard_normal(shape, dtype=np.float32)
