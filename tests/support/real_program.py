"""An agent's program in a temporary home, with a model on loopback, and what memd reads of its sessions."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from memd.programs.catalog import PROGRAMS, Places
from memd.programs.conversation import Conversation
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.readers import find_places, reader_of
from tests.support.node import NODE_VERSION, installed
from tests.support.openclaw import ToolCall
from tests.support.programs import TerminalProgram

QUESTION: Final = "Which port does staging use"
ANSWER: Final = "Staging uses port 8443."
SUMMARY: Final = "They spoke of ports."
FILE_TEXT: Final = "staging listens on 8443\n"

RUN_S: Final = 120.0
WAIT_S: Final = 120.0
KEY: Final = "loopback-key-without-any-meaning"

_MACHINE: Final = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
SYSTEM: Final = f"{sys.platform}-{_MACHINE}"


def recent_node() -> Path:
    """Return the Node that tests install; programs may need a newer one than that on PATH."""
    package = f"node-{SYSTEM}"
    return installed(f"{package}@{NODE_VERSION}") / "node_modules" / package / "bin" / "node"


class RealProgram:
    """A program in a home of its own. Its working directory has the file `ports.txt`, which its model reads."""

    name: ClassVar[str]
    """Its name in the catalog."""

    package: ClassVar[str]
    ready: ClassVar[str]
    """A word on its screen when it waits for a prompt."""

    asks_first: ClassVar[str] = ""
    """A word on its screen when it asks whether to trust the folder; Enter agrees."""

    leave: ClassVar[str]
    """The command that ends it."""

    compact: ClassVar[str] = "/compact"
    """The command that compacts the conversation and leaves it in the transcript; empty if there is none."""

    has_tools: ClassVar[bool] = True
    """Whether its model reads the file by a tool."""

    has_keys: ClassVar[bool] = True
    has_times: ClassVar[bool] = True
    """Whether each message has an id, and a time."""

    can_talk: ClassVar[bool] = True
    """Whether tests can type on its screen."""

    can_resume: ClassVar[bool] = True
    """Whether it resumes a session without a person."""

    keeps_failed: ClassVar[bool] = True
    """Whether a transcript has the prompt of a script that failed."""

    marks_headless: ClassVar[bool] = False
    """Whether its sessions without a person are recognized."""

    drops_headless: ClassVar[bool] = False
    """Whether they are left out of a file that has others too, so that they are not counted."""

    on_terminal: ClassVar[tuple[str, ...]] = ()
    """Arguments on a terminal."""

    with_hooks: ClassVar[tuple[str, ...]] = ()
    """Arguments that accept hooks as a person does."""

    def __init__(self, home: Path, model_url: str, folder: Path | None = None) -> None:
        self.home = home
        self.folder = folder or home / "shop"
        for made in (home, self.folder):
            made.mkdir(parents=True, exist_ok=True)
        (self.folder / "ports.txt").write_text(FILE_TEXT)
        self.url = model_url
        conversations = PROGRAMS[self.name].conversations
        assert conversations is not None
        reader = reader_of(conversations)
        assert isinstance(reader, FileReader)
        self.reader = reader
        self._conversations = conversations
        self.modules = self.install()
        self.set_up()

    def install(self) -> Path:
        """Return the folder in which the program is installed."""
        return installed(self.package) / "node_modules"

    def set_up(self) -> None:
        """Write the program's settings."""

    def command(self) -> list[str | Path]:
        """Return the command line without arguments."""
        raise NotImplementedError

    def headless(self, prompt: str) -> list[str]:
        """Return the arguments that run one prompt without a person."""
        return ["-p", prompt]

    def resumed(self, session_id: str, prompt: str) -> list[str]:
        """Return the arguments that run one prompt in an earlier session."""
        return [f"--resume={session_id}", *self.headless(prompt)]

    def tool_call(self, tools: tuple[str, ...]) -> ToolCall | None:
        """Return the call that reads `ports.txt`; None in a request without tools."""
        raise NotImplementedError

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that the program needs."""
        raise NotImplementedError

    def environ(self) -> dict[str, str]:
        """Return the environment, without the tester's accounts."""
        shared = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        return {**shared, **self.variables()}

    def run(self, *arguments: str, ok: bool = True) -> str:
        """Run the program to its end and return its output."""
        done = subprocess.run(
            [*self.command(), *arguments],
            cwd=self.folder,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert not ok or done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    def terminal(self) -> TerminalProgram:
        """Return the program on a terminal."""
        command = [*self.command(), *self.on_terminal]
        return TerminalProgram(command, self.environ(), self.folder, (40, 140))

    def talk(self, *prompts: str) -> None:
        """Type prompts on a terminal, wait for each until it is answered in the transcript, and leave."""
        with self.terminal() as terminal:
            if self.asks_first:
                terminal.wait_for(self.asks_first)
                terminal.press(b"\r")
            terminal.wait_for(self.ready)
            for prompt in prompts:
                self._say(terminal, prompt)
            _type(terminal, self.leave)
            terminal.press_until(b"\r", terminal.has_ended)

    def _say(self, terminal: TerminalProgram, prompt: str) -> None:
        """Type a prompt, or the command that compacts the conversation."""
        before = len(self.said())
        _type(terminal, prompt)
        if prompt == self.compact:
            terminal.press_until(b"\r", lambda: self.has_written(SUMMARY))
        else:
            terminal.press_until(b"\r", lambda: len(self.said()) > before)
            # Its screen is read meanwhile: a program stops if nobody reads what it draws.
            terminal.press_until(b"", lambda: self.said()[before + 1 :] == [ANSWER])

    def said(self) -> list[str]:
        """Return the texts of all conversations."""
        return [message.text for each in self.conversations() for message in each.messages]

    def has_written(self, text: str) -> bool:
        """Return whether a transcript contains a text."""
        files = [path for folder in self.folders() for path, _ in self._transcripts_in(folder)]
        return any(text.encode() in path.read_bytes() for path in files)

    def conversations(self) -> list[Conversation]:
        """Return all conversations in the program's files, as memd's reader reads them."""
        return [found for folder in self.folders() for found in self._conversations_in(folder)]

    def folders(self) -> Sequence[Path]:
        """Return the folders of its transcripts."""
        return find_places(self._conversations, Places(self.home, self.variables(), sys.platform))

    def _transcripts_in(self, folder: Path) -> Iterator[tuple[Path, TranscriptFile]]:
        paths: list[Path] = []
        for parent, folders, names in os.walk(folder):
            if self._conversations.finds_places:
                folders.clear()
            paths += [Path(parent, name) for name in names]
        for path in sorted(paths):
            file = self.reader.transcript_in(str(folder), path.relative_to(folder).as_posix())
            if file is not None:
                yield path, file

    def _conversations_in(self, folder: Path) -> Iterator[Conversation]:
        for path, file in self._transcripts_in(folder):
            reading, data = self.reader.open(file), path.read_bytes()
            for number, line in enumerate([data] if path.suffix == ".json" else data.split(b"\n"), 1):
                if line:
                    reading.read(line, number)
            yield reading.conversation()


def _type(terminal: TerminalProgram, text: str) -> None:
    """Type a text and wait until it is on the screen."""
    terminal.press(text.encode())
    terminal.wait_for(text.split()[-1])


def wait_until(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)
