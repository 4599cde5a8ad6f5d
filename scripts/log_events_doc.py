"""Writes docs/log-events.md from the calls of the log in the code and the texts in `scripts/texts/log_events.toml`.

`scripts/docs` calls it. Level and fields of an event come from the code, meaning and remedy from the texts.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "log-events.md"
TEXTS = Path(__file__).resolve().parent / "texts" / "log_events.toml"

LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}

EVENT = re.compile(r"[a-z]+\.[a-z_]+")

HEAD = Path(__file__).resolve().parent / "texts" / "log_events.md"


@dataclass
class LogEvent:
    """An event as the code logs it."""

    levels: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    has_traceback: bool = False


def events() -> dict[str, LogEvent]:
    """Return every event that the code logs, by name."""
    found: dict[str, LogEvent] = {}
    for folder in ("daemon/memd", "client/memd_client"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                for name, level, fields, has_traceback in _logged(node):
                    event = found.setdefault(name, LogEvent())
                    event.levels.add(level)
                    event.fields |= fields
                    event.has_traceback |= has_traceback
    return dict(sorted(found.items()))


def _logged(node: ast.AST) -> Iterator[tuple[str, str, set[str], bool]]:
    """Yield name, level, fields and whether there is a traceback of what a call or a written-out event logs."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        level = node.func.attr
        names = list(_names(node.args[0])) if level in LEVELS else []
        fields = {each.arg for each in node.keywords if each.arg}
        has_traceback = level == "exception" or "exc_info" in fields
        for name in names:
            yield name, LEVELS[level], fields - {"exc_info"}, has_traceback
    elif isinstance(node, ast.Dict):
        values = {
            key.value: value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        if isinstance(level_of := values.get("level"), ast.Constant) and "event" in values:
            fields = {str(key) for key in values} - {"event", "level", "timestamp"}
            for name in _names(values["event"]):
                yield name, str(level_of.value), fields, False


def _names(argument: ast.expr) -> Iterator[str]:
    """Yield the event that an expression names, or both events of a conditional expression."""
    if isinstance(argument, ast.IfExp):
        yield from _names(argument.body)
        yield from _names(argument.orelse)
    elif isinstance(argument, ast.Constant) and EVENT.fullmatch(str(argument.value)):
        yield str(argument.value)


def texts() -> dict[str, dict[str, str]]:
    """Return the meaning (`is`) and the remedy (`do`) of every event."""
    return tomllib.loads(TEXTS.read_text("utf-8"))


def render() -> str:
    """Return the whole page."""
    said, logged = texts(), events()
    parts = [HEAD.read_text("utf-8")]
    for package, names in groupby(logged, key=lambda name: name.partition(".")[0]):
        rows = [_row(name, logged[name], said[name]) for name in names]
        heads = "| event | level | fields | meaning | what to do |\n|---|---|---|---|---|\n"
        parts.append(f"\n## {package}\n\n{heads}{''.join(rows)}")
    return "".join(parts)


def _row(name: str, event: LogEvent, text: dict[str, str]) -> str:
    level = ", ".join(each for each in ("debug", "info", "warning", "error") if each in event.levels)
    fields = ", ".join(f"`{each}`" for each in sorted(event.fields))
    fields += (", " if fields else "") + "*traceback*" if event.has_traceback else ""
    return f"| `{name}` | {level} | {fields} | {text['is']} | {text.get('do', 'nothing')} |\n"
