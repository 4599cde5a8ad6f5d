"""One corpus with every kind of source, and a record of its index and of the replies to 200 queries.

`python -m tests.support.frozen FILE` writes the record, so that two revisions can be compared to the digit; without a
file it writes the lines that each run of the tests compares.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import apsw
import zstandard

from memd_client import Client
from memd_client.messages import Hit
from tests.support.daemon import DaemonProcess
from tests.support.provider_server import serve_provider
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.opencode import V2_MESSAGE, V2_SESSION
from tests.support.transcript_programs.plain import (
    CursorEditorPlain,
    CursorLines,
    OpencodePlain,
    PlainWriter,
    claude_code,
    codex,
    copilot,
    copilot_chat,
    gemini,
)
from tests.support.transcripts import STAMP, TranscriptHome, conversation, header, message, reset
from tests.support.tree import ROOT

QUERIES: Final = 200
MOMENT_NS: Final = 1_793_606_400 * 1_000_000_000
"""2026-11-02: the time of every file."""

SUBJECTS: Final = (
    "the archive search|the payment webhook|the release branch|the staging database|the nightly backup|"
    "the parser cache|the login form|the image resizer|the billing export|the mail queue|the map tiles|"
    "the feature flags|the heating plan|the garden shed|the walnut table|the sourdough starter|the ferry timetable|"
    "the tax return"
).split("|")
VERBS: Final = (
    "fails on|was moved to|depends on|is documented in|got slower because of|no longer needs|is tested with|blocks"
).split("|")
OBJECTS: Final = (
    "port 8443|a missing index|Postgres 16|ADR-0042|the 2026-03-14 deploy|retry budgets|Frankfurt|a stale lock|"
    "`max_connections = 40`|Mrs Lindqvist|the blue folder|Tuesday's meeting|cedar oil|version 3.2.1|an empty token|"
    "Müller & Sohn"
).split("|")

PROGRAMS: Final[Mapping[str, Callable[[Path], PlainWriter]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "copilot": copilot,
    "copilot-vscode": copilot_chat,
    "cursor": CursorLines,
    "opencode": lambda home: OpencodePlain(home, "opencode"),
    "kilo": lambda home: OpencodePlain(home, "kilo", V2_SESSION + V2_MESSAGE),
    "cursor-editor": CursorEditorPlain,
}

NOTES_OF_PROGRAMS: Final = {
    ".claude/CLAUDE.md": "claude-code-notes",
    ".claude/rules/style.md": "claude-code-notes",
    ".claude/projects/-home-eva-shop/memory/facts.md": "claude-code-notes",
    ".codex/AGENTS.md": "codex-notes",
    ".codex/memories/notes.md": "codex-notes",
    ".gemini/GEMINI.md": "gemini-notes",
    ".config/opencode/AGENTS.md": "opencode-notes",
    ".hermes/memories/user.md": "hermes-notes",
    "basic-memory/plans/spring.md": "basic-memory",
    "Vault/Daily/2026-10-30.md": "obsidian",
    "Vault/Recipes/bread.md": "obsidian",
}


def uuid(number: int) -> str:
    """Return the id of a session."""
    return f"0199a213-81c4-7000-8000-{number:012d}"


class FrozenCorpus:
    """Writes the corpus below a home folder: the same bytes and times each time."""

    def __init__(self, home: StateHome) -> None:
        self.home = home
        self.user = home.root / "user"
        self.outside = home.root / "elsewhere"
        self.random = random.Random(42)
        self.writers: dict[str, PlainWriter] = {}
        self.openclaw = TranscriptHome(home.state)

    def sentence(self) -> str:
        """Return a sentence."""
        chosen = (self.random.choice(words) for words in (SUBJECTS, VERBS, OBJECTS))
        return " ".join(chosen).capitalize() + "."

    def note(self, title: str, lines: int = 12) -> str:
        """Return a note."""
        parts = [f"# {title}", ""]
        for number in range(lines):
            if number % 5 == 4:
                parts += ["", f"## {self.random.choice(SUBJECTS)} {number}", ""]
            parts.append(f"- {self.sentence()} {self.sentence()}")
        return "\n".join(parts) + "\n"

    def write(self, path: Path, text: str) -> None:
        """Write a file with a fixed time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(MOMENT_NS, MOMENT_NS))

    def write_everything(self) -> None:
        """Write the corpus."""
        self._write_workspace()
        self._write_extra_paths()
        for path in NOTES_OF_PROGRAMS:
            self.write(self.user / path, self.note(Path(path).stem))
        vaults = {"vaults": {"a": {"path": str(self.user / "Vault")}}}
        self.write(self.user / ".config/obsidian/obsidian.json", json.dumps(vaults))
        self.write(self.user / "Vault/.obsidian/hidden.md", "# not a note\n")
        project = self.user / "shop"
        self.write(project / "CLAUDE.md", self.note("Shop"))
        self.write(project / ".claude/rules/tests.md", self.note("Tests", 3))
        self.write(self.user / ".claude.json", json.dumps({"projects": {str(project): {}}}))
        for number, (name, make) in enumerate(PROGRAMS.items()):
            writer = self.writers[name] = make(self.user)
            for session in range(3):
                for turn in range(4 + number % 3):
                    role = "assistant" if turn % 2 else "user"
                    writer.append(uuid(10 * number + session), role, f"{self.sentence()}\n{self.sentence()}")
        self._write_files_of_openclaw()
        self._write_database_of_openclaw()
        self.set_times()

    def set_times(self) -> None:
        """Give every file of a program the fixed time."""
        for root in (self.user, self.openclaw.sessions):
            for path in root.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    os.utime(path, ns=(MOMENT_NS, MOMENT_NS))

    def _write_workspace(self) -> None:
        workspace = self.home.workspace()
        for name in ("MEMORY.md", "USER.md", "memory/plans.md", "memory/deep/er/note.md", "memory/日記.md"):
            self.write(workspace / name, self.note(Path(name).stem, 30))
        for day in range(1, 20):
            self.write(workspace / f"memory/2026-10-{day:02}.md", self.note(f"2026-10-{day:02}", 8))
        self.write(workspace / "memory/.hidden/x.md", "# hidden\n")
        self.write(workspace / "memory/node_modules/x.md", "# dependency\n")
        self.write(workspace / "memory/plain.txt", "no Markdown\n")
        self.write(workspace / "memory/empty.md", "")
        self.write(workspace / "memory/broken.md", "x")
        (workspace / "memory/broken.md").write_bytes(b"caf\xe9\n")
        self.write(self.outside / "target.md", self.note("behind a link"))
        (workspace / "memory/link.md").symlink_to(self.outside / "target.md")
        (workspace / "memory/folder-link").symlink_to(self.outside)
        os.link(workspace / "memory/plans.md", workspace / "memory/twin.md")

    def _write_extra_paths(self) -> None:
        for name in (
            "handbook/a.md",
            "handbook/sub/b.md",
            "handbook/c.txt",
            "single.md",
            "mixed/d-keep.md",
            "mixed/e.md",
        ):
            self.write(self.outside / name, self.note(Path(name).stem))
        for name in ("docs/guide.md", "docs/deep/more.md"):
            self.write(self.home.workspace() / name, self.note(Path(name).stem))
        (self.home.workspace() / "linked-docs").symlink_to(self.outside / "handbook")
        self.write(self.home.root / "vault/Projects/memd.md", self.note("memd"))
        self.write(self.home.root / "vault/Projects/deep/idea.md", self.note("idea"))
        (self.home.root / "vault/link.md").symlink_to(self.outside / "target.md")

    def _conversations(self, session: str, turns: int) -> list[str]:
        records = [header(session)]
        for turn in range(turns):
            role = "assistant" if turn % 2 else "user"
            records.append(
                message(role, f"{self.sentence()}\n {self.sentence()}", 1_767_607_200_000 + turn * 60_000)
            )
        return records

    def _write_files_of_openclaw(self) -> None:
        home = self.openclaw
        for name in (
            "file-a",
            "file-b",
            "both",
            "outlived",
            f"rotated.jsonl.reset.{STAMP}",
            f"gone.jsonl.deleted.{STAMP}",
        ):
            home.write_file(name, self._conversations(name, 7))
        home.write_file(
            "with-reset", [*self._conversations("w", 5), reset(), *self._conversations("w", 4)[1:]]
        )
        home.write_file("listed-cron", conversation("c", 2))
        home.write_file("cron", [message("user", "[cron:7f report] Write the report.")])
        home.write_list(
            {
                "agent:main:cron:x": {"sessionId": "listed-cron"},
                "agent:main:direct:eva": {"sessionId": "file-a"},
            }
        )
        packed = "\n".join(self._conversations("packed", 4)).encode()
        (home.sessions / f"packed.jsonl.reset.{STAMP}.zst").write_bytes(
            zstandard.ZstdCompressor().compress(packed)
        )

    def _write_database_of_openclaw(self) -> None:
        with self.openclaw.open_database() as database:
            for number, name in enumerate(("both", "base-a", "base-b", "cold", "half-cold", "embedded")):
                database.add_session(name, self._conversations(name, 5 + number), packed=number % 2 == 1)
            database.add_session("beat", conversation("beat", 1), key="agent:main:main:heartbeat")
            database.add_session("sub", conversation("sub", 1), spawned_by="agent:main:main")
            database.freeze("cold")
            database.freeze("half-cold", up_to=3)
            database.freeze("embedded", embedded=True)

    def settings(self, url: str, key: str, model: str) -> dict[str, Any]:
        """Return OpenClaw's settings."""
        extra = [
            {"path": str(self.outside / "handbook")},
            {"path": str(self.outside / "single.md")},
            {"path": str(self.outside / "mixed"), "pattern": "*-keep.md"},
            {"path": "docs"},
            {"path": "linked-docs"},
            {"path": str(self.outside / "missing")},
        ]
        search: dict[str, Any] = {
            "provider": "openai",
            "model": model,
            "remote": {"baseUrl": url, "apiKey": key},
            "sources": ["memory", "sessions"],
            "experimental": {"sessionMemory": True},
            "extraPaths": [each if "pattern" in each else each["path"] for each in extra],
        }
        return {"agents": {"defaults": {"memorySearch": search}}}

    def toml(self) -> str:
        """Return memd's settings: every source, one of them retaining deleted conversations, and a vault."""
        names = [*PROGRAMS, *dict.fromkeys(NOTES_OF_PROGRAMS.values())]
        tables = [f"[sources.{name}]\n" + ("keep = true\n" if name == "opencode" else "") for name in names]
        return "\n".join([*tables, f'[sources.vault]\npath = "{self.home.root / "vault"}"\n'])

    def edit(self) -> None:
        """Change something in every kind of source."""
        workspace = self.home.workspace()
        self.write(workspace / "memory/plans.md", self.note("plans", 31))
        self.write(workspace / "memory/new/day.md", self.note("day"))
        (workspace / "memory/2026-10-03.md").unlink()
        (workspace / "memory/deep").rename(workspace / "memory/depth")
        self.write(self.outside / "handbook/a.md", self.note("a", 14))
        self.write(workspace / "docs/guide.md", self.note("guide", 14))
        self.write(self.home.root / "vault/Projects/memd.md", self.note("memd", 14))
        (self.home.root / "vault/Projects/deep").rename(self.home.root / "vault/Projects/depth")
        self.write(self.user / ".claude/rules/style.md", self.note("style", 13))
        for number, name in enumerate(PROGRAMS):
            self.writers[name].append(uuid(10 * number), "user", self.sentence())
            self.writers[name].append(uuid(10 * number + 5), "user", self.sentence())
            self.writers[name].delete(uuid(10 * number + 1))
        self.openclaw.append_file("file-a", [message("user", self.sentence())])
        (self.openclaw.sessions / "file-b.jsonl").unlink()
        with self.openclaw.open_database() as database:
            database.append("base-a", [message("user", self.sentence())])
            database.db.execute("DELETE FROM transcript_events WHERE session_id = 'base-b'")
            database.add_session("base-c", self._conversations("base-c", 3))
        self.set_times()

    def close(self) -> None:
        """Close the databases."""
        for writer in self.writers.values():
            writer.close()


