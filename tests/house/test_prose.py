"""Project terms are used, a class name has one meaning, and commit subjects are imperative."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.support.prose import findings
from tests.support.scripts import load_script
from tests.support.tree import python_files, relative

SUBJECTS = load_script("subjects")


def test_project_terms_are_used() -> None:
    assert [f"{each.path}:{each.line}: {each.word} → {each.advice}" for each in findings()] == []


def test_public_class_names_are_defined_once() -> None:
    places = defaultdict(list)
    for path in python_files():
        for name in re.findall(r"^class ([^\W_]\w*)", path.read_text("utf-8"), re.MULTILINE):
            places[name].append(relative(path))

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_commit_subjects_that_break_a_rule_are_reported() -> None:
    wrong = {
        "index: " + "x" * 66: "73 characters",
        "index: read files once; and write them once": "; and",
        "index: read files once.": "full stop",
        "index: files are read once": "imperative verb",
    }

    for subject, reason in wrong.items():
        assert any(reason in problem for problem in SUBJECTS.problems_of(subject)), subject


def test_a_commit_subject_of_72_characters_is_accepted() -> None:
    assert SUBJECTS.problems_of("index: read " + "x" * 60) == []
