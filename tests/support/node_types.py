"""Generator of the Node client's protocol files from the records and errors of `memd_client`.

It writes three files of `client/node/lib`, so that both clients agree:

    messages.d.ts   a type for every request, reply, event and error code
    shapes.js       the parameters of each request, the fields of each reply, and values for fields that an
                    older daemon leaves out
    codes.js        every error code and its hint

`scripts/generate` writes them; a test fails if they are out of date.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from memd_client.error_tree import RETRYABLE_CODES
from memd_client.errors import all_errors
from memd_client.messages import REQUESTS, Event, Progress
from tests.support.node import NODE_CLIENT
from tests.support.record_docs import field_docs, record_fields, summary_of

MADE: Final = "Made by `scripts/generate` from the Python client: don't edit."

PLAIN: Final = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "bytes": "Uint8Array",
    "Any": "unknown",
}


def generated_files() -> dict[Path, str]:
    """Return the generated files by path."""
    library = NODE_CLIENT / "lib"
    return {
        library / "messages.d.ts": messages(),
        library / "shapes.js": shapes(),
        library / "codes.js": codes(),
    }


def messages() -> str:
    """Return the TypeScript types."""
    kinds = _reached(*(kind for each in REQUESTS.values() for kind in each[:2]), Progress, Event)
    sent = {each.params for each in REQUESTS.values()}
    parts = [f"// {MADE}\n// docs/protocol.md of memd documents them under the same names."]
    parts += [_interface(kind, kind in sent) for kind in kinds]
    rows = [
        f"  {name}: {{ params: {each.params.__name__}; reply: {each.reply.__name__} }};"
        for name, each in REQUESTS.items()
    ]
    parts.append(
        "/** The parameters and the reply of each request, by name. */\n"
        "export interface Requests {\n" + "\n".join(rows) + "\n}"
    )
    union = "\n".join(f'  | "{code}"' for code in all_errors())
    parts.append(f"/** All error codes. */\nexport type ErrorCode =\n{union};")
    return "\n\n".join(parts) + "\n"


def shapes() -> str:
    """Return request parameters and reply fields, as JavaScript."""
    kinds = _reached(*(each.reply for each in REQUESTS.values()), Progress, Event)
    rows = [f"  {kind.__name__}: {_shape(kind)}," for kind in kinds]
    replies = [f"  {name}: {json.dumps(each.reply.__name__)}," for name, each in REQUESTS.items()]
    taken = [
        f"  {name}: {json.dumps([field.name for field in record_fields(each.params)])},"
        for name, each in REQUESTS.items()
    ]
    return (
        f"// {MADE}\n\n"
        "/**\n * @typedef {object} Shape\n * @property {string[]} [needs]\n"
        " * @property {Record<string, unknown>} [defaults]\n"
        " * @property {Record<string, [string, boolean]>} [holds]\n */\n\n"
        "/**\n * For each record its required fields, the defaults of its optional fields, and its fields of nested\n"
        " * records: their name, and whether the field is a list of them.\n * @type {Record<string, Shape>}\n */\n"
        "export const SHAPES = {\n" + "\n".join(rows) + "\n};\n\n"
        "/** The reply record of each request. @type {Record<string, string>} */\n"
        "export const REPLIES = {\n" + "\n".join(replies) + "\n};\n\n"
        "/** The parameters of each request. @type {Record<string, string[]>} */\n"
        "export const PARAMS = {\n" + "\n".join(taken) + "\n};\n"
    )


def codes() -> str:
    """Return the error codes and their hints, as JavaScript."""
    rows = [
        f"  {code}:\n    {json.dumps(kind.hint, ensure_ascii=False)}," for code, kind in all_errors().items()
    ]
    retryable = [f"  {json.dumps(code)}," for code in sorted(RETRYABLE_CODES)]
    return (
        f"// {MADE}\n\n"
        "/**\n * The default hint of each error code.\n"
        " * @type {Record<string, string>}\n */\n"
        "export const HINTS = {\n" + "\n".join(rows) + "\n};\n\n"
        "/** Codes after which the same request may succeed in a moment. */\n"
        "export const RETRYABLE_CODES = new Set([\n" + "\n".join(retryable) + "\n]);\n"
    )


def _reached(*kinds: type[Any]) -> list[type[Any]]:
    """Return records and all records in their fields, each once, inner ones first."""
    found: list[type[Any]] = []

    def visit(kind: type[Any]) -> None:
        if kind in found:
            return
        for inner in _held(kind):
            visit(inner)
        found.append(kind)

    for kind in kinds:
        visit(kind)
    return found


def _held(kind: type[Any]) -> Iterator[type[Any]]:
    yield from (field.record for field in record_fields(kind) if field.record is not None)


def _typescript(hint: str) -> str:
    """Return a Python annotation as TypeScript."""
    if hint.endswith(" | None"):
        return f"{_typescript(hint.removesuffix(' | None'))} | null"
    if hint.startswith("list["):
        inner = _typescript(hint[5:-1])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if hint.startswith("dict["):
        key, _, value = hint[5:-1].partition(", ")
        return f"Record<{_typescript(key)}, {_typescript(value)}>"
    return PLAIN.get(hint, hint)


def _interface(kind: type[Any], is_sent: bool) -> str:
    """Return a record as an interface; parameters with a default are optional."""
    said = "\n".join(f" * {line}".rstrip() for line in summary_of(kind).splitlines())
    docs = field_docs(kind)
    rows = []
    for field in record_fields(kind):
        hint = _typescript(field.hint)
        if is_sent:
            hint = hint.replace("Uint8Array", "Uint8Array | Float32Array")
        mark = "?" if is_sent and not field.is_required else ""
        rows += textwrap.wrap(
            f"/** {_in_javascript(docs[field.name])} */",
            120,
            initial_indent="  ",
            subsequent_indent="   * ",
            break_on_hyphens=False,
        )
        rows.append(f"  {field.name}{mark}: {hint};")
    body = "{\n" + "\n".join(rows) + "\n}" if rows else "{}"
    return f"/**\n{said}\n */\nexport interface {kind.__name__} {body}"


def _in_javascript(text: str) -> str:
    """Return a text about a field with the names of JavaScript."""
    return re.sub(r"\bNone\b", "null", text)


def _shape(kind: type[Any]) -> str:
    """Return the fields of a record, as JavaScript."""
    needs: list[str] = []
    defaults: dict[str, Any] = {}
    holds: dict[str, tuple[str, bool]] = {}
    for field in record_fields(kind):
        if field.record is not None:
            holds[field.name] = (field.record.__name__, field.hint.startswith("list["))
        if field.is_required:
            needs.append(field.name)
        else:
            defaults[field.name] = {} if isinstance(field.default, msgspec.Struct) else field.default
    parts = {"needs": needs, "defaults": defaults, "holds": holds}
    rows = [f"    {name}: {json.dumps(part)},\n" for name, part in parts.items() if part]
    return "{\n" + "".join(rows) + "  }"


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text)
