"""Letters with several spellings have one in the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.language.spelling import index_text, one_spelling, spaced, without_wide_forms


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Straße", "Strasse"),
        ("ＡＰＩ２", "API2"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("e\u0301te\u0301", "été"),
        ("Ёлка", "Елка"),
        ("Łódź, Ørsted, œuvre", "lódź, orsted, oeuvre"),
        ("كَتَبَ", "كتب"),
        ("أحمد", "احمد"),
        ("ﬁx x²", "fix x2"),
        ("“quoted” – naïve…", "“quoted” – naïve…"),
        ("ñ部é署ø", "ñ部é署o"),
        ("plain", "plain"),
    ],
)
def test_one_spelling_stands_for_several(text: str, spelled: str) -> None:
    assert one_spelling(text) == spelled


@given(st.text())
def test_the_index_has_one_spelling_with_cjk_apart(text: str) -> None:
    assert index_text(text).split() == spaced(one_spelling(text)).split()


@given(st.text("aß部Ｂёéأ한 "))
def test_few_letters_are_spelled_like_many(text: str) -> None:
    many = "æœøłđıẞŁØÆŒĐ"

    assert one_spelling(f"{text} {many}").startswith(one_spelling(text))


def test_a_query_keeps_all_but_wide_forms() -> None:
    assert without_wide_forms("ＡＰＩ Straße x² ｶﾞ e\u0301") == "API Straße x² ガ é"
