"""Prompts: which of them a person typed, and the query in them. Pure functions."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from memd.text.data_files import read_sections, read_words
from memd.text.lazy_pattern import lazy_pattern
from memd.text.query.word_forms import fold, stem_word
from memd.text.tokens import asks_at_end, folded_words, has_cjk
from memd.text.transcripts.injected import without_injected
from memd.text.work.errors import is_error_message

MAX_QUERY_CHARS = 400
"""Longest query: the start and the questions of a longer prompt say what it is about."""

MAX_PROMPT_CHARS = 20_000
"""Longest prompt that a person types; a longer one is pasted."""

MIN_PRINTED_LINES = 3
"""Printed lines from which only the lines before and after them are a person's."""

MAX_ACKNOWLEDGEMENT_WORDS = 8

MAX_ERROR_LINES = 2
"""Lines of a pasted error that are searched for: its message, and what follows it."""

MAX_FRAGMENT_WORDS = 5
"""Longest prompt without a verb that is a question: `staging port`."""

MAX_LINE_CHARS, MAX_WORD_CHARS = 1_000, 20
"""A longer line whose words are longer on average than this is pasted."""

_FILE = Path(__file__).with_suffix(".txt")
_SECTIONS = read_sections(_FILE)
_WORDS = read_words(_FILE)
_OPENINGS = tuple(_SECTIONS["opening"])
_PRINTED = lazy_pattern("|".join(f"(?:{row})" for row in _SECTIONS["line"]))
_ACKNOWLEDGEMENTS = frozenset(fold(word).replace("'", "") for word in _WORDS["acknowledgement"])
_ACKNOWLEDGING_RUNS = _WORDS["acknowledgement-run"]
_COMMON_STEMS = frozenset(stem_word(fold(word))[0] for word in _WORDS["common"])
_POLITE, _REQUESTS, _ASKING = (frozenset(map(fold, _WORDS[name])) for name in ("polite", "request", "asking"))

_COMMAND = re.compile(r"/[A-Za-z][\w:-]*(?:\s|$)|![^\s!]|[#&][A-Za-z]\w*\s*$")
_HOOK_CONTEXT = re.compile(r"\s*<hook_context>.*?</hook_context>", re.DOTALL)
"""What Gemini CLI puts before the first prompt of a headless session: the text of a hook at its start."""

_TAG = re.compile(r"</?[a-z][\w-]*(?:\s[^>\n]*)?>")
_FENCE = re.compile(r"(?:```|~~~).*?(?:(?:```|~~~)|\Z)", re.DOTALL)
_URL = re.compile(r"https?://\S+")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*(?=\S)|\n+")
_WORD = re.compile(r"\w")
_TRACE = re.compile(r"at \S|File \"|goroutine |\d*\s*\||-->|\[signal |note: |Tests?:|#\d")
"""Lines of a pasted error that only locate it."""

_GAP = re.compile(r"[\s。、，]")


class PromptQuery(Struct, frozen=True):
    """The query of a prompt; without one, `silence` says why: `empty`, `machine`, `pasted` or `acknowledgement`."""

    query: str = ""
    silence: str = ""


def read_prompt(prompt: str) -> PromptQuery:
    """Return the query in a prompt, or why it has none."""
    text = without_injected(_without_hook_context(prompt)).strip()
    if not _WORD.search(text):
        return PromptQuery(silence="machine" if prompt.strip() and not text else "empty")
    if text.startswith(_OPENINGS) or _COMMAND.match(text) or _TAG.match(text):
        return PromptQuery(silence="machine")
    if len(text) > MAX_PROMPT_CHARS:
        return PromptQuery(silence="pasted")
    typed = _typed_text(text)
    error = "" if typed == text else _error_in(text, typed)
    if not _WORD.search(typed) or _is_acknowledgement(typed):
        silence = "acknowledgement" if typed == text else "pasted"
        return PromptQuery(error) if error else PromptQuery(silence=silence)
    return PromptQuery(f"{_telling_part(typed)} {error}"[:MAX_QUERY_CHARS].rstrip())


