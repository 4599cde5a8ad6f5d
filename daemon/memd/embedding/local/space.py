"""The vector spaces of local models."""

from __future__ import annotations

from pathlib import PurePath

from memd.embedding.local.header import ModelHeader
from memd.embedding.local.reference import parse_reference
from memd.embedding.prefixes import NONE, prefixes_of
from memd.embedding.space import VectorSpace


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
