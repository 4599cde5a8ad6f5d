"""all-MiniLM-L6-v2 in float32 with numpy alone: the reference of the GGUF model's tokens and vectors."""

from __future__ import annotations

import json
import math
import struct
import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
LAYERS, HEADS, EPSILON = 6, 12, 1e-12
MAX_WORD_CHARACTERS = 100
CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """BERT's uncased tokenizer: cleaned, lower-cased, accents stripped, longest piece first."""

    def __init__(self, vocabulary: list[str]) -> None:
        self.ids = {token: number for number, token in enumerate(vocabulary)}

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of a text, with [CLS] and [SEP] around them."""
        pieces = [piece for word in self._words(text) for piece in self._pieces(word)]
        return [self.ids[token] for token in ("[CLS]", *pieces, "[SEP]")]

    def _words(self, text: str) -> list[str]:
        spaced = []
        for char in unicodedata.normalize("NFD", "".join(self._clean(c) for c in text).lower()):
            if unicodedata.category(char) == "Mn":
                continue
            spaced.append(f" {char} " if _is_punctuation(char) else char)
        return "".join(spaced).split()

    @staticmethod
    def _clean(char: str) -> str:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            return " "
        if char in "\0\ufffd" or unicodedata.category(char).startswith("C"):
            return ""
        if any(low <= ord(char) <= high for low, high in CJK_RANGES):
            return f" {char} "
        return char

    def _pieces(self, word: str) -> list[str]:
        if len(word) > MAX_WORD_CHARACTERS:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return ["[UNK]"]
            pieces.append(piece)
            start = end
        return pieces


def _is_punctuation(char: str) -> bool:
    return char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(char).startswith("P")


def load_tensors(path: Path) -> dict[str, FloatArray]:
    """Return the float32 tensors of a safetensors file by name."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, facts in json.loads(raw[8 : 8 + length]).items():
        if facts.get("dtype") == "F32":
            start, end = (8 + length + offset for offset in facts["data_offsets"])
            tensors[name] = np.frombuffer(raw[start:end], dtype=np.float32).reshape(facts["shape"])
    return tensors


class MiniLMReference:
    """The model: tokens, six encoder layers, mean pooling, unit length."""

    def __init__(self, directory: Path) -> None:
        self.tokenizer = WordPiece((directory / "vocab.txt").read_text(encoding="utf-8").splitlines())
        self._tensors = load_tensors(directory / "model.safetensors")

    def embed(self, text: str) -> FloatArray:
        """Return the unit vector (384,) of a text of at most 512 tokens."""
        mean = self.pooled(text)
        return np.asarray(mean / np.linalg.norm(mean))

    def pooled(self, text: str) -> FloatArray:
        """Return the mean (384,) over the tokens of a text of any length."""
        tokens = self.tokenizer.tokens(text)
        weights, prefix = self._tensors, "embeddings."
        x = weights[prefix + "word_embeddings.weight"][tokens]
        x = x + weights[prefix + "position_embeddings.weight"][: len(tokens)]
        x = x + weights[prefix + "token_type_embeddings.weight"][0]
        x = self._norm(x, prefix + "LayerNorm")
        for layer in range(LAYERS):
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
