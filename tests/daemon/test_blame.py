"""Who touched a file, and which files belong to a subject, asked of a real daemon with a real repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client.errors import BadParamsError, QueryEmptyError
from memd_client.messages import BlameReply, TouchedFile
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs import codex
from tests.support.transcript_programs.claude_code import ClaudeFile
from tests.support.work_rows import Repo, prose

RETRY, RENAME, COLOURS, LOOK = (f"5f0c8a5{number}-0000-4000-8000-000000000001" for number in range(4))
THREAD = codex.timed_id(0, 2)

PATCH = """*** Begin Patch
*** Update File: src/jobs.py
*** Move to: src/work/jobs.py
@@
-LIMIT = 3
+LIMIT = 5
*** End Patch"""


class Writer:
    """Writes a session of Claude Code."""

    def __init__(self, home: Path, session: str, cwd: Path, day: int) -> None:
        self.path = home / ".claude" / "projects" / "p" / f"{session}.jsonl"
        self.file = ClaudeFile(session, cwd=str(cwd), timestamp=f"2026-11-{day:02}T08:00:00.000Z")
        self.calls = 0

    def ask(self, text: str, answer: str = "") -> Writer:
        self.file.prompt(text)
        if answer:
            self.file.answer(answer)
        return self

    def call(self, tool: str, *, failed: bool = False, **arguments: str) -> Writer:
        self.calls += 1
        call: dict[str, object] = {
            "type": "tool_use",
            "id": f"t{self.calls}",
            "name": tool,
            "input": arguments,
        }
        self.file.blocks([call])
        result = {"type": "tool_result", "tool_use_id": f"t{self.calls}", "content": "done"}
        self.file.prompt([{**result, "is_error": True} if failed else result])
        return self

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"\n".join(self.file.lines) + b"\n")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a repository whose file was renamed by git, by a command and by a patch, and its sessions."""
    home = tmp_path_factory.mktemp("user")
    shop = Repo(home / "shop")
    queue, jobs = str(shop.root / "src/queue.py"), str(shop.root / "src/jobs.py")
    lock = str(shop.root / "package-lock.json")
    shop.write("src/work/jobs.py", f"LIMIT = 5\n{prose('jobs')}WAIT_SECONDS = 40\n")
    shop.write("src/main.css", prose("css"))
    session = Writer(home, RETRY, shop.root, 2)
    session.ask("Name the release", "We decided to call it Heron.").ask(
        "Lost mails are never sent again, change that"
    )
    session.call("Edit", file_path=queue, old_string="WAIT_SECONDS = 4", new_string="WAIT_SECONDS = 40")
    session.call("Edit", file_path=lock, old_string="1", new_string="2")
    session.file.answer("We decided to wait 40 seconds, because the mail server throttles us.")
    session.ask("yes").call("Bash", command="pytest -q").save()
    session = Writer(home, RENAME, shop.root, 4).ask("Give the modules better names")
    session.call("Bash", command="cd src && git mv queue.py jobs.py").call("Read", file_path=jobs).save()
    session = Writer(home, COLOURS, shop.root, 6).ask("Use the colours of the new brand")
    session.call("Edit", file_path=str(shop.root / "src/main.css"), old_string="#fff", new_string="#eee")
    session.call("Edit", file_path=lock, old_string="2", new_string="3")
    session.call("Edit", failed=True, file_path=jobs, old_string="x", new_string="y").save()
    Writer(home, LOOK, shop.root, 8).ask("What is in the readme?").call(
        "Read", file_path=str(shop.root / "README.md")
    ).save()
    folder = home / ".codex" / "sessions" / "2026" / "11" / "02"
    folder.mkdir(parents=True)
    call = {
        "type": "custom_tool_call",
        "name": "apply_patch",
        "input": PATCH,
        "call_id": "c1",
        "status": "completed",
    }
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": json.dumps({"output": "Success"})}
    lines = [
        codex.meta(THREAD, seconds=700_000, cwd=str(shop.root)),
        codex.asked("Five attempts instead of three", 700_001),
        codex.line("response_item", call, 700_002),
        codex.line("response_item", output, 700_003),
        codex.answered("Done.", 700_004),
    ]
    (folder / codex.rollout(THREAD)).write_bytes(b"\n".join(lines) + b"\n")
    return home


