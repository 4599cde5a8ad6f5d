"""Puts one server into Codex's settings or takes it out; everything else stays as it is. Pure.

An edited text is parsed again: if it holds anything but the wanted values, it is refused.
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
    """Return what a TOML text says."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UneditableTextError(f"it is no TOML: {error}") from None


def put(text: str, section: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with the table `[section.name]`: changed where it stands, else at the end."""
    wanted = value_of(text)
    servers = wanted.get(section, {})
    if not isinstance(servers, dict):
        raise UneditableTextError(f"{section} is no table")
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


def take_out(text: str, section: str, name: str) -> str:
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
    """Return a text after an edit that makes it say what it shall say."""
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
    ):  # tables in pieces it can't join
        after = None
    if after is None or not _says(after, wanted):
        raise UneditableTextError("its tables are written in a way that can't be edited safely")
    return f"\ufeff{after}" if text.startswith("\ufeff") else after


def _update(table: Any, value: Mapping[str, Any]) -> None:
    """Change a table to hold a value, and touch no key that holds it already."""
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
    """Return the table whose body ends a table: itself, or the last of those below it."""
    last = table.value.body[-1][1] if isinstance(table, Table) and table.value.body else None
    return _last_table(last) if isinstance(last, Table) else table


def _pop_trailing(table: Any) -> list[Any]:
    """Remove the comments and empty lines behind the last key of a table, and return them."""
    last = _last_table(table)
    trailing: list[Any] = []
    while isinstance(last, Table) and last.value.body and last.value.body[-1][0] is None:
        trailing.insert(0, last.value.body.pop()[1])
    return trailing


def _keep_comments(document: tomlkit.TOMLDocument, table: Any) -> bool:
    """Move the comments right above the next table to it; return whether the table is the last one."""
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
    """Return whether a text holds the wanted values; an empty table counts as none."""
    try:
        held = value_of(text)
    except UneditableTextError:
        return False
    return {key: each for key, each in held.items() if each != {} or key in wanted} == wanted
