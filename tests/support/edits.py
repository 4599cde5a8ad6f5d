"""Random edits of a memory: scripts of edits, their execution, and the expected memory on disk.

The disk is the model: its memory files are determined by an independent implementation of the rules. Every write adds
new words, so a search must find a word exactly while a file contains it."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from memd_client import Client
from memd_client.messages import Hit

LETTERS = "bcdfghjklmnpqrtv"
"""Letters of words: without vowels the stemmer finds no English ending."""

WORD = re.compile("zq[bcdfghjklmnpqrtv]{18}")

FOLDERS = ("memory", "memory/sub", "memory/sub/deep", "memory/a.md", "memory/.hidden", "attic")

FILES = (
    "memory/a.md",
    "memory/b.md",
    "memory/B.md",
    "memory/sub/a.md",
    "memory/sub/deep/c.md",
    "memory/a.md/inside.md",
    "memory/sub",
    "MEMORY.md",
    "memory.md",
    "USER.md",
    "memory/日記.md",
    "memory/caf\u00e9.md",
    "memory/cafe\u0301.md",
    "memory/SHOUT.MD",
    "memory/plain.txt",
    "memory/.hidden/x.md",
    "memory/node_modules/x.md",
    "attic/x.md",
    "stray.md",
)
"""Targets of scripts: memory files, similar names, and names that are a file and later a folder."""

BODY = "\n".join(f"- Nothing of note on line {number} of a note that has many lines." for number in range(90))
"""Text of several chunks."""

CLOCK_GRAIN_S = 0.025
"""Longer than the resolution of any file time."""

LARGEST_COPY = 60
"""Most entries of a folder that is copied, to bound growth."""

_numbers = itertools.count()


def fresh_word() -> str:
    """Return a word that no file ever contained, of constant length and not a misspelling of another."""
    number = next(_numbers)
    return "zq" + "".join(LETTERS[(number >> shift) & 15] * 3 for shift in range(20, -4, -4))


@dataclass(frozen=True)
class Edit:
    """One edit: a method of `EditedMemory`, its path, and for some a target path."""

    name: str
    path: str = ""
    to: str = ""


@dataclass(frozen=True)
class SearchCheck:
    """A search for one word, or for all words so far starting with that one; only the first search catches up.

    `first` is the word's index among all words written, modulo their number.
    """

    first: int = 0
    every: bool = True


EVERYTHING = SearchCheck()

WRITES = ("write", "write_long", "write_crlf", "replace")
CHANGES = (
    "append",
    "append_to_end",
    "swap_words",
    "swap_words_and_time",
    "swap_words_by_replacing",
    "touch",
    "empty",
    "shorten",
    "spoil",
    "link",
    "delete",
)
MOVES = ("rename", "rename", "rename", "copy")
WHOLES = ("make_folder", "remove")
OTHERS = ("move_workspace", "wait")
SHUFFLES = ("change_mode", "link_folder", "nest", "move_out", "move_in")
"""Further random edits: modes, linked and nested folders, and moves out of and into the workspace."""


def edits(names: Sequence[str] = WRITES + CHANGES * 2 + MOVES + WHOLES + OTHERS) -> st.SearchStrategy[Edit]:
    """Return a strategy of single edits."""
    places = st.sampled_from(FILES + FOLDERS)
    return st.builds(_edit, st.sampled_from(names), st.sampled_from(FILES), places, places)


def _edit(name: str, file: str, place: str, to: str) -> Edit:
    """Return an edit with the paths it needs."""
    if name in OTHERS:
        return Edit(name)
    if name in MOVES:
        return Edit(name, place, to)
    return Edit(name, place if name in WHOLES else file)


def random_edits(count: int, seed: int) -> Iterator[Edit]:
    """Yield random edits of every kind except waits."""
    chance = random.Random(seed)
    names = (*WRITES, *CHANGES, *MOVES, *WHOLES, *SHUFFLES, *SHUFFLES, "move_workspace")
    for number in range(count):
        name = chance.choice(names)
        if number % 200 == 199:
            yield Edit("remove", "memory")
        elif name in SHUFFLES:
            yield Edit(name, chance.choice(FILES + FOLDERS))
        else:
            yield _edit(name, chance.choice(FILES), *chance.choices(FILES + FOLDERS, k=2))


def scripts(*, looks: bool = True, longest: int = 14) -> st.SearchStrategy[list[Edit | SearchCheck]]:
    """Return a strategy of scripts, each starting with something to edit."""
    step: st.SearchStrategy[Edit | SearchCheck] = edits()
    if looks:
        step = st.one_of(edits(), st.builds(SearchCheck, st.integers(-3, 10), st.booleans()))
    begin = st.lists(edits(WRITES), min_size=1, max_size=3)
    rest = st.lists(step, min_size=4, max_size=longest)
    return st.builds(lambda first, then: [*first, *then], begin, rest)


class EditedMemory:
    """An edited workspace, and every word ever written to it.

    Edits of a missing file use the next existing one, and impossible edits (the folder is a file, the target folder is
    not empty) do nothing, so any sequence of edits is a script.
    """

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._away = workspace.with_name(workspace.name + "-away")
        self._moved_out = workspace.with_name(workspace.name + "-moved-out")
        self._linked = workspace.with_name(workspace.name + "-linked")
        self._outside = workspace.with_name(workspace.name + "-outside.md")
        self.words: list[str] = []
        for path in (workspace, self._away):
            shutil.rmtree(path, ignore_errors=True)
        workspace.mkdir(parents=True)

    def do(self, edit: Edit) -> None:
        """Do one edit, or nothing if it is impossible."""
        arguments = [path for path in (edit.path, edit.to) if path]
        with contextlib.suppress(OSError):
            getattr(self, edit.name)(*arguments)

    # --- writes -------------------------------------------------------------------------------------

    def write(self, path: str) -> None:
        """Write a short file in place."""
        self._put(path, f"# A note\n\nIt is about {self._word()} and little else.\n")

    def write_long(self, path: str) -> None:
        """Write a file of several chunks, with words at its start, its middle and its end."""
        lines = BODY.split("\n")
        for place in (0, 45, 89):
            lines[place] = f"Part {place} says {self._word()}"
        self._put(path, "\n".join(lines))

    def write_crlf(self, path: str) -> None:
        """Write lines with Windows line ends, and characters that only some programs treat as line ends."""
        self._put(path, f"one\r\ntwo {self._word()}\u2028still two\x0bstill two\r\n\r\n{self._word()}")

    def replace(self, path: str) -> None:
        """Save as editors do: write a temporary file and rename it over the old one."""
        self._put_in_place(self._at(path), f"saved anew: {self._word()}\n")

    # --- changes ------------------------------------------------------------------------------------

    def append(self, path: str) -> None:
        """Add a line at the end."""
        with self._existing(path).open("a", encoding="utf-8", newline="") as file:
            file.write(f"\nadded {self._word()}\n")

    def append_to_end(self, path: str) -> None:
        """Add text to the last line."""
        with self._existing(path).open("a", encoding="utf-8", newline="") as file:
            file.write(f" {self._word()}")

    def swap_words(self, path: str) -> None:
        """Rewrite a file with other words and the same size."""
        location = self._existing(path)
        text = location.read_bytes().decode("utf-8", "replace")
        location.write_text(self._swapped(text), encoding="utf-8", newline="")

    def swap_words_and_time(self, path: str) -> None:
        """Rewrite a file with other words, the same size and the old modification time."""
        location = self._existing(path)
        facts = location.stat()
        self.swap_words(path)
        os.utime(location, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    def swap_words_by_replacing(self, path: str) -> None:
        """Replace a file by another one of the same size and time."""
        location = self._existing(path)
        facts = location.stat()
        text = self._swapped(location.read_bytes().decode("utf-8", "replace"))
        self._put_in_place(location, text, times=(facts.st_atime_ns, facts.st_mtime_ns))

    def touch(self, path: str) -> None:
        """Set the modification time and change nothing else."""
        os.utime(self._existing(path))

    def empty(self, path: str) -> None:
        """Truncate a file to nothing."""
        self._existing(path).write_bytes(b"")

    def shorten(self, path: str) -> None:
        """Cut a file in half."""
        location = self._existing(path)
        os.truncate(location, location.stat().st_size // 2)

    def spoil(self, path: str) -> None:
        """Make a file invalid UTF-8, so that it can't be indexed."""
        with self._existing(path).open("ab") as file:
            file.write(b"\xff\n")

    def link(self, path: str) -> None:
        """Replace a file by a symbolic link; links are not followed."""
        location = self._existing(path)
        self._outside.write_text(f"outside is {self._word()}\n")
        location.unlink()
        location.symlink_to(self._outside)

    def delete(self, path: str) -> None:
        """Delete a file, or a link."""
        self._near(path, of=lambda place: place.is_symlink() or place.is_file()).unlink()

    # --- moves --------------------------------------------------------------------------------------

    def rename(self, path: str, to: str) -> None:
        """Rename a file or a folder, replacing an existing file."""
        self._at(to).parent.mkdir(parents=True, exist_ok=True)
        self._near(path).replace(self._at(to))

    def copy(self, path: str, to: str) -> None:
        """Copy a file or a folder with its times."""
        source, target = self._near(path), self._at(to)
        if target.is_relative_to(source):
            raise FileExistsError(to)
        if source.is_dir():
            if len(list(source.rglob("*"))) > LARGEST_COPY:
                raise OSError(to)
            shutil.copytree(source, target, symlinks=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)

    def make_folder(self, path: str) -> None:
        """Create a folder, replacing an existing file."""
        if self._at(path).is_file():
            self._at(path).unlink()
        self._at(path).mkdir(parents=True)

    def remove(self, path: str) -> None:
        """Remove a folder with its contents."""
        shutil.rmtree(self._near(path, of=lambda place: place.is_dir() and not place.is_symlink()))

    def move_workspace(self) -> None:
        """Move the workspace away, or back, replacing what was created there meanwhile."""
        if self._away.exists():
            shutil.rmtree(self.workspace, ignore_errors=True)
            self._away.rename(self.workspace)
        else:
            self.workspace.rename(self._away)

    def change_mode(self, path: str) -> None:
        """Change the write permission of an entry."""
        place = self._near(path, of=lambda place: not place.is_symlink())
        place.chmod(place.stat().st_mode ^ 0o020)

    def link_folder(self, path: str) -> None:
        """Replace an entry by a symbolic link to a folder outside, unless it is a folder."""
        location = self._at(path)
        location.unlink(missing_ok=True)
        self._linked.mkdir(exist_ok=True)
        location.symlink_to(self._linked)

    def nest(self, path: str) -> None:
        """Create three nested folders below an entry, with a note in the last."""
        deep = self._at(path) / "one" / "two" / "three"
        if len(self._at(path).parts) > len(self.workspace.parts) + 5:
            raise OSError(path)
        deep.mkdir(parents=True, exist_ok=True)
        (deep / "note.md").write_text(f"deep down is {self._word()}\n")

    def move_out(self, path: str) -> None:
        """Move an entry out of the workspace, replacing the one moved out before."""
        shutil.rmtree(self._moved_out, ignore_errors=True)
        self._moved_out.unlink(missing_ok=True)
        self._near(path).rename(self._moved_out)

    def move_in(self, path: str) -> None:
        """Move the entry outside back into the workspace."""
        self._at(path).parent.mkdir(parents=True, exist_ok=True)
        self._moved_out.rename(self._at(path))

    def wait(self) -> None:
        """Wait until no later write can have the same file time as an earlier one."""
        time.sleep(CLOCK_GRAIN_S)

    # --- the model ----------------------------------------------------------------------------------

    def files(self) -> dict[str, str]:
        """Return the text of every memory file by its path."""
        places = [self._at(name) for name in ("MEMORY.md", "memory.md", "USER.md")]
        places.extend(_markdown_below(self._at("memory")))
        found = {}
        for location in places:
            if location.is_file() and not location.is_symlink():
                with contextlib.suppress(UnicodeDecodeError):
                    found[location.relative_to(self.workspace).as_posix()] = location.read_bytes().decode()
        return found

    # --- parts --------------------------------------------------------------------------------------

    def _at(self, path: str) -> Path:
        return self.workspace / path

    def _existing(self, path: str) -> Path:
        """Return an existing file: the one named, or the next one by name."""
        return self._near(path, of=lambda place: place.is_file() and not place.is_symlink())

    def _near(self, path: str, of: Callable[[Path], bool] = os.path.lexists) -> Path:
        """Return an existing entry: the one named, or the next one of its kind."""
        entries = sorted(place for place in self.workspace.rglob("*") if of(place))
        if not entries:
            raise FileNotFoundError(path)
        return next((place for place in entries if place >= self._at(path)), entries[0])

    def _word(self) -> str:
        word = fresh_word()
        self.words.append(word)
        return word

    def _swapped(self, text: str) -> str:
        return WORD.sub(lambda _: self._word(), text)

    def _put(self, path: str, text: str) -> None:
        location = self._at(path)
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_text(text, encoding="utf-8", newline="")

    def _put_in_place(self, location: Path, text: str, times: tuple[int, int] | None = None) -> None:
        location.parent.mkdir(parents=True, exist_ok=True)
        temporary = location.with_name(location.name + ".tmp")
        temporary.write_text(text, encoding="utf-8", newline="")
        if times is not None:
            os.utime(temporary, ns=times)
        temporary.replace(location)


