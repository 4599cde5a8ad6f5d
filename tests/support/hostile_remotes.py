"""Changes to a bare repository that a machine must refuse, or must take without harm."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.machines import BareRepository

BRANCH: Final = "refs/heads/memd/main"

FILE, EXECUTABLE, LINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"

Entry = tuple[str, str | bytes, str]
"""Mode, name and id."""

NOBODY: Final = "0123456789abcdef0123456789abcdef01234567"
"""The id of no object."""

REFUSED, REWRITTEN = "remote_refused", "remote_rewritten"

MB: Final = 1_000_000


class RawRepository:
    """Writes objects and references without any of git's checks."""

    def __init__(self, repository: BareRepository) -> None:
        self.path = repository.path
        self.git = repository.git
        self.good = repository.git("rev-parse", BRANCH)

    def write(self, kind: str, data: bytes, *, stored: bytes | None = None) -> str:
        """Store an object and return its id; `stored` replaces what is compressed into its file."""
        head = f"{kind} {len(data)}\0".encode()
        oid = hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
        file = self.path / "objects" / oid[:2] / oid[2:]
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_bytes(zlib.compress(head + data if stored is None else stored))
        return oid

    def blob(self, data: str | bytes) -> str:
        """Store a content."""
        return self.write("blob", data.encode() if isinstance(data, str) else data)

    def tree(self, entries: Sequence[Entry], *, is_sorted: bool = True) -> str:
        """Store a tree; names may be anything."""

        def key(entry: Entry) -> bytes:
            return _bytes(entry[1]) + (b"/" if entry[0] == FOLDER else b"")

        ordered = sorted(entries, key=key) if is_sorted else entries
        data = b"".join(
            mode.encode() + b" " + _bytes(name) + b"\0" + bytes.fromhex(oid) for mode, name, oid in ordered
        )
        return self.write("tree", data)

    def entries(self, tree: str) -> list[Entry]:
        """Return the entries of a tree."""
        rows = [row for row in self.git("ls-tree", "-z", tree).split("\0") if row]
        parts = [row.replace("\t", " ", 1).split(" ", 3) for row in rows]
        return [(mode.lstrip("0"), name, oid) for mode, _, oid, name in parts]

    def commit(
        self,
        tree: str,
        *,
        parents: Sequence[str] | None = None,
        who: str = "eva on laptop <e@memd> 1700000000 +0000",
        message: str = "Change",
    ) -> str:
        """Store a commit; its parent is the good one."""
        lines = [
            f"tree {tree}",
            *(f"parent {each}" for each in ([self.good] if parents is None else parents)),
        ]
        return self.write(
            "commit", "\n".join([*lines, f"author {who}", f"committer {who}", "", message]).encode()
        )

    def point(self, oid: str, ref: str = BRANCH) -> None:
        """Let a reference name any id."""
        file = self.path / ref
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{oid}\n")

    def offer(
        self,
        memory: Sequence[Entry] = (),
        root: Sequence[Entry] = (),
        *,
        is_sorted: bool = True,
        **commit: object,
    ) -> str:
        """Let the branch have a commit with more entries in `memory` and in the root."""
        names = {_bytes(name) for _, name, _ in root}
        top = [each for each in self.entries(self.good) if _bytes(each[1]) not in names]
        if memory:
            inside = self.entries(f"{self.good}:memory")
            folder = self.tree([*inside, *memory], is_sorted=is_sorted)
            top = [each for each in top if each[1] != "memory"] + [(FOLDER, "memory", folder)]
        oid = self.commit(self.tree([*top, *root], is_sorted=is_sorted), **commit)  # type: ignore[arg-type]
        self.point(oid)
        return oid

    def restore(self) -> None:
        """Make the repository good again."""
        shutil.rmtree(self.path / "refs" / "memd" / "main" / "purges", ignore_errors=True)
        (self.path / "shallow").unlink(missing_ok=True)
        for hook in (self.path / "hooks").glob("*"):
            hook.unlink()
        self.point(self.good)


