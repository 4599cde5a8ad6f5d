"""The clients in an editor and in a REPL: signatures, docstrings, definitions and completions are the real ones."""

from __future__ import annotations

import ast
import inspect
import pydoc
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import jedi
import pytest

import memd_client
from memd_client import aio, blocking
from memd_client import trio as trio_client
from memd_client.messages import REQUESTS
from tests.support.client_methods import generated_files
from tests.support.tree import CLIENT

CLIENTS = {
    "memd_client": blocking.Client,
    "memd_client.aio": aio.AsyncioClient,
    "memd_client.trio": trio_client.TrioClient,
}
METHODS = sorted(REQUESTS.keys() - {"cancel", "subscribe"})

clients = pytest.mark.parametrize("module", CLIENTS)


def program(module: str) -> tuple[str, str]:
    """Return a program that searches with a client, up to the `(` of the call, and the rest of it."""
    word, wait = ("with", "") if module == "memd_client" else ("async with", "await ")
    name = CLIENTS[module].__name__
    head = f"from {module} import {name}\nasync def main():\n    {word} {name}() as client:\n        reply = {wait}"
    return head + "client.search(", '"x")\n        reply.hits[0].'


def end(text: str) -> tuple[int, int]:
    """Return the place of a text's end as jedi counts it."""
    lines = text.split("\n")
    return len(lines), len(lines[-1])


@clients
def test_an_editor_shows_the_signature_and_docstring_of_a_method_and_finds_its_definition(
    module: str,
) -> None:
    head, rest = program(module)
    script = jedi.Script(head + rest)
    line, column = end(head)

    (definition,) = script.goto(line, column - 2)
    (signature,) = script.get_signatures(line, column)
    (shown,) = script.help(line, column - 2)

    lines = Path(str(definition.module_path)).read_text().splitlines()
    assert lines[definition.line - 1].strip() in ("def search(", "async def search(")
    assert signature.to_string().startswith("search(query: str, *, agent: str | None=None, max_results: int")
    assert signature.to_string().endswith("-> SearchReply")
    assert "max_results: The most hits" in shown.docstring()


@clients
def test_an_editor_completes_methods_and_the_fields_of_replies(module: str) -> None:
    head, rest = program(module)
    script = jedi.Script(head + rest)

    methods = {each.name for each in script.complete(*end(head.removesuffix("search(")))}
    fields = {each.name for each in script.complete(*end(head + rest))}

    assert {*METHODS, "request", "follow", "subscribe", "close"} <= methods
    assert {"path", "snippet", "citation", "score"} <= fields


@clients
@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_the_types_of_the_protocol_and_documents_every_parameter(
    module: str, name: str
) -> None:
    method = getattr(CLIENTS[module], name)
    parameters = list(inspect.signature(method).parameters)[1:]
    said = inspect.getdoc(method) or ""
    arguments = said.partition("Args:\n")[2].partition("\n\n")[0]

    assert [each for each in parameters if f"\n    {each}: " not in f"\n{arguments}"] == []
    assert len(said.splitlines()[0]) <= 80
    assert "\nReturns:\n" in said
    assert "\nRaises:\n" in said
    assert typing.get_type_hints(method)["return"] is REQUESTS[name][1]
    assert inspect.iscoroutinefunction(method) == (module != "memd_client")


@clients
@pytest.mark.parametrize("name", ["request", "follow", "subscribe"])
def test_request_follow_and_subscribe_document_their_parameters(module: str, name: str) -> None:
    method: Any = getattr(CLIENTS[module], name)

    for parameter in list(inspect.signature(method).parameters)[1:]:
        assert f"\n    {parameter}: " in (inspect.getdoc(method) or "")


def test_help_shows_the_signature_without_inspect_imported_before() -> None:
    script = "from memd_client import Client; help(Client.search); print(Client.get.__module__)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    plain = pydoc.plain(said)
    assert "search(self, query: 'str', *, agent: 'str | None' = None" in plain
    assert "-> 'SearchReply'" in plain
    assert "MemoryDisabledError: " in plain


@pytest.mark.parametrize("path", sorted(generated_files()), ids=lambda path: path.name)
def test_the_asynchronous_methods_are_generated_from_the_blocking_ones(path: Path) -> None:
    assert path.read_text() == generated_files()[path], "run scripts/generate"


def test_editors_are_told_the_names_that_the_package_imports() -> None:
    stub = ast.parse((CLIENT / "__init__.pyi").read_text())
    told = {each.names[0].name: each.module for each in stub.body if isinstance(each, ast.ImportFrom)}
    assert told == vars(memd_client)["_HOMES"]
