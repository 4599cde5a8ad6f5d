"""What a provider's error body says: its short codes, and words to judge it by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

MAX_BODY: Final = 64 * 1024
"""An error says what it has to say at its beginning."""

_CODE_KEYS: Final = ("code", "type", "status", "reason", "error_type")
_WORD_KEYS: Final = ("message", "msg", "error", "detail", "details", "errors", "error_msg", *_CODE_KEYS)
_CODE: Final = re.compile(r"(?=.{1,48}$)[A-Za-z]+(?:[_-][A-Za-z0-9]+)*|[0-9]{1,6}")

_QUOTA_CODES: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
)
_MODEL_CODES: Final = ("model_not_found", "invalid_model", "unknown_model", "model_not_available")
_TEXT_CODES: Final = (
    "context_length_exceeded",
    "exceed_context_size_error",
    "max_tokens_per_request",
    "string_above_max_length",
    "array_above_max_length",
    "string_too_long",
    "string_too_short",
    "empty_string",
    "content_filter",
    "content_policy_violation",
)
_TOO_LONG: Final = re.compile(
    r"too (?:long|large|many (?:tokens|inputs))|context (?:length|size|window)|exceeds? the (?:max|context|limit)"
    r"|max(?:imum)? (?:allowed tokens|input|number of tokens|length)|token limit|must have less than"
    r"|batch size|requests can be in one batch|payload size"
    r"|reduce (?:your|the) (?:prompt|input|length)|lower the number of tokens"
)
_SURELY_TOO_LONG: Final = re.compile(
    r"input (?:length exceeds|is too (?:large|long))|exceeds? the (?:available )?context|maximum context length"
)
"""Said with a status of 500 and above, where "too large" may also be what a card's memory has to hold."""

_BAD_TEXT: Final = re.compile(
    r"input['\"]? is invalid|invalid ['\"]input|(?:input|text|content|string)[^.]{0,40}\bempty\b"
    r"|\bempty (?:input|text|string|content)|content (?:policy|filter|management)|safety"
)
_NO_MODEL: Final = re.compile(
    r"(?:invalid|unknown|unsupported|no such) model"
    r"|\bmodels?\b.{0,120}?(?:not found|does not exist|not exist|not supported|not available|isn't available)"
)
_INPUT: Final = re.compile(r"\$?\.?input\b(?!_)")


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as the provider put it.

    `codes` are its short codes, fit for a message. `words` is its free text in lower case: it may repeat the
    input or a part of the key, so it is judged and never shown. `facts` are the structured details.
    """

    codes: tuple[str, ...] = ()
    words: str = ""
    facts: tuple[Mapping[str, Any], ...] = ()

    def has_code(self, *codes: str) -> bool:
        """Return whether one of the codes stands in it, whatever its case."""
        return any(code.lower() in codes for code in self.codes)

    def is_no_quota(self) -> bool:
        """Return whether the account has nothing left."""
        return self.has_code(*_QUOTA_CODES)

    def is_too_long(self, status: int) -> bool:
        """Return whether a text, or all texts together, were too much."""
        said = _TOO_LONG if status < 500 else _SURELY_TOO_LONG
        return self.has_code(*_TEXT_CODES) or said.search(self.words) is not None

    def is_bad_text(self) -> bool:
        """Return whether a text is empty, or against the rules."""
        params = [str(fact.get("param")) for fact in self.facts]
        return _BAD_TEXT.search(self.words) is not None or any(map(_INPUT.match, params))

    def is_no_model(self, *, by_words: bool) -> bool:
        """Return whether the model isn't there: by a code alone, or by the words, too."""
        return self.has_code(*_MODEL_CODES) or (by_words and _NO_MODEL.search(self.words) is not None)

    def is_dimensions(self) -> bool:
        """Return whether it speaks of the size of vectors."""
        return "dimension" in self.words


def read_problem(body: bytes) -> Problem:
    """Return what an error body holds; a body that is no JSON gives its words alone, a web page nothing."""
    start = body[:MAX_BODY]
    try:
        value = msgspec.json.decode(start)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = start.decode("utf-8", "replace").strip()
        return Problem(words="" if text.startswith("<") else text[:2000].lower())
    facts = tuple(_objects(value))
    codes: list[str] = []
    words: list[str] = []
    for fact in facts:
        named = [fact.get(key) for key in _CODE_KEYS]  # the most exact one first
        codes += [str(code) for code in named if isinstance(code, str | int) and _CODE.fullmatch(str(code))]
        for key, inner in fact.items():
            if key in _WORD_KEYS:
                texts = inner if isinstance(inner, list) else [inner]
                words += [text for text in texts if isinstance(text, str)]
    return Problem(tuple(codes), " ".join(words)[:20_000].lower(), facts)


def _objects(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield an error's objects from the outside in; not those under `input`, which repeat what was sent."""
    if depth > 6:
        return
    if isinstance(value, str) and value.startswith("{"):  # Ollama wraps its runner's own error like this
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return
    if isinstance(value, Mapping):
        yield value
        for key, inner in value.items():
            if key != "input":
                yield from _objects(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _objects(inner, depth + 1)
