"""A text the provider refuses is found among its neighbours, which keep their vectors; calls are bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memd.embedding.provider import FloatArray
from memd.embedding.remote.refused import HARMLESS, LEAST_CHARACTERS, MOST_PIECE_CALLS, Embedded, embed_around
from memd_client.errors import ProviderFailedError, ProviderUnreachableError, TextRefusedError
from tests.support.fake_provider import FakeProvider

REASON = "the fake provider refuses the text"


class Choosy(FakeProvider):
    """Refuses a request with a text it doesn't like."""

    def __init__(self, likes: Callable[[str], bool]) -> None:
        super().__init__()
        self.likes = likes
        self.calls: list[list[str]] = []

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts it likes."""
        self.calls.append(list(texts))
        if not all(map(self.likes, texts)):
            raise TextRefusedError(REASON)
        return await super().embed_batch(texts)

    def vector(self, text: str) -> FloatArray:
        """Return what it gives for a text."""

        async def ask() -> FloatArray:
            return await FakeProvider().embed_query(text)

        return trio.run(ask)


def embed(provider: FakeProvider, texts: Sequence[str]) -> Embedded:
    return trio.run(embed_around, provider, texts)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), count=st.integers(0, 70))
def test_the_culprits_are_found_exactly_and_everything_else_keeps_its_vector(
    data: st.DataObject, count: int
) -> None:
    culprits = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=6)) if count else set()
    texts = [f"{'bad' if number in culprits else 'good'} text {number}" for number in range(count)]
    provider = Choosy(lambda text: "bad" not in text)

    found = embed(provider, texts)

    assert found.refused == dict.fromkeys(culprits, REASON)
    assert [number for number, vector in enumerate(found.vectors) if vector is None] == sorted(culprits)
    for number, vector in enumerate(found.vectors):
        assert vector is None or (vector == provider.vector(texts[number])).all()
    depth = math.ceil(math.log2(count)) if count > 1 else 0
    assert len(provider.calls) <= 2 + 2 * depth * len(culprits)
    asked_well = [text for text in provider.texts if text != HARMLESS]
    assert len(asked_well) == len(set(asked_well)), "a text was bought twice"


def test_a_list_that_is_liked_takes_one_call() -> None:
    provider = Choosy(lambda text: True)
    embed(provider, ["one", "two", "three"])
    assert provider.calls == [["one", "two", "three"]]


def test_no_texts_take_no_call() -> None:
    provider = Choosy(lambda text: True)
    assert embed(provider, []) == Embedded([], {})
    assert provider.calls == []


def test_a_text_that_is_too_long_gets_the_mean_of_its_pieces_by_their_length() -> None:
    text = "word " * 160 + "and the rest of it is a little longer than the beginning " * 16
    provider = Choosy(lambda text: len(text) <= 1000)

    found = embed(provider, [text, "short"])

    pieces = [call[0] for call in provider.calls if len(call) == 1 and call[0] in text]
    pieces = [piece for piece in pieces if len(piece) <= 1000]
    assert "".join(pieces) == text
    assert all(piece[0] == " " or piece is pieces[0] for piece in pieces), "it was cut between words"
    expected = sum(len(piece) * provider.vector(piece).astype(np.float64) for piece in pieces)
    vector = found.vectors[0]
    assert vector is not None
    assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert found.refused == {}


def test_text_without_spaces_is_cut_in_the_middle() -> None:
    text = "記憶" * 400
    provider = Choosy(lambda text: len(text) <= 400)

    assert embed(provider, [text]).refused == {}
    assert [call[0] for call in provider.calls if len(call[0]) == 400] == [text[:400], text[400:]]


def test_a_text_with_one_bad_spot_has_no_vector_and_a_reason() -> None:
    text = "good " * 200 + "bad " + "good " * 200
    provider = Choosy(lambda text: "bad" not in text)

    found = embed(provider, ["before", text, "after"])

    assert found.refused == {1: REASON}
    assert [vector is None for vector in found.vectors] == [False, True, False]
    assert min(len(call[0]) for call in provider.calls if "bad" in call[0]) <= LEAST_CHARACTERS


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.text(max_size=30), max_size=60).map(" ".join).filter(lambda text: text.strip() != ""),
    most=st.integers(1, 400),
)
def test_pieces_are_the_whole_text_and_calls_are_bounded_whatever_it_is(words: str, most: int) -> None:
    provider = Choosy(lambda text: len(text) <= most or text == HARMLESS)

    found = embed(provider, [words])

    assert len(provider.calls) <= 2 + MOST_PIECE_CALLS
    if found.vectors[0] is None:
        assert found.refused == {0: REASON}
    else:
        taken = [call[0] for call in provider.calls if len(call[0]) <= most and call != [HARMLESS]]
        assert "".join(taken) == words
        assert abs(float(np.linalg.norm(found.vectors[0])) - 1) < 1e-5


def test_a_huge_text_that_is_never_liked_costs_a_bounded_number_of_calls() -> None:
    provider = Choosy(lambda text: "x" not in text[-3:] and len(text) < 300)
    found = embed(provider, ["word " * 200_000 + "x"])

    assert found.refused == {0: REASON}
    assert len(provider.calls) <= 2 + MOST_PIECE_CALLS


def test_a_provider_that_refuses_everything_is_to_blame_and_not_the_texts() -> None:
    provider = Choosy(lambda text: False)

    with pytest.raises(ProviderFailedError, match="refuses every text") as failure:
        embed(provider, [f"text {number}" for number in range(64)])

    assert not isinstance(failure.value, TextRefusedError)
    assert provider.calls[-1] == [HARMLESS]
    assert len(provider.calls) == 1 + 6 + 1


def test_another_failure_ends_it_as_it_is() -> None:
    provider = Choosy(lambda text: True)
    provider.problem = ProviderUnreachableError("nobody answers")

    with pytest.raises(ProviderUnreachableError, match="nobody answers"):
        embed(provider, ["one", "two"])


def test_what_is_left_out_is_logged_by_its_length_and_never_by_its_words() -> None:
    with capture_logs() as logs:
        embed(Choosy(lambda text: "bad" not in text), ["bad secret", "good"])

    assert [(entry["event"], entry["characters"]) for entry in logs] == [("embedding.text_refused", 10)]
    assert "secret" not in str(logs)
