"""The net as its author drew it: nodes that a language made for one node of the document are drawn as that one."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.net.model import Net


def authored_net(net: Net) -> Net:
    """The net with one node per node of the document, to be drawn. Edges keep their ids, so that tokens lie on them."""
    parts = {node.id: node.origin for node in net.nodes if node.origin and node.origin != node.id}
    if not parts:
        return net
    edges = [replace(e, src=parts.get(e.src, e.src), dst=parts.get(e.dst, e.dst)) for e in net.edges]
    drawn = {node.id for node in net.nodes} - parts.keys()
    return replace(
        net,
        nodes=tuple(node for node in net.nodes if node.id in drawn),
        edges=tuple(
            new
            for old, new in zip(net.edges, edges, strict=True)
            if not (new.src == new.dst and old.src != old.dst) and new.src in drawn and new.dst in drawn
        ),
    )
