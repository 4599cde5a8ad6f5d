"""Embeddings of GGUF models with NumPy alone: the reference of llama.cpp's vectors.

Computes bert, nomic-bert, gemma-embedding and qwen3 in float32, as their model cards define them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]

SLIDING_LAYERS = 5
"""After this many layers of gemma-embedding with a sliding window one without follows."""


class GGUFReference:
    """A model's weights, and its vector of given tokens."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self._tensors = {tensor.name: np.array(tensor.data, dtype=np.float32) for tensor in reader.tensors}
        self._facts = {name: field.contents() for name, field in reader.fields.items()}
        self._architecture = str(self._facts["general.architecture"])
        self._heads: int = self._fact("attention.head_count")
        self._kv_heads: int = self._fact("attention.head_count_kv", self._heads)

    @property
    def pooling(self) -> gguf.PoolingType:
        """The file's pooling."""
        return gguf.PoolingType(self._fact("pooling_type"))

    def _fact(self, name: str, default: Any = None) -> Any:
        return self._facts.get(f"{self._architecture}.{name}", default)

    def embed(self, tokens: Sequence[int], pooling: gguf.PoolingType | None = None) -> FloatArray:
        """Return the unit vector (dims,) of tokens, with the file's pooling or another."""
        vector = self.pooled(tokens, pooling)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def pooled(self, tokens: Sequence[int], pooling: gguf.PoolingType | None = None) -> FloatArray:
        """Return the raw vector (dims,) of tokens."""
        rows = self._encode(list(tokens)) if self._is_bert else self._decode(list(tokens))
        pooling = self.pooling if pooling is None else pooling
        if pooling == gguf.PoolingType.MEAN:
            vector = rows.mean(axis=0)
        else:
            vector = rows[0 if pooling == gguf.PoolingType.CLS else -1]
        for name in ("dense_2.weight", "dense_3.weight"):
            if name in self._tensors:
                vector = self._tensors[name] @ vector
        return np.asarray(vector, dtype=np.float32)

    @property
    def _is_bert(self) -> bool:
        return self._architecture in ("bert", "nomic-bert")

    # --- bert, nomic-bert ---

    def _encode(self, tokens: list[int]) -> FloatArray:
        weights = self._tensors
        x = weights["token_embd.weight"][tokens] + weights["token_types.weight"][0]
        if "position_embd.weight" in weights:
            x = x + weights["position_embd.weight"][: len(tokens)]
        x = self._layer_norm(x, "token_embd_norm")
        for number in range(self._fact("block_count")):
            block = f"blk.{number}."
            x = self._layer_norm(x + self._attention(x, block), block + "attn_output_norm")
            x = self._layer_norm(x + self._feed_forward(x, block), block + "layer_output_norm")
        return x

    def _layer_norm(self, x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        epsilon = self._fact("attention.layer_norm_epsilon")
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return np.asarray(scaled * self._tensors[name + ".weight"] + self._tensors[name + ".bias"])

    # --- gemma-embedding, qwen3 ---

    def _decode(self, tokens: list[int]) -> FloatArray:
        x = self._tensors["token_embd.weight"][tokens]
        if self._architecture == "gemma-embedding":
            x = x * np.float32(math.sqrt(x.shape[1]))
        for number in range(self._fact("block_count")):
            block = f"blk.{number}."
            mixed = self._attention(self._rms_norm(x, block + "attn_norm"), block, number)
            x = x + self._rms_norm(mixed, block + "post_attention_norm")
            wide = self._feed_forward(self._rms_norm(x, block + "ffn_norm"), block)
            x = x + self._rms_norm(wide, block + "post_ffw_norm")
        return self._rms_norm(x, "output_norm")

    def _rms_norm(self, x: FloatArray, name: str) -> FloatArray:
        """Return a normalized tensor; the tensor itself if the model has no such norm."""
        if name + ".weight" not in self._tensors:
            return x
        epsilon = self._fact("attention.layer_norm_rms_epsilon")
        return np.asarray(
            x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * self._tensors[name + ".weight"]
        )

    # --- both ---

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        bias = self._tensors.get(name + ".bias", np.float32(0.0))
        return np.asarray(x @ self._tensors[name + ".weight"].T + bias)

    def _attention(self, x: FloatArray, block: str, number: int = 0) -> FloatArray:
        if block + "attn_qkv.weight" in self._tensors:
            query, key, value = np.split(self._linear(x, block + "attn_qkv"), 3, axis=1)
        else:
            query, key, value = (self._linear(x, f"{block}attn_{name}") for name in "qkv")
        is_sliding = self._fact("attention.sliding_window") is not None and (
            number % (SLIDING_LAYERS + 1) < SLIDING_LAYERS
        )
        queries = self._turn(self._rms_norm(_split(query, self._heads), block + "attn_q_norm"), is_sliding)
        keys = self._turn(self._rms_norm(_split(key, self._kv_heads), block + "attn_k_norm"), is_sliding)
        shared = self._heads // self._kv_heads
        keys, values = (np.repeat(each, shared, axis=0) for each in (keys, _split(value, self._kv_heads)))
        scores = queries @ keys.swapaxes(1, 2) / math.sqrt(queries.shape[-1])
        scores = np.where(self._visible(len(x), is_sliding=is_sliding), scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ values).swapaxes(0, 1).reshape(len(x), -1)
        return self._linear(np.asarray(mixed, dtype=np.float32), block + "attn_output")

    def _visible(self, count: int, *, is_sliding: bool) -> npt.NDArray[np.bool_]:
        """Return which position (column) each position (row) attends to."""
        distance = np.arange(count)[None, :] - np.arange(count)[:, None]
        if self._architecture == "qwen3":
            return np.asarray(distance <= 0)
        window = self._fact("attention.sliding_window") if is_sliding else 2 * count
        return np.asarray(np.abs(distance) <= window // 2)

    def _turn(self, heads: FloatArray, is_sliding: bool) -> FloatArray:
        """Return (heads, positions, size) with rotary position embeddings."""
        if self._architecture == "bert":
            return heads
        base = self._fact("rope.freq_base_swa" if is_sliding else "rope.freq_base")
        half = heads.shape[-1] // 2
        angles = np.arange(heads.shape[1])[:, None] * base ** (-np.arange(half) / half)
        cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        first, second = heads[..., :half], heads[..., half:]
        return np.concatenate(
            [first * cosine - second * sine, first * sine + second * cosine], axis=-1, dtype=np.float32
        )

    def _feed_forward(self, x: FloatArray, block: str) -> FloatArray:
        up = self._linear(x, block + "ffn_up")
        if self._architecture == "bert":
            wide = _gelu(up)
        else:
            gate = self._linear(x, block + "ffn_gate")
            wide = (_gelu if self._architecture == "gemma-embedding" else _silu)(gate) * up
        return self._linear(wide, block + "ffn_down")


def _split(x: FloatArray, heads: int) -> FloatArray:
    """Return (positions, heads * size) as (heads, positions, size)."""
    return np.asarray(x.reshape(len(x), heads, -1).swapaxes(0, 1))


def _silu(x: FloatArray) -> FloatArray:
    return np.asarray(x / (1.0 + np.exp(-x)))


def _gelu(x: FloatArray) -> FloatArray:
    """Return GELU by its tanh approximation, which llama.cpp uses."""
    return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))
