"""Messages of commits: a short subject, and the changed files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.messages import MAX_LISTED, MAX_SUBJECT_CHARS, describe_changes, machine_of

LONG = "memory/" + "x" * 80 + ".md"


@pytest.mark.parametrize(
    ("contents", "before", "message"),
    [
        ({"a.md": b""}, {"a.md": 1}, "Update a.md\n"),
        ({"a.md": b""}, {}, "Add a.md\n"),
        ({"a.md": None}, {"a.md": 1}, "Remove a.md\n"),
        ({}, {}, "Update notes\n"),
        ({LONG: b""}, {}, "Add 1 note\n"),
        ({"b.md": b"", "a.md": b""}, {}, "Add a.md and 1 more\n\nadd a.md\nadd b.md\n"),
        (
            {"new.md": b"", "old.md": None, "b.md": b"", "a.md": b""},
            {"a.md": 1, "b.md": 1, "old.md": 1},
            "Update a.md and 3 more\n\nupdate a.md\nupdate b.md\nadd new.md\nremove old.md\n",
        ),
        ({LONG: b"", "z.md": b""}, {}, f"Add 2 notes\n\nadd {LONG}\nadd z.md\n"),
    ],
)
def test_message_names_the_first_change_and_lists_all(
    contents: dict[str, bytes | None], before: dict[str, int], message: str
) -> None:
    assert describe_changes(contents, before) == message


def test_message_lists_a_limited_number_of_files() -> None:
    message = describe_changes({f"memory/{number:03}.md": b"" for number in range(MAX_LISTED + 5)}, {})
    assert message.count("\nadd ") == MAX_LISTED
    assert message.endswith("\nand 5 more\n")


@given(st.dictionaries(st.text(min_size=1, max_size=90), st.sampled_from([b"", None])))
def test_subject_of_any_changes_is_short(contents: dict[str, bytes | None]) -> None:
    assert len(describe_changes(contents, {}).split("\n\n")[0].removesuffix("\n")) <= MAX_SUBJECT_CHARS


@pytest.mark.parametrize(
    ("author", "machine"),
    [
        ("main on laptop", "laptop"),
        ("main on the road on laptop", "laptop"),
        ("work on 桌面", "桌面"),
        ("Jane Doe", ""),
        ("", ""),
        ("main on ", ""),
    ],
)
def test_machine_of_an_author_is_named_after_the_agent(author: str, machine: str) -> None:
    assert machine_of(author) == machine
