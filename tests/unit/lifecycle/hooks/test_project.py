"""Names of projects in notes: whole words, and more than the word if the name is a common one."""

from __future__ import annotations

import unicodedata

import pytest

from memd.lifecycle.hooks.project import project_in

NAMED = {
    "/home/eva/code/api": [
        "`api` is slow",
        "look in ~/code/api/ for it",
        "it is in /home/eva/code/api.",
        "project api moved",
        "the api repo moved",
        "git@github.com:me/api.git",
        "api: port 8443",
        "- **api**: port 8443",
        "- [ ] api - renew the certificate",
        "api uses Postgres",
        "API listens on port 8443",
        "2026-01-02: api: moved",
        "[[api]] listens on port 8443",
        "项目api的端口",
    ],
    "/home/eva/shop": ["Shop: closed in May", "in `shop`", "Shop uses Medusa"],
    "/home/eva/notes": ["notes: uses Tauri", "see ~/notes/todo"],
    "/home/eva/my-app": ["the my-app server", "my_app listens", "MyApp listens", "`my app`", "my-app.py"],
    "/home/eva/MyApp": ["the my-app server", "in MyApp"],
    "/home/eva/app.py": ["in app.py there is"],
    "/home/eva/atlas-maps": ["in Atlas Maps", "atlas_maps", "AtlasMaps"],
    "/home/eva/harbor": [
        "deploy harbor now",
        "the Harbor team",
        "HARBOR_TOKEN=1",
        "次のharborの設定",
        "harbor's port",
    ],
    "/home/eva/京都": ["京都の宿は高い", "`京都`"],
    "/home/eva/サクラ": ["サクラのポートは8443"],
    "/home/eva/사쿠라": ["사쿠라는 8443"],
    "/home/eva/商店": ["商店：端口8443", "项目商店"],
    "/home/eva/笔记助手": ["新笔记助手使用8443端口"],
}

NOT_NAMED = {
    "/home/eva/code/api": [
        "Rapid antigen test of Elsa",
        "capital gains form",
        "the api key of the bank",
        "API keys of the bank",
        "api for the bank",
        "api-gateway: port 1",
        "my-api: port 1",
        "api_key: x",
        "https://bank.example/api/v1",
        "src/api/routes.py",
        "~/code/shop/api/x.ts",
        "rest api, projects",
    ],
    "/home/eva/shop": ["Cleaned the workshop", "Bought milk at the shop", "shop for milk", "Der Shop ist zu"],
    "/home/eva/notes": ["project notes are in the drawer", "Notes from the dentist"],
    "/home/eva/work": ["work from home", "Work drinks on Friday", "project work"],
    "/home/eva/test": ["the test project failed", "Test the smoke alarm"],
    "/home/eva/my-app": ["my app is slow", "MyAppServer", "my-app-2", "My apple"],
    "/home/eva/work-shop": ["Cleaned the workshop"],
    "/home/eva/harbor": ["walk along the harbor", "old-harbor", "harborside"],
    "/home/eva/app.py": ["an app"],
    "/home/eva/京都": ["東京都の人口", "東京と京都府"],
    "/home/eva/サクラ": ["サクランボ"],
    "/home/eva/商店": ["在商店买牛奶"],
    "/home/eva/2026": ["2026: a new year"],
    "/tmp": ["tmp: x"],
    "": ["x"],
}


@pytest.mark.parametrize(
    ("folder", "line"), [(folder, line) for folder, lines in NAMED.items() for line in lines]
)
def test_a_line_with_the_name_names_the_project(folder: str, line: str) -> None:
    assert project_in(folder).is_named(line)


@pytest.mark.parametrize(
    ("folder", "line"), [(folder, line) for folder, lines in NOT_NAMED.items() for line in lines]
)
def test_a_line_with_another_word_or_with_prose_does_not(folder: str, line: str) -> None:
    assert not project_in(folder).is_named(line)


def test_a_name_is_the_same_in_every_normal_form() -> None:
    assert project_in(unicodedata.normalize("NFD", "/home/eva/café")).is_named("café: opens at nine")


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("memory/projects/api.md", True),
        ("memory/api/decisions.md", True),
        ("memory/2026-01-02-api.md", True),
        ("/home/eva/code/api/CLAUDE.md", True),
        ("claude-code-notes/projects/-home-eva-code-api/memory/MEMORY.md", True),
        ("claude-code-notes/projects/-home-eva-code-therapi/memory/MEMORY.md", False),
        ("memory/api-keys.md", False),
        ("memory/capital.md", False),
        ("/home/eva/api/travel.md", False),
    ],
)
def test_a_path_is_the_projects_by_the_name_of_a_folder_or_file(path: str, is_own: bool) -> None:
    assert project_in("/home/eva/code/api").is_path(path) == is_own


def test_the_folder_of_all_notes_is_not_that_of_a_project_of_this_name() -> None:
    assert not project_in("/home/eva/memory").is_path("memory/travel.md")


def test_the_words_of_a_name_are_those_of_its_parts() -> None:
    assert project_in("/home/mara/code/atlas-maps").words == ("atlas-maps", "atlas", "maps")
    assert not project_in("/home")
    assert not project_in("")