@pytest.fixture(scope="module")
def daemon(user: Path) -> Iterator[DaemonProcess]:
    with StateHome(KEYWORD_ONLY) as home:
        (home.root / "memd.toml").write_text('[sources.claude-code]\n[sources.codex]\nagent = "shared"\n')
        with DaemonProcess(home, {"HOME": str(user)}) as process:
            yield process


def blame(daemon: DaemonProcess, file: Path | str, **arguments: Any) -> BlameReply:
    with daemon.client() as client:
        return client.blame(str(file), **arguments)


def files(daemon: DaemonProcess, user: Path, topic: str, **arguments: Any) -> list[tuple[str, TouchedFile]]:
    with daemon.client() as client:
        found = client.work_files(topic, **arguments).files
    return [(str(Path(file.file).relative_to(user / "shop")), file) for file in found]


def test_file_has_the_sessions_of_all_its_names_with_request_and_decision(
    daemon: DaemonProcess, user: Path
) -> None:
    reply = blame(daemon, user / "shop/src/work/jobs.py")

    assert [Path(name).name for name in reply.names] == ["jobs.py", "jobs.py", "queue.py"]
    assert reply.file == str(user / "shop/src/work/jobs.py")
    patched, retried = reply.sessions
    assert (patched.agent, patched.request) == ("shared", "Five attempts instead of three")
    assert patched.session is not None
    assert patched.session.id == THREAD
    assert (retried.request, retried.actions) == ("Lost mails are never sent again, change that", ["edited"])
    assert retried.decisions == ["We decided to wait 40 seconds, because the mail server throttles us."]
    with daemon.client() as client:
        messages = client.conversation_read(retried.citation).messages
    assert "Lost mails are never sent again, change that" in [message.text for message in messages]


def test_line_has_the_session_that_wrote_it(daemon: DaemonProcess, user: Path) -> None:
    file = user / "shop/src/work/jobs.py"
    limit, wait, other = (blame(daemon, file, line=line) for line in (1, 32, 15))

    assert (limit.matched, [touch.request for touch in limit.sessions]) == (
        "line",
        ["Five attempts instead of three"],
    )
    assert wait.matched == "line"
    assert [touch.request for touch in wait.sessions] == ["Lost mails are never sent again, change that"]
    assert other.matched == "near"
    assert blame(daemon, file, line=999).matched == "unknown"
    assert len(blame(daemon, file, line=999).sessions) == 2
    assert blame(daemon, file).matched == "file"


def test_session_that_only_read_a_file_answers_if_no_other_touched_it(
    daemon: DaemonProcess, user: Path
) -> None:
    (touch,) = blame(daemon, user / "shop/README.md").sessions
    assert (touch.actions, touch.request) == (["read"], "What is in the readme?")
    assert blame(daemon, user / "shop/other.md").sessions == []
    named = blame(daemon, "README.md")
    assert (named.file, named.names) == ("README.md", [str(user / "shop/README.md")])
    assert [touch.actions for touch in named.sessions] == [["read"]]
    assert blame(daemon, user / "README.md").names == named.names, "as typed in another folder"
    with pytest.raises(BadParamsError):
        blame(daemon, " ")
    with pytest.raises(BadParamsError, match="is a folder"):
        blame(daemon, user / "shop" / "src")


def test_files_of_a_subject_are_those_changed_after_the_request_that_named_it(
    daemon: DaemonProcess, user: Path
) -> None:
    lost = files(daemon, user, "lost mails")
    assert [name for name, _ in lost] == ["src/queue.py", "package-lock.json"]
    assert (lost[0][1].edits, lost[0][1].sessions, lost[0][1].exists) == (1, 1, False)
    assert [name for name, _ in files(daemon, user, "brand colours")] == ["src/main.css", "package-lock.json"]
    assert files(daemon, user, "name of the release heron")[:1] == []


def test_files_are_found_by_their_names_and_edits_and_by_project(daemon: DaemonProcess, user: Path) -> None:
    assert "src/work/jobs.py" in [name for name, _ in files(daemon, user, "jobs")]
    assert [name for name, _ in files(daemon, user, "WAIT_SECONDS")][:1] == ["src/queue.py"]
    assert [file.reads for _, file in files(daemon, user, "README.md")] == [1]
    assert files(daemon, user, "lost mails", project=str(user / "blog")) == []
    assert files(daemon, user, "lost mails", project="shop")
    with pytest.raises(QueryEmptyError):
        files(daemon, user, " ")
