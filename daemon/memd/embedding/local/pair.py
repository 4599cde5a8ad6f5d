"""How a reranker reads a question and a text: as one sequence, the way its file says, else as llama.cpp does it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from memd.embedding.local.binding import LoadedFile

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""A text longer than its tokens times this is cut before it is tokenized, which is slow on endless words."""

QUESTION_SHARE: Final = 0.5
"""Of the context at most: a question without end would leave no place for the text."""

YES_OR_NO: Final = "qwen3"
"""How the architectures begin whose rerankers answer `yes` or `no`, with a number for each in this order."""

SMALLEST_SHARE: Final = 1e-30
SHARES_SUM: Final = 1e-3

_PLACES: Final = re.compile(r"( ?\{(?:query|document)\})")


class UnusablePairError(ValueError):
    """The file loads, but doesn't say how a question and a text make one sequence, or gives no score for one."""


class Place(NamedTuple):
    """Where the question or the text stands. `lead` is a space that belongs to it: tokenizers of language models make
    one token of a space and the word behind it."""

    is_question: bool
    lead: str = ""


Form = list[list[int] | Place]
"""Places, and the tokens around them."""


class Pairs:
    """Questions and texts -> the tokens of both."""

    def __init__(self, file: LoadedFile, tokenize: Callable[[str], list[int]]) -> None:
        cpp, outputs = file.cpp, file.outputs
        self._tokenize = tokenize
        architecture = str(file.facts.get("general.architecture"))
        if outputs != (2 if architecture.startswith(YES_OR_NO) else 1):
            raise UnusablePairError(f"it gives {outputs} scores for a text: it sorts texts, and ranks none")
        template = cpp.llama_model_chat_template(file.model, b"rerank")
        if template:
            self._form = _form_of(template.decode("utf-8", "replace"), file)
        else:
            self._form = _usual_form(cpp, cpp.llama_model_get_vocab(file.model))

    def join(self, question: str, text: str, limit: int) -> list[int]:
        """Return the tokens of a question and a text; the text is cut at its end where they are too many."""
        most = int(limit * QUESTION_SHARE)
        parts: Form = [
            self._cut(part.lead + question, most) if isinstance(part, Place) and part.is_question else part
            for part in self._form
        ]
        room = limit - sum(len(part) for part in parts if not isinstance(part, Place))
        tokens: list[int] = []
        for part in parts:
            tokens += self._cut(part.lead + text, max(0, room)) if isinstance(part, Place) else part
        return tokens

    def _cut(self, text: str, limit: int) -> list[int]:
        return self._tokenize(text[: limit * MAX_CHARACTERS_PER_TOKEN])[:limit]


def logit_of(outputs: Sequence[float]) -> float:
    """Return what a head gave as one number without bounds: 0 is undecided, more is more relevant."""
    if len(outputs) == 1:
        return float(outputs[0])
    yes, no = outputs
    if min(outputs) >= 0.0 and abs(yes + no - 1.0) < SHARES_SUM:
        return math.log(max(yes, SMALLEST_SHARE)) - math.log(max(no, SMALLEST_SHARE))
    return float(yes - no)


def _usual_form(cpp: Any, vocabulary: Any) -> Form:
    """Return how a vocabulary joins two texts: begin, question, end, separator, text, end.

    What a vocabulary doesn't add to a text is left out. BERT's has no end: its separator closes either text, as in
    training, where llama.cpp's server leaves the last one out.
    """
    begin, end, separator = (
        [int(token)] if wanted and token >= 0 else []
        for wanted, token in (
            (cpp.llama_vocab_get_add_bos(vocabulary), cpp.llama_vocab_bos(vocabulary)),
            (cpp.llama_vocab_get_add_eos(vocabulary), cpp.llama_vocab_eos(vocabulary)),
            (cpp.llama_vocab_get_add_sep(vocabulary), cpp.llama_vocab_sep(vocabulary)),
        )
    )
    if not end and not separator:
        raise UnusablePairError("it doesn't say how a question and a text are told apart")
    return [begin, Place(is_question=True), end + separator, Place(is_question=False), end or separator]


def _form_of(template: str, file: LoadedFile) -> Form:
    """Return how a file's own template joins two texts."""
    form: Form = []
    for part in _PLACES.split(template):
        if _PLACES.fullmatch(part):
            form.append(Place("query" in part, " " if part.startswith(" ") else ""))
        else:
            form.append(file.tokenize(part, whole=False, special=True))
    places = [part.is_question for part in form if isinstance(part, Place)]
    if sorted(places) != [False, True]:
        raise UnusablePairError("its template has not one place for the question and one for the text")
    return form
