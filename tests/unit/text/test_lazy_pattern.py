"""Patterns that are compiled on first use."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from memd.text import lazy_pattern as module
from memd.text.lazy_pattern import compile_patterns, lazy_pattern


def test_lazy_pattern_gives_the_results_of_a_compiled_pattern() -> None:
    source, flags = r"(?P<word>[^\W\d]+)-(\d+)", re.IGNORECASE
    lazy, compiled = lazy_pattern(source, flags), re.compile(source, flags)
    text = "POL-358, no-match, Ärger-7"

    for _ in range(2):
        assert lazy.findall(text) == compiled.findall(text) == [("POL", "358"), ("Ärger", "7")]
        assert lazy.sub("-", text) == compiled.sub("-", text)
    assert lazy.fullmatch("no") is None
    assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)


def test_lazy_pattern_is_not_compiled_before_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_patterns", [])
    broken = lazy_pattern("(")

    with pytest.raises(re.error, match="missing"):
        broken.search("text")


def test_all_patterns_can_be_compiled_before_their_first_use() -> None:
    source = "compiled before its first use"
    lazy = lazy_pattern(source)

    compile_patterns()
    re.purge()
    with patch.object(re, "compile", side_effect=AssertionError):
        assert lazy.search(f"it was {source}") is not None
