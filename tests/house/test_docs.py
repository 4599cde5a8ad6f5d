"""The docs name everything that exists, and only that."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from memd.cli.main import root
from memd.embedding.remote.catalog import KNOWN
from memd.settings.agents import load_settings
from memd.settings.endpoints import ProviderEntry
from memd.settings.fields import settings_of
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.names import OWN_NAMES
from memd.settings.reference import VARIABLES
from memd.settings.schema import DaemonSettings, MemorySearch
from memd_client import messages, reports
from memd_client.framing import FrameDecoder
from memd_client.messages import REQUESTS
from memd_client.schema import Record
from tests.support.programs import examples
from tests.support.record_docs import field_docs
from tests.support.scripts import load_script
from tests.support.tree import DOCS, ROOT, modules

SCRIPT = load_script("docs")
WRITERS = {script.PAGE.name: script for script in SCRIPT.WHOLE_PAGES}
"""Pages that are generated as a whole, and what writes them."""


def _wire_types() -> dict[str, Any]:
    """Return all parameters, replies and records of the protocol by name."""
    return {
        name: kind
        for module in (messages, reports)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Record) and kind is not Record
    }


def test_requests_and_replies_are_wire_types() -> None:
    assert {kind for each in REQUESTS.values() for kind in each[:2]} <= set(_wire_types().values())


@pytest.mark.parametrize("name", sorted(_wire_types()))
def test_protocol_pages_name_every_parameter_and_field(name: str) -> None:
    text = "".join((DOCS / page).read_text() for page in ("protocol.md", "requests.md"))

    names = _wire_types()[name].__struct_fields__
    missing = [each for each in names if not re.search(rf"\b{each}\b", text)]

    assert missing == []


def test_every_request_has_a_text_and_every_field_a_meaning() -> None:
    assert WRITERS["requests.md"].texts()["requests"].keys() == REQUESTS.keys()
    undocumented = {
        name: names
        for name, kind in _wire_types().items()
        if (names := set(kind.__struct_fields__) ^ field_docs(kind).keys())
    }
    assert undocumented == {}


def test_the_frames_of_the_protocols_example_are_the_values_below_them() -> None:
    page = (DOCS / "protocol.md").read_text()
    exchange = page.split("## An example exchange")[1].split("\n## ")[0]
    frames = re.findall(r"(?:->|<-) ((?:[0-9a-f]{2}\s+)+)(\[.*\])", exchange)

    assert len(frames) == 2
    for octets, value in frames:
        assert FrameDecoder().feed(bytes.fromhex(octets)) == [json.loads(value.replace("nil", "null"))]


def _commands(group: click.Group) -> dict[str, click.Command]:
    """Return all commands below a group by their words on the command line."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found.update({f"{name} {below}": inner for below, inner in _commands(command).items()})
    return found


def test_command_line_page_names_every_command_and_option() -> None:
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


CONFIG_DOC = SCRIPT.config_doc

SETTINGS = [
    each
    for kind in (MemorySearch, LifecycleSettings, ProviderEntry, DaemonSettings)
    for each in settings_of(kind)
]


def test_meaning_of_a_setting_or_variable_is_a_sentence() -> None:
    meanings = [*(field.about.meaning for _, field in SETTINGS), *VARIABLES.values()]

    assert [each for each in meanings if not re.fullmatch(r"[A-Z`].*\.", each) or "|" in each] == []


def test_default_in_words_replaces_only_an_empty_default() -> None:
    in_words = [(key, field.default) for key, field in SETTINGS if field.about.default]

    assert [key for key, default in in_words if default not in (None, "", ())] == []


def test_manifest_has_the_memory_settings_of_the_code() -> None:
    assert CONFIG_DOC.plugin_properties().keys() >= OWN_NAMES


