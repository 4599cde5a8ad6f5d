"""A small real cross-encoder: minilm's own encoder with a classification head of known numbers.

No trained reranker is at hand without a network, and for what is tested here none is needed: llama.cpp reads the file,
tokenizes, computes and pools as it does for a trained one, and NumPy says what must come out.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from memd.embedding.local import convert
from tests.support.minilm_reference import MiniLMReference

FloatArray = npt.NDArray[np.float32]

CONTEXT_TOKENS = 512


@dataclasses.dataclass(frozen=True)
class Head:
    """What makes a score of the first token's output: a dense layer, tanh, and one row a score."""

    dense: FloatArray
    dense_bias: FloatArray
    out: FloatArray
    out_bias: FloatArray

    @classmethod
    def seeded(cls, outputs: int = 1, seed: int = 7) -> Head:
        """Return a head of random numbers, the same for a seed."""
        dice = np.random.default_rng(seed)

        def draw(*shape: int) -> FloatArray:
            return dice.normal(0.0, 0.1, shape).astype(np.float32)

        width = convert.WIDTH
        return cls(draw(width, width), draw(width), draw(outputs, width), draw(outputs))

    def scores(self, first: FloatArray) -> FloatArray:
        """Return the raw scores (outputs,) of a first token's output (width,)."""
        return np.asarray(self.out @ np.tanh(self.dense @ first + self.dense_bias) + self.out_bias)


def write_rank_model(
    sources: Path,
    target: Path,
    head: Head,
    *,
    says_pooling: bool = True,
    template: str = "",
    labels: tuple[str, ...] = (),
) -> Path:
    """Write a cross-encoder as a GGUF file and return its path."""
    vocabulary = (sources / "vocab.txt").read_text(encoding="utf-8").splitlines()
    writer = gguf.GGUFWriter(target, convert.ARCHITECTURE)
    _write_facts(writer, vocabulary, says_pooling=says_pooling)
    if template:
        writer.add_chat_template([{"name": "rerank", "template": template}])
    if labels:
        writer.add_classifier_output_labels(list(labels))
    names = convert.tensor_names()
    for name, values in convert.load_safetensors(sources / "model.safetensors"):
        if name in names:
            writer.add_tensor(names[name], np.ascontiguousarray(values))
    for name, values in (
        ("cls.weight", head.dense),
        ("cls.bias", head.dense_bias),
        ("cls.output.weight", head.out),
        ("cls.output.bias", head.out_bias),
    ):
        writer.add_tensor(name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _write_facts(writer: Any, vocabulary: list[str], *, says_pooling: bool) -> None:
    writer.add_name("a cross-encoder for tests")
    writer.add_file_type(0)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(convert.WIDTH)
    writer.add_feed_forward_length(convert.FEED_FORWARD_WIDTH)
    writer.add_block_count(convert.LAYERS)
    writer.add_head_count(convert.HEADS)
    writer.add_layer_norm_eps(convert.NORM_EPSILON)
    writer.add_causal_attention(False)
    if says_pooling:
        writer.add_pooling_type(gguf.PoolingType.RANK)
    writer.add_vocab_size(len(vocabulary))
    writer.add_token_type_count(convert.TOKEN_TYPES)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(convert.gguf_tokens(vocabulary))
    kinds = gguf.TokenType
    writer.add_token_types(
        [kinds.CONTROL if token in convert.CONTROL_TOKENS else kinds.NORMAL for token in vocabulary]
    )
    for token, role in convert.CONTROL_TOKENS.items():
        getattr(writer, f"add_{role}_token_id")(vocabulary.index(token))


class RankReference(MiniLMReference):
    """The same cross-encoder with NumPy alone, in float32."""

    def __init__(self, sources: Path, head: Head) -> None:
        super().__init__(sources)
        self._head = head

    def score(self, question: str, text: str, *, most_tokens: int = CONTEXT_TOKENS) -> FloatArray:
        """Return the raw scores (outputs,) of a question and a text that is cut at its end where it is too long."""
        asked, read = self.tokenizer.tokens(question), self.tokenizer.tokens(text)
        both = [*asked, *read[1:-1][: most_tokens - len(asked) - 1], asked[-1]]
        return self._head.scores(self.outputs(both)[0])

    def outputs(self, tokens: list[int]) -> FloatArray:
        """Return what the encoder makes of each token (n, width); llama.cpp tells question and text apart by the
        separator alone, so every token is of the first type."""
        weights = self._tensors
        x = weights["embeddings.word_embeddings.weight"][tokens]
        x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        x = self._norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(convert.LAYERS):
            x = self._layer(x, f"encoder.layer.{layer}.")
        return np.asarray(x, dtype=np.float32)
