"""`memctl handoff`: the digest of a session on standard output, the command that starts a program on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd_client.messages import SessionHandoffReply, SessionInfo
from tests.unit.cli.memctl_runner import memctl

START = 'codex "$(memctl handoff --session s1)"'


def reply(start: str = "") -> SessionHandoffReply:
    return SessionHandoffReply("main", "codex/s1", SessionInfo("codex", "s1"), "The digest.", start)


def test_digest_alone_is_printed_on_standard_output() -> None:
    ran = memctl("handoff", "--to", "codex", session_handoff=reply(START))

    assert (ran.code, ran.out) == (0, "The digest.\n")
    assert f"start Codex with it: {START}" in " ".join(ran.err.split())
    assert memctl("handoff", session_handoff=reply()).err == ""


@pytest.mark.parametrize(
    ("arguments", "session", "project"),
    [
        ((), "", "{cwd}"),
        (("--project", "shop"), "", "shop"),
        (("--project", "./shop"), "", "{cwd}/shop"),
        (("--project", "."), "", "{cwd}"),
        (("--session", "s1"), "s1", ""),
        (("--session", "s1", "--project", "shop"), "s1", "shop"),
    ],
)
def test_project_is_that_of_the_current_folder_unless_another_or_a_session_is_named(
    arguments: tuple[str, ...], session: str, project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = memctl("handoff", *arguments, session_handoff=reply())
    ((_, asked),) = ran.client.calls

    assert (asked["session"], asked["project"]) == (session, project.format(cwd=tmp_path))


def test_folder_that_was_deleted_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    ran = memctl("handoff", session_handoff=reply())

    assert ran.code == 1
    assert "--project" in ran.err