def asks(query: str) -> bool:
    """Return whether a query asks for what is known, or names it in few words, instead of requesting work."""
    words = [word for word in folded_words(fold(query)) if word not in _POLITE]
    if "?" in query or "？" in query:
        return True
    if not words or words[0] in _REQUESTS:
        return False
    return len(words) <= MAX_FRAGMENT_WORDS or not _ASKING.isdisjoint(words)


def _without_hook_context(prompt: str) -> str:
    """Return a prompt without the text of hooks before it."""
    while found := _HOOK_CONTEXT.match(prompt):
        prompt = prompt[found.end() :]
    return prompt


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a prompt."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def is_common(word: str) -> bool:
    """Return whether a word, folded, occurs in so many requests that it is no evidence for a fact."""
    return stem_word(word)[0] in _COMMON_STEMS


def _typed_text(text: str) -> str:
    """Return a text without fenced blocks, addresses and what programs printed."""
    lines = [line.rstrip() for line in _FENCE.sub("\n", text).split("\n")]
    printed = [_is_dense(line) or _PRINTED.match(line[:MAX_LINE_CHARS]) is not None for line in lines]
    if sum(printed) >= MIN_PRINTED_LINES:
        first = printed.index(True)
        last = len(printed) - printed[::-1].index(True)
        lines = [*lines[:first], *lines[last:]]
    elif len(lines) > sum(printed):
        lines = [line for line, is_printed in zip(lines, printed, strict=True) if not is_printed]
    elif sum(printed) and (len(lines) > 1 or not _is_sentence(lines[0])):
        return ""
    return _URL.sub(" ", "\n".join(lines)).strip()


def _error_in(text: str, typed: str) -> str:
    """Return the message of an error in the lines of a text that nobody typed; "" if there is none."""
    lines = [line.strip() for line in text.split("\n")]
    first = next((at for at, line in enumerate(lines) if is_error_message(line) and line not in typed), None)
    if first is None:
        return ""
    lines = [line[:MAX_LINE_CHARS] for line in lines[first : first + MAX_ERROR_LINES]]
    return " ".join(" ".join(line for line in lines if not _TRACE.match(line)).split())[:MAX_QUERY_CHARS]


def _is_dense(line: str) -> bool:
    """Return whether a long line has too few gaps for words."""
    return len(line) > MAX_LINE_CHARS and len(_GAP.findall(line)) * MAX_WORD_CHARS < len(line)


def _is_sentence(line: str) -> bool:
    """Return whether a line that looks printed is a person's: it asks, or has words like one."""
    return line.endswith(("?", "？", ".", "!")) and " " in line and line[0].isalpha()


def _is_acknowledgement(text: str) -> bool:
    """Return whether a text only agrees, thanks, or chooses a numbered option."""
    rest = text
    if has_cjk(text):
        for run in _ACKNOWLEDGING_RUNS:
            rest = rest.replace(run, " ")
    words = folded_words(fold(rest).replace("'", ""))
    if len(words) > MAX_ACKNOWLEDGEMENT_WORDS:
        return False
    return all(
        word in _ACKNOWLEDGEMENTS or (len(word) == 1 and not has_cjk(word)) or word.isdigit()
        for word in words
    )


def _telling_part(text: str) -> str:
    """Return the part of a text that fits a query: its first sentences, after its questions."""
    if len(text) <= MAX_QUERY_CHARS:
        return " ".join(text.split())
    sentences = sentences_of(text)
    order = sorted(range(len(sentences)), key=lambda at: (at > 0 and not asks_at_end(sentences[at]), at))
    kept: set[int] = set()
    left = MAX_QUERY_CHARS
    for at in order:
        if kept and len(sentences[at]) + 1 > left:
            continue
        kept.add(at)
        left -= len(sentences[at]) + 1
    return " ".join(" ".join(sentences[at] for at in sorted(kept)).split())[:MAX_QUERY_CHARS]
