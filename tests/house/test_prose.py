"""The language is plain: replaced words do not come back, and a class name has one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.prose import findings
from tests.support.scripts import load_script
from tests.support.tree import parsed, python_files, relative

SUBJECTS = load_script("subjects")

MAX_FINDINGS: dict[str, int] = {
    "benchmarks": 163,
    "client": 397,
    "daemon": 1017,
    "docs": 361,
    "systemd": 9,
    "tests": 900,
}
"""Findings allowed in each area that is not rewritten yet. This table may only shrink."""


def test_replaced_words_are_absent() -> None:
    found = defaultdict(list)
    for each in findings():
        area, _, below = each.path.partition("/")
        found[area if below else "top"].append(f"{each.path}:{each.line}: {each.word} → {each.advice}")

    assert {area: rows for area, rows in found.items() if len(rows) > MAX_FINDINGS.get(area, 0)} == {}


DOUBLED = """
Admission Agent Answer Answers Asked Asker Bench Call Choice Client Clock Connection Endpoint Engine
Event Events Facts FakeClient FileRow Finding HandClock Home Indexed Job Limits Link Machine
OpenClawHome Peer Place Plan Question Ran Recorder Reply Request Row Run Scene Session Setting Shell
Side Size Sizes Snapshot Stage Steps Stream TestAsyncioClient TestBlockingClient TestTrioClient
Texts Turn Watched Work
""".split()
"""Class names that are still defined more than once. This set may only shrink."""


def test_public_class_names_are_defined_once() -> None:
    places = defaultdict(list)
    for path in python_files():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(relative(path))

    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name not in DOUBLED} == {}


def test_commit_subjects_that_break_a_rule_are_reported() -> None:
    wrong = {
        "index: " + "x" * 66: "73 characters",
        "index: read files once; and write them once": "; and",
        "index: read files once.": "full stop",
    }

    for subject, reason in wrong.items():
        assert any(reason in problem for problem in SUBJECTS.problems_of(subject)), subject


def test_a_commit_subject_of_72_characters_is_accepted() -> None:
    assert SUBJECTS.problems_of("index: " + "x" * 65) == []
