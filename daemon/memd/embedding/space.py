"""What makes two vectors comparable."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from memd.embedding.model.header import ModelHeader
from memd.embedding.model.reference import parse_reference
from memd.embedding.prefixes import NONE, prefixes_of


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


def local_space(
    reference: str, fingerprint: str | None, header: ModelHeader | None = None, *, prefixed: bool = True
) -> VectorSpace:
    """Return the space of a local model.

    Args:
        reference: As the settings name it: a path, `hf:…`, `https:…` or `minilm`.
        fingerprint: Of the file (`header.load_fingerprint`); not needed for `minilm` and `hf:`, whose
            names say which file it is.
        header: What the file says of itself: its prefixes are known by that too.
        prefixed: False for the vectors of a program that puts no prefixes before its texts, as OpenClaw.

    Raises:
        ConfigInvalidError: The reference can't be understood.
    """
    wanted = parse_reference(reference)
    name = wanted.text if wanted.is_published else PurePath(wanted.file_name).name
    facts = (header.name, header.architecture) if header is not None else ("", "")
    prefixes = prefixes_of(name, title=facts[0], architecture=facts[1]) if prefixed else NONE
    if fingerprint and not wanted.is_published:
        name = f"{name}#{fingerprint}"
    return VectorSpace("local", name, prefixes.query, prefixes.document)


def space_of(provider: str, model: str) -> str:
    """Return the id of the space vectors belong to that another program stored.

    Args:
        provider: As that program named it.
        model: Likewise; for `local` a reference to a model file.

    Raises:
        ConfigInvalidError: A local reference that can't be understood.
    """
    if provider == "local" and model:
        return local_space(model, None, prefixed=False).id
    return VectorSpace(provider, model).id
