"""Short ways to write nets by hand."""

from __future__ import annotations

from typing import Any

from penstock.net.model import MERGE, Edge, Effect, Net, Node

S = Node(id="s", kind="start")
X = Node(id="x", kind="end", join=MERGE)


def task(id: str, **more: Any) -> Node:
    args = more.pop("args", None)
    return Node(id=id, kind="task", effect=Effect(executor="x", args=args), **more)


def tasks(*ids: str, **more: Any) -> list[Node]:
    return [task(i, **more) for i in ids]


def edges(text: str) -> list[Edge]:
    """'a>b c:port>d'"""
    out = []
    for one in text.split():
        left, right = one.split(">")
        src, _, port = left.partition(":")
        out.append(Edge(id=one, src=src, dst=right, port=port or "done"))
    return out


def edge(text: str, **more: Any) -> Edge:
    (one,) = edges(text)
    return Edge(id=one.id, src=one.src, dst=one.dst, port=one.port, **more)


def net(nodes: Any, ways: Any, **more: Any) -> Net:
    flat: list[Edge] = []
    for way in [ways] if isinstance(ways, str) else ways:
        flat += edges(way) if isinstance(way, str) else [way]
    return Net(name=more.pop("name", "test"), nodes=tuple(nodes), edges=tuple(flat), **more)
