"""Search terms of queries, and valid FTS5 syntax for any query."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.language.spelling import index_text
from memd.text.query.identifiers import extra_words
from memd.text.query.keywords import (
    MAX_TERMS,
    content_keywords,
    plan_match,
)
from memd.text.tokens import is_cjk
from tests.support.spelling import space_cjk

NASTY = [
    "multi-agent",
    "don't",
    "TODO: fix",
    "C++",
    "2026-05-08",
    "AND",
    "NEAR(",
    'say "hi',
    "a\0b",
    "\ud800 x",
    "🙂",
    "_ __ a",
    "col:value*",
    "^x {y} -z",
    "'; DROP TABLE t; --",
    "重跑gen",
    "हिन्दी",
    "กิ",
    "\u0301",
    "",
]


def extra_words_of(text: str) -> str:
    """Return the extra index words of one text."""
    return extra_words([text])[0]


class Index:
    """A full-text table like the daemon's, in memory."""

    def __init__(self, *texts: str) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE t USING fts5(text, extra, tokenize='porter unicode61 remove_diacritics 2')"
        )
        for text in texts:
            self._db.execute("INSERT INTO t VALUES (?, ?)", (index_text(text), extra_words_of(text)))

    def best(self, match: str | None) -> int:
        """Return the number of the text that matches best."""
        rows = self._db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t, 1, 0.4)", (match,))
        return int(next(rows)[0])

    def find(self, match: str | None) -> list[int]:
        """Return the numbers of the texts that match, from 1."""
        if match is None:
            return []
        return [
            row[0] for row in self._db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid", (match,))
        ]


EMPTY = Index()


@given(st.one_of(st.text(), st.text("\"'*:^-+(){}AND OR NEAR部\0\ud800_\n"), st.sampled_from(NASTY)))
@example("a\0b")
@example("\ud800")
def test_any_query_is_valid_fts5_syntax(raw: str) -> None:
    plan = plan_match(raw)

    for match in (plan.strict, plan.any):
        EMPTY.find(match)
    for term in plan.terms:
        EMPTY.find(term.match)
    assert plan.any == (" OR ".join(term.match for term in plan.terms) or None)


@pytest.mark.parametrize("raw", [text for text in NASTY if any(c.isalnum() for c in text)])
def test_a_text_is_found_by_its_own_words(raw: str) -> None:
    index = Index(raw.replace("\0", " ").replace("\ud800", " "), "something else")

    plan = plan_match(raw)

    assert index.find(plan.any) == [1]


@given(st.text())
def test_spacing_only_adds_spaces(text: str) -> None:
    assert space_cjk(text).replace(" ", "") == text.replace(" ", "")


