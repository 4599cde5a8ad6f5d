"""memd's hooks in the text of a program's settings: add and remove them. Other hooks stay unchanged. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memd.programs.catalog import Hooks
from memd.programs.connections import Place, find_hooks
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError


def with_hooks(form: Hooks, text: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text with memd's hooks, and with no other ones of memd.

    Args:
        form: The form of the program's hooks.
        text: Its settings; empty for a new file.
        wanted: The hook of each event, by the program's name of the event.

    Raises:
        UneditableTextError: The text is not JSON, or can't be edited safely.
    """
    text = text if text.strip("\ufeff \t\r\n") else "{}\n"
    settings = json_edit.value_of(text)
    found = find_hooks(form, text)
    for key, value in form.top.items():
        if key not in settings:
            text = json_edit.put(text, (key,), value)
    first: dict[str | int, Place] = {}
    for place, _ in found:
        if place[1] in wanted:
            first.setdefault(place[1], place)
    for name, hook in wanted.items():
        if name in first:
            text = json_edit.put(text, first[name], dict(hook))
        else:
            text = json_edit.append(text, ("hooks", name), form.item(name, hook))
    for place, _ in reversed(found):
        if place not in first.values():
            text = _without(text, place)
    return text


def without_hooks(form: Hooks, text: str) -> str:
    """Return the text without memd's hooks, and without the lists and objects that held nothing else.

    Raises:
        UneditableTextError: The text is not JSON, or can't be edited safely.
    """
    for place, _ in reversed(find_hooks(form, text)):
        text = _without(text, place)
    return text


def original_of(form: Hooks, text: str, backups: Iterator[str]) -> tuple[bool, str | None]:
    """Return whether a text is an earlier one with memd's hooks added, and that text; None if there was no file.

    Args:
        form: The form of the program's hooks.
        text: The settings with memd's hooks.
        backups: Earlier texts, the newest first.
    """
    wanted = {str(place[1]): hook for place, hook in find_hooks(form, text)}
    if not wanted:
        return False, None
    for backup in backups:
        try:
            if not find_hooks(form, backup) and with_hooks(form, backup, wanted) == text:
                return True, backup
        except UneditableTextError:
            continue
    return with_hooks(form, "", wanted) == text, None


def _without(text: str, place: Place) -> str:
    """Return the text without a hook, and without what held nothing else."""
    text = json_edit.take_out(text, place)
    for depth in range(len(place) - 1, 0, -1):
        value = json_edit.value_of(text)
        for key in place[:depth]:
            value = value[key]
        is_group = depth == 3 and isinstance(value, dict)
        if value and not (is_group and "hooks" not in value):
            break
        text = json_edit.take_out(text, place[:depth])
    return text
