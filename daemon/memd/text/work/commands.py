"""Command lines: the command that matters in them, its key, and whether it only looks. Pure and linear.

A line may be a chain, a pipe or a script. Its command is the last one that changes or checks something, because what
stands before it prepares it (`cd web && npm ci && npm test` is `npm test`). If all commands only look, it is the last
one, and of a pipe the first (`ls | head` is `ls`). `echo`, `cd` and the like count only if there is nothing else. What
runs another command (`sudo`, `npx`, `docker exec`, `bash -c`) is no part of it, and neither are assignments and
redirections, because the same tests, run in another way, are the same command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from memd.text.data_files import read_sections, read_words

MAX_LINE_CHARS: Final = 4_000
"""Characters of a line that are read, and of a normalized one."""

MAX_KEY_CHARS: Final = 100
MAX_WORD_CHARS: Final = 200
"""A longer word, such as a script in quotes, is shortened to its start and a hash."""

CACHED_LINES: Final = 1_024
"""Lines whose results are cached, because agents repeat their commands."""

_MAX_DEPTH: Final = 4
"""Most shells that start each other in a line."""

_MAX_PASSES: Final = 6

_FILE = Path(__file__).with_suffix(".txt")
_SECTIONS, _WORDS = read_sections(_FILE), read_words(_FILE)
_SHELLS, _KEYWORDS, _ENDS, _SILENT, _LOOKING, _CHANGING = (
    frozenset(_WORDS[name]) for name in ("shells", "keywords", "ends", "silent", "looking", "changing")
)
_LOOKING_KEYS, _LOOKING_ALONE, _FILTERS = (
    frozenset(_SECTIONS[name]) for name in ("looking-keys", "looking-alone", "filters")
)
_ALIASES = dict(row.split("=", 1) for row in _SECTIONS["aliases"])
_ROWS = {
    name: (int(count), frozenset(" ".join(valued).split()))
    for name, count, *valued in (row.split("|") for row in _SECTIONS["tools"] + _SECTIONS["wrappers"])
} | {name: (0, frozenset[str]()) for name in _SHELLS}
"""Known prefixes: how many words follow, and which options take a value."""

_WRAPPERS = frozenset(row.split("|")[0] for row in _SECTIONS["wrappers"]) | _SHELLS

_TOKEN = re.compile(
    r"""(?:[^\S\n]|\\\r?\n)+
    |\#[^\n]*+
    |(?P<redirect>(?:\d{0,2}|&)(?:>>|>\||>&|>(?!\()|<<<|<&|<>|<<-?|<(?!\()))
    |(?P<pipe>\|&?(?!\|))
    |(?P<end>&&|\|\||[;&\n()])
    |(?P<word>(?:[^\s"'`\\|&;<>()$]|\\(?:.|\Z)|"(?:[^"\\]|\\.)*+"|'[^']*+'|`[^`]*+`
        |["'`](?:(?=[^\n]*+\Z)|.*)|[$<>]\((?:[^()]|\([^()]*\))*+\)|\$)++)
    |.""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""\$?"((?:[^"\\]|\\.)*+)"?|\$?'([^']*+)'?|\\(\r?\n|.|\Z)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\$`]|\n)')
_HEREDOC = re.compile(r"(?<!<)<<-?\s*([\"']?)([A-Za-z_]\w*)\1")
_ASSIGNMENT = re.compile(r"(?:\$env:)?[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_RUNS_TEXT = re.compile(r"-[a-z]*c|-c(?:ommand)?|/c", re.IGNORECASE)
_VERSIONED = re.compile(r"((?:python|pip|ruby|php|perl|node|lua|gcc|g\+\+|clang(?:\+\+)?|javac?))-?[\d.]+")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)
_KEY_WORD = re.compile(r"(?![+-])[\w@:.,/+-]{1,60}")
_TEMPORARY: Final = (
    r"(?:/private)?(?:/tmp|/var/tmp|/var/folders/\w{2}/\w+/\w|/dev/shm)(?=[/\s\"']|$)|\$(?:TMPDIR|\{TMPDIR\})"
    r"|(?<![\w/])[A-Za-z]:[\\/]Users[\\/][^\\/\s]+[\\/]AppData[\\/]Local[\\/]Temp"
)
TEMPORARY_PATH = re.compile(rf"(?:{_TEMPORARY})(?:[\\/](?P<rest>[^\s\"':;,)\]}}]*+))?")
_PLAIN_FILE = re.compile(r"(?!tmp)[A-Za-z_-]+\.[a-z]{1,5}")


class LineCommand(NamedTuple):
    """A command of a line without what runs it; rank 0 is not worth a mention, 1 only looks."""

    words: list[str]
    key: str
    rank: int


@lru_cache(maxsize=CACHED_LINES)
def command_key(line: str) -> str:
    """Return the program and subcommand of a line, such as `cargo test`; "" without a command."""
    command = _chosen(_commands(line[:MAX_LINE_CHARS]))
    return command.key if command else ""


def program_of(line: str) -> str:
    """Return the name of the program that a line runs; "" without a command."""
    return command_key(line).partition(" ")[0]


@lru_cache(maxsize=CACHED_LINES)
def normalize_command(line: str) -> str:
    """Return the command of a line in a form that is equal for two runs of the same invocation."""
    line = line[:MAX_LINE_CHARS]
    for _ in range(_MAX_PASSES):
        command = _chosen(_commands(line))
        before, line = line, " ".join(map(_normal_word, command.words))[:MAX_LINE_CHARS] if command else ""
        if line == before:
            break
    return line


def is_looking(line: str) -> bool:
    """Return whether a line only looks at files or states, as `ls` and `git status` do."""
    pipes = _commands(line[:MAX_LINE_CHARS])
    return bool(pipes) and all(command.rank < 2 for pipe in pipes for command in pipe)


def all_commands(line: str) -> list[LineCommand]:
    """Return the commands of a line, each without what runs it."""
    return [command for pipe in _commands(line[:MAX_LINE_CHARS]) for command in pipe]


def mask_temporary(text: str) -> str:
    """Return a text in which temporary paths are equal for each run; the name of a file without digits stays."""

    def masked(path: re.Match[str]) -> str:
        name = re.split(r"[\\/]", path["rest"] or "")[-1]
        return f"/tmp/{name if _PLAIN_FILE.fullmatch(name) else '_'}"

    return TEMPORARY_PATH.sub(masked, text)


def _chosen(pipes: list[list[LineCommand]]) -> LineCommand | None:
    """Return the command that matters."""
    heads = []
    for pipe in pipes:
        rank = max(command.rank for command in pipe)
        equals = [command for command in pipe if command.rank == rank]
        heads.append(equals[-1 if rank == 2 else 0])
    rank = max((command.rank for command in heads), default=0)
    return next((command for command in reversed(heads) if command.rank == rank), None)


@lru_cache(maxsize=CACHED_LINES)
def _commands(line: str, depth: int = 0) -> list[list[LineCommand]]:
    """Return the commands of a line, by pipe."""
    pipes: list[list[LineCommand]] = [[]]
    words: list[str] = []
    is_writing, redirect = False, ""
    for token in _TOKEN.finditer("\n".join(_without_heredocs(line.split("\n")))):
        text = token[0]
        if token.lastgroup == "redirect":
            redirect = text
        elif token.lastgroup == "word" and redirect:
            is_writing |= ">" in redirect and not text.startswith(("/dev/", "&", "$null", "NUL", "-"))
            is_writing &= not (text.isdigit() and "&" in redirect) and not TEMPORARY_PATH.match(
                _unquoted(text)
            )
            redirect = ""
        elif token.lastgroup == "word":
            words.append(_unquoted(text))
        elif token.lastgroup in ("pipe", "end"):
            _add(pipes, words, is_writing, depth)
            if token.lastgroup == "end":
                pipes.append([])
            words, is_writing, redirect = [], False, ""
    _add(pipes, words, is_writing, depth)
    return [pipe for pipe in pipes if pipe]


def _add(pipes: list[list[LineCommand]], words: list[str], is_writing: bool, depth: int) -> None:
    """Add a command to the last pipe, or the commands that it runs."""
    words, script = _unwrapped(words)
    nested = _commands(script, depth + 1) if script and depth < _MAX_DEPTH else []
    if (command := _chosen(nested)) is not None:
        pipes[-1].append(command)
    elif words:
        key = _key(words)
        pipes[-1].append(LineCommand(words, key, 2 if is_writing else _rank(words, key, bool(pipes[-1]))))


def _unwrapped(words: list[str]) -> tuple[list[str], str]:
    """Return the words of a command without what runs it, or a text that a shell runs."""
    while words:
        if words[0] in _ENDS or words[0].startswith("$env:"):
            return [], ""
        if (words[0] in _KEYWORDS and len(words) > 1 and words[0] != "time") or _ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        if words[0].startswith("$") and words[1:2] == ["="]:
            words = words[2:]
            continue
        words = _renamed(words)
        prefix, at = _prefix(words)
        if prefix not in _WRAPPERS:
            break
        if prefix in _SHELLS:
            texts = (number for number in range(1, at) if _RUNS_TEXT.fullmatch(words[number]))
            if (first := next(texts, 0)) and first + 1 < len(words):
                return words, " ".join(words[first + 1 :]) if prefix[0] in "pc" else words[first + 1]
        rest = words[at + _ROWS[prefix][0] :]
        rest = rest[1:] if rest[:1] == ["--"] else rest
        if not rest:
            break
        if len(rest) == 1 and any(map(str.isspace, rest[0])):
            return words, rest[0]
        words = rest
    return words, ""


def _renamed(words: list[str]) -> list[str]:
    """Return words whose first ones have the common name of the program."""
    words = [_program(words[0]), *words[1:]]
    for count in (3, 2, 1):
        if name := _ALIASES.get(" ".join(words[:count])):
            return [*name.split(), *words[count:]]
    return words


def _program(path: str) -> str:
    """Return the name of a program: of a script in a project with its folder."""
    parts = [part for part in re.split(r"[\\/]", path) if part not in ("", ".")]
    if not parts:
        return path
    is_installed = (
        len(parts) > 1 and parts[-2] in ("bin", ".bin", "sbin", "Scripts", "shims") and parts[0] != "bin"
    )
    name = _SUFFIX.sub("", parts[-1])
    name = match[1] if (match := _VERSIONED.fullmatch(name)) else name
    is_tool = (
        is_installed or len(parts) == 1 or name.startswith(("gradlew", "mvnw")) or parts[0].endswith(":")
    )
    return name if is_tool else "/".join([parts[-2], name])


def _prefix(words: list[str]) -> tuple[str, int]:
    """Return the known prefix that words begin with, else the program, and the number of words up to what follows."""
    prefix, at = words[0], 1
    while prefix in _ROWS and at < len(words):
        if (longer := f"{prefix} {words[at]}") in _ROWS:
            prefix, at = longer, at + 1
        elif words[at] == "--":
            return prefix, at + 1
        elif words[at][:1] in ("-", "+") or (prefix in ("cmd",) and words[at][:1] == "/"):
            at += 2 if words[at] in _ROWS[prefix][1] else 1
        else:
            break
    return prefix, at


def _key(words: list[str]) -> str:
    prefix, at = _prefix(words)
    names = [prefix]
    count = 0 if prefix in _WRAPPERS else _ROWS.get(prefix, (0,))[0]
    for word in words[at:]:
        if len(names) > count or not _KEY_WORD.fullmatch(word):
            break
        names.append(_program(mask_temporary(word)))
    return " ".join(names)[:MAX_KEY_CHARS]


def _rank(words: list[str], key: str, is_piped: bool) -> int:
    """Return how much a command does."""
    name = words[0].lower()
    if name in _SILENT:
        return 0
    if (is_piped and key in _FILTERS) or key in _LOOKING_KEYS:
        return 1
    if key in _LOOKING_ALONE or any(key == f"{alone} {words[-1]}" for alone in _LOOKING_ALONE):
        return (
            1
            if all(word.startswith("-") for word in words[len(key.split()) :]) and key in _LOOKING_ALONE
            else 2
        )
    return (
        1
        if (name in _LOOKING and _CHANGING.isdisjoint(words)) or words[1:] in (["--version"], ["--help"])
        else 2
    )


def _normal_word(word: str) -> str:
    word = mask_temporary(word)
    if len(word) > MAX_WORD_CHARS:
        word = f"{word[:60]}…{_digest(word)}"
    return shlex.quote(word)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _unquoted(word: str) -> str:
    """Return a word without quotes; a backslash before a letter is a part of a path of Windows."""

    def plain(part: re.Match[str]) -> str:
        if part[1] is not None:
            return _ESCAPED.sub(lambda escaped: escaped[1].strip("\n"), part[1])
        escaped = part[3] or ""
        return part[2] if part[2] is not None else part[0] if escaped.isalnum() else escaped.strip("\r\n")

    return _QUOTED.sub(plain, word)


def _without_heredocs(lines: list[str]) -> Iterator[str]:
    """Yield lines in which a hash stands for each here-document."""
    stripped, at = [line.strip() for line in lines], 0
    while at < len(lines):
        head, at = lines[at], at + 1
        for tag in _HEREDOC.finditer(head):
            if tag[2] in stripped[at:]:
                end = stripped.index(tag[2], at)
                head = head.replace(tag[0], f" heredoc:{_digest(chr(10).join(lines[at:end]))}", 1)
                at = end + 1
        yield head
