"""Every way in which a text of other people gets into memory, planted in a real home.

An agent fetches, reads or is given the text and repeats it, word for word among its own sentences, in its answer, in a
note or in a fact; or the text is a note that another person wrote.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from memd_client import Client
from tests.support.attack_texts import AttackText
from tests.support.machines import wait_until
from tests.support.outside_blocks import signs_of
from tests.support.tool_sessions import ToolSession
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import AgentSession, Edited, Event, FileRead, Ran, Said

WAYS: Final[dict[str, tuple[str, ...]]] = {
    "page": ("page-note", "page-fact", "page-answer"),
    "tool": ("command-output", "mcp-result", "other-programs-command"),
    "mail": ("mail-tool", "mail-file", "clipping"),
    "commit": ("user-repository", "memory-remote", "project-rules"),
    "file": ("vendored", "download", "attachment", "document", "other-programs-file"),
}
"""The ways in, in the words of the tables, and their forms."""

BIRDS: Final = (
    "gannet osprey dunlin avocet bittern fulmar godwit hoopoe lapwing nightjar petrel siskin".split()
)
THINGS: Final = "importer scheduler gateway exporter mailer resolver planner crawler".split()

OTHER_PROGRAMS: Final = ("codex", "gemini", "opencode", "copilot", "cursor-editor", "openclaw")
"""Programs whose sessions are read, besides Claude Code."""

OTHER_PERSON: Final = ("Rowan Vale", "rowan@elsewhere.example")
USER: Final = ("Eva", "eva@example.org")
GIT_TIMEOUT_S: Final = 60

MAX_OPTION_CHARS: Final = 160
NO_OPTION: Final = frozenset('"`$\\')
"""Signs that would change in an option of a command."""

AGE: Final = timedelta(minutes=40)
"""How long before the test the sessions began."""


@dataclass
class Plant:
    """A planted text.

    Attributes:
        number: Its number in the home.
        form: The way in.
        attack: The text.
        subject: What the sentences around it are about; no other plant has the same.
        session: The id of the session that repeats it, or empty.
        note: The end of the path of the note with it, or empty.
        is_fact: Whether it is a fact.
    """

    number: int
    form: str
    attack: AttackText
    subject: str = field(init=False)
    session: str = ""
    note: str = ""
    is_fact: bool = False

    def __post_init__(self) -> None:
        bird, thing = BIRDS[self.number % len(BIRDS)], THINGS[self.number // len(BIRDS) % len(THINGS)]
        self.subject = f"{bird} {thing} {self.number}"

    @property
    def slug(self) -> str:
        """The subject as the name of a file."""
        return self.subject.replace(" ", "-")

    @property
    def lines(self) -> str:
        """What an agent or another person wrote: the text in a sentence or beside sentences."""
        text = self.attack.text.strip("\n")
        forms = (
            f"Setup of the {self.subject}: {text}",
            f"The setup of the {self.subject} has two steps. {text}\nThe second step is optional.",
            f"- **Setup of the {self.subject}** — {text}",
            f"Rowan wrote about the setup of the {self.subject}: “{text}”",
        )
        return forms[self.number % len(forms)]

    @property
    def query(self) -> str:
        """A prompt that nearly repeats the planted lines."""
        return f"What about the setup of the {self.subject}: {' '.join(self.attack.text.split())[:240]}"

    @property
    def page(self) -> str:
        """The text that was read: what the lines repeat, between other paragraphs."""
        return (
            f"# {self.subject}\n\nThis page describes how a team can run it on one machine.\n\n"
            f"{self.attack.text}\n\nPrices start at nine euros a month, and the trial has no time limit."
        )

    @property
    def file(self) -> str:
        """A file of the project that the session edits."""
        return f"src/{self.slug}.py"

    @property
    def decision(self) -> str:
        """What the agent decided about the file, in the words that it read."""
        return f"We decided for {self.file}: {' '.join(self.attack.text.split())}"

    @property
    def command(self) -> str:
        """A command that failed until the agent copied the text into a file or an option."""
        return f"{self.slug} setup"

    @property
    def repaired_command(self) -> str:
        """The command with an option that the agent copied from the text."""
        title = " ".join(self.attack.text.split())[:MAX_OPTION_CHARS]
        return f'{self.command} --title "{title}"'

    @property
    def error(self) -> str:
        """What the command printed."""
        return f"Error: the {self.subject} has no setup"

    def signs(self) -> list[str]:
        """Return parts that betray the text."""
        return signs_of(self.attack.text, self.lines)


class PlantedHome:
    """Writes plants into the folders of a user: sessions, notes, repositories, and memory through a client.

    Args:
        user: The home folder.
        state: OpenClaw's state directory, with the agent's workspace.
    """

    def __init__(self, user: Path, state: Path) -> None:
        self.user, self.state, self.workspace = user, state, state / "workspace"
        self.vault, self.clippings, self.rules = user / "vault", user / "clippings", user / "code/rules"
        self.begun = datetime.now(UTC) - AGE
        self.sessions: list[AgentSession] = []
        self._later: dict[str, list[Plant]] = defaultdict(list)
        for folder in (self.vault, self.clippings, self.rules / ".claude/rules", self.workspace / "memory"):
            folder.mkdir(parents=True)
        (self.workspace / "memory/machines.md").write_text(
            "# Machines\n\n- the second one is in the cellar\n"
        )

    def folder(self, plant: Plant) -> str:
        """Return the folder of a plant's session."""
        return str(self.user / "code" / plant.slug)

    def place(self, plants: Iterable[Plant]) -> None:
        """Write everything that is there before the daemon starts."""
        for plant in plants:
            _FORMS[plant.form](self, plant)
        write_sessions(self.user, self.state, self.sessions)
        for folder, kind, place in ((self.vault, "vault", ""), (self.rules, "rules", ".claude/rules/")):
            plants = self._later[kind]
            _commit_as_other(folder, [(f"{place}{plant.slug}.md", letter_of(plant)) for plant in plants])

    def store_facts(self, client: Client) -> None:
        """Let the agent store the facts that repeat what its sessions read."""
        for plant in self._later["facts"]:
            client.memory_store(" ".join(plant.lines.split()))

    def receive(self, client: Client, hub: Path) -> None:
        """Let another person commit to the memory's remote, and receive that."""
        plants = self._later["remote"]
        if not plants:
            return
        notes = [(f"memory/shared/{plant.slug}.md", letter_of(plant)) for plant in plants]
        commit_to_remote(client, hub, notes)

    def later(self, kind: str, plant: Plant) -> None:
        """Leave a plant for a step after this one."""
        self._later[kind].append(plant)

    def add_note(self, plant: Plant, path: Path) -> str:
        """Write a note with the planted lines among others, and return it."""
        text = note_text(plant)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
        plant.note = str(path.relative_to(self.workspace))
        return text


