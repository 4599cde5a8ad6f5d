"""Rules for what comes from a remote: refused paths and modes with their reason, and names that people use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.check import (
    LEDGER,
    MAX_DEPTH,
    MAX_OTHER_FILES,
    check_files,
    check_text,
    is_tracked,
    path_problem,
)
from memd.replication.git.repository import FILE, TreeEntry
from memd.sources.rules import is_memory_path
from memd_client.errors import RemoteRefusedError

OID = "a" * 40

CONTROLS = "has control characters or backslashes in its path"
INVALID = "leaves its folder, or has an invalid name"
GIT = "is inside a folder named .git"
LONG = "has too long a path"

REFUSED = [
    ("", INVALID),
    ("/", INVALID),
    ("/etc/passwd", INVALID),
    ("..", INVALID),
    ("../x.md", INVALID),
    ("memory/../../x.md", INVALID),
    ("memory/..", INVALID),
    ("memory/./x.md", INVALID),
    ("./x.md", INVALID),
    ("memory//x.md", INVALID),
    ("memory/", INVALID),
    ("memory/" + "x" * 253 + ".md", INVALID),
    ("memory/" + "长" * 85 + ".md", INVALID),
    ("memory\\x.md", CONTROLS),
    ("..\\x.md", CONTROLS),
    ("C:\\x.md", CONTROLS),
    ("memory/x\0.md", CONTROLS),
    ("memory/x\n.md", CONTROLS),
    ("memory/x\r.md", CONTROLS),
    ("memory/x\t.md", CONTROLS),
    ("memory/\x1b[2J.md", CONTROLS),
    ("memory/x\x7f.md", CONTROLS),
    ("memory/x\x85.md", CONTROLS),
    ("memory/x\xad.md", CONTROLS),
    ("memory/\u200bx.md", CONTROLS),
    ("memory/\u202etxt.md", CONTROLS),
    ("memory/\u2066x.md", CONTROLS),
    ("memory/x\u2028.md", CONTROLS),
    ("memory/x\u2029.md", CONTROLS),
    ("memory/\ufeffx.md", CONTROLS),
    ("memory/\U000e0041.md", CONTROLS),
    ("memory/\ud800.md", "has a name that is not UTF-8"),
    ("memory/\udcff.md", "has a name that is not UTF-8"),
    (".git/config", GIT),
    (".GIT/config", GIT),
    ("memory/.git/hooks/x.md", GIT),
    ("memory/.Git", GIT),
    ("git~1/config", GIT),
    ("GIT~1", GIT),
    (".git ./x.md", GIT),
    (".git.", GIT),
    (".g\u200cit/config", GIT),
    ("\u200d.git/config", GIT),
    ("\uff0egit/config", GIT),
    (".\uff47it/config", GIT),
    ("memory/" + "x/" * MAX_DEPTH + "x.md", LONG),
    ("memory/" + "x" * 200 + "/" + "y" * 200 + "/" + "z" * 200 + "/" + "v" * 200 + "/" + "w" * 250, LONG),
]

ACCEPTED = [
    "MEMORY.md",
    "USER.md",
    "memory/2026-11-26.md",
    "memory/people/ann smith.md",
    "memory/.hidden.md",
    "memory/日記.md",
    "memory/中文/笔记：今天.md",
    "memory/caf\u00e9.md",
    "memory/cafe\u0301.md",
    "memory/\U0001f469\u200d\U0001f4bb.md",
    "memory/\u2764\ufe0f.md",
    "memory/\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md",
    "memory/\u0928\u094d\u200d.md",
    "memory/עברית.md",
    "memory/a:b?c*d|e<f>\"g'.md",
    "memory/..x.md",
    "memory/x...md",
    "memory/.gitignore.md",
    "memory/git.md",
    "memory/-rf.md",
    "memory/ .md",
    "memory/$(x)`y`.md",
    "memory/" + "x" * 252 + ".md",
]


@pytest.mark.parametrize(("path", "problem"), REFUSED)
def test_refused_path_is_reported_with_its_problem(path: str, problem: str) -> None:
    assert path_problem(path) == problem
    assert not is_tracked(path)
    with pytest.raises(RemoteRefusedError) as raised:
        check([path])
    assert problem in raised.value.message
    raised.value.message.encode()


@pytest.mark.parametrize("path", ACCEPTED)
def test_path_that_people_use_is_tracked(path: str) -> None:
    assert path_problem(path) is None
    assert is_tracked(path)
    check([path])


@pytest.mark.parametrize(
    "path", [LEDGER, "README.md", "notes.txt", "memory/x.txt", "memory/.hidden/x.md", ".gitignore"]
)
def test_file_that_is_no_memory_is_accepted_and_not_tracked(path: str) -> None:
    check([path])
    assert not is_tracked(path)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("120000", "is a symbolic link"),
        ("160000", "is a submodule"),
        ("040000", "is of the unknown mode 040000"),
        ("100664", "is of the unknown mode 100664"),
        ("000000", "is of the unknown mode 000000"),
        ("", "is of the unknown mode "),
    ],
)
@pytest.mark.parametrize("path", ["MEMORY.md", "README.txt"])
def test_entry_that_is_no_plain_file_is_refused(path: str, mode: str, kind: str) -> None:
    with pytest.raises(RemoteRefusedError, match=kind):
        check_files({path: TreeEntry(mode, OID, 1)}, 10, 10, 100)


def test_executable_file_is_accepted() -> None:
    check_files({"MEMORY.md": TreeEntry("100755", OID, 1)}, 10, 10, 100)


def check(paths: list[str], size: int = 1) -> None:
    """Check files with limits of 10 bytes a file, 10 files, and 100 bytes."""
    check_files({path: TreeEntry(FILE, OID, size) for path in paths}, 10, 10, 100)


@pytest.mark.parametrize(
    ("paths", "size", "problem"),
    [
        (["MEMORY.md"], 11, "'MEMORY.md' on the remote has 11 B; the limit is 10 B"),
        (
            [f"memory/{number}.md" for number in range(11)],
            1,
            "the remote has 11 memory files; the limit is 10",
        ),
        (["x.txt"], 101, "the remote has 101 B of files; the limit is 100 B"),
        ([f"{number}.txt" for number in range(MAX_OTHER_FILES + 1)], 0, "is it another project's"),
        (["memory/x.md", "memory/x.md/y.md"], 1, "'memory/x.md' on the remote is both a file and a folder"),
        (["memory", "memory/a/x.md"], 1, "'memory' on the remote is both a file and a folder"),
    ],
)
def test_commit_beyond_the_limits_is_refused(paths: list[str], size: int, problem: str) -> None:
    with pytest.raises(RemoteRefusedError) as raised:
        check(paths, size)
    assert problem in raised.value.message
    assert "nothing was changed here" in raised.value.message


def test_commit_within_the_limits_is_accepted() -> None:
    check([f"memory/{number}.md" for number in range(10)], 10)
    check([f"{number}.txt" for number in range(MAX_OTHER_FILES)], 0)
    check(["memory/x.md", "memory/x/y.md", "memory/x-y.md"])


@given(st.text(max_size=30))
def test_tracked_path_of_any_text_stays_below_memory(path: str) -> None:
    if is_tracked(path):
        assert is_memory_path(path)
        assert not {"", ".", "..", ".git"} & set(path.split("/"))
        assert not set(path) & set("\0\n\r\t\\\x1b\u202e")


@pytest.mark.parametrize("data", ["", "a\n", "日記\n", "\ufeffa", "a\r\n", "\x1b[0m"])
def test_text_in_utf8_is_returned(data: str) -> None:
    assert check_text("MEMORY.md", data.encode()) == data


@pytest.mark.parametrize(
    "data", [b"\xff", b"a\0", "é".encode("latin-1"), "a".encode("utf-16"), b"\xed\xa0\x80"]
)
def test_content_that_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteRefusedError, match=r"'MEMORY\.md' on the remote is not text in UTF-8"):
        check_text("MEMORY.md", data)
