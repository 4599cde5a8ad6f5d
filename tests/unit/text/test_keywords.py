"""What a question is looked up by, and that nothing in it can break a search."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.keywords import MOST_TERMS, any_query, content_keywords, plan_match, spaced, strict_query
from memd.text.tokens import is_cjk

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


class Index:
    """A full-text table like the daemon's, in memory."""

    def __init__(self, *texts: str) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        for text in texts:
            self._db.execute("INSERT INTO t VALUES (?)", (spaced(text),))

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
def test_no_question_is_an_error_to_the_index(raw: str) -> None:
    plan = plan_match(raw)

    for match in (plan.strict, plan.any, any_query(content_keywords(raw)), any_query([raw])):
        EMPTY.find(match)


@pytest.mark.parametrize("raw", [text for text in NASTY if any(c.isalnum() for c in text)])
def test_a_text_is_found_by_itself(raw: str) -> None:
    index = Index(raw.replace("\0", " ").replace("\ud800", " "), "something else")

    plan = plan_match(raw)

    assert index.find(plan.any) == [1]


@given(st.text())
def test_spacing_only_adds_spaces(text: str) -> None:
    assert spaced(text).replace(" ", "") == text.replace(" ", "")


@given(st.text(st.sampled_from("ab 部署한ก。,é🙂"), min_size=1), st.data())
def test_every_run_of_cjk_is_found_down_to_one_character(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    part = text[start:end]
    if all(map(is_cjk, part)):
        assert Index(text).find(plan_match(part).strict) == [1]


@pytest.mark.parametrize(
    ("question", "text"),
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
    ],
)
def test_a_question_finds_the_text_that_answers_it(question: str, text: str) -> None:
    index = Index("unrelated words here", text)

    assert index.find(plan_match(question).any) == [2]


def test_a_phrase_of_cjk_matches_only_that_phrase() -> None:
    index = Index("部署方案", "署部", "部 门 署 名")

    assert index.find(plan_match("部署").strict) == [1]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did Caroline's sister paint in 2022?", ("caroline", "sister", "paint", "2022")),
        ("to be or not to be", ("to", "be", "or", "not")),
        ("does it use C or Go", ("use", "go")),
        ("ticket POL-358", ("ticket", "pol-358", "pol", "358")),
        ("on 2026-05-08", ("2026-05-08", "2026")),
        ("don't the won't", ("don't", "the", "won't")),
        ("O'Brien called", ("o'brien", "brien", "called")),
        ("API api Api", ("api",)),
        ("之前讨论的方案", ("前讨", "讨论", "方案")),
        ("?!", ()),
    ],
)
def test_the_words_that_carry_meaning_remain(question: str, words: tuple[str, ...]) -> None:
    assert plan_match(question).words == words


def test_a_pasted_text_asks_for_its_first_words_only() -> None:
    plan = plan_match(" ".join(f"word{number}" for number in range(5000)))

    assert plan.strict is None
    assert plan.any is not None
    assert plan.any.count(" OR ") == MOST_TERMS - 1


def test_a_token_the_index_cannot_see_does_not_empty_the_strict_search() -> None:
    assert Index("foo bar").find(plan_match("_ foo 🙂 bar").strict) == [1]


def test_quotes_in_keywords_are_quoted() -> None:
    assert any_query(['say "hi"', "b"]) == '"say ""hi""" OR "b"'
    assert any_query([]) is None


@pytest.mark.parametrize(
    ("raw", "expected"), [("foo_bar b-c", '"foo_bar" AND "b" AND "c"'), ("!?", None), ("é部", '"é部"')]
)
def test_strict_query_wants_every_token(raw: str, expected: str | None) -> None:
    assert strict_query(raw) == expected


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
