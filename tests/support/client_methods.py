"""Generator of the clients' requests and methods from the records of `memd_client.messages.REQUESTS`.

    requests.py         a function for each request, which builds it without sending it
    methods.py          a method of the blocking client for each request
    async_methods.py    the same for the asyncio and trio clients

Signatures come from the fields of the parameters, docstrings from their record. `scripts/generate` writes the modules;
a test fails if they are out of date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

from memd_client.messages import REQUESTS
from tests.support.record_docs import RecordField, field_docs, record_fields, sections_of
from tests.support.tree import CLIENT

MADE: Final = "Made by `scripts/generate` from the records of `messages`: don't edit."

FILLED: Final = {"hello": "client=CLIENT_NAME, version=CLIENT_VERSION"}
"""Parameters that the client itself fills in; their requests have no others."""

WITHOUT_METHOD: Final = ("cancel", "subscribe")
"""Requests that the clients send in their own way."""

ON_PROGRESS: Final = "Called with each progress, in the thread or task that waits."

CLIENT_AGENT: Final = (
    ("None: the default agent", "None: the client's own agent, else the default agent"),
    ("None: all agents", "None: the client's own agent, else all agents"),
)
"""What the agent's parameter means to a client that may have an agent of its own."""

WIDTH: Final = 120


def generated_files() -> dict[Path, str]:
    """Return the generated modules by path."""
    return {
        CLIENT / "requests.py": _formatted(_requests()),
        CLIENT / "methods.py": _formatted(_methods(is_async=False)),
        CLIENT / "async_methods.py": _formatted(_methods(is_async=True)),
    }


def _requests() -> str:
    """Return the module of the functions."""
    names = [name for name in REQUESTS if name != "cancel"]
    records = ", ".join(sorted({each.__name__ for name in names for each in REQUESTS[name][:2]}))
    head = (
        f'"""Functions that build the requests of the clients, without sending them.\n\n{MADE}\n"""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n"
        f"from typing import Any\n\nfrom .messages import {records}\n"
        "from .prepared_request import OnProgress, PreparedRequest, prepare\n"
        "from .session import CLIENT_NAME, CLIENT_VERSION\n\n\n"
    )
    return head + "\n\n".join(map(_function, names))


def _function(name: str) -> str:
    """Return the function of a request."""
    request = REQUESTS[name]
    reply = request.reply.__name__
    given = FILLED.get(name) or ", ".join(f"{each.name}={_sent(each)}" for each in _parameters(name))
    progress = ", on_progress" if request.renews_deadline else ""
    return (
        f"def {name}({_signature(name)}) -> PreparedRequest[{reply}]:\n"
        f'    """Return the request of `Client.{name}`."""\n'
        f"    params = {request.params.__name__}({given})\n"
        f'    return prepare("{name}", params, {reply}{progress})\n'
    )


def _methods(*, is_async: bool) -> str:
    """Return the module of the methods."""
    names = [name for name in REQUESTS if name not in WITHOUT_METHOD]
    replies = ", ".join(sorted(REQUESTS[name].reply.__name__ for name in names))
    kind = "asynchronous" if is_async else "blocking"
    prefix = "async " if is_async else ""
    head = (
        f'"""The methods of the {kind} client: one for each request.\n\n{MADE}\n"""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n"
        "from typing import Any, TypeVar\n\nfrom . import requests\n"
        f"from .messages import {replies}\nfrom .prepared_request import OnProgress, PreparedRequest\n\n"
        'T = TypeVar("T")\n\n\n'
        f'class {"Async" if is_async else ""}Methods:\n    """A method for each request; `request` sends it."""\n\n'
        f"    {prefix}def request(self, request: PreparedRequest[T]) -> T:\n"
        '        """Send a request of `requests` and return its reply."""\n'
        "        raise NotImplementedError\n\n"
    )
    return head + "\n".join(_method(name, is_async=is_async) for name in names)


