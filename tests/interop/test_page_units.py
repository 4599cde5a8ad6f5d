"""The page against the daemon: the same units, and a list of files from the same paths."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.cli.lines import about, ago, count, percent, rough, size, span
from tests.support.node import installed, run_node
from tests.support.tree import DAEMON

FORMAT = DAEMON / "page" / "static" / "js" / "format.js"
NOW_MS = 10**12

CALLED_FROM_NODE = """
import * as format from FORMAT;
const ago = (age) => format.ago(age === null ? null : NOW, NOW + (age ?? 0));
const shown = {...format, ago, counted: (number, noun) => format.counted(number, noun)};
const calls = JSON.parse(process.argv[2]);
const results = Object.entries(calls).map(([name, rows]) => [name, rows.map((row) => shown[name](...row))]);
console.log(JSON.stringify(Object.fromEntries(results)));
"""

ON_THE_COMMAND_LINE: dict[str, Callable[..., str]] = {
    "size": size,
    "count": "{:,}".format,
    "counted": count,
    "rough": rough,
    "span": span,
    "ago": lambda age_ms: ago(None if age_ms is None else NOW_MS, NOW_MS + (age_ms or 0)),
    "percent": percent,
    "about": about,
}

AMOUNTS = sorted(
    {math.floor(1.07**power) for power in range(500)}
    | {edge + step for edge in (10**3, 10**6, 10**9, 10**12, 60_000, 3_600_000) for step in (-1, 0, 1)}
    | {1250, 12_250, 122_500, 123_500, 60_500, 90_000, 125_000, 2_500, 999_500, 9_995_000, 99_950_000}
)
"""Whole numbers over all units, those at a change of units, and ties of rounding."""

VALUES: dict[str, list[list[Any]]] = {
    "size": [[amount] for amount in AMOUNTS if amount < 10**15],
    "count": [[amount] for amount in AMOUNTS if amount < 2**53],
    "counted": [[0, "file"], [1, "file"], [1300, "file"]],
    "rough": [[amount] for amount in AMOUNTS if amount < 10**15],
    "span": [[amount / 4] for amount in range(60)] + [[amount] for amount in AMOUNTS if amount < 10**13],
    "ago": [[None], [-5], *([amount] for amount in AMOUNTS if amount < 10**12)],
    "percent": [[0, 0], [4, 3]] + [[done, 365] for done in range(366)],
    "about": [[amount] for amount in AMOUNTS if amount < 10**13],
}


@pytest.fixture(scope="module")
def on_the_page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what the page's functions make of `VALUES`."""
    folder = tmp_path_factory.mktemp("units")
    script = folder / "call.mjs"
    script.write_text(
        CALLED_FROM_NODE.replace("FORMAT", json.dumps(FORMAT.as_uri())).replace("NOW", str(NOW_MS))
    )
    done = run_node([script, json.dumps(VALUES)], cwd=folder)
    assert done.returncode == 0, done.stderr
    results: dict[str, list[str]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("unit", sorted(VALUES))
def test_the_page_and_the_command_line_show_the_same(unit: str, on_the_page: dict[str, list[str]]) -> None:
    shown = [ON_THE_COMMAND_LINE[unit](*values) for values in VALUES[unit]]

    assert dict(zip(map(str, VALUES[unit]), on_the_page[unit], strict=True)) == dict(
        zip(map(str, VALUES[unit]), shown, strict=True)
    )


STATIC = DAEMON / "page" / "static"
VENDOR = STATIC / "vendor"

TYPESCRIPT = ("typescript@7.0.2", "@types/node@26.6.6")
LIT_HTML = "lit-html@3.3.3"

FILE_LINES = 400

UNSAFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|unsafeHTML|unsafe-|srcdoc"
)
"""What makes markup or code of text. Our scripts have no use for any of it."""

ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]")

CHECKED = """{"compilerOptions": {"allowJs": true, "checkJs": true, "noEmit": true, "strict": true, "target": "es2023",
"lib": ["es2023", "dom", "dom.iterable"], "module": "esnext", "moduleResolution": "bundler", "skipLibCheck": true,
"types": []}, "include": ["js/**/*"]}"""


def scripts() -> list[Path]:
    """Return our own scripts."""
    return sorted((STATIC / "js").rglob("*.js"))


def listed() -> dict[str, str]:
    """Return the vendored files and their checksums, as the README has them."""
    rows = re.findall(
        r"^\| `([^`]+)` \| `([0-9a-f]{64})` \|$", (VENDOR / "README.md").read_text(), re.MULTILINE
    )
    return dict(rows)


def test_the_library_is_byte_for_byte_what_the_readme_says() -> None:
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert found == listed()
    assert "lit-html/LICENSE" in found


def test_the_library_is_the_one_npm_has() -> None:
    published = installed(LIT_HTML) / "node_modules"
    assert f"`{LIT_HTML}`" in (VENDOR / "README.md").read_text()
    for name in listed():
        assert (VENDOR / name).read_bytes() == (published / name).read_bytes(), name


def test_our_scripts_make_no_markup_or_code_of_text_and_name_no_other_host() -> None:
    assert len(scripts()) > 10
    for path in (*scripts(), STATIC / "index.html", *(STATIC / "css").glob("*.css")):
        text = path.read_text()
        assert not UNSAFE.search(text), path.name
        assert not ELSEWHERE.search(text), path.name
    assert not re.search(r"<style|<script>|\son\w+=|style=", (STATIC / "index.html").read_text())


def test_our_scripts_stay_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in scripts()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_our_scripts_are_typed(tmp_path: Path) -> None:
    compiler = installed(*TYPESCRIPT) / "node_modules" / "typescript" / "bin" / "tsc"
    library = installed(LIT_HTML) / "node_modules"
    shutil.copytree(STATIC / "js", tmp_path / "js")
    for name in listed():
        types = (library / name).with_suffix(".d.ts")
        if types.exists():
            (tmp_path / "vendor" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(types, (tmp_path / "vendor" / name).with_suffix(".d.ts"))
    (tmp_path / "tsconfig.json").write_text(CHECKED)

    checked = run_node([compiler, "-p", tmp_path], cwd=tmp_path)
    assert checked.stdout == ""
    assert checked.returncode == 0


def test_every_file_is_asked_for_by_the_page_or_another_of_its_files() -> None:
    named = "\n".join(
        path.read_text() for path in STATIC.rglob("*") if path.suffix in {".html", ".js", ".css", ".ts"}
    )
    served = [path for path in STATIC.rglob("*") if path.suffix in {".js", ".css", ".svg"}]
    assert [path.name for path in served if path.name not in named] == []
