"""The files of the page: the library as it was published, scripts of ours that are typed, short and free of markup."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from tests.support.node import installed, run_node
from tests.support.tree import DAEMON

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
