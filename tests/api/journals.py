"""Journals as HTTP tells them, compared between two servers: what differs by itself is made the same."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from tests.api.sites import Site

S = TypeVar("S", bound=Site)
#: what a clock, a counter of ids or a port says
VARIES = (
    (re.compile(r"§[0-9a-f]{16}§"), "§"),
    (re.compile(r"\b[rc][0-9a-z]{15}\b"), "RUN"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "TRACE"),
    (re.compile(r"\bevt_[0-9a-f]{24}\b"), "EVENT"),
    (re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?"), "WHEN"),
    (re.compile(r"\b1\d{12}\b"), "AT"),
    (re.compile(r"127\.0\.0\.1:\d+"), "PLANT"),
    (re.compile(r'"(\w*ms|latency\w*)": [\d.]+'), r'"\1": 0'),
)


def told(site: Site, run: str) -> list[dict[str, Any]]:
    """The whole journal, page by page."""
    facts: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = site.operator.get(f"/runs/{run}/facts?after={after}&limit=50").json()
        facts += page["items"]
        after = page["next"]
    return facts


def plain(facts: Iterable[dict[str, Any]], in_order: bool = True) -> list[str]:
    """Line by line. Where the world answers several at once, who is first is no matter of the store: then the lines of
    each node and each edge are in their order, and the others' are not."""
    lines = list(facts)
    if not in_order:
        lines = [{**one, "seq": 0} for one in sorted(lines, key=lambda one: (one["node"], one["edge"], one["scope"]))]
    found = []
    for one in lines:
        text = json.dumps({**one, "data": _untimed(one["data"])}, ensure_ascii=False, sort_keys=True)
        for varying, word in VARIES:
            text = varying.sub(word, text)
        found.append(text)
    return found


def _untimed(data: dict[str, Any]) -> dict[str, Any]:
    """How long a call took is left out where it was nothing."""
    rest = {key: one for key, one in (data.get("meta") or {}).items() if key != "ms"}
    return {key: one for key, one in {**data, "meta": rest}.items() if key != "meta" or rest}


def compared(
    sites: dict[str, S], scene: Callable[[S], list[str]], in_order: bool = True, at_once: bool = False
) -> None:
    """A scene on every store: it checks what it sees, and its runs have left the same facts (H15). A scene that waits
    for the clock is played on all of them at once."""
    with ThreadPoolExecutor() as threads:
        played = (threads.map if at_once else map)(scene, sites.values())
        runs = dict(zip(sites, played, strict=True))
    left = {name: [plain(told(sites[name], run), in_order) for run in found] for name, found in runs.items()}
    assert all(found and all(found) for found in left.values()), "nothing was written"
    if len(left) == 1:
        pytest.skip("there is no PostgreSQL server here, so that journals could not be compared")
    for mine, theirs in zip(left["sqlite"], left["postgresql"], strict=True):
        assert mine == theirs, next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), "longer")


def on_every_store(*, in_order: bool = True) -> Callable[[Callable[..., list[str]]], Callable[..., None]]:
    """A test of one site, which returns its runs, becomes one of all the `sites`, and their journals are compared."""

    def made(scene: Callable[..., list[str]]) -> Callable[..., None]:
        def test(sites: dict[str, Site], **given: Any) -> None:
            compared(sites, lambda site: scene(site, **given), in_order)

        asked = [one for one in inspect.signature(scene).parameters.values() if one.name != "site"]
        everywhere = inspect.Parameter("sites", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        test.__signature__ = inspect.Signature([everywhere, *asked])  # type: ignore[attr-defined]
        test.__name__, test.__doc__, test.__module__ = scene.__name__, scene.__doc__, scene.__module__
        return test

    return made
