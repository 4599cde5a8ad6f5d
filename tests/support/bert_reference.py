"""The network of BERT in numpy, with which vectors of llama.cpp are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from memd.embedding.provider import FloatArray

HEADS, EPSILON = 12, 1e-12


class BertReference:
    """Encoder layers and mean pooling; the tensors have the names of safetensors files."""

    def __init__(self, tensors: Mapping[str, FloatArray], *, layers: int) -> None:
        self._tensors = tensors
        self._layers = layers

    def pooled(self, tokens: Sequence[int]) -> FloatArray:
        """Return the mean (384,) over tokens."""
        weights, prefix = self._tensors, "embeddings."
        x = weights[prefix + "word_embeddings.weight"][list(tokens)]
        x = x + weights[prefix + "position_embeddings.weight"][: len(tokens)]
        x = x + weights[prefix + "token_type_embeddings.weight"][0]
        x = self._norm(x, prefix + "LayerNorm")
        for layer in range(self._layers):
            x = self._layer(x, f"encoder.layer.{layer}.")
        return np.asarray(x.mean(axis=0), dtype=np.float32)

    def _layer(self, x: FloatArray, prefix: str) -> FloatArray:
        count, width = x.shape
        size = width // HEADS

        def heads(name: str) -> FloatArray:
            return (
                self._linear(x, prefix + f"attention.self.{name}").reshape(count, HEADS, size).swapaxes(0, 1)
            )

        scores = heads("query") @ heads("key").swapaxes(1, 2) / math.sqrt(size)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ heads("value")).swapaxes(0, 1).reshape(count, width)
        x = self._norm(
            x + self._linear(mixed, prefix + "attention.output.dense"), prefix + "attention.output.LayerNorm"
        )
        wide = _gelu(self._linear(x, prefix + "intermediate.dense"))
        return self._norm(x + self._linear(wide, prefix + "output.dense"), prefix + "output.LayerNorm")

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        return np.asarray(x @ self._tensors[name + ".weight"].T + self._tensors[name + ".bias"])

    def _norm(self, x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * self._tensors[name + ".weight"] + self._tensors[name + ".bias"])


def _gelu(x: FloatArray) -> FloatArray:
    erf = np.vectorize(math.erf, otypes=[np.float32])
    return np.asarray(0.5 * x * (1.0 + erf(x / np.float32(math.sqrt(2.0)))), dtype=np.float32)
