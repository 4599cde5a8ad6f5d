"""A note's name is safe in every file system, whatever it is made of."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.notes.daily import note_path
from memd.lifecycle.notes.session_messages import Said
from memd.lifecycle.notes.slug import MOST_CHARACTERS, clean_slug, numbered, slug_of_talk, slug_of_time
from memd.sync.disk.rules import is_memory_path
from memd.text.query.dates import date_in_path

DAY = datetime(2026, 1, 16, 9, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("API Design", "api-design"),
        ("../../etc/passwd", "etc-passwd"),
        ("..", ""),
        (".hidden", "hidden"),
        ("/absolute\\and\\back", "absolute-and-back"),
        ("CON", "con-note"),
        ("lpt1", "lpt1-note"),
        ("Größe der Straße", "grosse-der-strasse"),
        ("İstanbul", "istanbul"),
        ("Łódź", "lodz"),
        ("it's done", "its-done"),
        ("a\0b\nc\td", "a-b-c-d"),
        ("\u202egpj.exe", "gpj-exe"),
        ("\u3164\ufe0f", ""),
        ("設定の変更", "設定の変更"),
        ("서버 설정", "서버-설정"),
        ("нагрузка сервера", "нагрузка-сервера"),
        ("नमस्ते", "नमस्ते"),
        ("😀 deploy 🚀", "deploy"),
        ("---", ""),
        ("", ""),
    ],
)
def test_a_name_is_cleaned(text: str, slug: str) -> None:
    assert clean_slug(text) == slug


@given(st.text() | st.text(alphabet="./\\-con\0 \u202e\u0301é漢서 "))
def test_a_cleaned_name_is_safe_whatever_it_was(text: str) -> None:
    slug = clean_slug(text)
    assert len(slug) <= MOST_CHARACTERS + len("-note")
    assert not set(slug) & set('/\\.:*?"<>|\0 ')
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert all(each == "-" or unicodedata.category(each)[0] in "LNM" for each in slug)
    assert clean_slug(slug) == slug
    if slug:
        path = note_path(DAY.date(), slug)
        assert is_memory_path(path)
        assert date_in_path(path) == DAY.date()
        assert len(path.encode()) <= 255


def test_a_long_name_ends_with_a_whole_word() -> None:
    slug = clean_slug("the quick brown fox jumps over the lazy dog and runs away")
    assert slug == "the-quick-brown-fox-jumps-over-the-lazy-dog-and"


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        (
            [
                "Can you help me fix the deployment of the staging gateway? Its nginx config is broken.",
                "The config of nginx has a typo.",
                "Thanks, the staging gateway works.",
            ],
            "staging-gateway-nginx-config",
        ),
        (
            ["Kannst du mir die Rechnung für den Umzug schreiben?", "Die Rechnung."],
            "rechnung-umzug-schreiben",
        ),
        (["请帮我修复部署服务器的配置"], "修复部署服务器-配置"),
        (["Помоги мне починить сервер"], "помоги-починить-сервер"),
        (["see [redacted:openai-key] at https://example.com/secret-path or ann@example.com", "ok"], ""),
        (["ok", "yes", "12345", "😀"], ""),
    ],
)
def test_a_conversation_is_named_by_what_it_turns_about(said: list[str], slug: str) -> None:
    messages = [Said("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(said)]
    assert slug_of_talk(messages) == slug


@given(st.lists(st.builds(Said, st.sampled_from(["user", "assistant"]), st.text()), max_size=5))
def test_the_name_of_any_conversation_is_clean_and_short(messages: list[Said]) -> None:
    slug = slug_of_talk(messages)
    assert clean_slug(slug) == slug
    assert len(slug) <= MOST_CHARACTERS + len("-note")


def test_without_words_the_time_is_the_name() -> None:
    assert slug_of_time(DAY) == "0905"


def test_a_taken_name_gets_a_number_within_the_length() -> None:
    assert [numbered("api", number) for number in (1, 2, 3)] == ["api", "api-2", "api-3"]
    assert numbered("x" * MOST_CHARACTERS, 12) == "x" * (MOST_CHARACTERS - 3) + "-12"
