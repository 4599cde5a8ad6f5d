"""Work that a model on loopback does in the real programs: commands that really run, in a real repository of git.

`FIXING` is a session that breaks a build and fixes it. Each program has other tools for the same steps: `DIALECTS`
translates them. `outcomes` runs the same steps without any program, so that tests compare what a program recorded with
what happens.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tests.support.openclaw import ModelRequest, Script, TextReply, ToolCall

REQUEST: Final = "Give the limit of the queue a name and keep the checks green"
DECISION: Final = (
    "We decided to keep the limit of the queue in queue.h, because the report reads the same header.\n\n"
    "We decided to publish the release of the parcels every second Friday."
)
"""The model's answer: a decision about a file, and the last one, which a later session gets at its start."""

TITLE_OPENING: Final = "\n\nUser prompt:\n"
"""Between instructions and the user's words where Codex asks for a title; such a request also has tools."""

RUN_S: Final = 60.0


class RunLine(NamedTuple):
    """A command of the shell in the project's folder."""

    line: str


class ReadFile(NamedTuple):
    """A file that is read with the program's own tool."""

    path: str


class ReplaceLines(NamedTuple):
    """Whole lines of a file that are replaced."""

    path: str
    old: str
    new: str


class CreateFile(NamedTuple):
    """A new file."""

    path: str
    text: str


WorkStep: TypeAlias = RunLine | ReadFile | ReplaceLines | CreateFile


class Outcome(NamedTuple):
    """What came of a command: its exit status, and both streams."""

    exit_code: int
    output: str


PROJECT: Final[Mapping[str, str]] = {
    "queue.h": "int queue_limit(void);\n",
    "queue.c": '#include "queue.h"\n\nint queue_limit(void)\n{\n    return 64;\n}\n',
    "check.c": (
        '#include <stdio.h>\n#include "queue.h"\n\nint main(void)\n{\n    puts("limit checked");\n'
        "    return queue_limit() == 64 ? 0 : 1;\n}\n"
    ),
    "Makefile": (
        "CFLAGS = -Wall -Werror\n\ncheck: queue.c check.c queue.h\n\t$(CC) $(CFLAGS) -o check queue.c check.c\n\n"
        "test: check\n\t./check\n\n.PHONY: test\n"
    ),
    "report.py": (
        'import json\n\nwith open("build/limits.json") as file:\n    print("limit", json.load(file)["queue"])\n'
    ),
    "setup.sh": "mkdir -p build\nprintf '{\"queue\": 64}\\n' > build/limits.json\n",
    ".gitignore": "check\nbuild/\n",
}
"""A small project in C, whose report needs a file that the setup makes."""

TEST: Final = "make test"
REPORT: Final = "python3 report.py"
SETUP: Final = "sh setup.sh"
COMMIT: Final = 'git add -A && git commit -q -m "Name the limit of the queue"'
SEARCH: Final = "grep -n QUEUE_SIZE queue.h"
BREAKING: Final = ReplaceLines("queue.c", "    return 64;\n", "    return QUEUE_LIMIT;\n")
REPAIR: Final = ReplaceLines(
    "queue.h", "int queue_limit(void);\n", "#define QUEUE_LIMIT 64\nint queue_limit(void);\n"
)
NOTE: Final = CreateFile("LIMITS.txt", "The queue takes 64 mails.\n")

FIXING: Final[tuple[WorkStep, ...]] = (
    ReadFile("queue.c"),
    BREAKING,
    RunLine(TEST),
    RunLine(SEARCH),
    ReadFile("queue.h"),
    REPAIR,
    RunLine(TEST),
    RunLine(REPORT),
    RunLine(SETUP),
    RunLine(REPORT),
    NOTE,
    RunLine(COMMIT),
)


def make_project(folder: Path) -> None:
    """Make the project and its first commit; an earlier project in the folder is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "config", "user.name", "Eva")
    _git(folder, "config", "user.email", "eva@example.org")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "Add the shop")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=True
    )
    return done.stdout


def last_commit(folder: Path) -> str:
    """Return the subject of the last commit and the files that it changed."""
    return _git(folder, "show", "--name-only", "--format=%s", "HEAD").strip()


def outcomes(steps: Iterable[WorkStep], folder: Path) -> Iterator[tuple[WorkStep, Outcome | None]]:
    """Do steps in a project without a program; yield each with what came of a command."""
    for step in steps:
        match step:
            case RunLine(line):
                done = subprocess.run(
                    ["bash", "-c", line],
                    cwd=folder,
                    env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=RUN_S,
                    check=False,
                )
                yield step, Outcome(done.returncode, done.stdout)
            case ReplaceLines(path, old, new):
                before = (folder / path).read_text()
                assert before.count(old) == 1
                (folder / path).write_text(before.replace(old, new))
                yield step, None
            case CreateFile(path, text):
                (folder / path).write_text(text)
                yield step, None
            case ReadFile():
                yield step, None


ToToolCall: TypeAlias = Callable[[WorkStep, Path], ToolCall]


def _claude_code(step: WorkStep, folder: Path) -> ToolCall:
    match step:
        case RunLine(line):
            return ToolCall("Bash", {"command": line, "description": "Run a command"})
        case ReadFile(path):
            return ToolCall("Read", {"file_path": str(folder / path)})
        case ReplaceLines(path, old, new):
            return ToolCall("Edit", {"file_path": str(folder / path), "old_string": old, "new_string": new})
        case CreateFile(path, text):
            return ToolCall("Write", {"file_path": str(folder / path), "content": text})


def _patch(step: ReplaceLines | CreateFile) -> str:
    """Return a patch as Codex's models write it."""
    if isinstance(step, CreateFile):
        added = "".join(f"+{line}\n" for line in step.text.splitlines())
        return f"*** Begin Patch\n*** Add File: {step.path}\n{added}*** End Patch\n"
    removed = "".join(f"-{line}\n" for line in step.old.splitlines())
    added = "".join(f"+{line}\n" for line in step.new.splitlines())
    return f"*** Begin Patch\n*** Update File: {step.path}\n@@\n{removed}{added}*** End Patch\n"


