"""Secrets in agents' work: none reaches an index, its log, a kept copy, the daemon's log or a reply."""

from __future__ import annotations

from memd_client.schema import Record, to_wire
from tests.daemon.test_source_secrets import stored_bytes
from tests.support.daemon import DaemonProcess
from tests.support.planted_secrets import PlantedSecret, plant_secrets
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import AgentSession, Created, Edited, Event, Ran, Said

PROGRAMS = ("claude-code", "codex", "gemini", "opencode", "copilot")
PER_SESSION = 20
FOLDER = "/home/eva/shop"
MARK = "cormorant"


def step_with(secret: PlantedSecret, number: int) -> Event:
    """Return a command, or a file that was written, with a secret."""
    if secret.place == "command":
        return Ran(secret.text, 1, f"{MARK}: error: it failed")
    if not secret.place.startswith("file "):
        return Ran(secret.place, 1, f"{secret.text}\n{MARK}: error: it failed")
    path = secret.place[5:]
    path = path if path.startswith("/") else f"{FOLDER}/{path}"
    return Created(path, secret.text) if number % 2 else Edited(path, "before\n", secret.text)


def test_no_planted_secret_of_work_is_stored_shown_or_logged() -> None:
    secrets = plant_secrets()
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        sessions = [
            AgentSession(
                f"secrets-{start}",
                PROGRAMS[start // PER_SESSION % len(PROGRAMS)],
                FOLDER,
                [
                    Said("user", f"{MARK}: please go on"),
                    *(
                        step_with(secret, at)
                        for at, secret in enumerate(secrets[start : start + PER_SESSION])
                    ),
                    Said("assistant", "done"),
                ],
            )
            for start in range(0, len(secrets), PER_SESSION)
        ]
        write_sessions(user, home.state, sessions)
        tables = "".join(f"[sources.{program}]\nkeep = true\n" for program in PROGRAMS)
        (home.root / "memd.toml").write_text(f'log_level = "debug"\n{tables}')
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client() as client:
            client.index()
            (agent,) = client.status().agents
            assert sum(source.commands + source.file_steps for source in agent.added) >= len(secrets)
            replies: list[Record] = [
                client.search(MARK, kinds=["work"], max_results=1_000),
                client.how("curl", include_failed=True, limit=100),
                client.fix(f"{MARK}: error: it failed", limit=20),
                client.blame(f"{FOLDER}/.env", limit=100),
                client.work_files(MARK, limit=100),
            ]
            shown = repr([to_wire(reply) for reply in replies])
            kept = stored_bytes(home.state) + (home.root / "daemon.log").read_bytes() + shown.encode()
        assert [hit for hit in secrets if hit.secret.encode() in kept] == []