def _bytes(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


@dataclass(frozen=True, slots=True)
class HostileKind:
    """A change to the repository, the code of the error ("" if it is taken), and words of its message."""

    change: Callable[[RawRepository], object]
    code: str = REFUSED
    words: tuple[str, ...] = field(default_factory=tuple)


def _named(name: str | bytes, *words: str) -> HostileKind:
    """Return a file of a name in `memory`."""
    return HostileKind(lambda raw: raw.offer([(FILE, name, raw.blob("text\n"))]), words=words)


def _deep(raw: RawRepository) -> str:
    tree = raw.tree([(FILE, "deep.md", raw.blob("deep\n"))])
    for _ in range(40):
        tree = raw.tree([(FOLDER, "d", tree)])
    return raw.offer([(FOLDER, "d", tree)])


def _noise(raw: RawRepository, size: int) -> str:
    return raw.blob(random.Random(size).randbytes(size // 2).hex())


def _many(raw: RawRepository, count: int, suffix: str) -> str:
    oid = raw.blob("many\n")
    return raw.offer([(FOLDER, "many", raw.tree([(FILE, f"{at:05}{suffix}", oid) for at in range(count)]))])


def _total(raw: RawRepository) -> str:
    return raw.offer([(FILE, f"part-{at:02}.md", _noise(raw, 900_000 + at * 2)) for at in range(40)])


def _missing(raw: RawRepository) -> str:
    return raw.offer([(FILE, "missing.md", NOBODY)])


def _missing_tree(raw: RawRepository) -> str:
    return raw.offer([(FOLDER, "missing", NOBODY)])


def _missing_parent(raw: RawRepository) -> str:
    return raw.offer([(FILE, "a.md", raw.blob("a\n"))], parents=[raw.good, NOBODY])


def _damaged(raw: RawRepository) -> str:
    oid = raw.blob("damaged content\n")
    file = raw.path / "objects" / oid[:2] / oid[2:]
    file.write_bytes(file.read_bytes()[:-6] + b"zzzzzz")
    return raw.offer([(FILE, "damaged.md", oid)])


def _wrong_id(raw: RawRepository) -> str:
    oid = raw.write("blob", b"what the id says\n", stored=b"blob 17\0what it really is")
    return raw.offer([(FILE, "wrong.md", oid)])


def _tag(raw: RawRepository) -> None:
    commit = raw.offer([(FILE, "tagged.md", raw.blob("tagged\n"))])
    tagger = "eva <e@memd> 1700000000 +0000"
    raw.point(raw.write("tag", f"object {commit}\ntype commit\ntag v1\ntagger {tagger}\n\nx".encode()))


def _unrelated(raw: RawRepository) -> None:
    raw.point(raw.commit(raw.tree([(FILE, "MEMORY.md", raw.blob("other\n"))]), parents=[]))


def _forged_purge(raw: RawRepository) -> None:
    _unrelated(raw)
    foreign = raw.commit(raw.tree([]), parents=[], message="foreign")
    raw.point(foreign, f"refs/memd/main/purges/{foreign[:16]}")


def _shallow(raw: RawRepository) -> str:
    oid = raw.offer([(FILE, "shallow.md", raw.blob("shallow\n"))], parents=[NOBODY])
    (raw.path / "shallow").write_text(f"{oid}\n")
    return oid


def _attributes(raw: RawRepository) -> str:
    text = "* text=auto eol=crlf filter=evil ident\n*.md filter=evil working-tree-encoding=UTF-16\n"
    root = [(FILE, ".gitattributes", raw.blob(text)), (FILE, ".gitignore", raw.blob("*.md\n"))]
    return raw.offer(
        [(FILE, "plain.md", raw.blob("$Id$ one\ntwo\n"))], [*root, (FILE, "README.md", raw.blob("hi\n"))]
    )


def _long_history(raw: RawRepository) -> None:
    tree, parent = raw.git("rev-parse", f"{raw.good}^{{tree}}"), raw.good
    stream = bytearray()
    for number in range(5_000):
        data = f"data 5\ncount\nM 100644 inline memory/count.md\ndata 6\n{number:05}\n\n"
        begin = f"from {parent}\n" if number == 0 else ""
        stream += f"commit refs/heads/long\ncommitter e <e@memd> {1_700_000_000 + number} +0000\n".encode()
        stream += data.replace("count\nM", f"count\n{begin}M", 1).encode()
    del tree
    raw.git("fast-import", "--quiet", "--force", stdin=bytes(stream))
    raw.point(raw.git("rev-parse", "refs/heads/long"))


def _apart(raw: RawRepository) -> str:
    names = ("Straße.md", "straße.md", "STRASSE.md", "caf\u00e9.md", "cafe\u0301.md")
    return raw.offer([(FILE, name, raw.blob(f"{number}\n")) for number, name in enumerate(names)])


def _machines(raw: RawRepository) -> None:
    for name in ("-x", "a;b", "x" * 200, "\u202eevil"):
        raw.point(raw.good, f"refs/memd/main/machines/{name}")


KINDS: Final[dict[str, HostileKind]] = {
    "link to a file": HostileKind(
        lambda raw: raw.offer([(LINK, "link.md", raw.blob("../../openclaw.json"))]),
        words=("link.md", "symbolic link"),
    ),
    "link to a folder": HostileKind(
        lambda raw: raw.offer([(LINK, "etc", raw.blob("/etc"))]), words=("memory/etc", "symbolic link")
    ),
    "link instead of a note": HostileKind(
        lambda raw: raw.offer(root=[(LINK, "MEMORY.md", raw.blob("/etc/passwd"))]),
        words=("MEMORY.md", "symbolic link"),
    ),
    "link instead of the folder": HostileKind(
        lambda raw: raw.offer(root=[(LINK, "memory", raw.blob("/tmp"))]), words=("'memory'", "symbolic link")
    ),
    "link outside of memory": HostileKind(
        lambda raw: raw.offer(root=[(LINK, "README", raw.blob("/etc/passwd"))]),
        words=("README", "symbolic link"),
    ),
    "submodule": HostileKind(
        lambda raw: raw.offer([(SUBMODULE, "sub", raw.good)]), words=("memory/sub", "submodule")
    ),
    "submodule in the root": HostileKind(
        lambda raw: raw.offer(root=[(SUBMODULE, "sub", raw.good)]), words=("'sub'", "submodule")
    ),
    "mode with a zero": HostileKind(lambda raw: raw.offer([("0100644", "odd.md", raw.blob("odd\n"))])),
    "mode of a device": HostileKind(lambda raw: raw.offer([("060000", "odd.md", raw.blob("odd\n"))])),
    "name ..": HostileKind(
        lambda raw: raw.offer([(FOLDER, "..", raw.tree([(FILE, "x.md", raw.blob("x"))]))])
    ),
    "name .": HostileKind(lambda raw: raw.offer([(FOLDER, ".", raw.tree([(FILE, "x.md", raw.blob("x"))]))])),
    "empty name": _named(""),
    "name .git": HostileKind(
        lambda raw: raw.offer([(FOLDER, ".git", raw.tree([(FILE, "config", raw.blob("x"))]))])
    ),
    "name .GIT": HostileKind(
        lambda raw: raw.offer([(FOLDER, ".GIT", raw.tree([(FILE, "a.md", raw.blob("x"))]))])
    ),
    "name .git with a space": HostileKind(
        lambda raw: raw.offer([(FOLDER, ".git ", raw.tree([(FILE, "a.md", raw.blob("x"))]))])
    ),
    "short name of .git": HostileKind(
        lambda raw: raw.offer([(FOLDER, "git~1", raw.tree([(FILE, "a.md", raw.blob("x"))]))])
    ),
    "name .git with a joiner": HostileKind(
        lambda raw: raw.offer([(FOLDER, ".g\u200cit", raw.tree([(FILE, "a.md", raw.blob("x"))]))])
    ),
    "name .git in wide letters": HostileKind(
        lambda raw: raw.offer([(FOLDER, "．ｇｉｔ", raw.tree([(FILE, "a.md", raw.blob("x"))]))]),
        words=(".git",),
    ),
    "slash in a name": _named("../../../evil.md"),
    "absolute name": _named("/tmp/evil.md"),
    "backslash in a name": _named("..\\evil.md", "backslash"),
    "control character in a name": _named("bell\x07.md", "control characters"),
    "line break in a name": _named("two\nlines.md", "control characters"),
    "direction mark in a name": _named("evil\u202edm.exe.md", "control characters"),
    "name that is not UTF-8": _named(b"caf\xe9.md", "UTF-8"),
    "long name": _named("x" * 300 + ".md", "name"),
    "deep folders": HostileKind(_deep, words=("too long a path",)),
    "entry twice": HostileKind(
        lambda raw: raw.offer([(FILE, "twin.md", raw.blob("1")), (FILE, "twin.md", raw.blob("2"))])
    ),
    "file and folder of one name": HostileKind(
        lambda raw: raw.offer(
            [(FILE, "x.md", raw.blob("1")), (FOLDER, "x.md", raw.tree([(FILE, "y.md", raw.blob("2"))]))]
        )
    ),
    "unsorted tree": HostileKind(
        lambda raw: raw.offer(
            [(FILE, "zz.md", raw.blob("1")), (FILE, "aa.md", raw.blob("2"))], is_sorted=False
        )
    ),
    "huge file": HostileKind(
        lambda raw: raw.offer([(FILE, "huge.md", _noise(raw, 3 * MB))]), words=("huge.md", "limit")
    ),
    "bomb": HostileKind(
        lambda raw: raw.offer([(FILE, "bomb.md", raw.blob(b"\0" * (300 * MB)))]), words=("bomb.md", "limit")
    ),
    "huge ledger": HostileKind(
        lambda raw: raw.offer(root=[(FOLDER, ".memd", raw.tree([(FILE, "facts", _noise(raw, 5 * MB))]))]),
        words=("'.memd/facts'", "limit"),
    ),
    "more bytes than an agent may have": HostileKind(_total, words=("limit",)),
    "more files than an agent may have": HostileKind(
        lambda raw: _many(raw, 300, ".md"), words=("memory files", "limit")
    ),
    "files of another project": HostileKind(lambda raw: _many(raw, 1_200, ".py"), words=("no memory",)),
    "binary note": HostileKind(
        lambda raw: raw.offer([(FILE, "bin.md", raw.blob(b"a\0b"))]), words=("bin.md", "UTF-8")
    ),
    "note in Latin-1": HostileKind(
        lambda raw: raw.offer([(FILE, "latin.md", raw.blob(b"caf\xe9\n"))]), words=("latin.md", "UTF-8")
    ),
    "missing content": HostileKind(_missing, "remote_"),
    "missing tree": HostileKind(_missing_tree, "remote_"),
    "missing parent": HostileKind(_missing_parent, "remote_"),
    "damaged object": HostileKind(_damaged, "remote_"),
    "object of another id": HostileKind(_wrong_id, "remote_"),
    "tag instead of a commit": HostileKind(_tag, words=("commit",)),
    "file instead of a commit": HostileKind(
        lambda raw: raw.point(raw.blob("no commit\n")), words=("commit",)
    ),
    "folder instead of a commit": HostileKind(
        lambda raw: raw.point(raw.git("rev-parse", f"{raw.good}^{{tree}}")), words=("commit",)
    ),
    "date before 1970": HostileKind(
        lambda raw: raw.offer([(FILE, "old.md", raw.blob("old\n"))], who="e <e@memd> -5 +0000")
    ),
    "impossible time zone": HostileKind(
        lambda raw: raw.offer([(FILE, "zone.md", raw.blob("zone\n"))], who="e <e@memd> 1700000000 +99999")
    ),
    "unrelated history": HostileKind(_unrelated, REWRITTEN, ("rewritten",)),
    "older commit": HostileKind(lambda raw: raw.point(raw.git("rev-parse", f"{raw.good}~1")), REWRITTEN),
    "forged purge": HostileKind(_forged_purge, REWRITTEN),
    "deleted branch": HostileKind(lambda raw: (raw.path / BRANCH).unlink(), REWRITTEN, ("none any more",)),
    "unreadable reference": HostileKind(lambda raw: raw.point("garbage"), "remote_"),
    "shallow repository": HostileKind(_shallow, "remote_"),
}
"""Changes that are refused: nothing of them may reach the workspace."""

HARMLESS: Final[dict[str, HostileKind]] = {
    "mode of a shared file": HostileKind(
        lambda raw: raw.offer([("100664", "odd.md", raw.blob("odd\n"))]), ""
    ),
    "executable file": HostileKind(lambda raw: raw.offer([(EXECUTABLE, "run.md", raw.blob("run\n"))]), ""),
    "names that differ in case or form": HostileKind(_apart, ""),
    "attributes, filters and a README": HostileKind(_attributes, ""),
    "huge message": HostileKind(
        lambda raw: raw.offer([(FILE, "m.md", raw.blob("m\n"))], message="x" * 2 * MB), ""
    ),
    "date in the far future": HostileKind(
        lambda raw: raw.offer([(FILE, "f.md", raw.blob("f\n"))], who="e <e@memd> 99999999999 -1200"), ""
    ),
    "odd author": HostileKind(
        lambda raw: raw.offer(
            [(FILE, "o.md", raw.blob("o\n"))], who="x on ../../evil $(id) <e@memd> 1700000000 +0000"
        ),
        "",
    ),
    "long history": HostileKind(_long_history, ""),
    "odd machines": HostileKind(_machines, ""),
}
"""Changes that are taken, and do no harm."""


def hostile_config(folder: Path) -> tuple[dict[str, str], Path]:
    """Return variables that name a user's git settings with programs, and the file to which each writes its folder."""
    mark = folder / "ran"
    program = folder / "program.sh"
    program.write_text(f'#!/bin/sh\necho "$PWD $0 $*" >> {mark}\ncat\n')
    program.chmod(0o755)
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in (
        "pre-push",
        "post-checkout",
        "reference-transaction",
        "post-rewrite",
        "pre-auto-gc",
        "post-index-change",
    ):
        os.symlink(program, hooks / name)
    template = folder / "template"
    shutil.copytree(hooks, template / "hooks", symlinks=True)
    settings = {
        "core.hooksPath": hooks,
        "core.fsmonitor": program,
        "core.autocrlf": "true",
        "core.excludesFile": folder / "ignore",
        "init.templateDir": template,
        "init.defaultBranch": "trunk",
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.required": "true",
        "commit.gpgSign": "true",
        "gpg.program": program,
        "fetch.recurseSubmodules": "true",
        "push.gpgSign": "if-asked",
        "gc.auto": "1",
    }
    (folder / "ignore").write_text("*\n")
    file = folder / "gitconfig"
    for name, value in settings.items():
        subprocess.run(["git", "config", "--file", str(file), name, str(value)], check=True)
    return {"GIT_CONFIG_GLOBAL": str(file)}, mark


def ran_in_memd(mark: Path) -> list[str]:
    """Return the programs that ran in memd's own repository; in the folder of the remote they are the server's."""
    lines = mark.read_text().splitlines() if mark.exists() else []
    return [line for line in lines if "/memory/remotes/" in line]
