"""The docs name what there is, and nothing else."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from memd.cli.main import root
from memd.config import DaemonSettings, MemorySearch
from memd_client import messages
from memd_client.messages import REQUESTS
from tests.support.tree import ROOT, modules

DOCS = ROOT / "docs"


def test_the_protocol_names_every_parameter_and_field() -> None:
    text = (DOCS / "protocol.md").read_text()
    kinds = {kind for pair in REQUESTS.values() for kind in pair}
    kinds |= {
        getattr(messages, name) for name in ("Hit", "Problem", "Degraded", "ModelStatus", "AgentStatus")
    }
    missing = {
        f"{kind.__name__}.{field.name}"
        for kind in kinds
        if is_dataclass(kind)
        for field in fields(kind)
        if not re.search(rf"\b{field.name}\b", text)
    }
    assert missing == set()


def _commands(group: click.Group) -> dict[str, click.Command]:
    """Return all commands below a group by the words one types."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found.update({f"{name} {below}": inner for below, inner in _commands(command).items()})
    return found


def test_the_command_lines_page_names_every_command_and_option() -> None:
    text = (DOCS / "cli.md").read_text()
    missing = []
    for name, command in _commands(root).items():
        if f"memctl {name}" not in text:
            missing.append(name)
        for option in command.params:
            missing += [
                f"{name} {word}" for word in option.opts if word.startswith("--") and word not in text
            ]
    assert missing == []


def _keys(kind: Any, prefix: str) -> list[str]:
    """Return the dotted keys of a settings struct, as they stand in a file."""
    found = []
    for field in msgspec.structs.fields(kind):
        if field.name in ("min_score_set", "weights_set"):
            continue
        key = f"{prefix}{field.encode_name}"
        inner = next(
            (each for each in (field.type, *getattr(field.type, "__args__", ())) if _is_struct(each)), None
        )
        found += _keys(inner, f"{key}.") if inner is not None and key != "extraPaths" else [key]
    return found


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@pytest.mark.parametrize("kind", [MemorySearch, DaemonSettings])
def test_the_configuration_page_names_every_setting(kind: Any) -> None:
    text = (DOCS / "configuration.md").read_text()
    assert [key for key in _keys(kind, "") if f"`{key}`" not in text] == []


def test_every_variable_the_code_reads_is_in_the_docs() -> None:
    texts = "\n".join(path.read_text() for path in DOCS.glob("*.md"))
    names = set()
    for path in modules():
        names |= set(re.findall(r"\b(?:MEMD|OPENCLAW)_[A-Z_]+\b", path.read_text()))
    names -= {"OPENCLAW_META", "OPENCLAW_DATABASE"}  # constants of those names
    assert {name for name in names if name not in texts} == set()


def test_every_log_event_is_in_the_docs() -> None:
    text = (DOCS / "operations.md").read_text()
    events = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                events.add(str(node.args[0].value))
    assert {event for event in events if f"`{event}`" not in text} == set()


def test_what_the_architecture_names_can_be_imported() -> None:
    for name in set(re.findall(r"`(memd(?:\.[a-z_]+)+)`", (DOCS / "architecture.md").read_text())):
        importlib.import_module(name)


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readmes_python_compiles() -> None:
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        compile(block, "README.md", "exec")
