"""The names that a text mentions."""

from __future__ import annotations

import pytest

from memd.currency.names import MAX_NAMES, Name, find_names


def names(text: str, kind: str = "file") -> list[str]:
    return [name.spellings[0] for name in find_names(text) if name.kind == kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/queue.py, which retries", ["src/queue.py"]),
        ("(docs/a.md)", ["docs/a.md"]),
        ("`./scripts/run --fast`", ["scripts/run --fast", "scripts/run"]),
        ("«docs/Style Guide.md»", ["docs/Style Guide.md"]),
        ("/home/eva/shop/a.py and ~/shop/b.py", ["/home/eva/shop/a.py", "~/shop/b.py"]),
        ("Makefile, .env and LICENSE", ["Makefile", ".env", "LICENSE"]),
        ("https://example.org/src/queue.py", []),
        ("../outside.py and a//b", []),
        ("nothing at all", []),
    ],
)
def test_words_that_may_be_paths_are_names(text: str, expected: list[str]) -> None:
    assert [path for path in names(text) if path in expected or not expected] == expected


def test_path_inside_of_text_without_spaces_is_a_spelling() -> None:
    (name,) = find_names("请看src/queue.py的第三行")

    assert "src/queue.py" in name.spellings


@pytest.mark.parametrize(
    ("text", "first", "last", "quote"),
    [
        ("src/a.py:12", 12, 12, ""),
        ("src/a.py:12-14", 12, 14, ""),
        ("src/a.py#L3-L9", 3, 9, ""),
        ("src/a.py:12:5 fails", 12, 12, ""),
        ("src/a.py:3 is `RETRIES = 3`", 3, 3, "RETRIES = 3"),
        ("src/a.py:3-4\n```py\na = 1\nb = 2\n```", 3, 4, "a = 1\nb = 2"),
    ],
)
def test_lines_behind_a_path_are_named_with_their_quotation(
    text: str, first: int, last: int, quote: str
) -> None:
    name = find_names(text)[0]

    assert (name.spellings[0], name.first, name.last, name.quote) == ("src/a.py", first, last, quote)


def test_function_is_named_only_beside_one_file() -> None:
    assert [name.label for name in find_names("retry() in src/a.py") if name.kind == "text"] == ["retry()"]
    assert names("retry() is called twice", "text") == []
    assert names("retry() in src/a.py or src/b.py", "text") == []


def test_targets_commits_and_branches_are_named() -> None:
    found = find_names(
        "`make lint` and npm run e2e; commit 4f1c2aa on branch feature/x, or the old-ui branch"
    )

    assert [name.label for name in found if name.kind == "text"] == ["make lint", "npm run e2e"]
    assert [name.spellings[0] for name in found if name.kind == "commit"] == ["4f1c2aa"]
    assert {"feature/x", "old-ui"} <= {name.spellings[0] for name in found if name.kind == "branch"}


def test_text_of_names_alone_has_a_limit() -> None:
    assert len(find_names(" ".join(f"src/{number}.py" for number in range(500)))) == MAX_NAMES


def test_name_is_hashable() -> None:
    assert len({Name("file", ("a",)), Name("file", ("a",))}) == 1