def make_queries() -> list[tuple[str, dict[str, Any]]]:
    """Return the queries, each with its filters."""
    chooser = random.Random(7)
    filters: list[dict[str, Any]] = [
        *(
            {},
            {},
            {},
            {"lexical_only": True},
            {"max_results": 25},
            {"max_chars": 3000},
            {"since": "2026-01-01"},
        ),
        *(
            {"sources": each}
            for each in (["memory"], ["sessions"], ["vault", "obsidian"], ["codex", "opencode"])
        ),
        *({"path": "memory/"}, {"project": "shop"}),
        *({"exclude_session": each} for each in (uuid(10), "agent:main:direct:eva")),
    ]
    queries = []
    for number in range(QUERIES):
        subject, verb, target = (chooser.choice(words) for words in (SUBJECTS, VERBS, OBJECTS))
        form = ("why {s} {v}", "{s} {t}", "what {v} {t}?", "{t}", "{s} {v} {t}")[number % 5]
        queries.append((form.format(s=subject, v=verb, t=target), filters[number % len(filters)]))
    return queries


def _hit(hit: Hit) -> list[Any]:
    session = hit.session
    facts = (
        None
        if session is None
        else [session.program, session.id, session.title, session.project, session.date, session.open]
    )
    digest = sha256(hit.snippet.encode()).hexdigest()[:12]
    return [hit.path, hit.source, hit.start_line, hit.end_line, hit.score, hit.relevance, digest, facts]


