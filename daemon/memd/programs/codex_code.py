"""Calls of tools in the programs that Codex's models write in code mode: calls whose arguments are plain strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_PROGRAM_CHARS: Final = 20_000
MAX_CALLS: Final = 50

_STRING: Final = r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\$]|\\.|\$(?!\{))*+`"""
_CALL = re.compile(
    rf"""tools\.(\w+)\(\s*(?:({_STRING})|\{{((?:{_STRING}|[^"'`{{}}])*+)\}})\s*\)""", re.DOTALL
)
_FIELD = re.compile(rf"""(?:^|,)\s*["']?(\w+)["']?\s*:\s*({_STRING})\s*(?=,|\Z)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def calls_in(program: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the tools that a program calls, and their arguments."""
    program, at = program[:MAX_PROGRAM_CHARS], 0
    for _ in range(MAX_CALLS):
        if (at := program.find("tools.", at)) < 0:
            return
        if (call := _CALL.match(program, at)) is not None:
            tool, text, fields = call.groups()
            yield tool, {name: _value(value) for name, value in _FIELD.findall(fields or f"input:{text}")}
        at = call.end() if call is not None else at + 1


def _value(literal: str) -> str:
    """Return the value of a literal."""

    def character(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2] or escape[3]
        return chr(int(code, 16)) if code else _NAMED.get(escape[4], escape[4])

    return _ESCAPE.sub(character, literal[1:-1]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
