"""Rough estimates of a model's RAM, and of a chunk's tokens, from the metadata of its GGUF file. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from memd.embedding.local.fit import context_tokens
from memd.embedding.local.header import ModelHeader
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, E5, MINILM
from memd.text.tokens import estimate_tokens

PROCESS_BYTES: Final = 45_000_000
VOCABULARY_ENTRY_BYTES: Final = 170
"""RAM of the process in addition to the file, and of a token of the vocabulary: those of minilm and EmbeddingGemma."""

UNIGRAM_ENTRY_BYTES: Final = 500
"""RAM of a token in a unigram vocabulary, which llama.cpp stores as a tree of characters, too: that of e5."""

UNIGRAM_TOKENIZER: Final = "t5"

LOGIT_BYTES: Final = 4
"""At the first text of a length llama.cpp clears a number for each token and each entry of the vocabulary."""

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
"""Architectures without an output layer over the vocabulary. Others compute its numbers, and llama.cpp copies them."""

SPECIAL_TOKENS: Final = 2
"""The start and end token of a text, at most."""


class KnownModel(Struct, frozen=True):
    """A model whose file is known before the download."""

    file_bytes: int
    header: ModelHeader


KNOWN_MODELS: Final = {
    DEFAULT_LOCAL_MODEL: KnownModel(
        333_590_944,
        ModelHeader("gemma-embedding", 2048, "Embeddinggemma 300M", 24, 768, 262_144, "llama"),
    ),
    MINILM: KnownModel(46_223_264, ModelHeader("bert", 512, "all-MiniLM-L6-v2", 6, 384, 30_522, "bert")),
    E5: KnownModel(73_807_968, ModelHeader("bert", 512, "multilingual-e5-small", 12, 384, 250_002, "t5")),
}
"""By reference. The size of the default model is that of the hub's file list (ggml-org/embeddinggemma-300M-GGUF), its
metadata are those that `gguf-dump` prints; those of minilm and e5 are of the conversion."""


class ModelEstimate(Struct, frozen=True):
    """What a model needs for chunks of a size.

    `ram_bytes` is the RAM of its process while it embeds, `peak_bytes` that for an instant before. `context` is how
    many tokens it embeds at once, `chunk` the tokens of a full chunk with prompt, start and end, and `windows` into how
    many parts such a chunk is split.
    """

    ram_bytes: int
    peak_bytes: int
    context: int
    chunk: int
    windows: int


def estimate_model(
    file_bytes: int, header: ModelHeader, *, chunk_tokens: int, prompt: str = ""
) -> ModelEstimate:
    """Return a model's RAM and tokens for chunks of `chunk_tokens` and a document prompt."""
    context = context_tokens(chunk_tokens, header.trained_tokens)
    chunk = chunk_tokens + estimate_tokens(prompt) + SPECIAL_TOKENS
    is_unigram = header.tokenizer == UNIGRAM_TOKENIZER
    entry = UNIGRAM_ENTRY_BYTES if is_unigram else VOCABULARY_ENTRY_BYTES
    loaded = file_bytes + PROCESS_BYTES + entry * header.vocabulary
    logits = LOGIT_BYTES * context * header.vocabulary
    kept, cleared = (0, logits) if header.architecture in ENCODERS else (2 * logits, 2 * logits)
    return ModelEstimate(loaded + kept, loaded + cleared, context, chunk, windows=-(-chunk // context))
