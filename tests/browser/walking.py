"""A walk over pages with a careful eye: words that are missing, panels with nothing in them, and what axe finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EYE = Path(__file__).with_name("eye.js")
AXE = Path(__file__).with_name("axe.min.js")
#: what the other theme can make worse
COLOUR = ["color-contrast", "link-in-text-block"]


def walk(page: Any, routes: list[str], look: Callable[[], list[str]], *, cold: bool, other_theme: bool = True) -> None:
    """Each address, opened cold or gone to as a link does, then the same in the other theme; `look` tells what else is
    wrong. Fails with everything that was found anywhere."""
    page.add_init_script(path=EYE)
    axe = AXE.read_text(encoding="utf-8")
    found = []
    for number, route in enumerate(routes):
        if cold or not number:
            page.goto(route)
            page.evaluate(axe)  # not as a script of the page: the server's policy forbids strangers'
        else:
            page.evaluate("(to) => eye.go(to)", route)
        page.wait_for_function("() => eye.settled()")
        page.evaluate("eye.still()")
        if _faults(page):  # a busy machine may draw the last of it after a moment of rest: what is wrong stays wrong
            page.wait_for_timeout(500)
            page.wait_for_function("() => eye.settled()")
            page.evaluate("eye.still()")
            found += [f"{route}: {one}" for one in _faults(page)]
        found += [f"{route}: {one}" for one in look()]
        if other_theme:
            page.locator(".top .btn-icon").last.click()
            page.mouse.move(0, 0)
            page.evaluate("eye.still()")
            theme = page.locator("html").get_attribute("data-theme")
            found += [f"{route} {theme}: axe {one}" for one in page.evaluate("(only) => eye.axe(only)", COLOUR)]
    if found:
        pytest.fail("\n".join([f"{len(found)} faults", *found]), pytrace=False)


def _faults(page: Any) -> list[str]:
    heads = page.locator("h1").count()
    return [
        *(f"word {one!r}" for one in page.evaluate("eye.words()")),
        *(f"empty {one}" for one in page.evaluate("eye.empty()")),
        *([f"{heads} headings of level 1"] if heads != 1 else []),
        *(f"axe {one}" for one in page.evaluate("eye.axe()")),
    ]


def look_at_dialog(page: Any) -> None:
    """The dialog that is open, in both themes: words, and what axe finds."""
    page.evaluate(EYE.read_text(encoding="utf-8"))
    page.evaluate(AXE.read_text(encoding="utf-8"))
    html, found = page.locator("html"), []
    theme = html.get_attribute("data-theme")
    for one in (theme, "light" if theme == "dark" else "dark"):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", one)
        page.evaluate("eye.still()")
        found += [f"{one}: axe {fault}" for fault in page.evaluate("eye.axe()")]
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
    found += [f"word {one!r}" for one in page.evaluate("eye.words()")]
    if found:
        pytest.fail("\n".join([f"{len(found)} faults", *found]), pytrace=False)
