"""Vector spaces: only vectors of the same space can be compared."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from msgspec import Struct


class VectorSpace(Struct, frozen=True):
    """A set of comparable vectors, all of unit length.

    URL, key, headers and the directory of a model file are not part of it, so changing them keeps the vectors.
    `dims` is set if the settings ask for another size than the model's default, `document_type` if they set the input
    type of documents.
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
    """Return a space's id; cached, since every search needs it several times."""
    facts = [space.provider, space.model, space.query_prefix, space.document_prefix, space.dims]
    facts += [space.document_type] if space.document_type else []
    text = json.dumps(facts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def recipe_of(space: VectorSpace) -> dict[str, str]:
    """Return the part of a recipe that reproduces a vector space."""
    facts = {
        "dims": "" if space.dims is None else str(space.dims),
        "query_prefix": space.query_prefix,
        "document_prefix": space.document_prefix,
        "document_type": space.document_type,
    }
    return {name: fact for name, fact in facts.items() if fact}
