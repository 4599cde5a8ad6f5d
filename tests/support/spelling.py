"""How texts with CJK letters are stored in an index."""

from __future__ import annotations

import re

from memd.text.tokens import CJK_CLASS

_CJK_RUN = re.compile(f"[{CJK_CLASS}]+")


def space_cjk(text: str) -> str:
    """Return a text with spaces around every CJK letter, so that FTS5 indexes each as a word.

    Used for index and query: a quoted run of such letters is a phrase that matches exactly that run.
    """
    if text.isascii():
        return text
    return _CJK_RUN.sub(lambda run: f" {'  '.join(run[0])} ", text)
