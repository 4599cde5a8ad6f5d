"""Requests about the work of agents: commands, errors and what fixed them, and files.

All of it was recorded by the programs that the agents ran in. Commands, outputs and edits are without secrets.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import AgentId, Path, Position, Query
from memd_client.schema import Record
from memd_client.sources import SessionInfo

MAX_ERROR_OUTPUT_CHARS = 64_000
"""Of the output of a failed command, of which only the lines around the error are compared."""

ErrorOutput = Annotated[str, Meta(max_length=MAX_ERROR_OUTPUT_CHARS)]
Answers = Annotated[int, Meta(ge=1, le=100)]


class HowParams(Record, frozen=True):
    """Return how a command really runs here: invocations that succeeded, best first.

    Attributes:
        command: A program (`pytest`), a program and its subcommand (`cargo test`), a whole command line, or a
            description such as `run the integration tests`.
        agent: The agent's id; None: the default agent and `shared`.
        project: Name of a project's folder, or a path in it, whose commands come first; empty: none is preferred.
        include_failed: Whether invocations that only ever failed are returned too, after all others.
        limit: The most invocations, 1 to 100.

    Returns:
        `commands`, best first; `only_failed`, how many matching invocations only ever failed; and `searched`, how many
        commands are recorded.

    Raises:
        QueryEmptyError: The command has no text.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    command: Query
    agent: AgentId | None = None
    project: Path = ""
    include_failed: bool = False
    limit: Answers = 8


class KnownCommand(Record, frozen=True):
    """An invocation of a command in a folder, with all of its runs.

    Attributes:
        line: The command line of the newest run that succeeded, else of the newest run.
        folder: The working directory; empty if unknown.
        status: `ok` if a run succeeded; `failed` if every run of known outcome failed; `unknown` if the outcome of none
            is recorded.
        succeeded: Number of runs that succeeded.
        failed: Number of runs that failed.
        unknown: Number of runs whose outcome isn't recorded.
        sessions: Number of sessions that ran it.
        last_ms: Time of the newest run of that status, epoch ms; 0: unknown.
        citation: Place of that run, for `get`.
        agent: The agent whose memory has it.
        path: The conversation's path in the index.
        start_line: Place of the run in the transcript.
        session: The session of that run; None for one of OpenClaw's.
        origin: `outside` if a part of it repeats text of other people that the session read; else `program`.
        origin_reason: Why it is `outside`; empty if it is not.
    """

    line: str
    folder: str
    status: str
    succeeded: int
    failed: int
    unknown: int
    sessions: int
    last_ms: int
    citation: str
    agent: str
    path: str
    start_line: int
    session: SessionInfo | None = None
    origin: str = "program"
    origin_reason: str = ""


class HowReply(Record, frozen=True):
    """Invocations of a command, best first.

    Attributes:
        commands: The invocations, best first.
        only_failed: Number of matching invocations that only ever failed, whether or not they are returned.
        searched: Number of recorded commands that were searched.
    """

    commands: list[KnownCommand]
    only_failed: int = 0
    searched: int = 0