def _replies(client: Client) -> list[Any]:
    rows: list[Any] = []
    for query, filters in make_queries():
        reply = client.search(query, **filters)
        rows.append(
            [query, filters, reply.mode, [_hit(hit) for hit in reply.hits], reply.empty and reply.empty.code]
        )
    for query, _ in make_queries()[:20]:
        for found in client.conversation_search(query).conversations:
            excerpts: list[Any] = [[each.line, each.text, each.score] for each in found.excerpts]
            rows.append([query, found.path, found.score, found.session.id, excerpts])
    return rows


DATABASES: Final = ("opencode", "kilo", "cursor-editor")


def _tables(index: Path) -> dict[str, Any]:
    db = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    tables: dict[str, Any] = {}
    for table in ("files", "chunks", "transcripts"):
        columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
        rows = [
            dict(zip(columns, row, strict=True))
            for row in db.execute(f"SELECT * FROM {table} ORDER BY path, 1")
        ]
        for row in rows:
            row.pop("indexed_at", None)
            row.pop("updated_at", None)
            if table == "files" and row["ctime_ns"] and row["source"] not in DATABASES:
                row["inode"] = row["ctime_ns"] = "of the file"
            if str(row.get("hash", "")).endswith(":deleted"):
                row["mtime_ns"] = row["inode"] = row["ctime_ns"] = "of the copy"
            if table == "chunks":
                row.pop("id")
        tables[table] = [
            [value.hex() if isinstance(value, bytes) else value for value in row.values()] for row in rows
        ]
        tables[table].insert(0, list(rows[0]))
    db.close()
    return tables


