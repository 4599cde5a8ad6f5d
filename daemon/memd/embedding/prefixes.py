"""The prefixes of queries and documents that known models are trained with. Pure.

Without them retrieval is worse. They are part of `VectorSpace`, since they change the vectors.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct


class Prefixes(Struct, frozen=True):
    """The text before a query and before a document; empty for most models."""

    query: str = ""
    document: str = ""


NONE: Final = Prefixes()

_REPRESENT: Final = Prefixes("Represent this sentence for searching relevant passages: ")
_INSTRUCT: Final = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
_GEMMA: Final = Prefixes("task: search result | query: ", "title: none | text: ")
_NOMIC: Final = Prefixes("search_query: ", "search_document: ")

BY_NAME: Final = (
    (r"embedding-?gemma", _GEMMA),
    (r"nomic-embed-text", _NOMIC),
    (r"qwen3-embedding", Prefixes(_INSTRUCT)),
    (r"arctic-embed2|arctic-embed-[a-z]+-v2", Prefixes("query: ")),
    (r"arctic-embed", _REPRESENT),
    (r"mxbai-embed-(2d-)?large", _REPRESENT),
    (r"bge-(small|base|large)-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large)(?![a-z])", _REPRESENT),
    (r"e5-(.*-)?instruct", Prefixes(_INSTRUCT + " ")),
    (r"e5(-|$)", Prefixes("query: ", "passage: ")),
)
"""(pattern, prefixes): the pattern matches a name normalized by `_plain`, from the start of a word. The first match
counts. The prefixes are those of the model cards; those of Qwen3 and E5-instruct differ by one space."""

BY_ARCHITECTURE: Final = {"gemma-embedding": _GEMMA, "nomic-bert": _NOMIC, "nomic-bert-moe": _NOMIC}
"""Prefixes by `general.architecture` of a GGUF file, for renamed files. Only architectures made for embeddings."""


def prefixes_of(model: str, *, title: str = "", architecture: str = "") -> Prefixes:
    """Return the prefixes of a model; `NONE` if it is unknown."""
    for name in (_plain(model), _plain(title)):
        for pattern, prefixes in BY_NAME:
            if re.search(rf"(?<![a-z0-9])(?:{pattern})", name):
                return prefixes
    return BY_ARCHITECTURE.get(architecture, NONE)


def _plain(name: str) -> str:
    """Return a name in lower case, its words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
