"""Synthetic work of agents: commands with outputs, whole files that are read, and edits, as three programs record them.

The proportions are of a store of opencode with 52,912 calls: half read a file, two in five run a command and one in
nine edits a file. Outputs have 0.2 to 30 kB (3.0 kB on average, 2.4 kB there), files 1 to 40 kB, spans of edits up to
0.9 kB (9 in 10 at most 0.6 kB, as there). One command in seven fails, and most of these succeed when they are repeated.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from benchmarks.corpus import make_vocabulary

CALLS_PER_TURN: Final = 6
READ, RUN, EDIT = "read", "run", "edit"
SHARES: Final = {READ: 50, RUN: 39, EDIT: 11}
FILES_PER_SESSION, ALL_FILES, SERVICES = 40, 2_000, 30
OUTPUT_CHARS, FILE_CHARS, SPAN_CHARS = (200, 30_000), (1_000, 40_000), (20, 900)
FAILING: Final = 1 / 7
OUTPUT_SKEW: Final = 2.3
"""Above 1, small outputs are more frequent than large ones."""

COMMANDS: Final = (
    "cargo test -p {name}",
    "pytest -q tests/test_{name}.py",
    "npm run build -- --scope {name}",
    "make -C services/{name} check",
    "go test ./internal/{name}/...",
    "git diff --stat HEAD~{number}",
    "rg -n '{name}_{word}' src",
    "ls -la services/{name}",
    "cd services/{name} && docker compose up -d --build 2>&1 | tail -{number}",
    "git add -A && git commit -m '{name}: {word}'",
)
ERRORS: Final = (
    "error[E0425]: cannot find value `{word}` in this scope\n  --> services/{name}/src/main.rs:{number}:9",
    "E   AssertionError: assert {number} == {word}({number})",
    "ModuleNotFoundError: No module named '{name}_{word}'",
    "{name}.go:{number}:2: undefined: {word}",
    "npm ERR! missing script: {word}",
)


class SyntheticCall(NamedTuple):
    """A call of a tool and its result.

    Attributes:
        kind: `read`, `run` or `edit`.
        subject: The command line, or the file's path.
        result: The output, or the whole file before an edit.
        exit_code: Of a command.
        old, new: The spans of an edit.
    """

    kind: str
    subject: str
    result: str
    exit_code: int = 0
    old: str = ""
    new: str = ""


class Words:
    """Random sentences, and work whose texts are cut from one long text."""

    def __init__(self, rng: random.Random) -> None:
        words, weights = make_vocabulary()
        self._rng = rng
        self._words, self._cumulative = words, list(itertools.accumulate(weights))
        text = self.sentence(60_000).split(" ")
        self._long = "\n".join(" ".join(text[at : at + 12]) for at in range(0, len(text), 12))
        self._names = self._rng.sample(words, SERVICES)
        self._files = [
            f"/home/eva/shop/services/{rng.choice(self._names)}/src/{rng.choice(words)}_{number}.py"
            for number in range(ALL_FILES)
        ]

    def sentence(self, count: int) -> str:
        """Return so many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._cumulative, k=count))

    def session_files(self) -> list[str]:
        """Return the files that a session works on."""
        return self._rng.sample(self._files, FILES_PER_SESSION)

    def calls(self, files: Sequence[str]) -> Iterator[SyntheticCall]:
        """Yield the calls of a session, without end."""
        repeated: list[str] = []
        while True:
            (kind,) = self._rng.choices([*SHARES], weights=[*SHARES.values()])
            match kind:
                case "run" if repeated and self._rng.random() < 0.5:
                    yield SyntheticCall(kind, repeated.pop(), self._cut(OUTPUT_CHARS, OUTPUT_SKEW))
                case "run":
                    yield self._command(repeated)
                case "read":
                    yield SyntheticCall(kind, self._rng.choice(files), self._cut(FILE_CHARS))
                case _:
                    path, text = self._rng.choice(files), self._cut(FILE_CHARS)
                    old, new = self._cut(SPAN_CHARS), self._cut(SPAN_CHARS)
                    yield SyntheticCall(kind, path, text + old, 0, old, new)

    def _command(self, repeated: list[str]) -> SyntheticCall:
        line = self._filled(self._rng.choice(COMMANDS))
        output = self._cut(OUTPUT_CHARS, OUTPUT_SKEW)
        if self._rng.random() >= FAILING:
            return SyntheticCall(RUN, line, output)
        repeated.append(line)
        middle = len(output) // 2
        error = self._filled(self._rng.choice(ERRORS))
        return SyntheticCall(
            RUN, line, f"{output[:middle]}\n{error}\n{output[middle:]}", self._rng.choice((1, 2, 101))
        )

    def _filled(self, template: str) -> str:
        number = self._rng.randrange(1, 900)
        return template.format(
            name=self._rng.choice(self._names), word=self._rng.choice(self._words), number=number
        )

    def _cut(self, bounds: tuple[int, int], skew: float = 1.0) -> str:
        """Return a part of the long text, whose logarithm of the size is evenly distributed if nothing is skewed."""
        least, most = bounds
        size = int(least * (most / least) ** (self._rng.random() ** skew))
        start = self._rng.randrange(len(self._long) - size)
        return self._long[start : start + size]
