"""Transcripts with one JSON object per line: what records mean and where files are is in the tables of `lines.toml`.

A program whose records need more than a table has a module with a subclass of `LinesReader`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memd.programs.blocks import visible_text
from memd.programs.branches import FIRST_PROMPT, MESSAGE, NO_PARENT, OTHER, PROMPT, Branches, RecordKind
from memd.programs.conversation import Conversation, Message, Role, Session, SessionKind
from memd.programs.program import FileReader, TranscriptFile, TranscriptReader, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_marked,
    is_utf8,
    part_of,
    session_title,
    text_of,
    time_ms_of,
    title_of,
)
from memd.programs.small_files import read_document
from memd.text.transcripts.injected import without_injected
from memd.text.transcripts.tags import opens_with_tag

Record: TypeAlias = dict[str, Any]

_record = msgspec.json.Decoder(Record)

ID: Final = r"([A-Za-z0-9_-][A-Za-z0-9._-]{0,119})"
"""What `{id}` in the pattern of a path stands for."""

_FAMILY = re.compile(r"[^./]*[./]")

SECONDS: Final = 100_000_000_000
"""Smaller times are seconds, not milliseconds."""


def first_text(record: object, paths: Iterable[str]) -> str:
    """Return the first text at some paths that isn't empty."""
    return next((text for path in paths if (text := text_of(part_of(record, path)).strip())), "")


def load(name: str) -> Any:
    """Return what has a name in a module of this package: `module.name`."""
    module, _, attribute = name.partition(".")
    return getattr(import_module(f"memd.programs.{module}"), attribute)


