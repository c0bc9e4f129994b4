"""Verdicts of the soundness checker."""

from __future__ import annotations

import pytest

from tests.model.net import ALL, INC, XOR, Net, Node
from tests.model.sim import chain, edges
from tests.model.small_nets import S, X
from tests.model.soundness import check

BLOCK = "s>f f>a f>b a>j b>j j>x"


@pytest.mark.parametrize(
    ("split", "join", "verdict", "reason"),
    [
        ("all", ALL, "sound", "reduced to one edge"),
        ("first", ALL, "unsound", "deadlock"),
        ("all", XOR, "unsound", "improper end"),
        ("every", INC, "sound", "reduced to one edge"),
        ("every", ALL, "unsound", "deadlock"),
    ],
)
def test_block(split, join, verdict, reason):
    net = Net((S, Node("f", split=split), *chain("a", "b"), Node("j", join=join), X), edges(BLOCK))
    assert check(net)[:2] == (verdict, reason)


def test_the_trace_ends_with_what_is_left():
    net = Net((S, Node("f", split="first"), *chain("a", "b"), Node("j"), X), edges(BLOCK))
    assert check(net).trace[-1][0] == "left"


def test_unbounded():
    net = Net((S, Node("m", join=XOR), Node("f"), X), edges("s>m m>f f>m f>x"))
    found = check(net)
    assert found.verdict == "unsound"
    assert found.reason in ("unbounded", "improper end")


def test_livelock():
    net = Net((S, Node("g", split="first"), Node("m", join=XOR), *chain("t"), X), edges("s>g g>x g>m m>t t>m"))
    assert check(net)[:2] == ("unsound", "livelock")
