"""What a field of a settings struct carries: its sentence, unit, bounds and place in openclaw.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec

T = TypeVar("T")

AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Root of all settings: read-only, camelCase outside."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for one setting beside its name, type and default.

    Attributes:
        meaning: One sentence for the reference.
        unit: Of a number.
        least: A smaller number becomes this one, as in OpenClaw; bounds in the type refuse a number instead.
        most: A larger number becomes this one.
        default: What an unset key means, in words, if the struct's own default says nothing.
        kind: The type in words, for what is read item by item.
        is_path: Whether the text has to be a path.
        drops_fraction: Whether a whole number with bounds in its type counts without its fraction, as in OpenClaw.
    """

    meaning: str
    unit: str = ""
    least: int | None = None
    most: int | None = None
    default: str = ""
    kind: str = ""
    is_path: bool = False
    drops_fraction: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The dotted place in openclaw.json of a setting, or of a group of them."""

    name: str


class Refused:
    """Marks a setting, or a group of them, that OpenClaw 2026.9 refuses in openclaw.json."""


REFUSED: Final = Refused()


class Derived:
    """Marks a field that no file sets; given other fields, it tells whether a file sets one of them."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def __repr__(self) -> str:
        return f"<Derived of {', '.join(self.fields) or 'other settings'}>"


@dataclass(frozen=True, slots=True)
class Field:
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
        """What holds for the setting."""
        if self.setting is None:
            raise TypeError(f"the field {self.name} is no setting")
        return self.setting

    @property
    def drops_fraction(self) -> bool:
        """Whether a number is cut to a whole one rather than refused."""
        return self.about.drops_fraction or (self.about.least is not None and bool(_types_in(self.type, int)))


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the fields of a settings struct in their order."""
    return tuple(map(_field, msgspec.structs.fields(kind)))


def settings_of(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every setting below a struct by its dotted name."""
    for field in fields_of(kind):
        key = f"{prefix}{field.key}"
        if field.group is not None:
            yield from settings_of(field.group, f"{key}.")
        elif field.derived is None:
            yield key, field


def convert(raw: object, kind: Any) -> Any:
    """Return a value as a type has it; None if it cannot be of that type."""
    try:
        value = msgspec.convert(raw, kind)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _field(info: msgspec.structs.FieldInfo) -> Field:
    """Return what one field carries."""
    hint = info.type
    metadata = getattr(hint, "__metadata__", ())
    setting, place = _first(metadata, Setting), _first(metadata, Place)
    derived = _first(metadata, Derived)
    group = None if setting or derived else next(iter(_types_in(hint, msgspec.Struct)), None)
    if setting is None and derived is None and group is None:
        raise TypeError(f"the field {info.name} says nothing of its setting")
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
    """Return the classes of a kind in a type, its `Annotated` and unions looked through."""
    options = (hint, *get_args(hint), *(inner for each in get_args(hint) for inner in get_args(each)))
    return [each for each in options if isinstance(each, type) and issubclass(each, kind)]


def _first(metadata: tuple[object, ...], kind: type[T]) -> T | None:
    return next((each for each in metadata if isinstance(each, kind)), None)


# --- in words ------------------------------------------------------------------------------------------


def describe_type(kind: object) -> str:
    """Return in words what a setting of this type may be, for an error message."""
    known = msgspec.inspect.type_info(kind)
    options = known.types if isinstance(known, msgspec.inspect.UnionType) else (known,)
    return " or ".join(
        _describe(option) for option in options if not isinstance(option, msgspec.inspect.NoneType)
    )


def _describe(kind: msgspec.inspect.Type) -> str:
    """Return in words one type of a setting."""
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return "one of " + ", ".join(f'"{value}"' for value in values)
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
    """Return what kind of value stands in a settings file; never the value itself, which may be a secret."""
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
            return "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
