"""Metadata of settings: sentence, unit, bounds and place in openclaw.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec
from msgspec import Struct

T = TypeVar("T")

AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all settings structs: immutable, camelCase in files."""


class Setting(Struct, frozen=True):
    """Metadata of one setting besides its name, type and default.

    Attributes:
        meaning: One sentence for the reference.
        unit: Unit of a number.
        least: Smaller numbers are raised to this, as in OpenClaw; bounds in the type refuse them instead.
        most: Larger numbers are lowered to this.
        default: The default in words, if the struct's default is not meaningful.
        kind: The type in words, for lists and objects that are read item by item.
        is_path: Whether the text has to be a path.
        drops_fraction: Whether a whole number with bounds in its type drops its fraction, as in OpenClaw.
    """

    meaning: str
    unit: str = ""
    least: int | None = None
    most: int | None = None
    default: str = ""
    kind: str = ""
    is_path: bool = False
    drops_fraction: bool = False


class Place(Struct, frozen=True):
    """The dotted key in openclaw.json of a setting, or of a group of settings."""

    name: str


class Refused:
    """Marks a setting, or a group of settings, that OpenClaw 2026.9 refuses in openclaw.json."""


REFUSED: Final = Refused()


class Derived:
    """Marks a field that no file sets. With other fields named: whether a file sets one of them."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def __repr__(self) -> str:
        return f"<Derived of {', '.join(self.fields) or 'other settings'}>"


class Field(Struct, frozen=True):
    """One field of a settings struct: a setting, a group of settings (`group`), or a derived value."""

    name: str
    key: str
    type: Any
    default: Any
    setting: Setting | None
    group: type[msgspec.Struct] | None
    derived: Derived | None
    place: str
    is_refused: bool

    @property
    def about(self) -> Setting:
        """The setting's metadata."""
        if self.setting is None:
            raise TypeError(f"the field {self.name} is not a setting")
        return self.setting

    @property
    def drops_fraction(self) -> bool:
        """Whether a number loses its fraction instead of being refused."""
        return self.about.drops_fraction or (self.about.least is not None and bool(_types_in(self.type, int)))


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the fields of a settings struct in order."""
    return tuple(map(_field, msgspec.structs.fields(kind)))


def settings_of(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every setting in a struct and its groups, by dotted name."""
    for field in fields_of(kind):
        key = f"{prefix}{field.key}"
        if field.group is not None:
            yield from settings_of(field.group, f"{key}.")
        elif field.derived is None:
            yield key, field


def derived_keys(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of the derived values in a struct and its groups."""
    for field in fields_of(kind):
        if field.group is not None:
            yield from derived_keys(field.group, f"{prefix}{field.key}.")
        elif field.derived is not None:
            yield f"{prefix}{field.key}"


def convert(raw: object, kind: Any) -> Any:
    """Return a value converted to a type; None if that is not possible."""
    try:
        value = msgspec.convert(raw, kind)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _field(info: msgspec.structs.FieldInfo) -> Field:
    """Return one field with its metadata."""
    hint = info.type
    metadata = getattr(hint, "__metadata__", ())
    setting, place = _first(metadata, Setting), _first(metadata, Place)
    derived = _first(metadata, Derived)
    group = None if setting or derived else next(iter(_types_in(hint, msgspec.Struct)), None)
    if setting is None and derived is None and group is None:
        raise TypeError(f"the field {info.name} has no metadata")
    default = info.default
    if info.default_factory is not msgspec.NODEFAULT:
        default = info.default_factory()
    return Field(
        name=info.name,
        key=info.encode_name,
        type=hint,
        default=default,
        setting=setting,
        group=group,
        derived=derived,
        place=place.name if place else "",
        is_refused=REFUSED in metadata,
    )


def _types_in(hint: Any, kind: type[T]) -> list[type[T]]:
    """Return the subclasses of a class in a type, including `Annotated` and unions."""
    options = (hint, *get_args(hint), *(inner for each in get_args(hint) for inner in get_args(each)))
    return [each for each in options if isinstance(each, type) and issubclass(each, kind)]


def _first(metadata: tuple[object, ...], kind: type[T]) -> T | None:
    return next((each for each in metadata if isinstance(each, kind)), None)


# --- in words ------------------------------------------------------------------------------------------


def describe_type(kind: object) -> str:
    """Return a type in words, for an error message."""
    known = msgspec.inspect.type_info(kind)
    options = known.types if isinstance(known, msgspec.inspect.UnionType) else (known,)
    return " or ".join(
        _describe(option) for option in options if not isinstance(option, msgspec.inspect.NoneType)
    )


def _describe(kind: msgspec.inspect.Type) -> str:
    """Return one option of a type in words."""
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return ("one of " if len(values) > 1 else "") + ", ".join(f'"{value}"' for value in values)
        case msgspec.inspect.IntType(ge=ge) | msgspec.inspect.FloatType(ge=ge):
            word = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
            return word if ge is None else f"{word} of at least {ge}"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.StrType():
            return "a string"
        case _:
            return "an object whose values are strings"


def describe_value(value: object) -> str:
    """Return the kind of a value in words; never the value itself, which may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case float() if not math.isfinite(value):
            return "a number that is not finite"
        case int() | float():
            return f"the number {value}" if abs(value) < 1e15 else "a very large number"
        case str():
            return "a string with a NUL character" if "\0" in value else "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
