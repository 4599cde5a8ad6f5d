"""What aider writes: a file of Markdown per project, in which its own lines end with two spaces."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from tests.support.transcript_programs.plain import NOISE, START_MS, PlainWriter

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

NAME: Final = ".aider.chat.history.md"
COMMAND: Final = "/usr/bin/aider --model scripted --no-check-update"


def started(seconds: int = 0, command: str = COMMAND) -> str:
    """Return the beginning of a chat, in the time of this machine's zone."""
    time = datetime.fromtimestamp(START_MS / 1_000 + seconds)
    return f"\n# aider chat started at {time:%Y-%m-%d %H:%M:%S}\n\n{noted(command)}{noted('Aider v0.86.2')}"


def noted(text: str) -> str:
    """Return a line of aider's own."""
    return f"> {text}  \n"


def prompted(text: str) -> str:
    """Return a prompt."""
    return "\n#### " + "  \n#### ".join(text.splitlines()) + "  \n"


def answered(text: str) -> str:
    """Return an answer, and the line of its cost."""
    return f"\n{text}\n\n{noted('Tokens: 599 sent, 8 received.')}"


NOISE_TEXTS: Final = (
    noted(NOISE),
    noted(f"{NOISE}\nof two lines"),
    prompted(f"/run {NOISE}"),
    prompted(f"!{NOISE}"),
    prompted("<blank>"),
    prompted(f"Add {NOISE} to the chat? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: all"),
    prompted(f"I ran this command:\n\n{NOISE}"),
)


class AiderWriter(PlainWriter):
    """A folder of projects: each session is the file of one of them."""

    def path(self, session: str) -> Path:
        """Return a project's file."""
        return self.home / session / NAME

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Append a turn; return its line."""
        if turn == 0:
            self._append(session, started())
        before = self._append(session, prompted(text) if role == "user" else answered(text))
        return before + 2

    def write_noise(self, session: str, number: int) -> None:
        """Append lines of aider, or a command."""
        self._append(session, NOISE_TEXTS[number % len(NOISE_TEXTS)])

    def write_unknown(self, session: str) -> None:
        """Append a line that no release writes: in Markdown nothing is unknown."""
        self._append(session, noted("telepathy"))

    def delete(self, session: str) -> None:
        """Delete the file."""
        self.path(session).unlink()
        self.turns.pop(session, None)

    def _append(self, session: str, text: str) -> int:
        """Append a text; return the number of lines before it."""
        path = self.path(session)
        path.parent.mkdir(exist_ok=True)
        before = path.read_bytes().count(b"\n") if path.exists() else 0
        with path.open("a") as file:
            file.write(text)
        return before


def every_trap() -> list[bytes]:
    """Return a file with all kinds of machine text, and a chat without a person."""
    noise = "".join(NOISE_TEXTS).replace(NOISE, MACHINE)
    first = (
        started()
        + prompted("Which port?\n\nOf staging.")
        + answered("8443.\n\n> as noted\n#### Ports")
        + noise
    )
    script = (
        started(60, f"{COMMAND} --yes-always --message {MACHINE}\nand more")
        + prompted(MACHINE)
        + answered(MACHINE)
    )
    return (first + script + started(120) + prompted("Tea?") + answered("Green.")).encode().split(b"\n")