def _codex(step: WorkStep, folder: Path) -> ToolCall:
    """Return a call of the shell, which also takes patches."""
    match step:
        case RunLine(line):
            return ToolCall("exec_command", {"cmd": line})
        case ReadFile(path):
            return ToolCall("exec_command", {"cmd": f"cat {path}"})
        case ReplaceLines() | CreateFile():
            return ToolCall("exec_command", {"cmd": f"apply_patch <<'EOF'\n{_patch(step)}EOF"})


def _codex_script(step: WorkStep, folder: Path) -> ToolCall:
    """Return a script, whose commands and patches are calls inside it, as current models do it."""
    match step:
        case RunLine(line):
            program = (
                f"const result = await tools.exec_command({json.dumps({'cmd': line})}); text(result.output);"
            )
        case ReadFile(path):
            program = f"const result = await tools.exec_command({{cmd: 'cat {path}'}}); text(result.output);"
        case ReplaceLines() | CreateFile():
            program = f"text(await tools.apply_patch({json.dumps(_patch(step))}));"
    return ToolCall("exec", {"input": program})


def _gemini(step: WorkStep, folder: Path) -> ToolCall:
    match step:
        case RunLine(line):
            return ToolCall("run_shell_command", {"command": line, "description": "Run a command"})
        case ReadFile(path):
            return ToolCall("read_file", {"file_path": str(folder / path)})
        case ReplaceLines(path, old, new):
            edit = {"file_path": str(folder / path), "old_string": old, "new_string": new}
            return ToolCall("replace", {**edit, "instruction": "Name the limit."})
        case CreateFile(path, text):
            return ToolCall("write_file", {"file_path": str(folder / path), "content": text})


def _qwen(step: WorkStep, folder: Path) -> ToolCall:
    call = _gemini(step, folder)
    if call.tool == "run_shell_command":
        return ToolCall(call.tool, {**call.arguments, "is_background": False})
    arguments = {name: value for name, value in call.arguments.items() if name != "instruction"}
    return ToolCall("edit" if call.tool == "replace" else call.tool, arguments)


def _copilot(step: WorkStep, folder: Path) -> ToolCall:
    match step:
        case RunLine(line):
            return ToolCall("bash", {"command": line, "description": "Run a command"})
        case ReadFile(path):
            return ToolCall("view", {"path": str(folder / path)})
        case ReplaceLines(path, old, new):
            return ToolCall("edit", {"path": str(folder / path), "old_str": old, "new_str": new})
        case CreateFile(path, text):
            return ToolCall("create", {"path": str(folder / path), "file_text": text})


class WorkDialect(NamedTuple):
    """How a program's model works.

    Attributes:
        shell: The tool that only requests of a conversation declare.
        call: Translates a step.
        options: Options that allow each tool without asking.
    """

    shell: str
    call: ToToolCall
    options: tuple[str, ...] = ()


DIALECTS: Final[Mapping[str, WorkDialect]] = {
    "claude-code": WorkDialect(
        "Bash", _claude_code, ("--permission-mode=acceptEdits", "--allowedTools=Bash,Edit,Read,Write")
    ),
    "codex": WorkDialect("exec_command", _codex, ("--dangerously-bypass-approvals-and-sandbox",)),
    "codex-script": WorkDialect("exec", _codex_script, ("--dangerously-bypass-approvals-and-sandbox",)),
    "gemini": WorkDialect("run_shell_command", _gemini, ("--approval-mode=yolo",)),
    "qwen": WorkDialect("run_shell_command", _qwen, ("--approval-mode=yolo",)),
    "copilot": WorkDialect("bash", _copilot),
}


def working_script(dialect: WorkDialect, folder: Path, steps: Sequence[WorkStep], answer: str) -> Script:
    """Return a model's script: do the steps one by one, then answer."""
    calls = [dialect.call(step, folder) for step in steps]

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        if TITLE_OPENING in request.prompt:
            return TextReply(json.dumps({"title": "Limit of the queue"}))
        return calls.pop(0) if calls and dialect.shell in request.tools else TextReply(answer)

    return reply
