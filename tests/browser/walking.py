"""What a careful eye sees on any page: words that were not found, panels with nothing in them, and what axe finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).with_name("axe.min.js")

#: texts that no dictionary has: the marks of a word that is missing, or of a value that nobody turned into words
_RAW = r"""() => {
  const bad = [];
  const shown = (one) => one.checkVisibility({ visibilityProperty: true });
  const value = ".mono, code, pre, kbd, time, dt, dd, textarea, .cell-why, .cell-node, .panel-kind, blockquote, .copyable, .net-text, .net-frame-head, .net-step, .tl-row, .step, h1, h2, .why, .home-text, .home-name, .facts";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), parent = walker.currentNode.parentElement;
    if (!text || !parent || parent.closest("script, style") || !shown(parent)) continue;
    if (/\bundefined\b|\bNaN\b|\[object |Invalid Date|\bnull\b|\u0001|\u0002|=>/.test(text) && !parent.closest("pre, code, .vars")) bad.push(text);
    else if (/^[a-z]+([._][a-z]+)+$/.test(text) && !parent.closest(value)) bad.push(`raw: ${text}`);
  }
  for (const one of document.querySelectorAll("[aria-label], [title], [placeholder]"))
    for (const name of ["aria-label", "title", "placeholder"]) {
      const text = one.getAttribute(name);
      if (text !== null && /\bundefined\b|\bNaN\b|\[object |Invalid Date|\bnull\b|=>/.test(text)) bad.push(`${name}: ${text}`);
    }
  return bad;
}"""

_EMPTY = """() => [...document.querySelectorAll("main, main section, main article, main aside, main .card, [role=tabpanel], [role=region]")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.innerText.trim() && !one.querySelector("svg[role=img], canvas, input, textarea, [aria-label]"))
  .map((one) => `${one.tagName.toLowerCase()}.${one.className}`)"""

_AXE = """async (only) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) });
  return found.violations.filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.help}: ` + one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${(node.any[0]?.message ?? "").slice(0, 160)}`).join(" | "));
}"""


#: colours that are inherited change level by level, a frame each: still means still for some frames
_STILL = """() => new Promise((done) => {
  let calm = 0;
  const look = () => {
    calm = document.getAnimations().some((one) => one instanceof CSSTransition) ? 0 : calm + 1;
    if (calm > 4) done(true);
    else requestAnimationFrame(look);
  };
  look();
})"""


def faults(page: Any) -> list[str]:
    """Everything at once, so that one walk tells all."""
    found = [f"word {one!r}" for one in page.evaluate(_RAW)]
    found += [f"empty {one}" for one in page.evaluate(_EMPTY)]
    heads = page.locator("h1").count()
    found += [f"{heads} headings of level 1"] if heads != 1 else []
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not as a script of the page: the server forbids strangers'
    return found + [f"axe {one}" for one in page.evaluate(_AXE, None)]


def faults_of_colour(page: Any) -> list[str]:
    """What the other theme can make worse; after `faults`."""
    return [f"axe {one}" for one in page.evaluate(_AXE, ["color-contrast", "link-in-text-block"])]


def settle(page: Any) -> None:
    """Until nothing is on its way, nothing is a grey shape any more, and a net is drawn."""
    page.wait_for_function(
        """() => document.querySelector("main") && !document.querySelector(".booting, .skeleton, [aria-busy=true]")
          && (!document.querySelector(".run-net") || document.querySelector("[data-node], .net-step"))
          && document.fonts.status === "loaded" """
    )


def walk(page: Any, routes: list[str], look: Callable[[], list[str]], other_theme: bool = True) -> None:
    """Each address, then the same in the other theme. Fails with everything that was found anywhere."""
    found = []
    for route in routes:
        page.goto(route)
        settle(page)
        found += [f"{route}: {one}" for one in faults(page) + look()]
        if other_theme:
            page.locator(".top .btn-icon").last.click()
            page.mouse.move(0, 0)
            page.wait_for_function(_STILL)
            theme = page.locator("html").get_attribute("data-theme")
            found += [f"{route} {theme}: {one}" for one in faults_of_colour(page) + look()]
    if found:
        pytest.fail("\n".join([f"{len(found)} faults", *found]), pytrace=False)
