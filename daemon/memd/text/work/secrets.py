"""Redaction of command lines, outputs and edited files: what `redact` finds, and what only their form gives away.

The rows of `secrets.txt` name where commands take secrets (`--password x`, `curl -u name:x`, `NAME_TOKEN=x`), the
commands that print them, and the files that hold them. Of the last two every value is replaced, whatever it looks like,
and its name stays. Pure, linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from memd.text.data_files import read_sections, read_words
from memd.text.lazy_pattern import lazy_pattern
from memd.text.redact.secrets import REDACTION_MARK, is_literal, redact
from memd.text.work.commands import CACHED_LINES, all_commands
from memd.text.work.errors import is_error

_MAX_PASSES: Final = 8
_FILE = Path(__file__).with_suffix(".txt")
_TABLE = read_sections(_FILE)
_NO_SECRETS = frozenset(read_words(_FILE)["words"])
_ROWS = [re.split(" {2,}", row, maxsplit=2) for row in _TABLE["rows"]]
_SHAPES = [(f"{REDACTION_MARK}{kind}]", lazy_pattern(shape, re.MULTILINE)) for kind, _, shape in _ROWS]
_ANCHORS: dict[str, list[int]] = {}
for _number, (_, _anchors, _) in enumerate(_ROWS):
    for _anchor in _anchors.split():
        _ANCHORS.setdefault(_anchor, []).append(_number)
_PAIRS, _WHOLE = (lazy_pattern("|".join(_TABLE[name]), re.IGNORECASE) for name in ("pairs", "whole"))
_PRINTS = [(row, row.split(), mode) for mode in ("whole", "pairs") for row in _TABLE[f"prints-{mode}"]]
_MARK: Final = f"{REDACTION_MARK}value]"
_ENVIRON = re.compile(
    r"os\.environ\b(?!\s*[\[.])|process\.env\b(?![.\[])|\bENV\.to_h|(?<![\w-])env:\s*(?:\||$)"
)
_SECRET_VARIABLE = re.compile(
    r"\$(?:env:|\{)?\w*(?:TOKEN|SECRET|PASS|PWD|KEY|CREDENTIAL|AUTH)", re.IGNORECASE
)
_PAIR = re.compile(
    r"""^(?P<name>[-+ \t]*(?:(?:export|set|declare(?:\ -\w+)?|typeset\ -x|-)\s+)?
        (?:\\?["'][^"'\n]{1,120}["']\s*[:=]|["']?[\w./@:-]{1,120}["']?(?:\s*=(?!=)|:(?=\s|["'])|\s*\|)|[\w-]{1,80}\s{2,8}(?=\S{6,}))\s*)
        (?P<value>(?![\[{|>]?\s*$)\S.*)$
    |^(?P<item>[-+ \t]*["'])(?P<only>[^"'\n]*)(?=["'],?\s*$)""",
    re.VERBOSE | re.MULTILINE,
)
_INLINE = re.compile(
    r"""(["']\s{0,2}[:=]\s{0,2})(?:"(?!\[redacted:)[^"\n]+"|'(?!\[redacted:)[^'\n]+'|\d+(?=\s*(?:[,}\]]|$)))"""
)
_NAMED_WORD = re.compile(r"\b(login|password|account)(\s+)(\S+)")
_HEADER = re.compile(
    r"^(?:diff --git a/\S+ b/|\+\+\+ (?:b/)?|==> |\*\*\* (?:Add|Update) File: |--- (?:a/)?)(?P<path>\S+)(?: <==)?.*$",
    re.MULTILINE,
)
_WRITTEN = re.compile(r"(?:>>?|\btee(?: -a)?)\s*[\"']?(?P<path>[^\s\"';|&<>]+)")
_ASSIGNED = re.compile(
    r"(?<![\w-])([A-Za-z_]\w*=)(?![\"']?\[redacted:)(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'|;&<>]+)"
)
_PATH = re.compile(r"~?/(?:[\w.@-]{0,20}/)*[\w.@-]{0,20}")


@lru_cache(maxsize=CACHED_LINES)
def redact_command(line: str) -> tuple[str, int]:
    """Return a command line without its secrets, and their number."""
    is_stored = any(_file_mode(written["path"]) for written in _WRITTEN.finditer(line))
    return _redact_all(line, _masked_stored if is_stored else _unmasked)


def redact_output(command_line: str, output: str) -> tuple[str, int]:
    """Return the output of a command without secrets, and their number; all values if the command prints such."""
    mode = _printed_mode(command_line)
    return _redact_all(output, partial(_masked, mode=mode) if mode else _masked_parts)


def redact_file_text(path: str, text: str) -> tuple[str, int]:
    """Return a text of a file or an edit without secrets, and their number; all values if the file holds such."""
    mode = _file_mode(path)
    return _redact_all(text, partial(_masked, mode=mode) if mode else _unmasked)


def shows_secrets(command_line: str, output: str) -> bool:
    """Return whether only other lines, or the command, tell that a line of an output is a secret."""
    return "PRIVATE KEY" in output or _HEADER.search(output) is not None or bool(_printed_mode(command_line))


def _redact_all(text: str, mask: Callable[[str], tuple[str, int]]) -> tuple[str, int]:
    count = 0
    for _ in range(_MAX_PASSES):
        text, masked = mask(text)
        text, found = redact(text)
        text, shaped = _redact_shapes(text)
        count += masked + found + shaped
        if not masked + shaped:
            break
    return text, count


def _unmasked(text: str) -> tuple[str, int]:
    return text, 0


def _masked_stored(line: str) -> tuple[str, int]:
    """Return a command line that writes secrets to a file without what it writes."""
    return _masked(line, "pairs", 1) if "\n" in line else _ASSIGNED.subn(rf"\1{_MARK}", line)


def _redact_shapes(text: str) -> tuple[str, int]:
    """Return a text without secrets that stand where commands take them, and their number."""
    lowered, count = text.lower(), 0
    for number in sorted({row for anchor in _ANCHORS if anchor in lowered for row in _ANCHORS[anchor]}):
        mark, shape = _SHAPES[number]
        kept, done = [], 0
        for match in shape.finditer(text):
            group = match.lastgroup or "secret"
            if _is_secret(match[group]):
                kept += [text[done : match.start(group)], mark]
                done = match.end(group)
        if kept:
            text, count = "".join([*kept, text[done:]]), count + len(kept) // 2
    return text, count


def _is_secret(value: str) -> bool:
    return (
        is_literal(value.lstrip("/"))
        and not value.startswith(("$", "%", "@"))
        and not _PATH.fullmatch(value)
        and value.strip("\"'.,)").lower() not in _NO_SECRETS
        and REDACTION_MARK not in value
    )


def _file_mode(path: str) -> str:
    """Return how a file is masked: `whole`, `pairs` or, if it holds no secrets, ""."""
    return "whole" if _WHOLE.search(path) else "pairs" if _PAIRS.search(path) else ""


def _printed_mode(line: str) -> str:
    """Return how the output of a command line is masked."""
    if _ENVIRON.search(line):
        return "pairs"
    modes = {""}
    for command in all_commands(line):
        words = [word.lower() if at == 0 else word for at, word in enumerate(command.words)]
        plain = [word for word in words if not word.startswith("-")]
        if len(words) > 1 and words[0] in ("echo", "printf", "write-host", "write-output"):
            modes.add("whole" if _SECRET_VARIABLE.search(" ".join(words)) else "")
        for row, start, mode in _PRINTS:
            alone = len(start) == 1 and row not in ("printenv", "pass")
            if words == start if alone else (words[: len(start)] == start or plain[: len(start)] == start):
                modes.add("pairs" if words == ["printenv"] else mode)
        if command.rank == 1:
            modes |= {_file_mode(word) for word in words[1:]}
    return "whole" if "whole" in modes else max(modes)


def _masked(text: str, mode: str, first: int = 0) -> tuple[str, int]:
    """Return a text from whose lines all values are removed, and their number."""
    count, lines, is_open = 0, text.split("\n"), False
    for at, line in enumerate(lines[first:], first):
        masked = line
        if is_error(line) and " " in line and "=" not in line and '"' not in line:
            continue
        if mode == "pairs":
            masked = _PAIR.sub(_without_value, _INLINE.sub(rf"\1'{_MARK}'", line))
            masked = _NAMED_WORD.sub(rf"\1\2{_MARK}", masked)
            is_open |= masked != line
        bare = line.strip(" \t\r+-{}[](),;")
        if masked == line and bare and (mode == "whole" or (is_open and len(bare) > 15 and " " not in bare)):
            masked = (
                line.replace(bare, _MARK, 1)
                if REDACTION_MARK not in line and not bare.startswith("#")
                else line
            )
        count += masked != line
        lines[at] = masked
    return "\n".join(lines), count


def _without_value(pair: re.Match[str]) -> str:
    value = pair["value"] if pair["value"] is not None else pair["only"]
    if REDACTION_MARK in value or not value.strip("\"', "):
        return pair[0]
    if pair["value"] is None:
        name, sign, _ = value.partition("=")
        return f"{pair['item']}{name + sign if sign else ''}{_MARK}"
    return f"{pair['name']}{_MARK}"


def _masked_parts(output: str) -> tuple[str, int]:
    """Return an output in which the parts of files that hold secrets are masked, and the number of values."""
    headers = (
        list(_HEADER.finditer(output))
        if any(mark in output for mark in ("+++ ", "==> ", "*** ", "--git"))
        else []
    )
    parts, count, done = [], 0, 0
    ends = [*(header.start() for header in headers), len(output)]
    for header, end in zip(headers, ends[1:], strict=True):
        if mode := _file_mode(header["path"]):
            part, found = _masked(output[header.end() : end], mode)
            parts += [output[done : header.end()], part]
            done, count = end, count + found
    return "".join([*parts, output[done:]]), count
