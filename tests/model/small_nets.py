"""Nets and nodes that several test files use."""

from __future__ import annotations

from typing import Any

from tests.model.net import XOR, Net, Node
from tests.model.sim import edges

S = Node("s", "start")
X = Node("x", "end", join=XOR)  # an end takes every token by itself


def saga(policy: str = "stop", **more: Any) -> Net:
    """a, b, c with an undo node each, then d."""
    undo = [Node(f"u{name}", "task", off_path=True, arg=lambda v: v["undone"]) for name in "pabc"]
    work = [Node(name, "task", undo=(f"u{name}",)) for name in "abc"]
    return Net((S, *work, *undo, Node("d", "task"), X), edges("s>a a>b b>c c>d d>x"), undo_policy=policy, **more)
