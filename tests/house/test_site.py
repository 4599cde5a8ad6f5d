"""The documentation site is built from the pages as they are, complete and without network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import DOCS, ROOT

NAVIGATION = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a link to a page or section that does not exist fails the build."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    program = Path(sys.executable).parent / "zensical"
    command = [str(program), "build", "--strict", "-f", str(folder / "mkdocs.yml")]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "build" / "site"


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r": (\S+\.md)$", NAVIGATION, re.MULTILINE)

    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md"))


def test_the_site_has_every_page(site: Path) -> None:
    assert {path.stem for path in DOCS.glob("*.md")} <= {path.stem for path in site.glob("*.html")}


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>")

    assert [found for page in site.glob("*.html") for found in loaded.findall(page.read_text())] == []
