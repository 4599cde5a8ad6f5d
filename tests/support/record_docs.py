"""What the records of the client say about themselves: a summary, and a sentence or more for each field."""

from __future__ import annotations

import inspect
import re
from typing import Any

_FIELD = re.compile(r"^ {4}(\w+): ", re.MULTILINE)


def summary_of(kind: type[Any]) -> str:
    """Return the docstring of a record without its fields."""
    return _parts_of(kind)[0].strip()


def field_docs(kind: type[Any]) -> dict[str, str]:
    """Return what a record says about each of its fields, on one line each."""
    _, *parts = _FIELD.split(_parts_of(kind)[1])
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _parts_of(kind: type[Any]) -> tuple[str, str]:
    """Return the two parts of a record's docstring."""
    summary, _, fields = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
    return summary, fields
