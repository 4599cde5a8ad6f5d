"""Estimates of a model's RAM and of a chunk's tokens, from the metadata of its GGUF file. Pure.

`benchmarks/NOTES.md` compares the estimates with measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memd.embedding.local.fit import RELEASES_LOGITS, context_tokens, parallel_text_count
from memd.embedding.local.header import ModelHeader
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, MINILM
from memd.text.tokens import estimate_tokens

PROCESS_BYTES: Final = 48 * 1024 * 1024
"""RAM of the interpreter with llama.cpp and without a model."""

VOCABULARY_ENTRY_BYTES: Final = 150
"""RAM of a token in llama.cpp's vocabulary, in addition to the file."""

FLOAT_BYTES: Final = 4

CACHED_BYTES: Final = 2
"""Bytes of a number in the key-value cache of a language model."""

CACHE_STEP: Final = 256
"""llama.cpp rounds the tokens of a key-value cache up to a multiple of this."""

MASK_BYTES: Final = 8
"""Bytes of a pair of tokens in the attention masks."""

SPECIAL_TOKENS: Final = 2
"""The start and end token of a text, at most."""

ENCODERS: Final = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
    }
)
"""Architectures without an output layer over the vocabulary and without a key-value cache."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model whose file is known before the download."""

    file_bytes: int
    header: ModelHeader


KNOWN_MODELS: Final = {
    DEFAULT_LOCAL_MODEL: KnownModel(
        333_590_944,
        ModelHeader("gemma-embedding", 2048, "Embeddinggemma 300M", 24, 768, 1152, 2 * 256, 262_144),
    ),
    MINILM: KnownModel(
        46_223_264, ModelHeader("bert", 512, "all-MiniLM-L6-v2", 6, 384, 1536, 2 * 384, 30_522)
    ),
}
"""By reference. The size of the default model is that of the hub's file list (ggml-org/embeddinggemma-300M-GGUF), its
metadata are those that `gguf-dump` prints; minilm's are those of the conversion."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """RAM of a model's process in bytes: while it embeds chunks, and for an instant before.

    At the first text of a length llama.cpp clears a number for each token and each entry of the vocabulary.
    Bidirectional models don't use them: on Linux the model process releases them, and one context at a time needs them
    (`InferenceContext`).
    """

    working_bytes: int
    peak_bytes: int


def estimate_memory(file_bytes: int, header: ModelHeader, context: int, contexts: int) -> MemoryEstimate:
    """Return the RAM of a model with a number of contexts of `context` tokens."""
    loaded = file_bytes + PROCESS_BYTES + VOCABULARY_ENTRY_BYTES * header.vocabulary
    # Activations of a layer: the gated feed-forward network, and a few of the model's width.
    activations = FLOAT_BYTES * context * (2 * header.feed_forward + 5 * header.width)
    graph = activations + MASK_BYTES * context**2
    logits = FLOAT_BYTES * context * header.vocabulary
    if header.architecture in ENCODERS:
        kept = 0 if RELEASES_LOGITS else contexts * logits
        working = loaded + contexts * graph + kept
        return MemoryEstimate(working, max(working, working - kept + logits))
    cached = -(-context // CACHE_STEP) * CACHE_STEP * header.layers * header.cache_width * CACHED_BYTES
    # The output layer computes the logits, and llama.cpp copies them.
    working = loaded + contexts * (graph + cached + 2 * logits)
    return MemoryEstimate(working, working)


def kept_logits(header: ModelHeader) -> int:
    """Return the number of logits of a token that stay in RAM."""
    return 0 if RELEASES_LOGITS and header.architecture in ENCODERS else header.vocabulary


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """What a model needs on this machine for chunks of a size.

    `context` is how many tokens it embeds at once, `chunk` the tokens of a full chunk with prompt, start and end, and
    `windows` into how many parts such a chunk is split.
    """

    memory: MemoryEstimate
    context: int
    chunk: int
    windows: int


def estimate_model(
    file_bytes: int, header: ModelHeader, *, chunk_tokens: int, prompt: str, threads: int
) -> ModelEstimate:
    """Return a model's RAM and tokens for chunks of `chunk_tokens` and a document prompt."""
    context = context_tokens(chunk_tokens, header.trained_tokens)
    contexts = parallel_text_count(threads, context, kept_logits(header))
    chunk = chunk_tokens + estimate_tokens(prompt) + SPECIAL_TOKENS
    memory = estimate_memory(file_bytes, header, context, contexts)
    return ModelEstimate(memory, context, chunk, windows=-(-chunk // context))
