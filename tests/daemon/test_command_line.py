"""`memctl` with a real daemon: notes, facts, suggestions and terminal prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.programs import Terminal
from tests.support.state_homes import StateHome, agents_config


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with StateHome() as home:
        home.configure(agents_config(home.state, "work", memory_search={"provider": "none"}))
        home.note("MEMORY.md", "# Ann\n\nThe garden gate has the code kestrel-12.\n")
        with DaemonProcess(home) as running:
            yield running


def output_of(daemon: DaemonProcess, *arguments: str) -> str:
    """Run a command that succeeds and return its output."""
    ran = daemon.memctl(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_appended_note_is_printed_by_get_and_found(daemon: DaemonProcess) -> None:
    added = output_of(daemon, "note", "the", "spare", "key", "is", "with", "otter-lane")
    place = added.removeprefix("added to ")

    assert place.startswith("memory/2")
    assert place.endswith(":3-3")
    assert output_of(daemon, "get", place) == "the spare key is with otter-lane"
    assert json.loads(output_of(daemon, "search", "otter-lane", "--json"))["hits"][0]["path"] in place


def test_append_with_the_same_key_writes_once(daemon: DaemonProcess) -> None:
    first = output_of(daemon, "note", "--agent", "work", "--key", "backup-1", "the backup was verified")
    again = daemon.memctl("note", "--agent", "work", "--key", "backup-1", "the backup was verified")

    assert (again.returncode, again.stdout.strip()) == (0, first.replace("added to", "already in"))


def test_fact_is_added_edited_and_forgotten(daemon: DaemonProcess) -> None:
    agent = ("--agent", "work")
    added = json.loads(output_of(daemon, "facts", "add", "Anna lives in Lisbon", "--json", *agent))
    known = output_of(daemon, "facts", "add", "Anna lives in Lisbon", *agent)
    edited = output_of(daemon, "facts", "edit", added["id"], "Anna lives in Porto", *agent)
    conflict = daemon.memctl(
        "facts", "edit", added["id"], "Anna lives in Rome", "--if-text", "Anna lives in Lisbon", *agent
    )
    listed = output_of(daemon, "facts", "list", *agent)
    unclear = daemon.memctl("facts", "forget", "Anna", *agent)
    forgotten = output_of(daemon, "facts", "forget", added["id"], *agent)
    gone = daemon.memctl("facts", "edit", added["id"], "Anna lives in Rome", *agent)

    assert (
        known
        == f"stored already  memory/facts.md:3  {added['category']} · {added['id']}\n  Anna lives in Lisbon"
    )
    assert edited.startswith("changed  memory/facts.md:3  ")
    assert (conflict.returncode, "code: fact_changed" in conflict.stderr) == (1, True)
    assert "Anna lives in Porto" in listed
    assert (unclear.returncode, "no terminal for a confirmation" in unclear.stderr) == (2, True)
    assert forgotten.endswith("\n  Anna lives in Porto")
    assert (gone.returncode, "code: fact_missing" in gone.stderr) == (1, True)


def test_terminal_asks_before_a_fact_is_forgotten(daemon: DaemonProcess) -> None:
    output_of(daemon, "facts", "add", "I like green tea")
    output_of(daemon, "facts", "add", "I like strong coffee")

    with Terminal(daemon, "facts", "forget", "green", "tea") as terminal:
        terminal.wait_for("Remove this fact? [y/N]")
        assert "I like green tea" in terminal.text
        terminal.press(b"y\r")
        assert terminal.wait_end() == 0

    assert "I like green tea" not in output_of(daemon, "facts", "list")
    assert "I like strong coffee" in output_of(daemon, "facts", "list")


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["note", "x"], ["facts", "list"], ["status"], ["index"]]
)
def test_mistyped_agent_gets_the_nearest_name_suggested(daemon: DaemonProcess, arguments: list[str]) -> None:
    ran = daemon.memctl(*arguments, "--agent", "mian")

    assert ran.returncode == 1
    assert ran.stderr.splitlines()[0] == "error: there is no agent 'mian'. Did you mean 'main'?"


def test_agent_name_unlike_any_other_gets_the_list_without_a_suggestion(daemon: DaemonProcess) -> None:
    ran = daemon.memctl("search", "x", "--agent", "zzz")

    assert ran.stderr.splitlines()[:2] == [
        "error: there is no agent 'zzz'",
        "  hint: known agents: main, work",
    ]


def test_mistyped_model_gets_the_nearest_name_suggested(daemon: DaemonProcess) -> None:
    pulled = daemon.memctl("model", "pull", "minlm")
    removed = daemon.memctl("model", "remove", "minlm")

    assert "Did you mean 'minilm'?" in pulled.stderr.splitlines()[0]
    assert "Did you mean 'minilm'?" in removed.stderr.splitlines()[0]


def test_mcp_without_arguments_on_a_terminal_prints_its_help(daemon: DaemonProcess) -> None:
    with Terminal(daemon, "mcp") as terminal:
        terminal.wait_for("Usage: memctl mcp")
        assert terminal.wait_end() == 0
