"""Whether a text holds a very name: `POL-358`, and not `POL-3580`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memd.text.tokens import CJK_CLASS

ALONE = 2
"""What a name that stands alone counts."""

AS_PART = 1
"""What a name counts that is a part of a longer one: `v1.2.3` in `v1.2.3-rc1`, `src/app` in `src/app/main.py`."""

_LETTER = rf"[^\W_{CJK_CLASS}]"
_JOINT = r"[-./:@_+#~\\]"
_GAP = re.compile(r"\s+")


def count_held(names: Sequence[str], text: str) -> int:
    """Return how well a text holds some names: `ALONE` or `AS_PART` for each it holds, whatever its case.

    Args:
        names: As they stand in the question. A run of blanks in them is any run of blanks in the text.
        text: Where to look.
    """
    folded = text.casefold()
    return sum(_holds(name.strip().casefold(), folded) for name in names if name.strip())


def _holds(name: str, folded: str) -> int:
    """Return what a name in a text counts, both case-folded; 0 where it isn't there."""
    # Looking for a plain string is ten times as fast as a pattern, and most texts don't hold it.
    if max(_GAP.split(name), key=len) not in folded:
        return 0
    alone, part = _patterns(name)
    if part.search(folded) is None:
        return 0
    return ALONE if alone.search(folded) is not None else AS_PART


@lru_cache(maxsize=256)
def _patterns(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a name alone, and what finds it as a part: no letter or digit goes on where it ends."""
    body = r"\s+".join(re.escape(part) for part in _GAP.split(name))
    before = f"(?<!{_LETTER})" if re.match(_LETTER, name) else ""
    if re.match(r"\d", name):
        before = f"(?:(?<!{_LETTER})|(?<=(?<!{_LETTER})v))"  # 1.2.4 is v1.2.4
    after = f"(?!{_LETTER})" if re.search(rf"{_LETTER}\Z", name) else ""
    part = before + body + after
    # A name that begins or ends with a mark (`.env`, `C++`) is a part also where a letter is right beside it.
    left = f"(?<!{_LETTER}{_JOINT})" if before else f"(?<!{_LETTER})(?<!{_LETTER}{_JOINT})"
    right = f"(?!{_JOINT}{_LETTER})" if after else f"(?!{_LETTER})(?!{_JOINT}{_LETTER})"
    return re.compile(left + part + right), re.compile(part)
