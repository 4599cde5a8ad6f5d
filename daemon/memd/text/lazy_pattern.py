"""Regular expressions that are compiled when they are first used.

A character class with letters of many scripts takes 1 to 8 ms to compile, which was a sixth of the daemon's start.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Has the attributes of a compiled pattern, each of which is retained after its first use."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __repr__(self) -> str:
        return f"<_LazyPattern {self._source[0]!r}>"

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return a pattern that is compiled when its first method is called.

    Only its methods and attributes can be used: functions of `re` need `re.compile`.
    """
    return cast(re.Pattern[str], _LazyPattern(pattern, flags))