def _method(name: str, *, is_async: bool) -> str:
    """Return the method of a request."""
    signature = _signature(name)
    parameters = _parameters(name)
    first = _positional(name)
    given = [each.name if at < first else f"{each.name}={each.name}" for at, each in enumerate(parameters)]
    if REQUESTS[name].renews_deadline:
        given.append("on_progress=on_progress")
    opening, sending = ("async def", "return await") if is_async else ("def", "return")
    return (
        f"    {opening} {name}(self{', ' if signature else ''}{signature}) -> {REQUESTS[name].reply.__name__}:\n"
        f"{textwrap.indent(_docstring(name), ' ' * 8)}\n"
        f"        {sending} self.request(requests.{name}({', '.join(given)}))\n"
    )


def _parameters(name: str) -> list[RecordField]:
    """Return the parameters of a request that its method has too."""
    return [] if name in FILLED else record_fields(REQUESTS[name].params)


def _positional(name: str) -> int:
    """Return how many parameters a method takes by position."""
    known = REQUESTS[name].positional
    return sum(each.is_required for each in _parameters(name)) if known is None else known


def _signature(name: str) -> str:
    """Return the parameters of a request's function, one per line if there are several."""
    parts = list(map(_parameter, _parameters(name)))
    if REQUESTS[name].renews_deadline:
        parts.append("on_progress: OnProgress | None = None")
    if len(parts) > _positional(name):
        parts.insert(_positional(name), "*")
    return ", ".join(parts)


def _parameter(field: RecordField) -> str:
    """Return a parameter: any sequence and mapping is taken where the record has a list and a dictionary."""
    hint = field.hint.replace("list[", "Sequence[").replace("dict[", "Mapping[")
    default = "()" if field.default == [] else _literal(field.default)
    return f"{field.name}: {hint}" + ("" if field.is_required else f" = {default}")


def _literal(value: object) -> str:
    """Return a default as code."""
    return (
        json.dumps(value) if isinstance(value, str) else f"{value:_}" if type(value) is int else repr(value)
    )


def _sent(field: RecordField) -> str:
    """Return the code of a parameter's value in the record."""
    if not field.hint.startswith("list["):
        return field.name
    made = f"[dict(each) for each in {field.name}]" if "dict[" in field.hint else f"list({field.name})"
    return f"None if {field.name} is None else {made}" if field.hint.endswith(" | None") else made


def _docstring(name: str) -> str:
    """Return the docstring of a request's method."""
    params = REQUESTS[name].params
    sections = sections_of(params)
    lines = [f'"""{sections[""]}']
    said = field_docs(params)
    rows = [(each.name, said[each.name]) for each in _parameters(name)]
    rows = [(key, _agent(name, text) if key == "agent" else text) for key, text in rows]
    if REQUESTS[name].renews_deadline:
        rows.append(("on_progress", ON_PROGRESS))
    if rows:
        lines += ["", "Args:", *(_wrapped(f"{key}: {text}") for key, text in rows)]
    for section in ("Returns", "Raises"):
        if section in sections:
            lines += ["", f"{section}:", *map(_wrapped, _entries(sections[section]))]
    return "\n".join([*lines, '"""'] if len(lines) > 1 else [lines[0] + '"""'])


def _agent(name: str, text: str) -> str:
    """Return what the agent's parameter means to a client."""
    if not REQUESTS[name].uses_client_agent:
        return f"{text} The client's own agent is not filled in."
    for before, after in CLIENT_AGENT:
        text = text.replace(before, after)
    return text


def _entries(section: str) -> list[str]:
    """Return the entries of a section, each on one line."""
    parts = re.split(r"\n(?= {4}\S)", section)
    if any(not re.match(r" {4}[A-Z]\w+(, \w+)*: ", each) for each in parts):
        parts = [section]  # a text
    return [" ".join(each.split()) for each in parts]


def _wrapped(text: str) -> str:
    """Return an entry of a section, wrapped; further lines are indented if it has a name."""
    further = " " * (8 if re.match(r"\w+(, \w+)*: ", text) else 4)
    return "\n".join(
        textwrap.wrap(
            text,
            WIDTH - 8,
            initial_indent="    ",
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _formatted(text: str) -> str:
    """Return a module of the client as formatted by ruff, without unused imports."""
    for command in (("check", "--select=I,F401", "--fix-only"), ("format",)):
        program = [sys.executable, "-m", "ruff", *command, "-q"]
        name = ["--stdin-filename", str(CLIENT / "methods.py"), "-"]
        text = subprocess.run(
            [*program, *name], input=text, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, "utf-8")
