"""Every error has a code, a hint, a row in the docs, a use and a test."""

from __future__ import annotations

import re

import pytest

from memd_client.errors import MemdError, all_errors
from tests.support.scripts import load_script
from tests.support.tree import CLIENT, DAEMON, DOCS, ROOT, python_files

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


def test_errors_page_is_generated_from_the_classes() -> None:
    rendered: str = load_script("errors_doc").render()
    assert (DOCS / "errors.md").read_text() == rendered, "run scripts/errors_doc"
