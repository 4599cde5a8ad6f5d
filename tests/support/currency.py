"""Repositories built by scripts, and cases of hits whose verdicts were written by hand."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from memd.currency.memo import Memo
from memd.search.currency import Origin, find_currency
from memd_client.messages import Currency, Hit

CASES = Path(__file__).parents[1] / "retrieval" / "currency"


class Case(NamedTuple):
    """One hit: its text, where and when it was written, its session's files, and the expected verdict and name."""

    line: str
    day: str
    folder: str
    own: dict[str, str]
    expected: str
    text: str


class Score(NamedTuple):
    """How many verdicts of one kind were expected, given, and right."""

    expected: int
    given: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0


def hit_of(text: str, day: str, path: str = "memory/a.md") -> Hit:
    """Return a hit with a text and a day."""
    return Hit(path, 1, 1, 1.0, None, 1.0, text, "memory", f"{path}#L1", date=day)


def build(script: Path, home: Path) -> Mapping[str, str]:
    """Build the repository of a script below a folder; return the marked commits by name."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    program = f'. "{CASES / "prelude.sh"}"\n{script.read_text(encoding="utf-8")}'
    done = subprocess.run(
        ["bash", "-c", program], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{script.name}: {done.stderr}"
    marks = (home / "marks").read_text().split() if (home / "marks").exists() else []
    return dict(mark.split("=") for mark in marks)


def read_cases(file: Path, root: Path, marks: Mapping[str, str]) -> Iterator[Case]:
    """Yield the cases of a file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("# "):
            continue
        filled = line
        for name, sha in marks.items():
            filled = filled.replace(f"{{{name}}}", sha).replace(f"{{{name}7}}", sha[:7])
        facts, expected, text = (
            part.strip(" ") for part in filled.replace("{ROOT}", str(root)).split("|", 2)
        )
        day, *others = facts.split()
        folder = next((word[1:] for word in others if word[0] == "@"), "")
        own = {str(root / word[1:]): "edited" for word in others if word[0] == "~"}
        own |= {str(root / word[1:]): "deleted" for word in others if word[0] == "!"}
        text = text.replace("\\n", "\n").replace("\\t", "\t")
        yield Case(line, day, str(root / folder) if folder != "-" else "", own, expected, text)


def judge(case: Case, memo: Memo) -> Currency | None:
    """Return the verdict on a case."""
    day = "" if case.day == "-" else case.day
    return find_currency(hit_of(case.text, day), Origin((case.folder,), 0, case.own), memo)


def run_cases(part: str, folder: Path) -> tuple[dict[str, Score], list[str], int]:
    """Return the scores of a part's cases by verdict, a line for each wrong one, and the number of cases."""
    expected: Counter[str] = Counter()
    given: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong, count = [], 0
    for script in sorted((CASES / part).glob("*.sh")):
        home = folder / script.stem
        marks, memo = build(script, home), Memo({}, is_loading=True)
        for case in read_cases(script.with_suffix(".txt"), home / script.stem, marks):
            verdict = judge(case, memo)
            got = "-" if verdict is None else f"{verdict.verdict} {verdict.name}"
            count += 1
            expected[case.expected.split()[0]] += 1
            given[got.split()[0]] += 1
            right[got.split()[0]] += got == case.expected
            if got != case.expected:
                words = "" if verdict is None else f" ({verdict.text})"
                wrong.append(f"{script.stem}: {got}{words} for {case.line}")
    scores = {
        kind: Score(expected[kind], given[kind], right[kind]) for kind in ("missing", "changed", "holds")
    }
    return scores, wrong, count
