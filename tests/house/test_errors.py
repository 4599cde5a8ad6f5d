"""Every error has a code, a hint, a row in the docs, a use and a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client.errors import MemdError, all_errors
from tests.support.tree import CLIENT, DAEMON, ROOT, parsed, python_files, relative

ERRORS = {code: kind for code, kind in all_errors().items() if kind is not MemdError}

NOT_RAISED_YET: dict[str, str] = {}
"""Codes reserved for a later release, with the reason. This table may only shrink."""


@pytest.fixture(scope="module")
def sources() -> str:
    """All code of both distributions except the error modules."""
    paths = [
        path
        for path in python_files(DAEMON, CLIENT)
        if not path.name.endswith(("errors.py", "error_tree.py"))
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.fixture(scope="module")
def tests() -> str:
    """All tests except these checks, which load every error."""
    paths = [path for path in python_files(ROOT / "tests") if path.parent.name != "house"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("code", ERRORS)
def test_error_has_a_code_a_hint_and_a_docstring(code: str) -> None:
    kind = ERRORS[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert kind.__name__.endswith("Error")
    assert "code" in vars(kind)
    hint = vars(kind).get("hint", "")
    assert hint[:1] == hint[:1].lower(), "hints start in lower case"
    assert not hint.endswith("."), "hints have no full stop"
    assert (kind.__doc__ or "").strip().endswith(".")


def _hints(path: Path) -> Iterator[str]:
    """Yield the hints that a file gives: as keywords, and as the last argument of states of an agent."""
    for call in ast.walk(parsed(path)):
        if isinstance(call, ast.Call):
            yield from (text for each in call.keywords if each.arg == "hint" for text in _texts(each.value))
            if isinstance(call.func, ast.Name) and call.func.id in ("Degradation", "Problem"):
                yield from (text for each in call.args[-1:] for text in _texts(each))


def _texts(value: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may have; a value in an f-string is `…`."""
    match value:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.IfExp(_, first, second):
            yield from (*_texts(first), *_texts(second))
        case ast.BinOp(left, ast.Add(), right):
            yield from (f"{first}{second}" for first in _texts(left) for second in _texts(right))


@pytest.mark.parametrize("path", python_files(DAEMON, CLIENT), ids=relative)
def test_hints_start_in_lower_case_without_a_full_stop(path: Path) -> None:
    assert [hint for hint in _hints(path) if re.match(r"[A-Z][a-z]", hint) or hint.endswith(".")] == []


def test_hints_of_errors_are_unique() -> None:
    hints = [kind.hint for kind in ERRORS.values()]
    assert len(set(hints)) == len(hints)


@pytest.mark.parametrize("code", ERRORS)
def test_error_is_used(code: str, sources: str) -> None:
    used = re.search(rf"\b{ERRORS[code].__name__}\b", sources) is not None
    assert used != (code in NOT_RAISED_YET)


@pytest.mark.parametrize("code", ERRORS)
def test_error_is_tested(code: str, tests: str) -> None:
    assert re.search(rf"\b{ERRORS[code].__name__}\b|\b{code}\b", tests)
