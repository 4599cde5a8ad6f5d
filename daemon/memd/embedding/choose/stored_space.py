"""The vector space of vectors another program stored."""

from __future__ import annotations

from pathlib import Path

from memd.embedding.local.header import load_fingerprint
from memd.embedding.local.reference import parse_reference
from memd.embedding.local.space import local_space, space_of


def space_of_stored(models_dir: Path, provider: str, model: str) -> str:
    """Return the id of a vector space: of a model file by what is in it."""
    reference = parse_reference(model) if provider == "local" and model else None
    if reference is None or reference.is_published:
        return space_of(provider, model)
    file = reference.file(models_dir)
    # OpenClaw puts no prefixes before its texts: where the model knows some, its vectors are a space of their own.
    fingerprint = load_fingerprint(file) if file.is_file() else None
    return local_space(model, fingerprint, prefixed=False).id