class FixParams(Record, frozen=True):
    """Return what fixed an error before, best first.

    A fix is a failed command with its own next success, and the steps between them.

    Attributes:
        error: The output of the failed command, its first lines, a stack trace, or a description of the error in any
            language.
        agent: The agent's id; None: the default agent and `shared`.
        project: Name of a project's folder, or a path in it, whose fixes come first; empty: none is preferred.
        limit: The most fixes, 1 to 100.

    Returns:
        `fixes`, best first; `reruns`, how often the same command succeeded without any change; `unfixed`, how often no
        success followed; and `searched`, how many failed commands are recorded.

    Raises:
        QueryEmptyError: The error has no text.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    error: ErrorOutput
    agent: AgentId | None = None
    project: Path = ""
    limit: Answers = 3


class FixStep(Record, frozen=True):
    """A step between a failure and the success that followed it.

    Attributes:
        action: `ran`, `edited`, `created` or `deleted`.
        text: The command line, or the path of the file.
        old: The replaced lines of an edit, cut; empty if unknown.
        new: The new lines of an edit, cut; empty if unknown.
    """

    action: str
    text: str
    old: str = ""
    new: str = ""


class Fix(Record, frozen=True):
    """A failure and what fixed it.

    Attributes:
        error: The line that names the error.
        command: The command line that failed.
        folder: Its working directory; empty if unknown.
        fixed_by: The command line that succeeded.
        is_same_command: Whether `fixed_by` is the failed command again; else another invocation of the same program.
        steps: Edits and commands between the two, in order, at most 12.
        sessions: Number of sessions in which the same steps followed the same error.
        has_held: Whether the error did not come back later in the session.
        time_ms: Time of the success, epoch ms; 0: unknown.
        citation: Place of the failure and its fix, for `get`.
        agent: The agent whose memory has it.
        path: The conversation's path in the index.
        start_line: Place of the failure in the transcript.
        session: The session; None for one of OpenClaw's.
        origin: `outside` if a part of it repeats text of other people that the session read; else `program`.
        origin_reason: Why it is `outside`; empty if it is not.
    """

    error: str
    command: str
    folder: str
    fixed_by: str
    is_same_command: bool
    steps: list[FixStep]
    sessions: int
    has_held: bool
    time_ms: int
    citation: str
    agent: str
    path: str
    start_line: int
    session: SessionInfo | None = None
    origin: str = "program"
    origin_reason: str = ""


class FixReply(Record, frozen=True):
    """Fixes of an error, best first.

    Attributes:
        fixes: The fixes, best first.
        reruns: How often the error went away when the same command ran again without any change: it may be flaky.
        unfixed: Number of failures with this error after which no success of the command is recorded.
        searched: Number of recorded failures that were searched.
    """

    fixes: list[Fix]
    reruns: int = 0
    unfixed: int = 0
    searched: int = 0


class BlameParams(Record, frozen=True):
    """Return the sessions that touched a file, newest first.

    Each one has what the user requested, and what was decided about the file.

    Attributes:
        file: The file: an absolute path, or the end of a path such as `src/queue.py`. Renames are followed by git.
        line: Only sessions that changed this line, from 1; None: the whole file.
        agent: The agent's id; None: the default agent and `shared`.
        limit: The most sessions, 1 to 100.

    Returns:
        `sessions`, newest first, and `names`, all paths that the file has had.

    Raises:
        BadParamsError: `file` is empty.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    file: Path
    line: Position | None = None
    agent: AgentId | None = None
    limit: Answers = 10


class FileTouch(Record, frozen=True):
    """A session that touched a file.

    Attributes:
        actions: What it did with the file: `read`, `edited`, `created`, `deleted`, each once.
        request: The user's request that led to the first change, or to the first read; empty if unknown.
        decisions: Sentences of the session about the file that record a decision, without messages of other people.
        time_ms: Time of the last of its steps, epoch ms; 0: unknown.
        citation: Place of the change, for `get`.
        agent: The agent whose memory has it.
        path: The conversation's path in the index.
        start_line: Place of the first change, or of the first read, in the transcript.
        session: The session; None for one of OpenClaw's.
    """

    actions: list[str]
    request: str
    decisions: list[str]
    time_ms: int
    citation: str
    agent: str
    path: str
    start_line: int
    session: SessionInfo | None = None


class BlameReply(Record, frozen=True):
    """Sessions that touched a file, newest first.

    Attributes:
        file: The file, absolute if it is known.
        names: All paths that the file has had, the present one first; of an unknown file the paths of all files with
            its name.
        sessions: The sessions, newest first.
        matched: What they were chosen by: `file`; with a line `line` or `near`, if they changed it or lines near it,
            else `unknown`.
    """

    file: str
    names: list[str]
    sessions: list[FileTouch] = field(default_factory=list)
    matched: str = "file"


class WorkFilesParams(Record, frozen=True):
    """Return the files that the work on a subject touched.

    `files` lists files of memory instead.

    Attributes:
        topic: The subject, as in `search`.
        agent: The agent's id; None: the default agent and `shared`.
        project: Only files of work in this project: the name of its folder, or a path in it; empty: any.
        limit: The most files, 1 to 100.

    Returns:
        `files`, best first.

    Raises:
        QueryEmptyError: The topic has no text.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    topic: Query
    agent: AgentId | None = None
    project: Path = ""
    limit: Answers = 20


class TouchedFile(Record, frozen=True):
    """A file that the work on a subject touched.

    Attributes:
        file: Its path, absolute if the folder is known.
        edits: How often it was edited, created or deleted in that work.
        reads: How often it was read.
        sessions: Number of sessions.
        last_ms: Time of the last step, epoch ms; 0: unknown.
        exists: Whether it is on disk now.
        citation: Place of the last change, or of the last read, for `get`.
        agent: The agent whose memory has it.
        path: The conversation's path in the index.
        start_line: That place in the transcript.
        session: The session of that step; None for one of OpenClaw's.
    """

    file: str
    edits: int
    reads: int
    sessions: int
    last_ms: int
    exists: bool
    citation: str
    agent: str
    path: str
    start_line: int
    session: SessionInfo | None = None


class WorkFilesReply(Record, frozen=True):
    """Files that the work on a subject touched, best first.

    Attributes:
        files: The files, best first.
    """

    files: list[TouchedFile]
