"""A process tree as a definition: a block of gateways for every block of the tree.

A log says which ways were taken and not why. So every choice asks a person, and whoever takes the model over writes a
condition where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.mining.block_tree import ProcessTree

#: what an activity of the base keeps only where it stands
_PLACE = ("parent", "default")
#: what a new definition takes over from its base
_KEPT = ("description", "tenant_id", "type", "parent_id", "starters", "conversation", "data", "roles", "messages",
         "signals", "errors", "escalations", "process_definition_name")  # fmt: skip


def tree_definition(tree: ProcessTree, base: Mapping[str, Any] | None, id: str, name: str) -> dict[str, Any]:
    """Activities that the base has under the same name keep their ids, roles, modes, agents and everything else that
    is said of them; others are work of people."""
    made = _Builder(base or {}).definition(tree)
    top = {key: base[key] for key in _KEPT if base is not None and base.get(key) is not None}
    return {**top, "process_definition_id": id, "process_definition_name": name, **made}


class _Builder:
    def __init__(self, base: Mapping[str, Any]) -> None:
        entries = [entry for entry in base.get("activities") or () if isinstance(entry, Mapping)]
        self.known = {str(entry.get("name") or entry.get("id")): entry for entry in reversed(entries)}
        self.base = base
        self.taken = {str(entry.get("id")) for entry in entries}
        self.activities: list[dict[str, Any]] = []
        self.gateways: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []

    def definition(self, tree: ProcessTree) -> dict[str, Any]:
        start, end = self._id("start"), self._id("end")
        self._between(start, tree, end)
        known = {str(entry["id"]) for entry in (*self.activities, *self.gateways)} | {start, end}
        lanes = [
            {**lane, "elements": [id for id in lane.get("elements") or () if id in known]}
            for lane in self.base.get("lanes") or ()
        ]
        return {
            "activities": self.activities, "gateways": self.gateways, "transitions": self.flows,
            "events": [{"id": start, "name": "", "position": "start"}, {"id": end, "name": "", "position": "end"}],
            **({"lanes": lanes} if lanes else {}),
        }  # fmt: skip

    def _between(self, source: str, tree: ProcessTree, target: str) -> None:
        if tree.operator == "silent":
            self._flow(source, target)
            return
        entry, exit = self._block(tree)
        self._flow(source, entry)
        self._flow(exit, target)

    def _block(self, tree: ProcessTree) -> tuple[str, str]:
        """The first and the last element of a block that is not silent."""
        children = tree.children
        if tree.operator == "activity":
            id = self._activity(tree.activity)
            return id, id
        if tree.operator == "sequence":
            ends = [self._block(child) for child in children]
            for i in range(len(ends) - 1):
                self._flow(ends[i][1], ends[i + 1][0])
            return ends[0][0], ends[-1][1]
        if tree.operator == "loop":
            begin, again = self._gateway("exclusive"), self._gateway("exclusive", ask=True)
            self._between(begin, children[0], again)
            self._between(again, children[1], begin)
            return begin, again
        asks = tree.operator == "xor"
        kind = "exclusive" if asks else "parallel"
        opened, closed = self._gateway(kind, ask=asks), self._gateway(kind)
        for child in children:
            self._between(opened, child, closed)
        return opened, closed

    def _activity(self, name: str) -> str:
        known = self.known.pop(name, None)  # of a name that comes twice the first one keeps the id
        if known is not None:
            self.activities.append({key: value for key, value in known.items() if key not in _PLACE})
            return str(known["id"])
        id = self._id(f"a{len(self.activities) + 1}")
        self.activities.append({"id": id, "name": name, "type": "humanTask"})
        return id

    def _gateway(self, kind: str, *, ask: bool = False) -> str:
        id = self._id(f"g{len(self.gateways) + 1}")
        asked = {"ask": {"who": "previous"}} if ask else {}
        self.gateways.append({"id": id, "name": "", "type": f"{kind}Gateway", **asked})
        return id

    def _flow(self, source: str, target: str) -> None:
        self.flows.append({"id": self._id(f"f{len(self.flows) + 1}"), "source": source, "target": target})

    def _id(self, wished: str) -> str:
        while wished in self.taken:
            wished += "_"
        self.taken.add(wished)
        return wished
