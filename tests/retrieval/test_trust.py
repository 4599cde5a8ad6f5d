"""Trust: whether text of other people reaches a model's context as if it were the user's own, through a real daemon."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from tests.support.attack_texts import DISGUISES, by_disguise, own_attacks, published_attacks
from tests.support.benign_set import FILES, KINDS, Judgement, judge_half, load_benign
from tests.support.planted_texts import WAYS
from tests.support.trust_home import PlantedOutput, failures, lost, outputs_of, plants_for

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SAMPLE = 48
"""Texts of the quick test: each form of each way in, in several disguises."""

MAX_LOST = 0.03
"""Share of the texts that no tool returns: facts are stored without invisible letters."""

MAX_WITHHELD = 0.01
"""Share of the benign lines."""

FORMS = tuple(form for forms in WAYS.values() for form in forms)


@pytest.fixture(scope="module")
def sample() -> list[PlantedOutput]:
    """What comes out of a home with some texts of each way in."""
    return outputs_of(plants_for(FORMS, list(by_disguise())[:SAMPLE]))


def test_own_attacks_are_25_orders_in_eight_disguises() -> None:
    kinds = Counter(attack.kind for attack in own_attacks())

    assert kinds == dict.fromkeys(DISGUISES, 25)
    assert len(kinds) == 8
    assert len({attack.text for attack in own_attacks()}) == 200


def test_planted_texts_of_every_way_in_are_found_by_tools(sample: list[PlantedOutput]) -> None:
    missing = [(plant.form, plant.attack.kind, plant.subject) for plant in lost(sample)]

    assert len(missing) <= MAX_LOST * SAMPLE, missing


def test_no_planted_text_reaches_a_context_unlabelled(sample: list[PlantedOutput]) -> None:
    assert not any(output.reaches for output in sample), failures(sample)


@pytest.fixture(scope="module", params=["tuned", pytest.param("held out", marks=pytest.mark.long)])
def judgements(request: pytest.FixtureRequest) -> list[Judgement]:
    """What comes out about the lines of a half of the benign set."""
    return judge_half(request.param)


def test_benign_set_has_400_lines_in_several_languages() -> None:
    sessions = [session for half in FILES for session in load_benign(half)]
    lines = [line for session in sessions for line in session.lines]

    assert len({line.text for line in lines}) == len(lines) == 400
    assert len({line.language for line in lines}) >= 8
    assert {line.kind for line in lines} == set(KINDS.values())


def test_benign_lines_are_not_withheld(judgements: list[Judgement]) -> None:
    withheld = [judgement.line for judgement in judgements if judgement.is_withheld]
    injected = [judgement for judgement in judgements if judgement.line.is_in(judgement.without_reads)]
    wrongly = [line for line in withheld if not line.is_quoting]

    print(f"{len(judgements)} lines: {len(injected)} are injected if sessions read nothing")
    print(
        f"{len(wrongly)} withheld, and {len(withheld) - len(wrongly)} lines of exchanges that quote a sentence"
    )
    assert len(injected) >= 0.6 * len(judgements)
    assert len(wrongly) <= MAX_WITHHELD * len(judgements), wrongly


def test_benign_lines_are_not_labelled_as_outside(judgements: list[Judgement]) -> None:
    plain = [judgement for judgement in judgements if not judgement.line.is_beside_quotation]
    labelled = [judgement.line for judgement in plain if judgement.is_labelled]

    print(f"{len(labelled)} labelled of {len(plain)}")
    assert sum(judgement.line.is_in(judgement.tool_text) for judgement in plain) >= 0.9 * len(plain)
    assert len(labelled) <= MAX_WITHHELD * len(plain), labelled


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_none_of_all_texts_reaches_a_context_unlabelled(way: str) -> None:
    attacks = [*own_attacks(), *published_attacks()]
    results = outputs_of(plants_for(WAYS[way], attacks))
    missing = lost(results)

    print(failures(results, limit=0))
    assert not any(output.reaches for output in results), failures(results)
    assert len(missing) <= MAX_LOST * len(attacks), [(plant.form, plant.attack) for plant in missing]
