"""Regular expressions that are compiled when they are first used.

A character class with letters of many scripts takes 1 to 8 ms to compile, which was a sixth of the daemon's start.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

_patterns: list[_LazyPattern] = []


class _LazyPattern:
    """Has the attributes of a compiled pattern, each of which is retained after its first use."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __repr__(self) -> str:
        return f"<_LazyPattern {self._source[0]!r}>"

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(*self._source)


def lazy_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return a pattern that is compiled when its first method is called, or by `compile_patterns`.

    Only its methods and attributes can be used: functions of `re` need `re.compile`.
    """
    lazy = _LazyPattern(pattern, flags)
    _patterns.append(lazy)
    return cast(re.Pattern[str], lazy)


def compile_patterns() -> None:
    """Compile all patterns that have not been used yet, so that their first use costs nothing (blocking: 50 ms)."""
    for pattern in _patterns:
        _ = pattern.compiled
