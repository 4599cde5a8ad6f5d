"""Search terms of Chinese, Japanese, Korean and Thai."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.language.runs import has_kana, run_pairs, run_terms


def words(run: str) -> list[str]:
    """Return the words of a run's terms."""
    return [word for word, _ in run_terms(run, japanese=has_kana(run))]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("部署", ["部署"]),
        ("蓝绿发布", ["蓝绿发布", "蓝绿", "绿发", "发布"]),
        ("租金是多少", ["租金"]),
        ("我们的目的", ["目的"]),
        ("项目的目的是什么", ["项目", "目的"]),
        ("你了解参与的人吗", ["了解参与", "了解", "解参", "参与", "人"]),
        ("為什麼要重啟", ["要重啟", "要重", "重啟"]),
        ("的了吗", []),
    ],
)
def test_chinese_terms_are_the_parts_between_grammar(run: str, expected: list[str]) -> None:
    assert words(run) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("本を読む", [("本", ("本",)), ("読", ("読む", "読"))]),
        ("打ち合わせはいつですか", [("打ち合", ("打ち合", "打合"))]),
        ("高い山", [("高い山", ("高い山", "高山", "高", "山"))]),
        ("東京の会議", [("東京", ("東京",)), ("会議", ("会議",))]),
        ("りんごはどこ", [("りんご", ("りんご",))]),
        ("サーバーのバグ", [("サーバー", ("サーバ",)), ("バグ", ("バグ",))]),
        ("データ・レイク", [("データ・レイク", ("データ・レイク", "データ", "レイク"))]),
        ("について教えてください", []),
    ],
)
def test_japanese_terms_are_the_uninflected_parts(
    run: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert run_terms(run, japanese=True) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("회의에서", [("회의", ("회의에서", "회의"))]),
        ("배포방법을", [("배포방법", ("배포방법을", "배포방법", "배포", "방법"))]),
        ("무엇을", []),
    ],
)
def test_korean_terms_include_forms_without_particles(
    run: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert run_terms(run, japanese=False) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("แมว", ["แมว"]),
        ("แมวอยู่ที่ไหน", ["แมว"]),
        ("ประชุมทีม", ["ประชุมทีม", "ประ", "ระชุ", "ชุม", "มที", "ทีม"]),
    ],
)
def test_thai_terms_are_pairs_of_signs(run: str, expected: list[str]) -> None:
    assert words(run) == expected


def test_a_run_of_grammar_is_searched_in_pairs() -> None:
    assert [word for word, _ in run_pairs("是什么")] == ["是什么", "是什", "什么"]
    assert [word for word, _ in run_pairs("的")] == ["的"]


@given(st.text("部署的是昨日話したバグはー・가을에서กาเที่ิุㄅ々", min_size=1), st.booleans())
def test_every_phrase_is_part_of_the_run(run: str, japanese: bool) -> None:
    for word, phrases in run_terms(run, japanese=japanese):
        assert word
        assert phrases
        assert all(set(phrase) <= set(run) for phrase in phrases)
