"""Add or remove one server in Codex' settings without other changes. Pure.

The edited text is parsed again, and refused if its values are not the wanted ones.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tomlkit
from tomlkit.container import Container, OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Comment, Table

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

    return _edited(text, wanted, edit)


def remove(text: str, section: str, name: str) -> str:
    """Return the text without the table `[section.name]`; unchanged if there is none."""
    wanted = value_of(text)
    servers = wanted.get(section, {})
    if name not in servers:
        return text
    del servers[name]
    if not servers:
        del wanted[section]
    is_last = False

    def edit(document: tomlkit.TOMLDocument) -> None:
        nonlocal is_last
        tables = document[section]
        is_last = _keep_comments(document, tables[name])
        del tables[name]
        parts = [item for key, item in document.body if key is not None and key.key == section]
        if not servers and all(isinstance(part, Table) and part.is_super_table() for part in parts):
            del document[section]

    after = _edited(text, wanted, edit)
    newline = "\r\n" if "\r\n" in text else "\n"
    return after.removesuffix(newline) if is_last and after.endswith(newline * 2) else after


def _edited(text: str, wanted: Mapping[str, Any], edit: Callable[[tomlkit.TOMLDocument], None]) -> str:
    """Return a text after an edit, checked against the wanted values."""
    after: str | None
    try:
        document = tomlkit.parse(text.removeprefix("\ufeff"))
        edit(document)
        after = tomlkit.dumps(document)
    except (
        TOMLKitError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
    ):  # split tables that it can't join
        after = None
    if after is None or not _says(after, wanted):
        raise UneditableTextError("its tables cannot be edited safely")
    return f"\ufeff{after}" if text.startswith("\ufeff") else after


def _update(table: Any, value: Mapping[str, Any]) -> None:
    """Set a table to a value without touching keys that have it already."""
    trailing = _pop_trailing(table)
    for key in [each for each in table if each not in value]:
        del table[key]
    for key, each in value.items():
        if isinstance(each, Mapping) and isinstance(table.get(key), Mapping):
            _update(table[key], each)
        elif table.get(key) != each:
            table[key] = dict(each) if isinstance(each, Mapping) else each
    for item in trailing:
        _last_table(table).add(item)


def _last_table(table: Any) -> Any:
    """Return the table at the end of a table: itself, or its last subtable."""
    last = table.value.body[-1][1] if isinstance(table, Table) and table.value.body else None
    return _last_table(last) if isinstance(last, Table) else table


def _pop_trailing(table: Any) -> list[Any]:
    """Remove and return the comments and empty lines after the last key of a table."""
    last = _last_table(table)
    trailing: list[Any] = []
    while isinstance(last, Table) and last.value.body and last.value.body[-1][0] is None:
        trailing.insert(0, last.value.body.pop()[1])
    return trailing


def _keep_comments(document: tomlkit.TOMLDocument, table: Any) -> bool:
    """Move the comments above the next table to it; return whether the table is the last one."""
    comments = ""
    for item in reversed(_pop_trailing(table)):
        if not isinstance(item, Comment):
            break
        comments = item.as_string() + comments
    order = [*_tables(document)]
    own = [table, *_tables(table.value)] if isinstance(table, Table) else []
    places = [at for at, each in enumerate(order) if any(each is one for one in own)]
    following = order[places[-1] + 1 :] if places else order
    for each in following:
        if not each.is_super_table():
            each.trivia.indent = comments + each.trivia.indent
            return False
    return bool(places)


def _tables(container: Any) -> Iterator[Table]:
    """Yield the tables of a container in the order of the text."""
    if isinstance(container, OutOfOrderTableProxy) or not isinstance(container, Container):
        return
    for _, item in container.body:
        for table in item.body if isinstance(item, AoT) else [item]:
            if isinstance(table, Table):
                yield table
                yield from _tables(table.value)


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    """Return whether a text has the wanted values; empty tables are ignored."""
    try:
        values = value_of(text)
    except UneditableTextError:
        return False
    return {key: each for key, each in values.items() if each != {} or key in wanted} == wanted
