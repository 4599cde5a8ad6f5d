"""Fits the model of hooks: python scripts/fit_hooks.py [--write].

It searches for the prompts of tests/retrieval/hooks with MiniLM and with keywords alone, fits the coefficients in
`line_confidence.txt` on the lines found for the development half of the projects, and prints how often each half gets
a right line or location, and how many unrelated prompts get text. The thresholds are chosen on the development half,
where each project is judged by coefficients fitted on the others.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memd.lifecycle.hooks import line_confidence
from memd.lifecycle.hooks.confident_matches import Candidate, find_candidates
from memd.lifecycle.hooks.line_confidence import LineFeatures
from memd.lifecycle.hooks.project import project_in
from memd.lifecycle.hooks.prompts import read_prompt
from memd.lifecycle.hooks.service import MAX_HIT_CHARS, MAX_HITS
from memd.text.logistic import BIAS
from memd_client import Client
from scripts.logistic_fit import Floats as Values
from scripts.logistic_fit import fit_logistic, probabilities
from tests.support.hook_set import WrittenPrompt, load_prompts, serve_hooks
from tests.support.models import minilm_path

DATA = Path(line_confidence.__file__).with_suffix(".txt")
NAMES = (BIAS, *LineFeatures().values())

PENALTY = 1.0
"""L2 penalty of all coefficients but the constant."""

MAX_NAMED, MAX_INJECTED = 0.04, 0.02
"""Share of unrelated prompts that may get any text, and that may get lines."""


@dataclass(frozen=True)
class JudgedPrompt:
    """A prompt with its candidates: their inputs, and whether each is the answer, or at least in the right place."""

    prompt: WrittenPrompt
    inputs: Values
    is_answer: NDArray[np.bool_]
    is_place: NDArray[np.bool_]
    is_shown: NDArray[np.bool_]

    def best(self, coefficients: Values) -> tuple[float, bool]:
        """Return the probability of the best candidate, and whether its place is right."""
        if not self.is_shown.any():
            return 0.0, False
        chances = np.where(self.is_shown, probabilities(self.inputs, coefficients), 0.0)
        at = int(chances.argmax())
        return float(chances[at]), bool(self.is_place[at])


def fit(judged: Sequence[JudgedPrompt]) -> Values:
    """Return the coefficients for some prompts. Other lines in the right place are neither right nor wrong."""
    inputs, answers, weights = list[Values](), list[Values](), list[Values]()
    for row in judged:
        used = row.is_shown & (row.is_answer | ~row.is_place)
        right = row.is_answer[used].astype(np.float64)
        inputs.append(row.inputs[used])
        answers.append(right)
        weights.append(np.where(right > 0, 1 / max(1.0, right.sum()), 1.0))
    return fit_logistic(np.vstack(inputs), np.concatenate(answers), np.concatenate(weights), PENALTY)


def judge_prompts(client: Client) -> list[JudgedPrompt]:
    """Return all prompts that are searched for, with their candidates."""
    judged = []
    for prompt in load_prompts():
        query = read_prompt(prompt.prompt).query
        candidates = list[Candidate]()
        if query:
            reply = client.search(
                query, max_results=MAX_HITS, max_chars=MAX_HIT_CHARS, min_score=0.0, explain=True
            )
            candidates = find_candidates(query, reply.hits, project_in(prompt.cwd), reply.model)
        places = [prompt.expected != "" and prompt.is_place(each.line.place) for each in candidates]
        answers = [
            is_place and prompt.says in "\n".join(each.line.quoted)
            for is_place, each in zip(places, candidates, strict=True)
        ]
        inputs = np.array([[1.0, *each.features.values().values()] for each in candidates], np.float64)
        judged.append(
            JudgedPrompt(
                prompt,
                inputs.reshape(-1, len(NAMES)),
                np.array(answers, np.bool_),
                np.array(places, np.bool_),
                np.array([not each.fault for each in candidates], np.bool_),
            )
        )
    return judged


def choose_thresholds(judged: Sequence[JudgedPrompt]) -> dict[str, float]:
    """Return the lowest thresholds that keep the limits, each project judged by what was fitted on the others."""
    unrelated = list[float]()
    for project in sorted({row.prompt.project for row in judged}):
        coefficients = fit([row for row in judged if row.prompt.project != project])
        rows = (row for row in judged if row.prompt.project == project and row.prompt.kind == "unrelated")
        unrelated += [row.best(coefficients)[0] for row in rows]

    def lowest(share: float) -> float:
        steps = (step / 100 for step in range(10, 100))
        return next(step for step in steps if np.mean([chance >= step for chance in unrelated]) <= share)

    return {"injected": lowest(MAX_INJECTED), "named": lowest(MAX_NAMED)}


def report(
    name: str, judged: Sequence[JudgedPrompt], coefficients: Values, thresholds: Mapping[str, float]
) -> None:
    """Print how many prompts of each kind get lines, get any text, and get the right one."""
    counts = defaultdict[str, list[int]](lambda: [0, 0, 0, 0])
    for row in judged:
        chance, is_right = row.best(coefficients)
        count = counts[row.prompt.kind]
        count[0] += 1
        count[1] += chance >= thresholds["injected"]
        count[2] += chance >= thresholds["named"]
        count[3] += chance >= thresholds["named"] and is_right
    print(name)
    for kind, (total, lines, texts, right) in counts.items():
        print(f"  {kind}: {total} prompts, {lines} with lines, {texts} with text, {right} right")


def write_data(coefficients: Mapping[str, float], thresholds: Mapping[str, float]) -> None:
    """Write the coefficients and thresholds into the data file."""
    text = DATA.read_text(encoding="utf-8")
    for section, numbers in (("coefficients", coefficients), ("thresholds", thresholds)):
        rows = "".join(f"{name} {number:.2f}\n" for name, number in numbers.items())
        text = re.sub(rf"(?m)^\[{section}\]\n(?:\w+ \S+\n)*", f"[{section}]\n{rows}", text)
    DATA.write_text(text, encoding="utf-8")


def main() -> None:
    """Fit, report, and write the data file if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the data file")
    is_written = parser.parse_args().write
    judged = dict[str, list[JudgedPrompt]]()
    searches: dict[str, dict[str, Any]] = {
        "minilm": {"provider": "local", "local": {"modelPath": str(minilm_path())}},
        "keywords": {"provider": "none"},
    }
    for name, search in searches.items():
        with serve_hooks(search) as client:
            judged[name] = judge_prompts(client)
    everything = [row for rows in judged.values() for row in rows]
    development = [row for row in everything if not row.prompt.is_held_out]
    thresholds = choose_thresholds(development)
    coefficients = fit(development)
    print(
        {name: round(float(number), 2) for name, number in zip(NAMES, coefficients, strict=True)}, thresholds
    )
    for name, rows in judged.items():
        for is_held_out in (False, True):
            half = [row for row in rows if row.prompt.is_held_out == is_held_out]
            report(f"{name}, {'held out' if is_held_out else 'development'}", half, coefficients, thresholds)
    if is_written:
        write_data(dict(zip(NAMES, map(float, coefficients), strict=True)), thresholds)


if __name__ == "__main__":
    main()
