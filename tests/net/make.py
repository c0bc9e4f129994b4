"""Nets in few letters for tests: nodes as given, edges as `a>b c:port>d`."""

from __future__ import annotations

from typing import Any

from penstock.net.model import Edge, Net, Node

S, X = Node(id="s", kind="start"), Node(id="x", kind="end")


def edges(text: str) -> tuple[Edge, ...]:
    """`a>b`, `c:port>d`; a guarded edge is `a?>b`, a default one `a!>b`, one that raises the epoch `a^>b`."""
    found = []
    for word in text.split():
        left, right = word.split(">")
        marks: dict[str, Any] = {}
        if left[-1] in "?!^":
            marks = {"?": {"guard": "true"}, "!": {"default": True}, "^": {"raises": True}}[left[-1]]
            left = left[:-1]
        src, _, port = left.partition(":")
        found.append(Edge(id=f"{left}>{right}", src=src, dst=right, port=port or "done", **marks))
    return tuple(found)


def net(text: str, *nodes: Node, **more: Any) -> Net:
    """The nodes given, a start `s` and an end `x` where the edges name them, and plain routes for the rest."""
    ways = edges(text)
    have = {node.id for node in nodes}
    names = dict.fromkeys(name for e in ways for name in (e.src, e.dst) if name not in have)
    plain = [S if name == "s" else X if name == "x" else Node(id=name) for name in names]
    return Net(name="n", nodes=(*plain, *nodes), edges=ways, **more)
