"""Contents of a clean clone."""

from __future__ import annotations

import re

from tests.support.tree import ROOT, project_files, relative

REGISTRY_HOSTS = re.compile(
    "|".join(("py" + r"pi\.org", "python" + r"hosted", "npm" + r"js\.org", "deb" + r"\.debian"))
)
MACHINE_PATHS = re.compile("|".join((r"/wor" + r"k/(?:main|shared|steering)", "/ro" + "ot/", "/far" + "m/")))


def test_no_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    found = []
    for path in project_files():
        text = path.read_bytes().decode("utf-8", "replace")
        if REGISTRY_HOSTS.search(text) or MACHINE_PATHS.search(text):
            found.append(relative(path))
    assert found == []


def test_no_lock_file_is_tracked() -> None:
    assert [relative(path) for path in project_files() if path.name == "uv.lock"] == []


def test_requirements_are_pinned_with_hashes_and_name_no_index() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "--index" not in text
        assert all("==" in line for line in text.splitlines() if line and not line.startswith(" "))


def test_ci_runs_only_the_two_test_commands() -> None:
    lines = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith(("#", "set ", "cd "))
    ]
    assert lines == ["scripts/test", "scripts/test --interop"]


def test_only_test_support_starts_processes() -> None:
    offenders = [
        relative(path)
        for path in project_files()
        if path.suffix == ".py"
        and "tests" in path.parts
        and "support" not in path.parts
        and "house" not in path.parts
        and re.search(r"\bPopen\(", path.read_text())
    ]
    assert offenders == []
