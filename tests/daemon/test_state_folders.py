"""Two state folders of one user: each has its own daemon, and no client gets the other one's memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator

import pytest
import trio as trio_loop

import memd_client.hook
from memd_client import Client
from memd_client.aio import AsyncioClient
from memd_client.errors import StateDirMismatchError
from memd_client.trio import TrioClient
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import RawServer
from tests.support.profiles import FOLDERS, NOTES, QUERY, ProfileHome, Profiles, other, variables
from tests.support.transcripts import TranscriptHome, header, message


@pytest.fixture(scope="module")
def profiles() -> Iterator[Profiles]:
    """Both profiles with a running daemon, which `memctl` has started."""
    with Profiles() as profiles:
        for name in FOLDERS:
            ran = profiles.memctl(name, "index")
            assert ran.returncode == 0, ran.stderr
        yield profiles


@pytest.mark.parametrize("name", FOLDERS)
def test_memctl_searches_reads_and_stores_in_its_own_profile(profiles: Profiles, name: str) -> None:
    found = profiles.memctl(name, "search", QUERY, "--json")
    read = profiles.memctl(name, "get", "MEMORY.md")
    stored = profiles.memctl(name, "facts", "add", f"Our favourite tea in {name} is mate")
    noted = profiles.memctl(name, "note", f"A session of {name} ended")
    facts = profiles.memctl(name, "facts", "list")
    status = json.loads(profiles.memctl(name, "status", "--json").stdout)

    for ran in (found, read, stored, noted, facts):
        assert ran.returncode == 0, ran.stderr
    assert NOTES[name] in found.stdout
    assert NOTES[name] in read.stdout
    assert NOTES[other(name)] not in found.stdout + read.stdout
    assert f"tea in {name}" in facts.stdout
    assert f"tea in {other(name)}" not in facts.stdout
    assert f"tea in {name}" in profiles.text(name)
    assert f"session of {name}" in profiles.text(name)
    assert f"of {name} ended" not in profiles.text(other(name))
    assert (status["state_dir"], status["socket"]) == (str(profiles.state(name)), profiles.socket(name))


@pytest.mark.parametrize("name", FOLDERS)
def test_python_clients_use_the_daemon_of_the_environment_or_of_their_argument(
    profiles: Profiles, name: str
) -> None:
    async def use_asyncio() -> list[str]:
        async with AsyncioClient() as here, AsyncioClient(state_dir=profiles.state(other(name))) as there:
            return [(await each.search(QUERY)).hits[0].snippet for each in (here, there)]

    async def use_trio() -> list[str]:
        async with TrioClient() as here, TrioClient(state_dir=profiles.state(other(name))) as there:
            return [(await each.search(QUERY)).hits[0].snippet for each in (here, there)]

    with variables(profiles.environ(name)):
        with Client() as here, Client(state_dir=str(profiles.state(other(name))) + "/") as there:
            blocking = [each.search(QUERY).hits[0].snippet for each in (here, there)]
            served = here.daemon
        found = [blocking, asyncio.run(use_asyncio()), trio_loop.run(use_trio)]

    assert served is not None
    assert served.state_dir == str(profiles.state(name))
    for here_text, there_text in found:
        assert NOTES[name] in here_text
        assert NOTES[other(name)] in there_text


def test_notes_and_sessions_stay_in_their_profile(profiles: Profiles) -> None:
    key = "agent:main:main"
    for name in FOLDERS:
        turn = [header("s1"), message("user", f"Remember the gull of {name}."), message("assistant", "Yes.")]
        TranscriptHome(profiles.state(name)).write_file("s1.jsonl", turn)
        with variables(profiles.environ(name)), Client() as client:
            client.append_note(f"The heron of {name} retries seven times.", key="run:1")
            client.memory_store(f"I prefer the colour of {name}")
            client.session_ended(key, session_id="s1", slug="birds")
    for name in FOLDERS:
        text = profiles.text(name)
        assert f"heron of {name}" in text
        assert f"colour of {name}" in text
        assert f"gull of {name}" in text, "the note of the session"
        assert all(f"{word} of {other(name)}" not in text for word in ("heron", "colour", "gull"))
        assert "seven times" in profiles.memctl(name, "search", "heron").stdout
        assert f"heron of {other(name)}" not in profiles.memctl(name, "search", "heron").stdout


def test_daemon_refuses_a_client_of_another_state_folder(profiles: Profiles) -> None:
    socket, ours, theirs = profiles.socket("home"), profiles.state("work"), profiles.state("home")

    async def use_asyncio() -> None:
        async with AsyncioClient(socket) as client:
            await client.search(QUERY)

    async def use_trio() -> None:
        async with TrioClient(socket) as client:
            await client.search(QUERY)

    with variables({**profiles.environ("work"), "MEMD_SOCKET": socket}):
        with Client() as client, pytest.raises(StateDirMismatchError) as refused:
            client.search(QUERY)
        with pytest.raises(StateDirMismatchError):
            asyncio.run(use_asyncio())
        with pytest.raises(StateDirMismatchError):
            trio_loop.run(use_trio)
    ran = profiles.memctl("work", "search", QUERY, MEMD_SOCKET=socket)

    error = refused.value
    assert str(ours) in error.message
    assert str(theirs) in error.message
    assert socket in error.message
    assert error.data == {"client": str(ours), "daemon": str(theirs)}
    assert "unset MEMD_SOCKET" in error.hint
    assert ran.returncode != 0
    assert str(theirs) in ran.stderr
    assert "unset MEMD_SOCKET" in ran.stderr
    assert NOTES["home"] not in ran.stdout


def test_socket_named_without_a_folder_serves_the_default_profile_alone(profiles: Profiles) -> None:
    """`export MEMD_SOCKET=…` in a shell without the variable of OpenClaw means the default folder."""
    refused = profiles.memctl("home", "search", QUERY, MEMD_SOCKET=profiles.socket("work"))
    with variables(profiles.environ("home")), Client(profiles.socket("work")) as client:
        hits = client.search(QUERY).hits  # the program has chosen this daemon itself

    assert refused.returncode != 0
    assert NOTES["work"] not in refused.stdout
    assert NOTES["work"] in hits[0].snippet


def test_mcp_server_serves_its_own_profile(profiles: Profiles) -> None:
    with RawServer(profiles.environ("work")) as server:
        server.greet()
        call = {"name": "memory_search", "arguments": {"query": QUERY}}
        server.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        reply = server.hear()

    assert NOTES["work"] in json.dumps(reply)
    assert NOTES["home"] not in json.dumps(reply)


@pytest.mark.parametrize("name", FOLDERS)
def test_hook_uses_the_profile_of_its_environment_and_else_of_its_installation(
    profiles: Profiles, name: str
) -> None:
    given = {"session_id": f"s-{name}", "prompt": "Which port does the staging gateway use?"}

    def run(profile: str, session: str, *options: str) -> str:
        command = ("-I", "-S", memd_client.hook.__file__, "codex", "prompt", *options)
        return profiles.run(profile, *command, stdin=json.dumps({**given, "session_id": session})).stdout

    recorded = ("--state-dir", str(profiles.state(other(name))))
    by_environ = run(name, "s1")
    by_option = run("home", "s2", *recorded)
    both = run("work", "s3", "--state-dir", str(profiles.state("home")))
    wrong = run("work", "s4", "--socket", profiles.socket("home"))

    # A hook has 100 ms, which may be too few on a loaded machine: it prints nothing then.
    assert NOTES[name] in by_environ or by_environ == ""
    assert NOTES[other(name)] not in by_environ
    assert NOTES[name] not in by_option
    assert NOTES["home"] not in both
    assert wrong == ""


def test_doctor_reports_a_daemon_of_another_folder(profiles: Profiles) -> None:
    ran = profiles.memctl("work", "doctor", "--json", MEMD_SOCKET=profiles.socket("home"))

    (finding,) = [each for each in json.loads(ran.stdout)["findings"] if each["name"] == "state folder"]
    assert finding["state"] == "wrong"
    assert str(profiles.state("home")) in finding["found"]
    assert str(profiles.state("work")) in finding["found"]
    assert "unset MEMD_SOCKET" in finding["fix"]


@pytest.mark.parametrize("name", FOLDERS)
def test_logs_and_service_status_are_those_of_the_profile(profiles: Profiles, name: str) -> None:
    logged = profiles.memctl(name, "logs", "--json").stdout
    status = json.loads(profiles.memctl(name, "service", "status", "--json").stdout)

    assert f'"state_dir": "{profiles.state(name)}"' in logged
    assert f'"state_dir": "{profiles.state(other(name))}"' not in logged
    with variables(profiles.environ(name)), Client() as client:
        assert (status["socket"], status["daemon_pid"]) == (profiles.socket(name), client.hello().pid)


def test_socket_in_memd_toml_is_not_taken_by_another_folder() -> None:
    """Both daemons read one `memd.toml`; its socket is that of the default folder."""
    with Profiles() as profiles:
        named = profiles.root / "run" / "named.sock"
        (profiles.root / "config" / "memd").mkdir(parents=True)
        (profiles.root / "config" / "memd" / "memd.toml").write_text(f'socket = "{named}"\n')
        environ = {**profiles.environ("work"), "MEMD_SOCKET": ""}
        with DaemonProcess(ProfileHome(profiles, "work"), environ):  # it answers on its own socket
            assert not os.path.exists(named)
