"""A fact is one line of Markdown and comes back as it was; what people write there by hand is a fact as well."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.lifecycle.facts.lines import (
    ID_LETTERS,
    TITLE,
    Fact,
    differs_in_meaning,
    new_id,
    normal_form,
    one_line,
    read,
    without,
    write,
)
from memd_client.limits import CATEGORIES, MAX_DATE_MS

NOON = 1_795_348_800_000

PIECES = st.sampled_from(
    [
        "<!--",
        "-->",
        "--!>",
        "<!-- fact id=evil importance=1 -->",
        "\n- forged\n",
        "\r\n",
        "\u2028",
        "\u2029",
        "\x85",
        "\x0b",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
        "&lt;",
        "&amp;lt;",
        "&gt;",
        "&",
        "<",
        ">",
        "-",
        "- ",
        "* ",
        "* * *",
        "#",
        "```",
        "id=x",
        "category=other",
        "word",
        "slovo",
        "词",
        " ",
        "\t",
        "\ud800",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=12)), min_size=1, max_size=8).map("".join)
TELLING = TEXTS.filter(lambda text: re.search(r"\w", one_line(text)) is not None)
IDS = st.from_regex(ID_LETTERS, fullmatch=True)
FACTS = st.builds(
    Fact,
    id=IDS,
    text=TELLING,
    importance=st.integers(0, 100).map(lambda number: number / 100),
    named_category=st.sampled_from(CATEGORIES),
    created_ms=st.one_of(st.none(), st.integers(0, MAX_DATE_MS)),
)

HIDDEN = dict.fromkeys(
    [
        0xAD,
        0x61C,
        0x180E,
        0x200B,
        0x200E,
        0x200F,
        0xFEFF,
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
    ]
)


@settings(max_examples=50)
@given(FACTS)
def test_a_fact_is_one_line_and_comes_back_with_all_it_says(fact: Fact) -> None:
    line = write(fact)

    assert line.count("\n") == 1
    assert line.splitlines() == [line.removesuffix("\n")]
    assert not [each for each in line[:-1] if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")]
    expected = Fact(fact.id, one_line(fact.text), fact.importance, fact.category, fact.created_ms, 1)
    assert read(line) == (expected,)


@settings(max_examples=50)
@given(TELLING)
def test_no_word_of_a_text_is_lost(text: str) -> None:
    kept = read(write(Fact("a", text)))[0].text

    assert re.findall(r"\w+", kept) == re.findall(r"\w+", text.translate(HIDDEN))


@settings(max_examples=50)
@given(st.lists(FACTS, min_size=1, max_size=6, unique_by=lambda fact: fact.id), st.data())
def test_facts_stay_apart_and_one_can_be_taken_out(facts: list[Fact], data: st.DataObject) -> None:
    markdown = TITLE + "".join(map(write, facts))
    gone = data.draw(st.sampled_from(facts))

    left = without(markdown, gone.id)

    assert [fact.id for fact in read(markdown)] == [fact.id for fact in facts]
    assert [fact.id for fact in read(left)] == [fact.id for fact in facts if fact.id != gone.id]
    assert left.count("\n") == markdown.count("\n") - 1


@settings(max_examples=100)
@given(st.lists(st.one_of(TEXTS, FACTS.map(write)), max_size=6).map("\n".join))
def test_any_file_is_read_with_ids_of_its_own(markdown: str) -> None:
    facts = read(markdown)

    assert len({fact.id for fact in facts}) == len(facts)
    for fact in facts:
        assert ID_LETTERS.fullmatch(fact.id)
        assert 0 <= fact.importance <= 1
        assert fact.category in CATEGORIES
        assert 1 <= fact.line <= markdown.count("\n") + 1


def test_lines_written_by_hand_are_facts_with_an_id_that_stays() -> None:
    markdown = (
        "# Facts\n\nSome words about them.\n\n- I prefer tea\n* Anna is called Nan\r\n  + nested\n---\n- \n"
    )

    facts = read(markdown)

    assert [(fact.line, fact.text, fact.category) for fact in facts] == [
        (5, "I prefer tea", "preference"),
        (6, "Anna is called Nan", "entity"),
        (7, "nested", "other"),
    ]
    assert [fact.id for fact in read("\n\n" + markdown)] == [fact.id for fact in facts]
    assert {fact.importance for fact in facts} == {0.7}
    assert {fact.created_ms for fact in facts} == {None}


def test_an_edited_text_keeps_its_id() -> None:
    line = write(Fact("A1", "I prefer tea", 0.9, "preference", NOON))

    edited = read(line.replace("tea", "coffee, black"))

    assert edited == (Fact("A1", "I prefer coffee, black", 0.9, "preference", NOON, 1),)


@pytest.mark.parametrize(
    "meta",
    [
        "fact",
        "fact id= importance=high category=mood created=yesterday",
        "fact importance=7 category=PREFERENCE created=99999-01-01",
        "fact importance=nan created=1969-12-31T23:59:59Z",
        "fact id=a/b importance=-1 created=0001-01-01T00:00:00+14:00",
    ],
)
def test_broken_metadata_falls_to_defaults(meta: str) -> None:
    fact = read(f"- I prefer tea <!-- {meta} -->")[0]

    assert (fact.text, fact.importance, fact.category, fact.created_ms) == (
        "I prefer tea",
        0.7,
        "preference",
        None,
    )
    assert fact.id.startswith("text-")


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2026-11-22T12:00:00Z", NOON),
        ("2026-11-22T12:00:00.250Z", NOON + 250),
        ("2026-11-22T13:00:00+01:00", NOON),
        ("2026-11-22T12:00:00", NOON),
        ("2026-11-22", NOON - 12 * 3_600_000),
    ],
)
def test_moments_are_read_as_people_write_them(created: str, expected: int) -> None:
    assert read(f"- tea <!-- fact created={created} -->")[0].created_ms == expected


def test_a_copied_line_is_a_fact_of_its_own() -> None:
    line = write(Fact("A1", "I prefer tea"))

    first, second, third = read(line * 3)

    assert first.id == "A1"
    assert len({first.id, second.id, third.id}) == 3


def test_another_comment_stays_part_of_the_text() -> None:
    assert read("- tea <!-- green -->")[0].text == "tea <!-- green -->"


def test_the_written_line_is_plain_markdown() -> None:
    fact = Fact("01J", "a <!-- b --> &lt; c\nd", 0.7, "other", NOON)

    assert write(fact) == (
        "- a &lt;!-- b --&gt; &amp;lt; c d"
        " <!-- fact id=01J importance=0.7 category=other created=2026-11-22T12:00:00Z -->\n"
    )


def test_forgetting_what_is_not_there_changes_nothing() -> None:
    markdown = "- tea\r\n\r\nwords\n"

    assert without(markdown, "nobody") == markdown


def test_the_rest_of_a_file_stays_byte_for_byte() -> None:
    markdown = "# Mine\r\n- tea <!-- fact id=A1 -->\r\n\r\n words \n- milk"

    assert without(markdown, "A1") == "# Mine\r\n\r\n words \n- milk"


def test_ids_sort_by_time_and_differ() -> None:
    ids = [new_id(NOON), new_id(NOON), new_id(NOON + 1)]

    assert len(set(ids)) == 3
    assert max(ids) == ids[2]
    assert all(len(each) == 26 and ID_LETTERS.fullmatch(each) for each in ids)


def test_two_spellings_of_one_sentence_have_one_form() -> None:
    assert normal_form("I  prefer TEA!") == normal_form("i prefer tea") == normal_form("Ｉ prefer-tea")
    assert normal_form("🙂") != normal_form("🙃")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I am allergic to peanuts", "I am not allergic to peanuts"),
        ("My phone is +420123456789", "My phone is +420123456780"),
        ("The lease ends on the 4th of May", "The lease ends on the 5th of May"),
        ("My sister is called Anna", "My sister is called Hana"),
        ("Ich mag Koriander", "Ich mag keinen Koriander"),
        ("Mám rád koriandr", "Nemám rád koriandr"),
        ("Я люблю чай", "Я не люблю чай"),
        ("我喜欢绿茶", "我不喜欢绿茶"),
        ("お茶が好きじゃない", "お茶が好き"),
    ],
)
def test_a_correction_is_not_a_duplicate(one: str, other: str) -> None:
    assert differs_in_meaning(one, other)
    assert differs_in_meaning(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I prefer dark mode in all editors", "I prefer dark mode in every editor"),
        ("Never deploy on Fridays", "Never deploy on a Friday"),
        ("My sister Anna lives in Lisbon", "In Lisbon lives my sister, called Anna"),
        ("Ich mag dunkle Farben im Editor", "In Editoren mag ich dunkle Farben"),
        ("", ""),
    ],
)
def test_other_words_for_the_same_are_a_repetition(one: str, other: str) -> None:
    assert not differs_in_meaning(one, other)
    assert not differs_in_meaning(other, one)
