"""Add or remove one server in Codex' settings without other changes. Pure.

The edited text is parsed again, and refused if its values are not the wanted ones.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from memd.system.json_edit import UneditableTextError


def value_of(text: str) -> dict[str, Any]:
    """Return the values of a TOML text."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UneditableTextError(f"it is not TOML: {error}") from None


def put(text: str, section: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with the table `[section.name]`: changed in place, or added at the end."""
    wanted = value_of(text)
    servers = wanted.get(section, {})
    if not isinstance(servers, dict):
        raise UneditableTextError(f"{section} is not a table")
    if servers.get(name) == value:
        return text
    wanted[section] = {**servers, name: dict(value)}
    newline = "\r\n" if "\r\n" in text else "\n"
    if name not in servers:
        block = tomlkit.dumps({section: {name: dict(value)}}).replace("\n", newline)
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        if _says(text + gap + block, wanted):
            return text + gap + block

    def edit(document: tomlkit.TOMLDocument) -> None:
        table = document.setdefault(section, tomlkit.table())
        if isinstance(table.get(name), Mapping):
            _update(table[name], value)
        else:
            table[name] = dict(value)

    return _edited(text, _parts_of(text, section, name), wanted, edit)


def remove(text: str, section: str, name: str) -> str:
    """Return the text without the table `[section.name]`; unchanged if there is none."""
    wanted = value_of(text)
    servers = wanted.get(section, {})
    if name not in servers:
        return text
    del servers[name]
    if not servers:
        del wanted[section]

    def edit(document: tomlkit.TOMLDocument) -> None:
        del document[section][name]

    newline = "\r\n" if "\r\n" in text else "\n"
    for start, end in _parts_of(text, section, name):
        before, after = text[:start], text[end:].lstrip()
        if not after and before.endswith(newline * 2):  # `put` adds an empty line
            before = before.removesuffix(newline)
        if _says(before + after, wanted):
            return before + after
    return _edited(text, (), wanted, edit)


def put_value(text: str, key: str, value: object) -> str:
    """Return the text with a key above all tables; an empty value removes it."""
    wanted = value_of(text)
    if (wanted.get(key) or None) == (value or None):
        return text
    wanted.pop(key, None)
    if value:
        wanted[key] = value

    def edit(document: tomlkit.TOMLDocument) -> None:
        if value:
            document[key] = value
        else:
            del document[key]

    return _edited(text, (), wanted, edit)


def _edited(
    text: str,
    parts: Iterable[tuple[int, int]],
    wanted: Mapping[str, Any],
    edit: Callable[[tomlkit.TOMLDocument], None],
) -> str:
    """Return a text after an edit of one of its parts, else of the whole, checked against the wanted values.

    A table's own lines are such a part: tomlkit counts the comments above the next table to the one before.
    """
    for start, end in (*parts, (int(text.startswith("\ufeff")), len(text))):
        with contextlib.suppress(
            TOMLKitError, LookupError, ValueError, TypeError, AttributeError
        ):  # split tables
            document = tomlkit.parse(text[start:end])
            edit(document)
            after = text[:start] + tomlkit.dumps(document) + text[end:]
            if _says(after, wanted):
                return after
    raise UneditableTextError("its tables cannot be edited safely")


def _parts_of(text: str, section: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a table and its subtables may be, without comments at their end.

    Lines in a string may look like the table, too.
    """
    own = re.compile(rf"\s*\[{re.escape(section)}\.(['\"]?){re.escape(name)}\1[\].]")
    start = end = at = 0
    is_inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_inside, is_inside = is_inside, own.match(line) is not None
            if was_inside and not is_inside:
                yield start, end
            start = start if was_inside else at
        at += len(line)
        if is_inside and line.strip() and not line.lstrip().startswith("#"):
            end = at
    if is_inside:
        yield start, end


def _update(table: Any, value: Mapping[str, Any]) -> None:
    """Set a table to a value without touching keys that have it already."""
    for key in [each for each in table if each not in value]:
        del table[key]
    for key, each in value.items():
        if isinstance(each, Mapping) and isinstance(table.get(key), Mapping):
            _update(table[key], each)
        elif table.get(key) != each:
            table[key] = dict(each) if isinstance(each, Mapping) else each


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    """Return whether a text has the wanted values; empty tables are ignored."""
    try:
        values = value_of(text)
    except UneditableTextError:
        return False
    return {key: each for key, each in values.items() if each != {} or key in wanted} == wanted