EXAMPLES = [*examples("toml")]


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[page.name for page, _ in EXAMPLES])
def test_every_example_of_memd_toml_is_read_without_a_problem(page: Path, text: str, tmp_path: Path) -> None:
    (tmp_path / "memd.toml").write_text(text)
    for agent in ("main", "work"):
        (tmp_path / "agents" / agent).mkdir(parents=True)
    environ = {"OPENCLAW_STATE_DIR": str(tmp_path), "MEMD_CONFIG": str(tmp_path / "memd.toml")}

    home, _, problems = load_settings(environ, tmp_path)

    assert (problems, home.problems, home.unknown_keys) == ((), (), ())
    assert [agent.problems for agent in home.agents.values()] == [(), ()]


def test_examples_of_openclaw_settings_are_marked_as_json5() -> None:
    texts = {page.name: json.loads(text) for page, text in examples("json") if text.startswith("{")}

    ours = [name for name, example in texts.items() if example.keys() & {"agents", "memory", "plugins"}]
    assert ours == [], "a `json5` block is held against OpenClaw's own validator"
    assert len([*examples("json5")]) >= 3
    assert len(EXAMPLES) >= 4


def test_every_table_is_on_a_page() -> None:
    shown = [found[2] for page in CONFIG_DOC.PAGES for found in CONFIG_DOC.TABLE.finditer(page.read_text())]

    assert sorted(shown) == sorted(CONFIG_DOC.tables())


FOREIGN_VARIABLES = re.compile(r"""["\'{]((?:[A-Z]+_)+(?:API_KEY|TOKEN|ENDPOINT|OFFLINE|PROXY))["\'}]""")
"""Variables of other programs in the code: keys, tokens, endpoints, proxies."""


def test_every_variable_of_the_code_is_in_the_docs() -> None:
    names = {name for known in KNOWN.values() for name in known.key_variables}
    for path in modules():
        text = path.read_text()
        names |= set(re.findall(r"\b(?:MEMD|OPENCLAW)_[A-Z_]+\b", text))
        names |= set(FOREIGN_VARIABLES.findall(text))
    names -= {"OPENCLAW_META", "OPENCLAW_DATABASE", "OPENCLAW_SOURCE"}  # constants with these names

    assert names - VARIABLES.keys() == set(), "say what it means in memd/settings/reference.py"


def test_generated_files_are_what_the_script_writes() -> None:
    for path, text in SCRIPT.generated().items():
        assert path.read_text() == text, f"{path.name}: run scripts/docs"


def test_the_texts_about_commands_name_commands_and_samples() -> None:
    script = WRITERS["cli.md"]

    assert script.texts().keys() <= script.commands().keys()
    named = {name for text in script.texts().values() for name in text.get("samples", ())}
    assert named | {"error", "usage"} == script.SAMPLES.keys()


def test_needs_of_the_default_model_are_those_that_the_command_prints() -> None:
    sample = re.search(r"```console\n\$ memctl model info\n.*?```", (DOCS / "cli.md").read_text(), re.DOTALL)

    assert sample
    assert sample[0] in (DOCS / "local-models.md").read_text()


def test_every_log_event_has_a_meaning() -> None:
    script = WRITERS["log-events.md"]

    assert script.events().keys() == script.texts().keys(), "correct scripts/texts/log_events.toml"


def test_every_metric_of_the_code_is_on_its_page() -> None:
    names = set()
    for path in modules():
        names |= set(re.findall(r'"(memd_[a-z_]+)"', path.read_text()))
    names -= {"memd_toml", "memd_is_cancelled", "memd_client", "memd_agent_"}

    assert names - {each.name for each in WRITERS["metrics.md"].metrics()} == set()


def test_modules_named_in_the_architecture_can_be_imported() -> None:
    for name in set(re.findall(r"`(memd(?:\.[a-z_]+)+)`", (DOCS / "architecture.md").read_text())):
        importlib.import_module(name)


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_links_point_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_python_of_the_readme_compiles() -> None:
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        compile(block, "README.md", "exec")