@given(st.text(st.sampled_from("ab 部署한ก。,é🙂"), min_size=1), st.data())
def test_every_run_of_cjk_is_found_down_to_one_character(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    part = text[start:end]
    if all(map(is_cjk, part)):
        assert Index(text).find(plan_match(part).strict) == [1]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("部署", "明天部署新版本"),
        ("部", "明天部署新版本"),
        ("客户喜欢什么颜色", "客户说颜色要蓝的"),
        ("昨日話したバグ", "バグを直した"),
        ("배포 방법", "새 배포방법을 정리했다"),
        ("gen", "重跑gen任务"),
        ("重跑gen", "今天重跑gen"),
        ("painted", "She loves painting"),
        ("cafe", "un café"),
        ("POL-358", "see POL-358 for more"),
        ("what is a828e60?", "commit a828e60 fixed it"),
        ("memory_search", "the memory_search tool"),
        ("retryBackoffMs", "set retry_backoff_ms to 500"),
        ("retry_backoff_ms", "set retryBackoffMs to 500"),
        ("retry backoff ms", "set retryBackoffMs to 500"),
        ("backoff", "set retryBackoffMs to 500"),
        ("retry-backoff-ms", "RETRY_BACKOFF_MS=500"),
        ("data base", "the database"),
        ("email", "her e-mail"),
        ("e-mail", "her email"),
        ("20260508", "on 2026-05-08"),
        ("cpp", "written in C++"),
        ("C++", "the C++17 standard"),
        ("csharp", "C# it is"),
        ("dotnet", ".NET and ASP.NET"),
        ("nodejs", "runs on Node.js"),
        ("what did he buy", "he bought it"),
        ("Zahnarzt", "Der Zahnarzttermin ist am Montag"),
        ("4fe9b7f", "fixed by 4fe9b7f0971b2c"),
        ("4fe9b7f0971b2c3d4e5f60718293a4b5c6d7e8f9", "fixed by 4fe9b7f"),
        ("+494215550183", "call +49 421 555-0183"),
        ("+49 421 555-0183", "call +494215550183"),
        ("the wolves' names", "a wolf named Ada"),
        ("die Jahre 1963-1966", "von 1963 bis 1966"),
        ("from 1963 to 1966", "the years 1963–1966"),
        ("ＡＰＩ", "the API"),
        ("API", "ＡＰＩ仕様"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("サーバー", "サーバを起動"),
        ("取引先の打ち合わせ", "打合せは明日"),
        ("食べたもの", "寿司を食べる"),
        ("어제 회의에서 결정했나요", "회의 결정 사항"),
        ("Strasse", "in der Straße"),
        ("die Häuser am See", "Das Haus ist nicht am See"),
        ("Wann ist die Besprechung?", "Alle Besprechungen sind am Freitag"),
        ("où sont les clés", "la clé est dans le tiroir de la cuisine"),
        ("cuándo son las reuniones", "la reunión de los lunes es con el equipo"),
        ("где ключи от квартиры", "ключ от моей квартиры"),
        ("все елки", "ёлка стоит"),
        ("أين المدرسه", "المدرسة هناك"),
        ("ประชุมที่ไหน", "การประชุมประจำสัปดาห์"),
    ],
)
def test_a_query_finds_the_text_that_answers_it(query: str, text: str) -> None:
    index = Index("unrelated words here", text)

    assert index.find(plan_match(query).any) == [2]


def test_a_phrase_of_cjk_matches_only_that_phrase() -> None:
    index = Index("部署方案", "署部", "部 门 署 名")

    assert index.find(plan_match("部署").strict) == [1]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What did Caroline's sister paint in 2022?", ("caroline", "sister", "paint", "2022")),
        ("to be or not to be", ("to", "be", "or", "not", "to be or not to be")),
        ("what is it", ("what", "is", "it", "what is it")),
        ("does it use C or Go", ("use", "c", "go")),
        ("ticket POL-358", ("ticket", "pol-358", "pol358", "pol", "358")),
        ("on 2026-05-08", ("2026-05-08", "20260508")),
        ("at 192.168.1.10", ("192.168.1.10",)),
        ("don't the won't", ("don't", "the", "won't", "don't the won't")),
        ("die Würfel und das Spiel", ("würfel", "spiel")),
        ("should they die", ("die",)),
        ("son favourite cake", ("son", "favourite", "cake")),
        ("où est l'équipe", ("équipe", "équip")),
        ("the error in C++ code", ("error", "c++", "code")),
        ("O'Brien called", ("o'brien", "brien", "called")),
        ("API api Api", ("api",)),
        ("之前讨论的方案", ("讨论", "方案")),
        ("客户喜欢什么颜色", ("客户喜欢", "客户", "户喜", "喜欢", "颜色")),
        ("这个项目的目的是什么", ("项目", "目的")),
        ("昨日話したバグはどこですか", ("話し", "バグ")),
        ("はなびはどこ", ("はなび",)),
        ("회의는 언제", ("회의는", "회의")),
        ("?!", ()),
    ],
)
def test_the_words_that_carry_meaning_remain(query: str, words: tuple[str, ...]) -> None:
    assert plan_match(query).words == words


