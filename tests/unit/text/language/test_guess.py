"""Tests of guessing the language of a text."""

from __future__ import annotations

import pytest

from memd.text.language.guess import guess_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The server moved to Frankfurt in October, and we keep the old one.", "en"),
        ("Der Server ist im Oktober nach Frankfurt umgezogen und wir behalten den alten.", "de"),
        ("Le serveur a déménagé à Francfort en octobre et nous gardons l'ancien.", "fr"),
        ("Сервер переехал во Франкфурт, см. server-2 и PostgreSQL.", "cyrillic"),
        ("数据库服务器已于十月迁移到法兰克福。", "cjk"),
        ("サーバーはフランクフルトに移りました。", "katakana"),
        ("서버가 프랑크푸르트로 옮겨졌습니다", "hangul"),
        ("सर्वर फ्रैंकफर्ट चला गया", "devanagari"),
        ("The café “Central” → we are done with it ✓ π", "en"),
        ("12345 !!! 🚀", "en"),
        ("", "en"),
    ],
)
def test_language_is_guessed_by_script_and_words(text: str, language: str) -> None:
    assert guess_language(text) == language
