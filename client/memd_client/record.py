"""Frozen records without generated code: sixty dataclasses take longer to make than all else a client imports."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields

TYPE_CHECKING = False  # typing costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any as Any
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")
else:
    Any = object
    """For the records: what their hints mean where they are looked up at run time."""

    def dataclass_transform(**_options):
        """Stand in for typing's, which means something to type checkers alone."""
        return lambda decorator: decorator


@dataclass_transform(frozen_default=True)
def record(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose methods are shared by all of them instead of written for each.

    What works on dataclasses works on it: `fields`, `replace`, comparison, hashing. Types are for the type checker
    alone, as with dataclasses.

    Args:
        kind: A class of annotated fields; `field(default_factory=...)` is understood, no other option of `field`.
    """
    made = dataclass(init=False, repr=False, eq=False)(kind)
    known = fields(made)  # type: ignore[arg-type]
    namespace: Any = made
    namespace._names = tuple(each.name for each in known)
    namespace._defaults = {each.name: each.default for each in known if each.default is not MISSING}
    namespace._factories = {
        each.name: each.default_factory for each in known if each.default_factory is not MISSING
    }
    namespace.__init__ = _init
    namespace.__repr__ = _repr
    namespace.__eq__ = _eq
    namespace.__hash__ = _hash
    namespace.__setattr__ = _refuse
    namespace.__delattr__ = _refuse
    return made


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self._names
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
    raise FrozenInstanceError(f"{type(self).__name__}.{name} can't be changed: records are frozen")
