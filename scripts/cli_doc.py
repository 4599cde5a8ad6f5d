"""Writes docs/cli.md from the commands of `memctl`, their output, and the texts in `scripts/texts/cli.toml`.

`scripts/docs` calls it. Usage, help, options and examples come from the commands, samples from `cli_samples`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from cli_samples import SAMPLES as SAMPLES
from cli_samples import samples

from memd.cli.main import root

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
TEXTS = Path(__file__).resolve().parent / "texts" / "cli.toml"
BEGINNING = TEXTS.with_suffix(".md")
"""What is true of all commands."""


def texts() -> dict[str, dict[str, Any]]:
    """Return the texts of the page by command."""
    return tomllib.loads(TEXTS.read_text("utf-8"))


def commands() -> dict[str, click.Context]:
    """Return the context of every command by its path, in the order of the help."""
    top = click.Context(root, info_name="memctl", **root.context_settings)
    names = [name for names in root.sections(top).values() for name in names]
    return {context.command_path: context for name in names for context in _below(top, name)}


def _below(parent: click.Context, name: str) -> Iterator[click.Context]:
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    context = click.Context(command, parent, name)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _below(context, inner)


def render() -> str:
    """Return the whole page."""
    shown, said, known = samples(), texts(), commands()
    rows = []
    for title, names in root.sections(click.Context(root)).items():
        for name in names:
            help_text = known[f"memctl {name}"].command.get_short_help_str(limit=1_000)
            rows.append(f"| {title} | [`memctl {name}`](#memctl-{name}) | {help_text} |\n")
            title = ""
    beginning = BEGINNING.read_text("utf-8")
    for name, text in {
        "commands": "| | command | what it does |\n|---|---|---|\n" + "".join(rows).rstrip(),
        "error": shown["error"].strip(),
        "usage": shown["usage"].strip(),
    }.items():
        beginning = beginning.replace(f"{{{name}}}", text)
    parts = [beginning]
    for path, context in known.items():
        parts.append(_section(path, context, said.get(path, {}), shown))
    return "".join(parts)


def _section(path: str, context: click.Context, text: dict[str, Any], shown: dict[str, str]) -> str:
    """Return what the page says about a command."""
    command = context.command
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    level = "#" * len(path.split())
    parts = [f"\n{level} {path}\n\n    {usage}\n\n{_paragraphs(command.help or '')}\n"]
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        parts.append("\n| option | meaning |\n|---|---|\n" + "".join(map(_row, options)))
    if command.epilog:
        parts.append(f"\n```sh\n{_examples(command.epilog)}\n```\n")
    if text.get("samples"):
        body = "\n\n".join(shown[name].strip() for name in text["samples"])
        parts.append(f"\n```console\n{body}\n```\n")
    if text.get("text"):
        parts.append(f"\n{text['text'].strip()}\n")
    return "".join(parts)


def _paragraphs(help_text: str) -> str:
    """Return a help text with each paragraph on one line."""
    blocks = re.split(r"\n\s*\n", help_text.strip())
    return "\n\n".join(" ".join(line.strip() for line in block.splitlines()) for block in blocks)


def _row(option: click.Option) -> str:
    """Return the row of an option: its names, value, help, range and default."""
    value = option.metavar or ("" if option.is_flag else option.type.name.upper())
    if isinstance(option.type, click.Choice):
        value = "\\|".join(option.type.choices)
    names = ", ".join(f"`{name}{' ' + value if value else ''}`" for name in option.opts)
    meaning = option.help or ""
    if isinstance(option.type, click.IntRange | click.FloatRange) and not re.search(r"\d to \d", meaning):
        low, high = option.type.min, option.type.max
        meaning += f" From {low:,} to {high:,}." if high is not None else f" At least {low:,}."
    if option.show_default and option.default is not None:
        meaning += f" Default: `{option.default}`."
    return f"| {names} | {meaning} |\n"


def _examples(epilog: str) -> str:
    return "\n".join(line.strip() for line in epilog.splitlines() if line.strip().startswith("memctl"))
