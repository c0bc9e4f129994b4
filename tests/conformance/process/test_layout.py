"""A process without a drawing of its own is drawn so that no flow runs through an element that it does not touch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from penstock.lang.process.bpmn.layout import auto_layout


def _process(flows: str) -> dict[str, Any]:
    """`a>G b>c …`: capital letters are gateways."""
    pairs = [flow.split(">") for flow in flows.split()]
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    return {
        "activities": [{"id": id} for id in ids if id.islower()],
        "gateways": [{"id": id} for id in ids if id.isupper()],
        "transitions": [{"id": f"{s}>{t}", "source": s, "target": t} for s, t in pairs],
    }


def _run_through(layout: dict[str, Any]) -> list[tuple[str, str]]:
    """Flows with the elements whose inside they cross."""
    found = []
    for flow, route in layout["edges"].items():
        for (x1, y1), (x2, y2) in pairwise(route["points"]):
            for id, shape in layout["shapes"].items():
                x, y, w, h = shape["bounds"]
                beside = max(x1, x2) <= x or min(x1, x2) >= x + w or max(y1, y2) <= y or min(y1, y2) >= y + h
                if id not in flow.split(">") and not beside:
                    found.append((flow, id))
    return found


@pytest.mark.parametrize(
    "flows",
    [
        "a>G G>b G>c b>c",  # a step that may be left out
        "a>G G>b G>c G>J b>d d>J c>J J>e",  # ways of different length, and one without a step
        "a>G G>b b>H H>c H>J c>J G>J J>d",  # one inside the other
        "a>b b>G G>a G>c",  # back
        "a>G G>b G>c G>d b>e e>f c>f d>f f>H H>G H>i",  # three ways and a loop around them
    ],
)
def test_no_flow_runs_through_an_element(flows: str) -> None:
    """P-X.13: the steps of a process that was read or mined can be told apart from the ways around them."""
    assert _run_through(auto_layout(_process(flows))) == []


def test_ways_around_the_same_steps_keep_apart() -> None:
    """Two flows that leave out the same steps are two lines."""
    layout = auto_layout(_process("A>b A>D A>E b>c c>D D>E"))
    assert _run_through(layout) == []
    levels = [tuple(layout["edges"][flow]["points"][1]) for flow in ("A>D", "A>E")]
    assert levels[0] != levels[1]


def test_the_name_of_a_flow_stands_above_its_own_line_and_on_no_element() -> None:
    """P-X.13: two ways out of a gateway have names that are read beside their own way."""
    definition = _process("a>G G>b G>c b>d c>d")
    for flow in definition["transitions"]:
        flow["name"] = {"G>b": "수리비가 100만원을 초과하면", "G>c": "else"}.get(flow["id"], "")
    layout = auto_layout(definition)
    assert _run_through(layout) == []
    labels = {flow: edge["label"] for flow, edge in layout["edges"].items() if "label" in edge}
    assert set(labels) == {"G>b", "G>c"}
    for flow, (x, y, w, h) in labels.items():
        line = layout["edges"][flow]["points"][-1][1]
        assert line - 10 < y + h < line
        for other in layout["shapes"].values():
            ox, oy, ow, oh = other["bounds"]
            assert x + w <= ox or x >= ox + ow or y + h <= oy or y >= oy + oh
    assert labels["G>b"][3] > labels["G>c"][3]  # the long one takes more lines
