"""Python and Node clients share one vocabulary: the same names, only in the case of their language."""

from __future__ import annotations

import inspect
import re
from typing import Final

import pytest

import memd_client
from memd_client import Client, MemdError
from memd_client.messages import REQUESTS
from memd_client.stream import Stream
from tests.support.node import NODE_CLIENT

TYPES: Final = (NODE_CLIENT / "lib" / "index.d.ts").read_text("utf-8")

PYTHON_ONLY: Final = {
    "follow": "an iterator over progress; Node has the option onProgress",
}
"""Public methods of the Python clients that Node lacks, and why."""

PYTHON_ONLY_OPTIONS: Final = {
    "host": "Node's client connects to this machine's daemon only",
}
"""Options of the Python clients that Node lacks, and why."""

NODE_CALL_OPTIONS: Final = {
    "signal": "Python cancels the task, presses Ctrl-C or closes the stream",
    "timeoutMs": "Python has timeout_s of the client, and timeouts of the event loops",
    "repeatable": "Python has it in PreparedRequest",
}
"""Options of a call in Node without an argument of that name in Python, and why."""

NODE_EXPORTS: Final = {
    **dict.fromkeys(
        ("OUTSIDE_NOTICE", "labelledHit", "outsideBlock", "textOfGet"),
        "Python has them in memd_client.escaping and memd_client.hit_text",
    ),
    "ERROR_CODES": "Python has a class per code, in memd_client.errors",
    "packVectors": "numpy and array pack vectors in Python",
    "unpackVectors": "numpy and array unpack vectors in Python",
}
"""Exports of Node without a counterpart in `memd_client`, and why."""

PYTHON_ARGUMENTS: Final = {"hello": {"protocol", "client", "version", "state_dir"}}
"""Parameters that the Python method fills in."""


def camel(name: str) -> str:
    """Return a Python name as JavaScript spells it, with the unit of times in Node."""
    head, *tail = re.sub(r"_s$", "_ms", name).split("_")
    return head + "".join(word.capitalize() for word in tail)


def members(interface: str) -> set[str]:
    """Return the names of properties and methods of an interface or class in the Node types."""
    body = re.split(rf"(?:interface|class) {interface}\b[^{{]*{{", TYPES)[1].split("\n}")[0]
    return set(re.findall(r"^ {2}(?:readonly |static )?(\w+)[?(:<]", body, re.MULTILINE)) - {"constructor"}


def public(kind: type) -> set[str]:
    """Return the public names of a class."""
    return {name for name in dir(kind) if not name.startswith("_")}


def test_client_options_are_the_same_in_python_and_node() -> None:
    arguments = set(inspect.signature(Client).parameters) - PYTHON_ONLY_OPTIONS.keys()
    assert {camel(name) for name in arguments} == members("ClientOptions")


def test_client_methods_are_the_same_in_python_and_node() -> None:
    requests = {camel(name) for name in REQUESTS if name != "cancel"}
    node = requests | members("Client")
    python = {camel(name) for name in public(Client) - PYTHON_ONLY.keys()}
    assert python | {"socketPath"} == node  # set in the constructor of Python's client


@pytest.mark.parametrize("name", sorted(REQUESTS.keys() - {"cancel"}))
def test_arguments_of_a_method_are_the_parameters_of_its_request(name: str) -> None:
    arguments = set(inspect.signature(getattr(Client, name)).parameters) - {"self", "on_progress"}
    expected = set(REQUESTS[name].params.__struct_fields__) - PYTHON_ARGUMENTS.get(name, set())
    assert arguments == expected


def test_call_options_of_node_are_arguments_in_python_or_listed() -> None:
    assert members("CallOptions") - NODE_CALL_OPTIONS.keys() == {camel("on_progress")}


def test_subscriptions_have_the_same_members_in_python_and_node() -> None:
    assert members("Subscription") - {"opened"} == {camel(name) for name in public(Stream)}


def test_errors_have_the_same_members_in_python_and_node() -> None:
    python = {camel(name) for name in public(MemdError)} | {"hint", "data"}
    exception = {camel(name) for name in public(Exception)}
    assert members("MemdError") == python - exception - {"message"}


def test_exports_of_node_exist_in_python_or_are_listed() -> None:
    exports = set(re.findall(r"^export (?:const|class|function) (\w+)", TYPES, re.MULTILINE))
    python = {camel(name) if name.islower() else name for name in memd_client.__all__}
    assert exports - python == NODE_EXPORTS.keys()
    assert {"Client", "MemdError", "REQUESTS", "CLIENT_VERSION", "PROTOCOL_VERSION"} <= exports
