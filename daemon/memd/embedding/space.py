"""What makes two vectors comparable."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Vectors of one space may be compared with each other, and with no others.

    URL, key, headers and the directory of a model file are no part of it: moving those embeds nothing
    again. All vectors are of unit length. `dims` is set where a model is asked for another size than its own,
    `document_type` where the settings say what kind of input a document is.
    """

    provider: str
    model: str
    query_prefix: str = ""
    document_prefix: str = ""
    dims: int | None = None
    document_type: str = ""

    @property
    def id(self) -> str:
        """16 hex digits, the same in every release."""
        return _id_of(self)


@lru_cache(maxsize=256)
def _id_of(space: VectorSpace) -> str:
    """Return a space's id; every search asks for it some times."""
    facts = [space.provider, space.model, space.query_prefix, space.document_prefix, space.dims]
    facts += [space.document_type] if space.document_type else []
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def recipe_of(space: VectorSpace) -> dict[str, str]:
    """Return what a provider's recipe says beside provider and model, so that it makes this very space again."""
    facts = {
        "dims": "" if space.dims is None else str(space.dims),
        "query_prefix": space.query_prefix,
        "document_prefix": space.document_prefix,
        "document_type": space.document_type,
    }
    return {name: fact for name, fact in facts.items() if fact}
