"""Secrets in other programs' conversations: none reaches an index, its log, a kept copy, or the daemon's log."""

from __future__ import annotations

import gzip
import random
import string
from pathlib import Path

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.plain import OpencodePlain

SECRETS = 1_000
PER_SESSION = 50
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"

KINDS: dict[str, tuple[str, str, int, str]] = {
    "openai": ("sk-proj-", LETTERS, 48, ""),
    "anthropic": ("sk-ant-api03-", LETTERS, 60, "AA"),
    "github": ("ghp_", LETTERS, 36, ""),
    "gitlab": ("glpat-", LETTERS, 20, ""),
    "aws": ("AKIA", string.ascii_uppercase + string.digits, 16, ""),
    "google": ("AIza", LETTERS, 35, ""),
    "slack": ("xoxb-", LETTERS, 40, ""),
    "stripe": ("sk_live_", LETTERS, 24, ""),
    "npm": ("npm_", LETTERS, 36, ""),
    "huggingface": ("hf_", LETTERS, 34, ""),
    "digitalocean": ("dop_v1_", HEX, 64, ""),
    "password": ("the database password is ", LETTERS + "!$%", 14, "9x"),
}
"""By kind: what is before the secret part, its characters, how many, and its end."""

FRAMES = (
    "Use {} for the upload.",
    "export TOKEN={}",
    '{{"apiKey": "{}", "user": "eva"}}',
    "curl -H 'Authorization: Bearer {}' https://api.example.com",
    "{}",
    "I pasted it twice: {} and\n{}",
)


def planted(rng: random.Random) -> list[tuple[str, str]]:
    """Return (text, secret part) of each secret, of all kinds."""
    found = []
    for number in range(SECRETS):
        head, letters, count, end = [*KINDS.values()][number % len(KINDS)]
        secret = "".join(rng.choices(letters, k=count)) + end
        text = head + secret
        frame = FRAMES[0] if " " in head else rng.choice(FRAMES)
        found.append((frame.format(text, text), secret))
    return found


def stored_bytes(root: Path) -> bytes:
    """Return everything below a folder, unpacked."""
    parts = []
    for path in sorted(root.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            parts += [data, gzip.decompress(data) if path.suffix == ".gz" else b""]
    return b"\0".join(parts)


def test_no_planted_secret_is_stored_shown_or_logged() -> None:
    secrets = planted(random.Random(7))
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        program = OpencodePlain(user, "opencode")
        for at, (text, _) in enumerate(secrets):
            program.append(f"ses_{at // PER_SESSION}", "user" if at % 2 else "assistant", f"cormorant {text}")
        program.close()
        (home.root / "memd.toml").write_text('log_level = "debug"\n[sources.opencode]\nkeep = true\n')
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client() as client:
            client.index()
            (agent,) = client.status().agents
            assert agent.added[0].redactions >= SECRETS
            shown = "".join(hit.snippet for hit in client.search("cormorant", max_results=1_000).hits)
            read = [
                client.conversation_read(f"ses_{at}", messages=200) for at in range(SECRETS // PER_SESSION)
            ]
            said = "".join(message.text for reply in read for message in reply.messages)
            hooks = [
                client.hook(
                    program="claude-code",
                    event="prompt",
                    session_id=f"asking-{at}",
                    cwd="/home/eva/shop",
                    prompt=f"what did we use for the upload of cormorant {at}?",
                )
                for at in range(20)
            ]
            shown += "".join(reply.text for reply in hooks)
            kept = stored_bytes(home.state) + (home.root / "daemon.log").read_bytes()
            kept += shown.encode() + said.encode()
    found = [secret for _, secret in secrets if secret.encode() in kept]
    assert found == []