def _state(client: Client) -> dict[str, Any]:
    (agent,) = client.status().agents
    files = client.files(limit=500)
    skipped = sorted([each.path, each.reason] for each in agent.skipped)
    added = sorted(
        [
            each.name,
            each.kind,
            each.files,
            each.sessions,
            each.messages,
            each.redactions,
            each.unknown,
            sorted(each.excluded.items()),
            each.retained,
        ]
        for each in agent.added
    )
    sessions = agent.sessions and [
        agent.sessions.transcripts,
        agent.sessions.messages,
        agent.sessions.stores,
        agent.sessions.excluded,
    ]
    listed = sorted(
        [each.path, each.source, each.size_bytes, each.chunks, each.title, each.date] for each in files.files
    )
    return {
        "skipped": skipped,
        "added": added,
        "sessions": sessions,
        "files": listed,
        "sources": agent.sources,
    }


def _plain(value: Any, root: str) -> Any:
    """Return a record without the path of the home."""
    return json.loads(json.dumps(value, default=str).replace(root, "ROOT"))


@contextmanager
def _written(home: StateHome) -> Iterator[FrozenCorpus]:
    corpus = FrozenCorpus(home)
    try:
        corpus.write_everything()
        yield corpus
    finally:
        corpus.close()


def record() -> dict[str, Any]:
    """Return the record: tables, state and replies, of the corpus as written and after its edits."""
    with ExitStack() as stack:
        server = stack.enter_context(serve_provider("openai"))
        home = stack.enter_context(StateHome())
        corpus = stack.enter_context(_written(home))
        home.configure(corpus.settings(server.url, server.key or "", server.facts.model))
        (home.root / "memd.toml").write_text(corpus.toml())
        result: dict[str, Any] = {}
        index = home.state / "memory" / "main.memd.sqlite"
        for step in ("written", "edited"):
            with (
                DaemonProcess(home, {"HOME": str(corpus.user), "TZ": "UTC"}) as daemon,
                daemon.client() as client,
            ):
                client.index()
                if step == "edited":
                    corpus.edit()
                    client.search("the archive search")
                    client.index()
                state, replies = _state(client), _replies(client)
            result[step] = _plain({**_tables(index), "state": state, "replies": replies}, str(home.root))
        return result


def lines_of(result: dict[str, Any], parts: Collection[str] = ()) -> list[str]:
    """Return a record as lines, only some parts of it if they are named."""
    lines = []
    for step, found in result.items():
        for part, rows in found.items():
            if not parts or part in parts:
                items = rows if isinstance(rows, list) else sorted(rows.items())
                lines += [f"{step} {part} {json.dumps(row, ensure_ascii=False)}" for row in items]
    return lines


GOLDEN: Final = ROOT / "tests" / "golden" / "sources.txt"
GOLDEN_PARTS: Final = ("files", "transcripts")
"""What is compared in each run of the tests: it changes with the readers alone, not with chunks and ranking."""


def main() -> None:
    """Write the record to the file that is named; without a name, write the golden lines."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines_of(record())) + "\n")
    else:
        GOLDEN.write_text("\n".join(lines_of(record(), GOLDEN_PARTS)) + "\n")


if __name__ == "__main__":
    main()
