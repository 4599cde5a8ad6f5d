"""Tests of splitting long texts into windows. The model is a word counter."""

from __future__ import annotations

import subprocess
import sys
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import engine
from memd.embedding.local.child import (
    BACKGROUND_NICENESS,
    MAX_NICENESS,
    CancellationFlag,
    UnusableModelError,
    average,
    load_model,
    pack,
    split_into_windows,
)

NUMBERS = st.floats(-1e6, 1e6, width=32)


def count_tokens(text: str) -> int:
    """Return 2 tokens plus one for each four characters or part of them."""
    return 2 + -(-len(text) // 4)


@given(st.text(st.sampled_from("ab é部😀\n "), max_size=3000), st.integers(4, 64))
def test_windows_fit_the_limit_and_cover_the_text(text: str, limit: int) -> None:
    windows = list(split_into_windows(text, count_tokens, limit))
    assert "".join(piece for piece, _ in windows) == text
    assert all(count == count_tokens(piece) <= limit for piece, count in windows)


def test_text_that_fits_is_one_window() -> None:
    assert list(split_into_windows("a short text", count_tokens, 64)) == [("a short text", 5)]


def test_windows_are_few_and_of_similar_length() -> None:
    windows = list(split_into_windows("word " * 400, count_tokens, 300))
    assert len(windows) <= 3
    assert min(count for _, count in windows) > 100


def test_windows_end_at_spaces() -> None:
    pieces = [piece for piece, _ in split_into_windows("several " * 100, count_tokens, 64)]
    assert all(piece.strip().startswith("several") and piece.strip().endswith("several") for piece in pieces)


def test_very_long_word_is_split_before_tokenizing() -> None:
    seen: list[int] = []

    def note(text: str) -> int:
        seen.append(len(text))
        return count_tokens(text)

    assert "".join(p for p, _ in split_into_windows("x" * 1_000_000, note, 64)) == "x" * 1_000_000
    assert max(seen) <= 64 * 16


def test_character_longer_than_the_context_is_refused() -> None:
    with pytest.raises(UnusableModelError):
        list(split_into_windows("x", lambda text: 99, 64))


@given(st.lists(NUMBERS, min_size=1, max_size=8), st.integers(1, 512))
def test_vector_of_a_single_window_is_unchanged(numbers: list[float], tokens: int) -> None:
    assert average([array("f", numbers)], [tokens]) == array("f", numbers)


@given(
    st.lists(
        st.tuples(st.lists(NUMBERS, min_size=3, max_size=3), st.integers(1, 512)), min_size=2, max_size=6
    )
)
def test_windows_are_weighted_by_tokens(windows: list[tuple[list[float], int]]) -> None:
    # given
    vectors, counts = [array("f", numbers) for numbers, _ in windows], [count for _, count in windows]
    # when
    mean = np.frombuffer(pack(average(vectors, counts)), dtype="<f4")
    # then
    wanted = np.average(np.array(vectors, dtype=np.float64), axis=0, weights=counts)
    assert np.allclose(mean, wanted, rtol=1e-6, atol=1e-3)


def test_missing_llama_cpp_is_reported_as_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(engine, "ENGINES", engine.ENGINES[:1])
    # when
    reply = load_model("model.gguf", 512, 2, CancellationFlag())
    # then
    assert isinstance(reply, dict)
    assert (reply["kind"], reply["reason"]) == ("failed", "extra")
    assert "llama_cpp" in reply["message"]


STEP_BACK = """
import os, sys, threading
from memd.embedding.local.child import lower_priority
os.nice(int(sys.argv[1]))
usual = os.getpriority(os.PRIO_PROCESS, 0)
def work():
    lower_priority()
    lower_priority()  # a second time changes nothing
    print(usual, os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert os.getpriority(os.PRIO_PROCESS, 0) == usual
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux only")
@pytest.mark.parametrize("added", [0, 5, 12, 19])
def test_background_thread_never_has_higher_priority_than_its_process(added: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STEP_BACK, str(added)], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    usual, behind = map(int, ended.stdout.split())
    assert behind == min(MAX_NICENESS, usual + BACKGROUND_NICENESS)
