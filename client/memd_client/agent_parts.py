"""Records of what an agent has besides notes: conversations, sources of other programs, and a remote.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from msgspec import field

from memd_client.problems import Problem, SkippedFile
from memd_client.schema import Record


class SessionsStatus(Record, frozen=True):
    """An agent's transcripts: how many are indexed, and how many there are of each file format era.

    Attributes:
        transcripts: Transcripts in the index.
        messages: Messages in the index.
        redactions: Secrets replaced in the index.
        stores: Transcripts by kind: `jsonl` files, `sqlite` (OpenClaw's database).
        excluded: Sessions that are not memory, by kind: cron, heartbeat, subagent, ….
    """

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0
    stores: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=dict)


class UnknownType(Record, frozen=True):
    """A type of records in a program's transcripts that memd doesn't know, so that it skips them.

    Attributes:
        name: Name of the type; empty for records without one.
        records: Number of such records.
        release: The newest release of the program that wrote one, or empty.
    """

    name: str
    records: int = 0
    release: str = ""


class SourceStatus(Record, frozen=True):
    """A source of another program; `agent` is the one it belongs to, empty if none.

    Attributes:
        name: Name of the source.
        title: Name of the program.
        kind: `transcripts` or `notes`.
        agent: The agent it belongs to, or empty.
        locations: Its folders or databases.
        files: Files or sessions found.
        bytes: Their size.
        sessions: Sessions in the index.
        messages: Messages in the index.
        redactions: Secrets replaced in the index.
        unknown: Records that no reader knows, and broken ones.
        unknown_types: Types of the records that no reader knows, the most frequent first.
        excluded: Sessions that are not indexed, by kind: subagent, machine.
        newest_ms: Last change, epoch ms; None: unknown.
        oldest_ms: Change of the file that changed longest ago, epoch ms; None: unknown.
        keep: Conversations stay when the program deletes them.
        retained: Deleted conversations that are kept.
        retained_bytes: Size of their copies.
        problems: Problems of the source.
        commands: Commands of agents in the index; 0 if the source's `work` is off.
        file_steps: Files that agents read or changed, counted each time.
        work_bytes: Size of what is stored of them.
    """

    name: str
    title: str
    kind: str
    agent: str = ""
    locations: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    sessions: int = 0
    messages: int = 0
    redactions: int = 0
    unknown: int = 0
    unknown_types: list[UnknownType] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    newest_ms: int | None = None
    oldest_ms: int | None = None
    keep: bool = False
    retained: int = 0
    retained_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    commands: int = 0
    file_steps: int = 0
    work_bytes: int = 0


class MachineStatus(Record, frozen=True):
    """A machine that has an agent's memory.

    Attributes:
        name: Name of the machine.
        is_local: Whether it is this one.
        behind: Commits that it has not received, as far as this machine knows; -1: unknown.
        at_ms: Time of the last commit that it has, epoch ms; None: unknown.
    """

    name: str
    is_local: bool = False
    behind: int = -1
    at_ms: int | None = None


class MemoryConflict(Record, frozen=True):
    """A file with lines of another machine that conflict with a note; `note` is the note's path if known.

    Attributes:
        path: The file with the other machine's lines.
        note: The note they conflict with.
        machine: The machine that wrote them.
        date: Day of the conflict, YYYY-MM-DD.
    """

    path: str
    note: str
    machine: str
    date: str


class RemoteStatus(Record, frozen=True):
    """An agent's memory on a remote.

    Attributes:
        agent: The agent's id.
        url: Address of the repository, without a password.
        machine: Name of this machine.
        state: `ok`, `pending` (changes wait to be sent), `offline`, `refused`, `failed`, `held` (files are missing, and
            memd asks before it deletes them elsewhere) or `paused`.
        files: Replicated files.
        ahead: Commits that the remote lacks.
        is_behind: Whether the remote has commits that were not received yet.
        last_sync_ms: When the last exchange succeeded, epoch ms; None: not since the start.
        next_sync_ms: When the next one is due, epoch ms; None while paused.
        machines: Machines that have this memory.
        conflicts: Files with lines that conflict with a note.
        waiting: Received files that another program is writing to, and why.
        excluded: Files that are not replicated, and why.
        problem: None, or why the last exchange failed.
    """

    agent: str
    url: str
    machine: str
    state: str
    files: int = 0
    ahead: int = 0
    is_behind: bool = False
    last_sync_ms: int | None = None
    next_sync_ms: int | None = None
    machines: list[MachineStatus] = field(default_factory=list)
    conflicts: list[MemoryConflict] = field(default_factory=list)
    waiting: list[SkippedFile] = field(default_factory=list)
    excluded: list[SkippedFile] = field(default_factory=list)
    problem: Problem | None = None
