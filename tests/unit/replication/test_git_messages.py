"""What git says about a remote, as errors with a hint."""

from __future__ import annotations

import pytest

from memd.replication.git.program import GitResult, git_environ, one_message, ssh_command, without_password
from memd.replication.git.remote import check_url, remote_error
from memd_client.errors import BadParamsError

MESSAGES = {
    "ssh: connect to host server port 22: Connection refused": ("remote_unreachable", "offline"),
    "ssh: Could not resolve hostname server: Temporary failure in name resolution": (
        "remote_unreachable",
        "offline",
    ),
    "Connection to server closed by remote host.": ("remote_unreachable", "offline"),
    "fatal: unable to access 'https://x/y/': Could not resolve host: x": ("remote_unreachable", "offline"),
    "eva@server: Permission denied (publickey).": ("remote_unreachable", "auth"),
    "fatal: could not read Username for 'https://x': terminal prompts disabled": (
        "remote_unreachable",
        "auth",
    ),
    "fatal: unable to access 'https://x/y/': The requested URL returned error: 403": (
        "remote_unreachable",
        "auth",
    ),
    "Host key verification failed.": ("remote_unreachable", "host_key"),
    "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @": ("remote_unreachable", "host_key"),
    "fatal: '/srv/x' does not appear to be a git repository": ("remote_unreachable", "missing"),
    "fatal: repository 'https://x/y/' not found": ("remote_unreachable", "missing"),
    "fatal: fsck error in packed object": ("remote_refused", None),
    "fatal: bad object 1234": ("remote_refused", None),
    "fatal: mismatched algorithms: client sha1; server sha256": ("remote_refused", None),
    "fatal: write error: File too large": ("remote_refused", None),
    "fatal: write error: No space left on device": ("git_failed", None),
}


@pytest.mark.parametrize("said", MESSAGES)
def test_message_of_git_becomes_an_error_with_a_reason_and_a_hint(said: str) -> None:
    code, reason = MESSAGES[said]

    error = remote_error("https://eva:secret@server/x.git", GitResult(128, b"", said))

    assert (error.wire_code, error.data.get("reason")) == (code, reason)
    assert said.splitlines()[0][:40] in error.message
    assert "secret" not in f"{error.message}{error.data}"
    assert error.hint


def test_environment_of_git_has_no_prompts_and_no_other_repository() -> None:
    env = git_environ(
        {
            "GIT_DIR": "/x",
            "GIT_INDEX_FILE": "/y",
            "GIT_SSH_COMMAND": "ssh -v",
            "SSH_ASKPASS": "gui",
            "PATH": "/bin",
        }
    )

    assert "GIT_DIR" not in env
    assert "GIT_INDEX_FILE" not in env
    assert "SSH_ASKPASS" not in env
    assert (env["GIT_TERMINAL_PROMPT"], env["LC_ALL"], env["GIT_SSH_COMMAND"]) == ("0", "C", "ssh -v")


@pytest.mark.parametrize(
    ("configured", "is_extended"),
    [("", True), ("ssh -i key", True), ("/usr/bin/ssh", True), ("plink -batch", False), ("'unclosed", False)],
)
def test_ssh_is_kept_from_asking_and_other_programs_are_left_as_they_are(
    configured: str, is_extended: bool
) -> None:
    command = ssh_command(configured)

    assert command.startswith(configured or "ssh")
    assert ("BatchMode=yes" in command) is is_extended


@pytest.mark.parametrize(
    "url", ["me@server:x.git", "ssh://me@server/x.git", "https://server/x.git", "/srv/x.git", "~/x.git"]
)
def test_addresses_that_git_takes_are_accepted(url: str) -> None:
    assert check_url(f" {url} ") == url


@pytest.mark.parametrize("url", ["", "-x", "ext::sh", "a\nb", "x" * 3_000])
def test_addresses_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(BadParamsError):
        check_url(url)


def test_git_message_with_terminal_escapes_is_plain_text() -> None:
    said = "remote: \x1b[31;1mno\x1b[0m pushes\x00 \x1b]0;title\x07here\u202e\r\nfatal: refused\x9b2J\n"

    assert one_message(said) == "remote: no pushes here; fatal: refused2J"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://eva:hunter2@server/memory.git", "https://***@server/memory.git"),
        ("https://eva:hunter2@x@server/memory.git", "https://***@server/memory.git"),
        ("https://eva:hunt/er2@server/memory.git", "https://***@server/memory.git"),
        ("https://hunter2@server/memory.git", "https://***@server/memory.git"),
        ("HTTPS://hunter2:@server/memory.git", "HTTPS://***@server/memory.git"),
        ("ssh://eva:hunter2@server:22/memory.git", "ssh://***@server:22/memory.git"),
        ("git+ssh://eva:hunter2@server/a@b.git", "git+ssh://***@server/a@b.git"),
        ("ssh://eva@server/memory.git", "ssh://eva@server/memory.git"),
        ("eva@server:memory.git", "eva@server:memory.git"),
        ("https://server:8080/a@b.git", "https://server:8080/a@b.git"),
        ("ssh://server:22/a@b.git", "ssh://server:22/a@b.git"),
    ],
)
def test_credentials_of_an_address_are_not_shown(address: str, shown: str) -> None:
    assert without_password(address) == shown
    assert without_password(f"fatal: '{address}': failed") == f"fatal: '{shown}': failed"


def test_refused_address_is_shown_without_its_password() -> None:
    for address in ("ext::https://eva:hunter2@server/x", "-chttp://eva:hunter2@server/x"):
        with pytest.raises(BadParamsError) as raised:
            check_url(address)
        assert "hunter2" not in raised.value.message
