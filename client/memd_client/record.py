"""Frozen records that are cheaper to define than dataclasses, so that importing the client stays fast.

`dataclasses` (which imports `inspect`) is imported only when a program inspects a record's fields.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a client several milliseconds; type checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any as Any
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")
else:
    Any = object
    """Replaces `typing.Any` in annotations that are evaluated at run time."""

    def dataclass_transform(**_options):
        """Replace `typing.dataclass_transform`, which has no effect at run time."""
        return lambda decorator: decorator


class _DefaultFactory:
    """A field whose default is created for each record."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """Return the marker of a field whose default is created for each record.

    Args:
        default_factory: Creates the default.
    """
    made: Any = _DefaultFactory(default_factory)
    return made  # type: ignore[no-any-return]


class _DataclassFields:
    """The attribute `__dataclass_fields__`, created when it is first read."""

    def __get__(self, instance: object, kind: Any) -> dict[str, Any]:
        import dataclasses

        fields = []
        for name, hint in kind.__annotations__.items():
            options: dict[str, Any] = {}
            if name in kind._defaults:
                options["default"] = kind._defaults[name]
            elif name in kind._factories:
                options["default_factory"] = kind._factories[name]
            fields.append((name, hint, dataclasses.field(kw_only=True, **options)))
        made: Any = dataclasses.make_dataclass("Fields", fields)
        found: dict[str, Any] = made.__dataclass_fields__
        kind.__dataclass_fields__ = found
        return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Turn a class into a frozen record, which supports `fields`, `replace`, comparison and hashing like a dataclass.

    Types are not checked at run time, as with dataclasses.

    Args:
        kind: A class of annotated fields, with defaults or `field(default_factory=...)`, without a base class.
    """
    made: Any = kind
    held = {name: vars(kind)[name] for name in kind.__annotations__ if name in vars(kind)}
    made._names = tuple(kind.__annotations__)
    made._name_set = frozenset(made._names)
    made._defaults = {name: value for name, value in held.items() if not isinstance(value, _DefaultFactory)}
    made._factories = {name: value.make for name, value in held.items() if isinstance(value, _DefaultFactory)}
    for name in made._factories:
        delattr(kind, name)
    made.__dataclass_fields__ = _FIELDS
    setattr(kind, "__match_args__", made._names)  # noqa: B010 - type checkers define it
    made.__init__ = _init
    made.__repr__ = _repr
    made.__eq__ = _eq
    made.__hash__ = _hash
    made.__setattr__ = _refuse
    made.__delattr__ = _refuse
    return kind


_FIELDS = _DataclassFields()


def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a record's fields; None for any other class."""
    names: tuple[str, ...] | None = getattr(kind, "_names", None)
    return names


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self._names
    if not values:  # the common case, such as the hits of a reply
        facts = {**self._defaults, **named}
        if facts.keys() == self._name_set:
            self.__dict__.update(facts)
            return
    given = dict(zip(names, values, strict=False))
    wrong = [name for name in named if name in given or name not in names]
    if wrong or len(values) > len(names):
        raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once, not {wrong or values}")
    facts = {**self._defaults, **given, **named}
    for name, factory in self._factories.items():
        if name not in facts:
            facts[name] = factory()
    if len(facts) < len(names):
        raise TypeError(
            f"{type(self).__name__} needs {', '.join(name for name in names if name not in facts)}"
        )
    self.__dict__.update((name, facts[name]) for name in names)


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self._names)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, *value: Any) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__}.{name} can't be changed: records are frozen")
