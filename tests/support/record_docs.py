"""What the records of the client say about themselves: their fields, and a sentence or more for each."""

from __future__ import annotations

import inspect
import re
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

SECTION = re.compile(r"^(Attributes|Returns|Raises):\n", re.MULTILINE)
FIELD = re.compile(r"^ {4}(\w+): ", re.MULTILINE)


class RecordField(NamedTuple):
    """A field of a record.

    Attributes:
        name: Its name.
        hint: Its type without limits, such as `list[str] | None`.
        record: The record that it holds, or holds a list of.
        is_required: It has no default.
        default: Its default, a new one if it can change.
    """

    name: str
    hint: str
    record: type[msgspec.Struct] | None
    is_required: bool
    default: Any


def record_fields(kind: type[Any]) -> list[RecordField]:
    """Return the fields of a record."""
    hints = get_type_hints(kind, include_extras=True)
    return [_field(each, hints[each.name]) for each in msgspec.structs.fields(kind)]


def sections_of(kind: type[Any]) -> dict[str, str]:
    """Return the parts of a record's docstring: the summary under an empty name, then its sections by name."""
    summary, *parts = SECTION.split(inspect.cleandoc(kind.__doc__ or ""))
    return {"": summary.strip(), **dict(zip(parts[::2], map(str.rstrip, parts[1::2]), strict=True))}


def summary_of(kind: type[Any]) -> str:
    """Return the docstring of a record without its sections."""
    return sections_of(kind)[""]


def field_docs(kind: type[Any]) -> dict[str, str]:
    """Return what a record says about each of its fields, on one line each."""
    _, *parts = FIELD.split(sections_of(kind).get("Attributes", ""))
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _field(field: msgspec.structs.FieldInfo, hint: Any) -> RecordField:
    default: Any = None
    if field.default is not msgspec.NODEFAULT:
        default = field.default
    elif callable(field.default_factory):
        default = field.default_factory()
    return RecordField(field.name, _text(hint), _record_in(hint), field.required, default)


def _text(hint: Any) -> str:
    """Return a type without limits as it is written."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _text(inner[0])
    if origin in (Union, UnionType):
        return " | ".join(map(_text, sorted(inner, key=lambda each: each is NoneType)))
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(_text, inner))}]"
    return "None" if hint is NoneType else "Any" if hint is Any else str(hint.__name__)


def _record_in(hint: Any) -> type[msgspec.Struct] | None:
    """Return the record in a type, if there is one."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    found = [_record_in(each) for each in get_args(hint)]
    return next((each for each in found if each is not None), None)
