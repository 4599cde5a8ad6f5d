"""One request, one name: in messages, methods, command line, page of requests and tests."""

from __future__ import annotations

import ast
import re

import pytest

from memd.cli.main import COMMANDS
from memd_client import Client
from memd_client.messages import REQUESTS
from tests.support.tree import CLIENT, DAEMON, DOCS, ROOT, parsed, python_files, relative

NO_COMMAND = {
    "hello": "the client says it by itself",
    "cancel": "Ctrl-C says it",
    "search_agents": "people say `memctl search --agent all`",
    "embed": "vectors are for programs",
    "tools": "an agent's runtime asks",
    "call_tool": "an agent's model calls; people say `memctl search`",
    "prompt_section": "an agent's runtime asks",
    "session_started": "an agent's runtime says it; people say `memctl index`",
    "session_ended": "an agent's runtime says it",
    "flush_check": "an agent's runtime asks",
    "flush_done": "an agent's runtime says it",
    "append_note": "people say `memctl note`",
    "open_page": "people run `memctl web`",
    "memory_edit": "people say `memctl facts edit`",
    "memory_store": "people say `memctl facts add`",
    "memory_recall": "people say `memctl facts list`",
    "memory_forget": "people say `memctl facts forget`",
    "facts_for_prompt": "an agent's runtime asks",
    "capture_facts": "an agent's runtime says it",
    "conversations": "people see them in `memctl web`",
    "conversation_search": "people say `memctl search --source NAME`",
    "conversation_read": "people open the session in its program, as `memctl search` says",
    "session_handoff": "people say `memctl handoff`",
    "work_files": "people say `memctl files`; the request `files` lists those of memory",
    "subscribe": "for programs that watch; people say `memctl top` or `memctl logs`",
    "hook": "other programs' hooks say it",
    "hook_log": "people say `memctl hooks log`",
    "compaction_done": "an agent's runtime says it; people say `memctl index`",
}
"""Requests without a command, with the reason."""

EMPTY_NAMES = re.compile(r"(utils?|helpers?|common|misc|manager|base_.*|.*_(utils?|helpers?|manager))")
"""Module names that do not describe a responsibility."""


@pytest.mark.parametrize("name", REQUESTS)
def test_request_has_the_same_name_everywhere(name: str) -> None:
    params, reply = REQUESTS[name][:2]
    stem = "".join(word.title() for word in name.split("_"))
    assert (params.__name__, reply.__name__) == (f"{stem}Params", f"{stem}Reply")
    assert (DAEMON / "rpc" / "methods" / f"{name}.py").is_file()
    tests = ROOT / "tests" / "unit" / "rpc"
    in_table = f'"{name}"' in (tests / "test_params.py").read_text()
    assert in_table or (tests / "methods" / f"test_{name}.py").is_file()
    assert f"\n## {name}\n" in (DOCS / "requests.md").read_text()
    assert (name in COMMANDS) != (name in NO_COMMAND), "a command, or a reason for none; not both"
    assert hasattr(Client, name) or name == "cancel"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_a_module_a_section_and_a_test(name: str) -> None:
    module, _, attribute = COMMANDS[name].partition(":")
    tests = [path.read_text() for path in (ROOT / "tests" / "unit" / "cli").glob("test_*.py")]
    assert attribute in (DAEMON / "cli" / f"{module.replace('.', '/')}.py").read_text()
    assert any(f'memctl("{name}"' in text or f'["{name}"' in text or f'"{name}",' in text for text in tests)
    assert re.search(rf"^## memctl {name}\b", (DOCS / "cli.md").read_text(), re.MULTILINE)


def test_no_command_table_holds_only_requests() -> None:
    assert set(NO_COMMAND) <= set(REQUESTS)


def test_every_method_file_is_a_request() -> None:
    files = {path.stem for path in (DAEMON / "rpc" / "methods").glob("*.py")} - {"__init__"}
    assert files == set(REQUESTS)


def test_method_file_has_a_handle_function() -> None:
    for name in REQUESTS:
        tree = parsed(DAEMON / "rpc" / "methods" / f"{name}.py")
        public = [node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
        assert "handle" in public, f"rpc/methods/{name}.py has no `async def handle`"


def test_module_names_describe_a_responsibility() -> None:
    empty = [relative(p) for p in python_files(DAEMON, CLIENT) if EMPTY_NAMES.fullmatch(p.stem)]
    assert not empty


def test_package_inits_are_empty() -> None:
    full = [
        relative(path)
        for path in python_files(DAEMON)
        if path.name == "__init__.py" and path.parent != DAEMON and path.parent.name != "sample"
        if [node for node in parsed(path).body if not isinstance(node, ast.Expr)]
    ]
    assert not full, "an __init__.py of a room stays empty: import the module itself"


def test_test_names_have_at_least_two_words() -> None:
    short = [
        f"{relative(path)}: {name}"
        for path in python_files(ROOT / "tests")
        for name in re.findall(r"^ *(?:async )?def (test_\w*)", path.read_text("utf-8"), re.MULTILINE)
        if name.count("_") < 2
    ]
    assert not short, "a test's name is a sentence: what is promised"