def test_a_pasted_text_searches_its_first_words() -> None:
    plan = plan_match(" ".join(f"word{number}" for number in range(5000)))

    assert plan.strict is None
    assert len(plan.terms) == MAX_TERMS
    assert plan.terms[-1].word == f"word{MAX_TERMS - 1}"


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ("why did POL-358 fail", ("POL-358",)),
        ("what happened on 2026-05-08 at 14:30", ("2026-05-08", "14:30")),
        ("retryBackoffMs in config.yaml", ("retryBackoffMs", "config.yaml")),
        ("C++ or C# on .NET", ("C++", "C#", ".NET")),
        ('who said "ship it" in “the end”', ("ship it", "the end")),
        ("部署「蓝绿发布」方案", ("蓝绿发布",)),
        ("run it with --dry-run in ~/.ssh/config", ("--dry-run", "~/.ssh/config")),
        ("the call to render() in #general", ("render(", "#general")),
        ("commit a828e60 of branch 12345", ("a828e60", "12345")),
        ("2 APIs, 3rd try in 2022, at 5pm and/or never", ()),
        ("a follow-up on well known people e.g. O'Brien", ()),
        ("what did Caroline paint", ()),
    ],
)
def test_names_dates_and_quotes_are_exact_terms(query: str, exact: tuple[str, ...]) -> None:
    assert plan_match(query).exact == exact


def test_a_quoted_phrase_is_one_term() -> None:
    index = Index("deploy it, said Friday", "we deploy on friday")

    assert index.best(plan_match('"deploy on friday"').any) == 2


def test_a_whole_run_outranks_its_pairs() -> None:
    index = Index("部署蓝色，蓝绿色，绿发，发布会的部署", "昨天说过部署蓝绿发布的事情很重要")

    assert index.best(plan_match("蓝绿发布").any) == 2


def test_a_title_of_grammar_words_is_found() -> None:
    index = Index("who is the one, and who is the other", "a record of The Who")

    assert index.best(plan_match("the who").any) == 2


def test_a_stem_does_not_match_an_equal_word() -> None:
    index = Index("that is not what we said", "Las notas son del lunes y están en la mesa")

    assert index.find(plan_match("notar").any) == [2]


def test_only_stems_of_the_indexs_languages_are_searched() -> None:
    every, german, none = (
        plan_match("Wohnungen"),
        plan_match("Wohnungen", ["de"]),
        plan_match("Wohnungen", []),
    )

    assert every.any is not None
    assert every.any.count(" OR ") > 1
    assert german.any == '"Wohnungen" OR "wohnungǀ" OR "wohnung" *'
    assert none.any == '"Wohnungen"'


def test_english_prose_has_no_extra_words() -> None:
    text = (
        "She said that the naïve café in Zürich isn't open on Sundays, so they'd die of hunger in vain." * 5
    )

    assert extra_words_of(text) == ""


def test_extra_words_include_language_marks() -> None:
    words = extra_words_of(
        "Die Besprechung ist am Freitag. The meeting is on Friday with all of them."
    ).split()

    assert words[0] == "deǀǀ"
    assert "besprechǀ" in words


@given(st.text())
def test_extra_words_depend_only_on_the_text(text: str) -> None:
    assert (index_text(text), extra_words_of(text)) == (index_text(text), extra_words_of(text))
    assert "\n" not in extra_words_of(text)


def test_the_strict_search_ignores_tokens_missing_from_fts5() -> None:
    assert Index("foo bar").find(plan_match("_ foo 🙂 bar").strict) == [1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("昨日話したバグ", ["昨日話", "日話", "バグ"]),
        ("APIのバグ", ["api", "バグ"]),
        ("에서 API를 검색을", ["api를", "api", "검색을", "검색"]),
        ("나중에 논의", ["논의"]),
        ("dónde está el servidor", ["está", "servidor"]),
        ("كيف نشر", ["نشر"]),
        ("foo_bar $5 +++ 😀", ["foo", "bar", "$5"]),
        ("Foo foo FOO", ["foo"]),
        ("the\u3000of", []),
    ],
)
def test_content_keywords_read_every_script(query: str, expected: list[str]) -> None:
    assert content_keywords(query) == expected