def _markdown_below(folder: Path) -> Iterator[Path]:
    """Yield Markdown files below a folder, except in folders of third-party files."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name != "node_modules":
                yield from _markdown_below(entry)
        elif entry.suffix.lower() == ".md":
            yield entry


def run_script(
    memory: EditedMemory, script: list[Edit | SearchCheck], look: Callable[[SearchCheck], None]
) -> None:
    """Run a script, and search for all words at its end."""
    for step in script:
        if isinstance(step, SearchCheck):
            look(step)
        else:
            memory.do(step)
    look(EVERYTHING)


def edit_repeatedly(memory: EditedMemory, path: str, until: Callable[[], bool], way: str, seed: int) -> int:
    """Edit one file repeatedly in one way until a condition is true; return how often."""
    chance, count = random.Random(seed), 0
    while not until():
        getattr(memory, way)(path)
        count += 1
        for _ in range(chance.randrange(3)):
            os.sched_yield()
    return count


INDEX_TIMEOUT_S = 120.0
"""Timeout for indexing a change without a search."""

SEARCH_DEADLINE_MS = 20_000
"""Deadline of searches, long enough for a complete catch-up."""


def differences(client: Client, memory: EditedMemory, look: SearchCheck = EVERYTHING) -> list[str]:
    """Search for words and return the differences between hits and files."""
    files = memory.files()
    # An emptied file may be an unfinished save: the daemon may wait for its text and reports that.
    settled = all(text.strip() for text in files.values())
    start = look.first % len(memory.words) if memory.words else 0
    words = memory.words[start:] + memory.words[:start] or [fresh_word()]
    found: list[str] = []
    for word in words if look.every else words[:1]:
        reply = client.search(word, max_results=50, deadline_ms=SEARCH_DEADLINE_MS)
        holders = {path for path, text in files.items() if word in text}
        paths = {hit.path for hit in reply.hits}
        if bool(paths) != bool(holders) or not paths <= holders:
            found.append(f"{word} is in {sorted(holders)}, found in {sorted(paths)}; {reply.pending}")
        if settled and (reply.pending.files or reply.partial):
            found.append(f"asked for {word}: {reply.pending}, partial {reply.partial}")
        found += [problem for hit in reply.hits if (problem := _misplaced(hit, files, word))]
    return found


def _misplaced(hit: Hit, files: dict[str, str], word: str) -> str | None:
    """Return why a hit's location is wrong; None if its snippet is exactly the text of those lines."""
    lines = files.get(hit.path, "").split("\n")[hit.start_line - 1 : hit.end_line]
    exact = hit.snippet in "\n".join(lines) and hit.snippet.count("\n") == hit.end_line - hit.start_line
    if exact and word in hit.snippet:
        return None
    return f"{hit.citation} shows {hit.snippet!r} for {word}; the file holds {lines!r} there"


def wait_until_none(problems: Callable[[], list[str]]) -> None:
    """Return once there is no problem; fail with the problems after a timeout."""
    deadline = time.monotonic() + INDEX_TIMEOUT_S
    while found := problems():
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
