"""Frozen records that cost nothing to make: as dataclasses, eighty of them took longer than all else a client imports.

Nor is `dataclasses` imported (with `inspect`, a third of what was left) before somebody asks a record for its fields.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any as Any
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")
else:
    Any = object
    """For the records: what their hints mean where they are looked up at run time."""

    def dataclass_transform(**_options):
        """Stand in for typing's, which means something to type checkers alone."""
        return lambda decorator: decorator


class _Made:
    """A field whose default is made for each record."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """Return what stands for a field whose default is made anew for each record.

    Args:
        default_factory: Makes it.
    """
    made: Any = _Made(default_factory)
    return made  # type: ignore[no-any-return]


class _DataclassFields:
    """What `dataclasses` wants of a class, made when it is asked for."""

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
    """Make a class a frozen record: what works on dataclasses works on it, `fields`, `replace`, comparison, hashing.

    Types are for the type checker alone, as with dataclasses.

    Args:
        kind: A class of annotated fields, with defaults or `field(default_factory=...)`; it inherits from none.
    """
    made: Any = kind
    held = {name: vars(kind)[name] for name in kind.__annotations__ if name in vars(kind)}
    made._names = tuple(kind.__annotations__)
    made._name_set = frozenset(made._names)
    made._defaults = {name: value for name, value in held.items() if not isinstance(value, _Made)}
    made._factories = {name: value.make for name, value in held.items() if isinstance(value, _Made)}
    for name in made._factories:
        delattr(kind, name)
    made.__dataclass_fields__ = _FIELDS
    setattr(kind, "__match_args__", made._names)  # noqa: B010 - the type checker knows it as its own
    made.__init__ = _init
    made.__repr__ = _repr
    made.__eq__ = _eq
    made.__hash__ = _hash
    made.__setattr__ = _refuse
    made.__delattr__ = _refuse
    return kind


_FIELDS = _DataclassFields()


def names_of(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a record's fields; None where it is no record."""
    names: tuple[str, ...] | None = getattr(kind, "_names", None)
    return names


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self._names
    if not values:  # as most are made, hits by the dozen in every reply
        facts = {**self._defaults, **named}
        if facts.keys() == self._name_set:
            self.__dict__.update(facts)
            return
    given = dict(zip(names, values, strict=False))
    wrong = [name for name in named if name in given or name not in names]
    if wrong or len(values) > len(names):
        raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, once each; not {wrong or values}")
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
