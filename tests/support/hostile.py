"""Hostile input: queries, paths, and folders swapped for links."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

TOPICS = ("kestrel", "harbour", "invoice", "gateway", "cinnamon", "rotation", "ledger", "meadow")
"""Words in every note of a test, inside and outside of memory; all queries contain one."""

SYNTAX = (
    "*",
    "(",
    ")",
    "NEAR",
    "OR",
    "AND",
    "NOT",
    "text:",
    "path:",
    "^",
    "{",
    "}",
    "-",
    "'; --",
    "\0",
    "%",
    "_",
    '"',
)

UNUSUAL_WORDS = (
    "日記",
    "e\u0301",
    "\u202e",
    "\ufeff",
    "𝔨𝔢𝔰𝔱𝔯𝔢𝔩",
    "KESTREL",
    "kestrle",
    "zq",
    "phrase",
    "../",
    "sessions/",
)

PREFIXES = (None, "", "memory/", "../", "/", "memory/other/", "%", "../workspace-work", "sessions/", "*")
"""Path prefixes of hostile searches."""

LOOK_ALIKES = {"/": "／∕⁄⧸", ".": "．․。", "m": "ｍм", "e": "еｅ", "a": "аａ", "o": "оο"}
"""Characters that look like those of paths."""

PARENT_SEGMENTS = (
    "..",
    "../..",
    "%2e%2e",
    "..%2f",
    "․․",
    "‥",
    "．．",
    "..\\",
    "...",
    "..;",
    "~",
    "~root",
    "..\u200b",
    ". .",
)

PATH_INSERTS = (
    "\0",
    "\n",
    "\\",
    " ",
    ".",
    "//",
    "/./",
    "\u202e",
    "\u200d",
    "%00",
    "%2f",
    "$HOME",
    "`id`",
    "?",
    "*",
    ":",
)

ENDINGS = ("", ".md", ".MD", "/.md", "\0.md", ".md/", ".md\0", ".md .", "#.md", "?.md", ".md:stream")


def random_query(dice: random.Random, more: Iterable[str]) -> str:
    """Return a query of topics, search syntax, unusual words and `more`, with at least one topic."""
    words = [*TOPICS, *TOPICS, *SYNTAX, *UNUSUAL_WORDS, *more]
    query = " ".join(dice.choices(words, k=dice.randint(1, 8)))
    return query if any(topic in query for topic in TOPICS) else f"{query} {dice.choice(TOPICS)}"


def paths_to(file: Path, workspace: Path, pid: int) -> list[str]:
    """Return paths that may lead to a file: absolute, relative, by links to `/`, and by `/proc`."""
    through = [f"/proc/{who}/{how}{file}" for who in ("self", pid) for how in ("root", "cwd/../..")]
    return [
        str(file),
        f"file://{file}",
        os.path.relpath(file, workspace),
        os.path.relpath(file, workspace / "memory"),
        f"memory/root{file}",
        *through,
    ]


def descriptor_paths(pid: int) -> list[str]:
    """Return paths of open files in `/proc` and `/dev/fd`."""
    return [f"/proc/{pid}/fd/{number}" for number in range(3, 30)] + [
        f"/dev/fd/{number}" for number in range(9)
    ]


def mutate_path(dice: random.Random, path: str) -> str:
    """Return a path with one change that a careless check might miss."""
    cut = dice.randint(0, len(path))
    way = dice.randint(0, 8)
    if way == 0:
        return f"{dice.choice(PARENT_SEGMENTS)}/{path}"
    if way == 1:
        return f"memory/{dice.choice(PARENT_SEGMENTS)}/{path.lstrip('/')}"
    if way == 2:
        return path[:cut] + dice.choice(PATH_INSERTS) + path[cut:]
    if way == 3:
        known = [letter for letter in LOOK_ALIKES if letter in path] or ["/"]
        letter = dice.choice(known)
        return path.replace(letter, dice.choice(LOOK_ALIKES[letter]), dice.choice([1, -1]))
    if way == 4:
        return dice.choice([path.upper(), path.lower(), path.title(), path.swapcase()])
    if way == 5:
        return path.removesuffix(".md") + dice.choice(ENDINGS)
    if way == 6:
        long = dice.choice([255, 256, 4095, 4097, 60_000])
        return dice.choice(
            [
                "x" * long + ".md",
                "../" * (long // 3) + path,
                "memory/" * (long // 7) + path,
                path + "/" * long,
            ]
        )
    if way == 7:
        return f"memory/{path}"
    return path[:cut] + "/../" + path[cut:]


@contextlib.contextmanager
def swap_with_link(place: Path, aside: Path, link: Path) -> Iterator[None]:
    """Swap a file or folder with a link repeatedly while the block runs."""
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            place.rename(aside)
            link.rename(place)
            place.rename(link)
            aside.rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
