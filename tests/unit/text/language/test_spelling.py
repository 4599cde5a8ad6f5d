"""Unified spelling of letters with several forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.language.spelling import index_text, unify_spelling, unify_width
from tests.support.spelling import space_cjk


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
def test_letters_with_several_forms_are_unified(text: str, spelled: str) -> None:
    assert unify_spelling(text) == spelled


@given(st.text())
def test_index_text_has_unified_spelling_and_separate_cjk_letters(text: str) -> None:
    assert index_text(text).split() == space_cjk(unify_spelling(text)).split()


@given(st.text("aß部Ｂёéأ한 "))
def test_short_and_long_texts_are_unified_alike(text: str) -> None:
    many = "æœøłđıẞŁØÆŒĐ"

    assert unify_spelling(f"{text} {many}").startswith(unify_spelling(text))


def test_unify_width_changes_only_wide_forms() -> None:
    assert unify_width("ＡＰＩ Straße x² ｶﾞ e\u0301") == "API Straße x² ガ é"
