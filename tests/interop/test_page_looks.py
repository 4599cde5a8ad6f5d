"""How the page of `memctl web` looks: light and dark, readable, on small screens, to a screen reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, memory_home, open_page, search_for
from tests.support.daemon import DaemonProcess

PNG = b"\x89PNG\r\n\x1a\n"

CONTRASTS = """
(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([red, green, blue]) => {
        const [r, g, b] = [red, green, blue].map((value) => value / 255)
            .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const color = rgba(getComputedStyle(one).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255];
    };
    const weak = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest(".unseen, :disabled, noscript")) continue;
        const [ink, paper] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (contrast < 4.5) weak.push(`${contrast.toFixed(2)}: ${texts.currentNode.data.trim().slice(0, 40)}`);
    }
    return weak;
})()
"""
"""Texts whose contrast is below what WCAG AA asks for."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with memory_home() as (_, daemon):
        yield daemon


def each_view(page: Page) -> Iterator[str]:
    """Go through all there is to see, with things open."""
    page.wait_text("Tomatoes need")
    yield "notes"
    search_for(page, "which port does the gateway use")
    page.press("ArrowDown", "e")
    page.wait("document.querySelector('.explain')")
    yield "search"
    page.press("Enter")
    page.wait("document.querySelector('.reader .said')")
    yield "reader"
    page.press("Escape")
    go_to(page, "facts")
    page.wait("document.querySelector('[data-fact]')")
    page.press("j", "f")
    page.wait("document.querySelector('.sure')")
    yield "facts"
    page.press("Escape")
    go_to(page, "health")
    page.wait_text("Freshness")
    page.click("button", "Check thoroughly")
    page.wait_text("Thorough check")
    yield "health"
    page.press("?")
    page.wait("document.getElementById('help').open")
    yield "keys"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(
    browser: Browser, daemon: DaemonProcess, tmp_path: Path, dark: bool
) -> None:
    with open_page(browser, daemon, dark=dark) as page:
        for view in each_view(page):
            page.screenshot(tmp_path / f"{view}.png")
            assert (tmp_path / f"{view}.png").read_bytes().startswith(PNG)
            assert page.run(CONTRASTS) == [], view
        page.press("Escape")
        page.run("document.documentElement.style.setProperty('--quiet', 'light-dark(#999, #666)')")
        assert page.run(CONTRASTS) != []  # the check detects a missing contrast
        paper = page.run("getComputedStyle(document.body).backgroundColor")
        assert (max(int(part) for part in paper[4:-1].split(", ")) < 64) == dark
        assert page.complaints == []


def test_the_dark_theme_can_be_chosen_on_a_light_system(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        before = page.run("getComputedStyle(document.body).backgroundColor")
        page.press("t")
        page.wait(f"getComputedStyle(document.body).backgroundColor !== '{before}'")
        page.click("[data-theme-toggle]")
        page.wait(f"getComputedStyle(document.body).backgroundColor === '{before}'")


def test_nothing_is_wider_than_a_small_screen(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon, width=360, height=740, phone=True) as page:
        for view in each_view(page):
            assert page.run("document.documentElement.scrollWidth <= 360"), view


def test_every_control_has_a_name(browser: Browser, daemon: DaemonProcess) -> None:
    controls = {"button", "link", "textbox", "searchbox", "combobox", "image", "navigation", "dialog"}
    with open_page(browser, daemon) as page:
        for view in each_view(page):
            nodes = page.send("Accessibility.getFullAXTree")["nodes"]
            seen = [node for node in nodes if node.get("role", {}).get("value") in controls]
            nameless = [node["role"]["value"] for node in seen if not node.get("name", {}).get("value")]
            assert seen, view
            assert nameless == [], view
