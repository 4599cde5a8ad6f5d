"""Every error has a code, a way out, a row in the docs, a place that raises it and a test."""

from __future__ import annotations

import re

import pytest

from memd_client.errors import MemdError, all_errors
from tests.support.scripts import load_script
from tests.support.tree import CLIENT, DAEMON, DOCS, ROOT, python_files

ERRORS = {code: kind for code, kind in all_errors().items() if kind is not MemdError}

NOT_RAISED_YET: dict[str, str] = {}
"""Codes kept for what a later release raises, and why. This table may only shrink."""


@pytest.fixture(scope="module")
def sources() -> str:
    """All code of both distributions but the tree of errors itself."""
    paths = [
        path
        for path in python_files(DAEMON, CLIENT)
        if not path.name.endswith(("errors.py", "error_tree.py"))
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.fixture(scope="module")
def tests() -> str:
    """All tests but those of the house, which see every error."""
    paths = [path for path in python_files(ROOT / "tests") if path.parent.name != "house"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_has_a_code_and_a_way_out_of_its_own(code: str) -> None:
    kind = ERRORS[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert kind.__name__.endswith("Error")
    assert "code" in vars(kind)
    assert vars(kind).get("hint", "").endswith("."), "the hint is a sentence: what a person can do"
    assert (kind.__doc__ or "").strip().endswith(".")


def test_no_two_errors_give_the_same_hint() -> None:
    hints = [kind.hint for kind in ERRORS.values()]
    assert len(set(hints)) == len(hints)


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_is_used(code: str, sources: str) -> None:
    used = re.search(rf"\b{ERRORS[code].__name__}\b", sources) is not None
    assert used != (code in NOT_RAISED_YET)


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_is_tested(code: str, tests: str) -> None:
    assert re.search(rf"\b{ERRORS[code].__name__}\b|\b{code}\b", tests)


def test_the_page_of_errors_is_the_tree() -> None:
    rendered: str = load_script("errors_doc").render()
    assert (DOCS / "errors.md").read_text() == rendered, "run scripts/errors_doc"