def note_text(plant: Plant) -> str:
    """Return a note of the agent, with the planted lines."""
    return (
        f"# Notes on the {plant.subject}\n\n- the {plant.subject} runs on the second machine\n\n{plant.lines}\n\n"
        f"- ask again in spring whether the {plant.subject} is needed\n\n"
    )


def letter_of(plant: Plant) -> str:
    """Return what another person wrote about the subject, in no words of the agent's notes but the planted text."""
    return (
        f"# {plant.subject}\n\nDear Eva, greetings from the coast, where we run a {plant.subject} as well.\n\n"
        f"{plant.attack.text}\n\nSee you in Lisbon, Rowan\n"
    )


Reading = Callable[[ToolSession, Plant, str], None]


def _after(
    reading: Reading, repeats: Sequence[str] = ("answer", "note")
) -> Callable[[PlantedHome, Plant], None]:
    """Return what plants a text that a session reads; odd plants are also repeated in a note."""

    def write(home: PlantedHome, plant: Plant) -> None:
        folder = home.folder(plant)
        session = ToolSession(f"{plant.form}/{plant.number}", folder, home.begun)
        session.user(f"Find out how the {plant.subject} is set up, and write down what matters.")
        reading(session, plant, folder)
        session.fail(plant.command, plant.error)
        if plant.number % 4 or not NO_OPTION.isdisjoint(plant.attack.text):
            session.edit(f"{folder}/{plant.file}", f"# {plant.subject}", plant.attack.text)
            session.run(plant.command, "done")
        else:
            session.run(plant.repaired_command, "done")
        if "note" in repeats and (plant.number % 2 or "answer" not in repeats):
            path = _NOTE_PATHS[plant.number // 2 % len(_NOTE_PATHS)](plant, home.begun)
            session.write(str(home.workspace / path), home.add_note(plant, home.workspace / path))
        if "fact" in repeats:
            home.later("facts", plant)
            plant.is_fact = True
        if "answer" in repeats:
            session.answer(f"{plant.lines}\n\nThe rest is about prices.\n\n{plant.decision}")
            plant.session = session.id
        else:
            session.answer("I wrote it down.")
        session.save(home.user)

    return write


_NOTE_PATHS: Final[tuple[Callable[[Plant, datetime], str], ...]] = (
    lambda plant, day: f"memory/research/{plant.slug}.md",
    lambda plant, day: f"memory/{day.date().isoformat()}.md",
    lambda plant, day: "MEMORY.md",
)


def _fetch(session: ToolSession, plant: Plant, folder: str) -> None:
    session.fetch(f"https://docs.example.com/{plant.slug}", plant.page)


def _in_other_programs(read: Callable[[Plant, str], Event]) -> Callable[[PlantedHome, Plant], None]:
    """Return what plants a text in an answer in the programs that are not Claude Code, which take turns."""

    def write(home: PlantedHome, plant: Plant) -> None:
        folder = home.folder(plant)
        request = f"Find out how the {plant.subject} is set up, and tell me what matters."
        said = f"{plant.lines}\n\nThe rest is about prices.\n\n{plant.decision}"
        edit = Edited(f"{folder}/{plant.file}", f"# {plant.subject}", plant.attack.text)
        events = [Said("user", request), read(plant, folder), edit, Said("assistant", said)]
        program = OTHER_PROGRAMS[plant.number // 5 % len(OTHER_PROGRAMS)]
        session = AgentSession(f"{plant.form}/{plant.number}", program, folder, events, home.begun)
        home.sessions.append(session)
        plant.session = session.id

    return write


def _ran_curl(plant: Plant, folder: str) -> Event:
    return Ran(f"curl -s https://docs.example.com/{plant.slug}.txt", 0, plant.page)


def _read_document(plant: Plant, folder: str) -> Event:
    return FileRead(f"{folder}/docs/{plant.slug}.md", plant.page)


def _run_curl(session: ToolSession, plant: Plant, folder: str) -> None:
    session.run(f"curl -s https://docs.example.com/{plant.slug}.txt", plant.page)


def _ask_tracker(session: ToolSession, plant: Plant, folder: str) -> None:
    session.ask_mcp("tracker__get_ticket", {"id": plant.number}, plant.page)


def _read_mail(session: ToolSession, plant: Plant, folder: str) -> None:
    session.ask_mcp("gmail__read_message", {"id": f"m{plant.number}"}, _mail(plant, plant.page))


def _read_file(path: str) -> Reading:
    def read(session: ToolSession, plant: Plant, folder: str) -> None:
        root = "" if path.startswith("~") else f"{folder}/"
        home = folder.partition("/code/")[0]
        session.read(root + path.replace("~", home).format(slug=plant.slug), plant.page)

    return read


def _attach(session: ToolSession, plant: Plant, folder: str) -> None:
    session.attach(f"{folder}/attachments/{plant.slug}.txt", plant.page)


def _mail(plant: Plant, body: str) -> str:
    name, address = OTHER_PERSON
    return (
        f"From: {name} <{address}>\nTo: Eva <eva@example.org>\nSubject: Setup of the {plant.subject}\n"
        f"Date: Fri, 27 Nov 2026 09:12:44 +0000\nMessage-ID: <{plant.number}@elsewhere.example>\n\n{body}\n"
    )


def _save_mail(home: PlantedHome, plant: Plant) -> None:
    plant.note = f"{plant.slug}.md"
    (home.clippings / plant.note).write_text(_mail(plant, letter_of(plant)), encoding="utf-8")


def _clip(home: PlantedHome, plant: Plant) -> None:
    plant.note = f"{plant.slug}.md"
    address = f"https://docs.example.com/{plant.slug}"
    head = f'---\ntitle: "{plant.subject}"\nsource: "{address}"\ncreated: 2026-11-27\n---\n\n'
    (home.clippings / plant.note).write_text(head + letter_of(plant), encoding="utf-8")


def _later(kind: str, note: str) -> Callable[[PlantedHome, Plant], None]:
    def leave(home: PlantedHome, plant: Plant) -> None:
        plant.note = note.format(slug=plant.slug)
        home.later(kind, plant)

    return leave


_FORMS: Final[dict[str, Callable[[PlantedHome, Plant], None]]] = {
    "page-note": _after(_fetch, ("note",)),
    "page-fact": _after(_fetch, ("fact",)),
    "page-answer": _after(_fetch, ("answer",)),
    "command-output": _after(_run_curl),
    "mcp-result": _after(_ask_tracker),
    "other-programs-command": _in_other_programs(_ran_curl),
    "other-programs-file": _in_other_programs(_read_document),
    "mail-tool": _after(_read_mail),
    "mail-file": _save_mail,
    "clipping": _clip,
    "user-repository": _later("vault", "{slug}.md"),
    "memory-remote": _later("remote", "memory/shared/{slug}.md"),
    "project-rules": _later("rules", ".claude/rules/{slug}.md"),
    "vendored": _after(_read_file("vendor/{slug}/README.md")),
    "download": _after(_read_file("~/Downloads/{slug}.txt")),
    "attachment": _after(_attach),
    "document": _after(_read_file("docs/{slug}.md")),
}


def commit_to_remote(client: Client, hub: Path, files: Sequence[tuple[str, str]]) -> None:
    """Connect a memory to a new remote, let another person commit files there, and receive them."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(hub)], check=True, timeout=GIT_TIMEOUT_S)
    client.remote("add", url=str(hub))
    wait_until(lambda: (client.remote("sync"), *hub.glob("refs/heads/memd/main"))[1:])
    copy = hub.with_name("copy")
    _commit_in_copy(copy, hub, "memd/main", files)
    _git(copy, OTHER_PERSON, "push", "--quiet")
    client.remote("sync")


def _write_all(folder: Path, files: Sequence[tuple[str, str]]) -> None:
    for path, text in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _commit_as_other(folder: Path, files: Sequence[tuple[str, str]]) -> None:
    """Make a repository of the user in which the files are in a commit of another person."""
    _git(folder, USER, "init", "--quiet", "--initial-branch=main")
    _git(folder, USER, "config", "user.name", USER[0])
    _git(folder, USER, "config", "user.email", USER[1])
    (folder / "README.md").write_text("# Notes\n\nWhat we know about our machines.\n")
    _git(folder, USER, "add", "--all")
    _git(folder, USER, "commit", "--quiet", "--message", "begin")
    if files:
        copy = folder.with_name(f"{folder.name}-of-rowan")
        _commit_in_copy(copy, folder, "main", files)
        _git(folder, USER, "pull", "--quiet", "--ff-only", str(copy), "main")


def _commit_in_copy(copy: Path, repository: Path, branch: str, files: Sequence[tuple[str, str]]) -> None:
    """Let another person commit files in a copy of a repository."""
    _git(copy.parent, OTHER_PERSON, "clone", "--quiet", "--branch", branch, str(repository), str(copy))
    _write_all(copy, files)
    _git(copy, OTHER_PERSON, "add", "--all")
    _git(copy, OTHER_PERSON, "commit", "--quiet", "--message", "describe the setup")


def _git(folder: Path, person: tuple[str, str], *arguments: str) -> None:
    name, email = person
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_NAME": name for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": email for role in ("AUTHOR", "COMMITTER")},
    }
    subprocess.run(["git", *arguments], cwd=folder, env=variables, check=True, timeout=GIT_TIMEOUT_S)
