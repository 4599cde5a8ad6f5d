"""One server of Codex's settings put in or taken out, every other line left as it stands.

A table is a run of lines, so that no package is needed to keep the rest. Whatever was done is read again and compared;
a file where that goes wrong (the table written in another way, say) is left to its owner. Pure.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from memd.mcp.text_edit import UnreadableTextError

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


def put(text: str, section: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with the table `[section.name]`."""
    wanted = value_of(text)
    if wanted.get(section, {}).get(name) == value:
        return text
    wanted[section] = {**wanted.get(section, {}), name: dict(value)}
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join(_lines(section, name, value)) + newline
    span = _span(text, section, name)
    if span is not None:
        gap = newline if span[1] < len(text) else ""
        return _checked(text[: span[0]] + block + gap + text[span[1] :], wanted)
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return _checked(text + gap + block, wanted)


def take_out(text: str, section: str, name: str) -> str:
    """Return the text without the table `[section.name]`; as it is where there is none."""
    wanted = value_of(text)
    if name not in wanted.get(section, {}):
        return text
    del wanted[section][name]
    if not wanted[section]:
        del wanted[section]
    span = _span(text, section, name)
    if span is None:
        raise _not_editable(section, name)
    before, after = text[: span[0]], text[span[1] :]
    newline = "\r\n" if "\r\n" in text else "\n"
    if not after and before.endswith(newline * 2):
        before = before.removesuffix(newline)  # the blank line above the last table
    return _checked(before + after, wanted, without=section)


def value_of(text: str) -> dict[str, Any]:
    """Return what a TOML text says."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UnreadableTextError(f"it is no TOML: {error}") from None


def _lines(section: str, name: str, value: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table and of the map in it."""
    lines = [f"[{section}.{name}]"]
    below: list[str] = []
    for key, each in value.items():
        if isinstance(each, Mapping):
            below += [
                "",
                f"[{section}.{name}.{key}]",
                *(f"{inner} = {_written(said)}" for inner, said in each.items()),
            ]
        else:
            lines.append(f"{key} = {_written(each)}")
    return lines + below


def _written(value: Any) -> str:
    """Return a text or a list of texts; JSON's are TOML's."""
    return json.dumps(value, ensure_ascii=False)


def _span(text: str, section: str, name: str) -> tuple[int, int] | None:
    """Return where the table and those below it stand; None where no header names it."""
    quoted = rf"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')"
    own = re.compile(rf"^[ \t]*\[[ \t]*{re.escape(section)}[ \t]*\.[ \t]*{quoted}[ \t]*[\].]", re.MULTILINE)
    first = own.search(text)
    if first is None:
        return None
    end = first.end()
    while True:
        following = _HEADER.search(text, end)
        if following is None:
            return first.start(), len(text)
        if not own.match(text, following.start()):
            return first.start(), _before_comments(text, following.start())
        end = following.end()


def _before_comments(text: str, at: int) -> int:
    """Return where the comments begin that stand right above a header: they belong to it."""
    lines = text[:at].splitlines(keepends=True)
    while lines and lines[-1].lstrip().startswith("#"):
        at -= len(lines.pop())
    return at


def _checked(text: str, wanted: Mapping[str, Any], without: str = "") -> str:
    """Return an edited text that says what it shall say."""
    try:
        said = value_of(text)
    except UnreadableTextError:
        said = {}
    if without and said.get(without) == {}:
        del said[without]
    if said != wanted:
        raise UnreadableTextError("its tables are written in a way that can't be edited safely")
    return text


def _not_editable(section: str, name: str) -> UnreadableTextError:
    return UnreadableTextError(f"{section}.{name} is no table with a header of its own")
