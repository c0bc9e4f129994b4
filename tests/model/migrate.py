"""Moving a run to another net: the moves, or what stands in the way (KERNEL 7)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.net import Net


def plan_migration(old: Net, new: Net, state: dict, nodes: dict, edges: dict) -> dict:
    """By id, then by the author's tables. Only what is renamed is listed."""
    obstacles = [
        *token_obstacles(new, state, edges),
        *firing_obstacles(old, new, state, nodes),
        *ledger_obstacles(new, state, nodes),
    ]
    if state["undo"]:
        obstacles.append({"why": "compensating"})
    return {
        "obstacles": obstacles,
        "nodes": {name: to for name, to in nodes.items() if name != to},
        "edges": {name: to for name, to in edges.items() if name != to},
    }


def token_obstacles(new: Net, state: dict, edges: dict) -> Iterator[dict]:
    for token in state["tokens"].values():
        if edges.get(token["edge"], token["edge"]) not in new.edge:
            yield {"token": token["edge"], "why": "edge gone"}


def firing_obstacles(old: Net, new: Net, state: dict, nodes: dict) -> Iterator[dict]:
    for fid, firing in state["firings"].items():
        name = firing["node"]
        if nodes.get(name, name) not in new.node:
            yield {"firing": name, "why": "node gone"}
            continue
        was, will = old.node[name], new.node[nodes.get(name, name)]
        if was.kind != will.kind:
            yield {"firing": name, "why": "kind differs"}
        if nodes.get(was.scope, was.scope) != will.scope:
            yield {"firing": name, "why": "scope differs"}
        if len(will.triggers) < len(was.triggers):
            yield {"firing": name, "why": "armed trigger gone"}
        if was.effect != will.effect and any(e["firing"] == fid for e in state["effects"].values()):
            yield {"firing": name, "why": "effect in flight differs"}


def ledger_obstacles(new: Net, state: dict, nodes: dict) -> Iterator[dict]:
    for entry in state["ledger"]:
        to = nodes.get(entry["node"], entry["node"])
        if entry["status"] == "open" and (to not in new.node or not new.node[to].undo):
            yield {"ledger": entry["node"], "why": "undo lost"}
