"""The benign set: notes, facts and conversations that repeat no text of other people, beside pages on their subjects.

The same home is served twice: once as it is, and once with sessions that read nothing, so that nothing in it can be of
other people.
A hook must give the same lines in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.outside_blocks import readable, without_outside_blocks
from tests.support.retrieval import SETS
from tests.support.state_homes import StateHome
from tests.support.tool_sessions import ToolSession
from tests.support.trust_home import SETTINGS

FILES: Final = {"tuned": SETS / "trust/benign_tuned.txt", "held out": SETS / "trust/benign_held_out.txt"}
"""The two halves: nothing may be fitted on the second."""

AGE: Final = timedelta(hours=3)
BETWEEN: Final = timedelta(minutes=3)

SHARE_LETTERS: Final = 40
"""First letters and digits of a line that must be in a text that contains the line."""

Kind: TypeAlias = Literal["said", "answered", "note", "fact", "user's note"]

KINDS: Final[dict[str, Kind]] = {
    "u": "said",
    "a": "answered",
    "n": "note",
    "f": "fact",
    "v": "user's note",
}


@dataclass(frozen=True)
class BenignLine:
    """A line of memory.

    Attributes:
        kind, language, text: Whose line it is, its language, and its text.
        is_beside_quotation: Whether an outside sentence stands in the same note.
        is_quoting: Whether one stands in the same answer, which is one line of memory, or in the answer to the line.
    """

    kind: Kind
    language: str
    text: str
    is_beside_quotation: bool
    is_quoting: bool = False

    @property
    def query(self) -> str:
        """A prompt that nearly repeats the line."""
        return f"{self.text[:200]} – is that still so?"

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the line."""
        return readable(self.text)[:SHARE_LETTERS] in readable(text)


@dataclass
class BenignSession:
    """What a session read, and what was said and noted."""

    name: str
    language: str
    has_quotation: bool
    page: list[str] = field(default_factory=list)
    file: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    lines: list[BenignLine] = field(default_factory=list)

    def texts(self, kind: Kind) -> list[str]:
        """Return its lines of a kind."""
        return [line.text for line in self.lines if line.kind == kind]

    @property
    def quotation(self) -> str:
        """A sentence of the page that the agent repeats; empty in every second session."""
        return self.page[0].partition(". ")[0] if self.has_quotation else ""


@dataclass(frozen=True)
class Judgement:
    """A line with what a hook and a tool return about it, with sessions that read, and without.

    Attributes:
        line: The line.
        with_reads, without_reads: What is put before the prompt.
        tool_text: What `memory_search` returns, with sessions that read.
    """

    line: BenignLine
    with_reads: str
    without_reads: str
    tool_text: str

    @property
    def is_withheld(self) -> bool:
        """Whether the line is missing although it would be there if nothing had been read."""
        return self.line.is_in(self.without_reads) and not self.line.is_in(self.with_reads)

    @property
    def is_labelled(self) -> bool:
        """Whether a tool labels the line as a text of other people."""
        return self.line.is_in(self.tool_text) and not self.line.is_in(without_outside_blocks(self.tool_text))


def load_benign(half: str) -> list[BenignSession]:
    """Return the sessions of a half."""
    sessions = list[BenignSession]()
    for row in FILES[half].read_text(encoding="utf-8").splitlines():
        mark, _, text = row.partition(" ")
        match mark:
            case "=":
                name, language = text.split()
                sessions.append(BenignSession(name, language, len(sessions) % 2 == 1))
            case "@":
                sessions[-1].page.append(text)
            case "%":
                sessions[-1].file.append(text)
            case "$":
                sessions[-1].printed.append(text)
            case mark if mark in KINDS:
                last, kind = sessions[-1], KINDS[mark]
                is_quoting = last.has_quotation and kind in ("said", "answered") and not last.texts(kind)
                last.lines.append(BenignLine(kind, last.language, text, last.has_quotation, is_quoting))
    return sessions


def judge_half(half: str) -> list[Judgement]:
    """Return what comes out about each line of a half."""
    sessions = load_benign(half)
    lines = [line for session in sessions for line in session.lines]
    with _served(sessions, has_reads=False) as client:
        without_reads = [_before_prompt(client, number, line) for number, line in enumerate(lines)]
    with _served(sessions, has_reads=True) as client:
        return [
            Judgement(line, _before_prompt(client, number, line), without, _found(client, line))
            for number, (line, without) in enumerate(zip(lines, without_reads, strict=True))
        ]


def _before_prompt(client: Client, number: int, line: BenignLine) -> str:
    reply = client.hook("codex", "prompt", f"new-{number}", cwd="/home/eva/other", prompt=line.query)
    if line.kind != "fact":
        return reply.text
    return reply.text + client.facts_for_prompt(line.query, force=True).text


def _found(client: Client, line: BenignLine) -> str:
    return client.call_tool("memory_search", {"query": line.query}).text


@contextmanager
def _served(sessions: Sequence[BenignSession], *, has_reads: bool) -> Iterator[Client]:
    with StateHome(SETTINGS) as home:
        user, vault = home.root / "user", home.root / "user/vault"
        vault.mkdir(parents=True)
        begun = datetime.now(UTC) - AGE
        for number, session in enumerate(sessions):
            notes = {
                home.workspace() / f"memory/{session.name}.md": note_text(session, "note", session.quotation),
                vault / f"{session.name}.md": note_text(session, "user's note", ""),
            }
            for path, text in notes.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            _write_session(session, user, begun + number * BETWEEN, notes, has_reads=has_reads)
        (home.root / "memd.toml").write_text(f'[sources.claude-code]\n[sources.vault]\npath = "{vault}"\n')
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client(timeout_s=600) as client:
            client.index()
            for session in sessions:
                for fact in session.texts("fact"):
                    client.memory_store(fact)
            client.index()
            yield client


def note_text(session: BenignSession, kind: Kind, quotation: str) -> str:
    """Return a note with the lines of a kind."""
    lines = [f"# {session.name}", "", *session.texts(kind), *filter(None, ["", quotation])]
    return "\n".join(lines) + "\n"


def _write_session(
    session: BenignSession, user: Path, begun: datetime, notes: Mapping[Path, str], *, has_reads: bool
) -> None:
    folder = str(user / "code" / session.name)
    written = ToolSession(f"benign/{session.name}", folder, begun)
    (first, *requests), (answer, *answers) = session.texts("said"), session.texts("answered")
    written.user(first)
    if has_reads:
        written.fetch(f"https://docs.example.com/{session.name}", "\n\n".join(session.page))
        written.read(f"{folder}/{session.name}.cfg", "\n".join(session.file))
        for path, text in notes.items():  # notes that are read aren't less trusted
            written.read(str(path), text)
        written.run("make check", "\n".join(session.printed))
    written.answer("\n\n".join(filter(None, [answer, session.quotation])))
    for request, reply in zip(requests, answers, strict=True):
        written.user(request)
        written.answer(reply)
    written.save(user)