class Form(Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """The paths of transcripts: a pattern for each name, separated by `/`. The groups, joined by `/`, are the id."""

    path: str
    kind: SessionKind = "main"
    rank: int = 0

    @cached_property
    def names(self) -> list[re.Pattern[str]]:
        """The patterns."""
        return [re.compile(name.replace("{id}", ID)) for name in self.path.split("/")]


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Which records are messages.

    Attributes:
        role: Who speaks.
        text: Paths of the content; the first that exists counts.
        when: The values that fields must have; "" stands for a field that is missing, null or false.
        out: A pattern of what is removed.
    """

    role: Role
    text: tuple[str, ...]
    when: Mapping[str, tuple[str, ...]]
    out: str = ""

    def holds(self, record: Record) -> bool:
        """Return whether a record is such a message."""
        values = ((part_of(record, path), allowed) for path, allowed in self.when.items())
        return all((value if is_marked(value) else "") in allowed for value, allowed in values)

    def words(self, record: Record) -> str:
        """Return the text of a record."""
        content = next((found for path in self.text if (found := part_of(record, path)) is not None), None)
        text = content if isinstance(content, str) else visible_text(content)
        return re.sub(self.out, "", text, flags=re.S) if self.out else text


class Details(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON file next to transcripts that describes a session.

    Attributes:
        file: Its path below the folder; `{id}` is the session's id, and `*` any text.
        id: Path of the session's id in it, if the path doesn't tell.
        facts: Paths of texts and times by attributes of `Session`.
        kinds: The kind of a session by the value of its field `kind`.
    """

    file: str
    id: str = ""
    facts: Mapping[str, tuple[str, ...]] = {}
    kind: str = ""
    kinds: Mapping[str, SessionKind] = {}

    def session(self, session_id: str, record: Record) -> Session:
        """Return what the file says about a session."""
        facts: dict[str, Any] = {}
        for name, paths in self.facts.items():
            times = (time for path in paths if (time := time_ms_of(part_of(record, path))))
            facts[name] = next(times, None) if name.endswith("_ms") else first_text(record, paths)
        kind = self.kinds.get(first_text(record, (self.kind,)), "main")
        return Session(session_id, kind, **facts | {"title": title_of(facts.get("title", ""))})


class LinesTable(Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """A program's transcripts.

    Attributes:
        paths: Where they are.
        reader: Module and class of their reader, and `files` of the program, if the table isn't enough.
        kind: Paths of a record's type; the first that exists counts.
        known: Types without words of a user or an answer; also their beginnings, up to the first `.` or `/`.
        time: Paths of a record's time.
        key: Paths of a message's id; `parent` is the path of the one before it in a tree.
        facts: Paths of texts by attributes of `Session`. Of folders and parents the first counts, else the last.
        titles: The path of a title by the type of record that has it.
        messages: Which records are messages.
    """

    paths: tuple[Form, ...]
    reader: str = "lines.LinesReader"
    files: str = "lines.LinesFiles"
    kind: tuple[str, ...] = ("type",)
    known: str = ""
    time: tuple[str, ...] = ("timestamp",)
    key: tuple[str, ...] = ("id",)
    parent: str = ""
    facts: Mapping[str, tuple[str, ...]] = {}
    titles: Mapping[str, str] = {}
    messages: tuple[Rule, ...] = ()
    details: Details | None = None

    @cached_property
    def known_types(self) -> frozenset[str]:
        """The known types and beginnings."""
        return frozenset(self.known.split())

    def time_of(self, record: Record) -> int | None:
        """Return the time of a record."""
        value = next((found for path in self.time if (found := part_of(record, path)) is not None), None)
        if isinstance(value, (int, float)) and value < SECONDS:
            value *= 1000
        return time_ms_of(value)


TABLES: Final[Mapping[str, LinesTable]] = msgspec.convert(
    tomllib.loads(Path(__file__).with_name("lines.toml").read_text("utf-8")), dict[str, LinesTable]
)
"""The tables of `lines.toml` by the name of their reader."""


class LinesReader:
    """Reads a transcript by a table (a `TranscriptReader`)."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
        self.table = table
        self.session = session_of(file)
        self.title = ""
        self.messages: list[Message] = []
        self._unknown: Counter[str] = Counter()
        self._broken = 0

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        record = decode_record(line, _record)
        if record is None or not is_utf8(line):  # a damaged byte may be one of what marks a machine's text
            self._broken += bool(line.strip())
        else:
            self.take(record, first_text(record, self.table.kind), place)

    def take(self, record: Record, kind: str, place: int) -> None:
        """Read a record of a type. Any of its fields may have any type."""
        table, time_ms = self.table, self.table.time_of(record)
        rule = next((rule for rule in table.messages if rule.holds(record)), None)
        if not self.enter(record, kind, rule):
            return
        is_foreign = self.is_foreign(record)
        self.note(record, kind, None if is_foreign else time_ms)
        if rule is None:
            self.skip(kind, record)
        elif not is_foreign:
            self.say(rule.role, rule.words(record), place, first_text(record, table.key), time_ms)

    def enter(self, record: Record, kind: str, rule: Rule | None) -> bool:
        """Return whether a record is new."""
        return True

    def is_foreign(self, record: Record) -> bool:
        """Return whether a record is a copy, or belongs to another session."""
        return False

    def note(self, record: Record, kind: str, time_ms: int | None) -> None:
        """Note what a record says about the session."""
        self.session.note_time(time_ms)
        for name, paths in self.table.facts.items():
            text = first_text(record, paths)
            if text and not (name in ("cwd", "parent") and getattr(self.session, name)):
                setattr(self.session, name, text)
        if kind in self.table.titles:
            self.title = title_of(text_of(part_of(record, self.table.titles[kind]))) or self.title

    def skip(self, kind: str, record: Record) -> None:
        """Count a record that is no message if its type isn't known. One with a field of that name is a step."""
        family = _FAMILY.match(kind)
        kinds = {kind, family[0] if family else kind}
        if not kind or (self.table.known_types.isdisjoint(kinds) and kind not in record):
            count_unknown(self._unknown, kind)

    def say(self, role: Role, text: str, place: int, key: str, time_ms: int | None) -> bool:
        """Add a message if it has words; return whether. A subagent's prompts are words of its agent."""
        words = (without_injected(text) if role == "user" else text).strip()
        if not words or (role == "user" and (self.session.kind == "subagent" or opens_with_tag(words))):
            return False
        self.messages.append(Message(role, words, place, key, time_ms))
        return True

    def kept(self) -> list[Message]:
        """Return the messages that are part of the conversation."""
        return [*self.messages]

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        messages = self.kept()
        prompts = (message.text for message in messages if message.role == "user")
        session = replace(self.session, title=session_title(self.title, prompts))
        return Conversation(session, messages, self._unknown.copy(), self._broken)


class TreeReader(LinesReader):
    """Reads a transcript whose records are a tree, without the branches that its user abandoned."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
        super().__init__(file, table)
        self._branches = Branches()
        self._numbers: list[int] = []
        self._number = NO_PARENT

    def order_of(self, record: Record, kind: str, rule: Rule | None) -> RecordKind:
        """Return what a record is in the tree."""
        return OTHER if rule is None else PROMPT if rule.role == "user" else MESSAGE

    def enter(self, record: Record, kind: str, rule: Rule | None) -> bool:
        """Add a record to the tree."""
        record_id, parent = first_text(record, self.table.key), part_of(record, self.table.parent)
        self._number = NO_PARENT
        if record_id:
            if self._branches.number_of(record_id) is not None:
                return False
            order, above = self.order_of(record, kind, rule), self._branches.number_of(parent)
            if above is None:
                above = FIRST_PROMPT if parent is None and order == PROMPT else NO_PARENT
            self._number = self._branches.add(record_id, above, order)
        return True

    def say(self, role: Role, text: str, place: int, key: str, time_ms: int | None) -> bool:
        """Add a message of the record that was added last."""
        is_said = super().say(role, text, place, key, time_ms)
        self._numbers += [self._number] * is_said
        return is_said

    def kept(self) -> list[Message]:
        """Return the messages of the branches that weren't abandoned."""
        abandoned = self._branches.abandoned()
        numbered = zip(self._numbers, self.messages, strict=True)
        return [message for number, message in numbered if number not in abandoned]


class LinesFiles(FileReader):
    """A program with a file of lines per session."""

    def __init__(self, table: LinesTable) -> None:
        self._table = table

    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a reader."""
        reader = load(self._table.reader)
        opened: TranscriptReader = (
            reader(file, self._table) if issubclass(reader, LinesReader) else reader(file)
        )
        return opened

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path."""
        names = path.split("/")
        for form in self._table.paths:
            matches = [pattern.fullmatch(name) for pattern, name in zip(form.names, names, strict=False)]
            if len(names) == len(form.names) and all(matches):
                groups = [group for match in matches if match for group in match.groups()]
                return TranscriptFile("/".join(groups), form.kind, form.rank)
        return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        names = path.split("/")
        return any(
            len(names) < len(form.names) and all(map(re.Pattern.fullmatch, form.names, names))
            for form in self._table.paths
        )

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return what the file of details says."""
        details = self._table.details
        if details is None or re.fullmatch(ID, session_id) is None:
            return None
        try:
            paths = sorted(folder.glob(details.file.replace("{id}", session_id)))
        except OSError:
            return None
        for path in paths:
            record = read_document(path)
            if isinstance(record, dict) and (not details.id or part_of(record, details.id) == session_id):
                return details.session(session_id, record)
        return None
