"""The page's files are those of its folder, and no name leads elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.page.answers import FOLDER, Assets, load_assets


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    """Return a few files."""
    folder = tmp_path / "static"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text("<p>page</p>")
    (folder / "js" / "main.js").write_text("export {}")
    (folder / "main.py").write_text("secret")
    (tmp_path / "outside.js").write_text("secret")
    (folder / "link.js").symlink_to(tmp_path / "outside.js")
    return load_assets(folder)


def test_files_come_with_their_kind_and_a_tag(assets: Assets) -> None:
    script = assets.static("js/main.js", None)

    assert (script.status, script.body, script.kind) == (200, b"export {}", "text/javascript; charset=utf-8")
    assert assets.index(None).body == b"<p>page</p>"
    assert dict(script.headers)["ETag"].startswith('"')
    assert dict(script.headers)["Cache-Control"] == "no-cache"


def test_what_the_browser_has_is_not_sent_again(assets: Assets) -> None:
    tag = dict(assets.static("js/main.js", None).headers)["ETag"]

    again = assets.static("js/main.js", f'"other", {tag}')

    assert (again.status, again.body) == (304, b"")
    assert "Content-Length" not in dict(again.all_headers())
    assert assets.static("js/main.js", '"other"').status == 200


NAMES = ["", ".", "..", "../outside.js", "js", "js/", "js/../index.html", "/index.html", "main.py", "link.js"]


@pytest.mark.parametrize("name", [*NAMES, "js%2Fmain.js", "JS/main.js"])
def test_whatever_is_no_name_of_a_file_is_not_found(assets: Assets, name: str) -> None:
    assert assets.static(name, None).status == 404


def test_without_files_the_page_says_so(tmp_path: Path) -> None:
    answer = load_assets(tmp_path / "none").index(None)

    assert (answer.status, b"not part of this installation" in answer.body) == (200, True)


def test_every_file_the_page_loads_is_of_a_kind_that_is_served() -> None:
    not_loaded = ("", ".ts")  # licences, and types for developers
    loaded = {path for path in FOLDER.rglob("*") if path.is_file() and path.suffix not in not_loaded}

    names = [path.relative_to(FOLDER).as_posix() for path in loaded]
    assert [name for name in names if load_assets().static(name, None).status != 200] == []
