"""Small changes of a definition that keep everything else as it is: what a proposal is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

_COLLECTIONS = ("activities", "gateways", "events")
_Entry = dict[str, Any]


class DefinitionEdit:
    """A copy of a definition; each method changes it, or gives False and changes nothing where that cannot be drawn."""

    def __init__(self, definition: Mapping[str, Any], step: int = 1) -> None:
        """`step` is part of the ids of what is added: what was added together is told together."""
        self.data: dict[str, Any] = deepcopy(dict(definition))
        for name in (*_COLLECTIONS, "transitions"):
            self.data[name] = list(self.data.get(name) or ())
        self.added, self.step = 0, step

    # -- looking -------------------------------------------------------------------------------------------------------

    def entry(self, id: str) -> _Entry:
        return next(entry for name in _COLLECTIONS for entry in self.data[name] if entry["id"] == id)

    def named(self, name: str) -> str | None:
        """The activity of a name, where there is one and no other."""
        found = [entry["id"] for entry in self.data["activities"] if (entry.get("name") or entry["id"]) == name]
        return found[0] if len(found) == 1 else None

    def ways_in(self, id: str) -> list[_Entry]:
        return [flow for flow in self.data["transitions"] if flow["target"] == id]

    def ways_out(self, id: str) -> list[_Entry]:
        return [flow for flow in self.data["transitions"] if flow["source"] == id]

    def _leads(self, source: str, target: str) -> bool:
        met, todo = {source}, [source]
        while todo:
            following = [flow["target"] for flow in self.ways_out(todo.pop()) if flow["target"] not in met]
            met.update(following)
            todo += following
        return target in met

    def _level(self, id: str) -> str:
        return str(self.entry(id).get("parent") or "")

    # -- changing ------------------------------------------------------------------------------------------------------

    def path_back(self, source: str, target: str) -> bool:
        """After `source` a person may go back to `target`."""
        if self._level(source) != self._level(target) or not self._leads(target, source):
            return False
        self._with_start(target)
        asked = self._asked_after(source)
        if asked is None:
            return False
        self._flow(asked, target)
        return True

    def optional(self, id: str) -> bool:
        """A person may leave it out."""
        if not self.ways_in(id):
            self._with_start(id)
        if len(self.ways_out(id)) > 1 or self._has_boundary(id):
            return False
        asked, joined = self._gateway("exclusive", id, ask=True), self._gateway("exclusive", id)
        self._before(id, asked)
        if not self._after(id, joined):
            return False
        self._flow(asked, id)
        self._flow(asked, joined)
        return True

    def beside(self, first: str, second: str) -> bool:
        """Two that follow each other directly are done side by side."""
        return self._optional_beside(first, second) or self._both(first, second)

    def _optional_beside(self, first: str, second: str) -> bool:
        """The first is one way of a gateway that leads to the second otherwise: now the second comes in any case, and
        both meet before what follows."""
        ins, outs, after = self.ways_in(first), self.ways_out(first), self.ways_out(second)
        gateway = self._choosing(ins[0]["source"]) if len(ins) == 1 else None
        if gateway is None or gateway.get("ask") or gateway["type"] != "exclusiveGateway":
            return False
        ways = [flow for flow in self.ways_out(gateway["id"]) if flow["target"] == second]
        alone = len(ways) == 1 == len(outs) and outs[0]["target"] == second and len(after) <= 1
        if (
            not alone
            or len(self.ways_out(gateway["id"])) != 2
            or self._has_boundary(first)
            or self._has_boundary(second)
        ):
            return False
        if self._condition_of(gateway, ins[0]) is None:
            return False
        joined = self._gateway("inclusive", second)
        self._lead(outs[0], joined)
        self._after(second, joined)
        gateway["type"] = "inclusiveGateway"
        self._always(gateway, ways[0])
        return True

    def _condition_of(self, gateway: _Entry, flow: _Entry) -> Any:
        conditions = gateway.get("conditions") or {}
        return next((conditions[key] for key in self._keys(flow) if key in conditions), flow.get("condition"))

    def _always(self, gateway: _Entry, flow: _Entry) -> None:
        keys = self._keys(flow)
        conditions = {key: text for key, text in (gateway.get("conditions") or {}).items() if key not in keys}
        if conditions.get("default") in keys:
            del conditions["default"]
        if gateway.get("default") in keys:
            del gateway["default"]
        flow.pop("condition", None)
        gateway["conditions"] = {**conditions, flow["id"]: "true"}

    def _keys(self, flow: _Entry) -> set[Any]:
        """What its source calls a way by."""
        target = self.entry(flow["target"])
        return {flow["id"], flow.get("name"), target["id"], target.get("name")} - {None, ""}

    def _both(self, first: str, second: str) -> bool:
        between = [flow for flow in self.ways_out(first) if flow["target"] == second]
        alone = len(between) == 1 == len(self.ways_out(first)) == len(self.ways_in(second))
        if not alone or len(self.ways_out(second)) > 1 or self._has_boundary(first) or self._has_boundary(second):
            return False
        if not self.ways_in(first):
            self._with_start(first)
        opened, closed = self._gateway("parallel", first), self._gateway("parallel", first)
        if len(self.ways_in(first)) > 1:  # they meet before the ways part: a parallel gateway would wait for all
            met = self._gateway("exclusive", first)
            self._before(first, met)
            self._flow(met, opened)
        else:
            self._before(first, opened)
        if not self._after(second, closed):
            return False
        self._lead(between[0], closed)
        for begin, end in ((opened, first), (opened, second)):
            self._flow(begin, end)
        return True

    def added_after(self, source: str, name: str) -> bool:
        """A person may do something after `source` that the process did not have."""
        if len(self.ways_out(source)) != 1 or self.named(name) is not None:
            return False
        id = self._id("a")
        self.data["activities"].append({"id": id, "name": name, "type": "humanTask", **self._parent(source)})
        self._same_lane(source, id)
        target = self.ways_out(source)[0]["target"]
        asked, joined = self._gateway("exclusive", source, ask=True), self._gateway("exclusive", source)
        self._lead(self.ways_out(source)[0], asked)
        for begin, end in ((asked, id), (id, joined), (asked, joined), (joined, target)):
            self._flow(begin, end)
        return True

    def removed(self, id: str) -> bool:
        """It is taken out with its ways: one of several that a gateway chooses from, or one that all ways pass."""
        ins, outs = self.ways_in(id), self.ways_out(id)
        gone: tuple[str, ...]
        if len(outs) != 1 or not ins or self._has_boundary(id) or self.entry(id).get("type") == "subProcess":
            return False
        target = outs[0]["target"]
        chooser = self._choosing(ins[0]["source"]) if len(ins) == 1 else None
        if chooser is not None and len(self.ways_in(target)) > 1:
            if not self._forget_way(chooser, ins[0]):
                return False
            gone = (ins[0]["id"], outs[0]["id"])
        else:
            for flow in ins:
                self._lead(flow, target)
            gone = (outs[0]["id"],)
        self.data["transitions"] = [flow for flow in self.data["transitions"] if flow["id"] not in gone]
        self._forget(id, gone)
        return True

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _asked_after(self, source: str) -> str | None:
        """A gateway after an element at which a person says which way is taken: the one there is, or a new one."""
        outs = self.ways_out(source)
        if len(outs) > 1 or self._has_boundary(source):
            return None
        following = self._choosing(outs[0]["target"]) if outs else None
        if following is not None and following.get("ask") and len(self.ways_in(following["id"])) == 1:
            return str(following["id"])
        asked = self._gateway("exclusive", source, ask=True)
        return asked if self._after(source, asked) else None

    def _choosing(self, id: str) -> _Entry | None:
        gateways = self.data["gateways"]
        found = next((entry for entry in gateways if entry["id"] == id), None)
        return found if found is not None and found["type"] in ("exclusiveGateway", "inclusiveGateway") else None

    def _forget_way(self, gateway: _Entry, flow: _Entry) -> bool:
        """Takes a way from a gateway that still has others; not the one that is taken when no condition holds."""
        others = [way for way in self.ways_out(gateway["id"]) if way is not flow]
        keys, conditions, asks = self._keys(flow), dict(gateway.get("conditions") or {}), gateway.get("ask")
        default = gateway.get("default") or conditions.get("default")
        if not others or not asks and len(others) > 1 and (default is None or default in keys):
            return False  # where its condition holds no other way might be taken
        if len(others) == 1:
            for name in ("conditions", "default", "ask"):
                gateway.pop(name, None)
            others[0].pop("condition", None)
            return True
        if conditions:
            gateway["conditions"] = {key: value for key, value in conditions.items() if key not in keys}
        if isinstance(asks, Mapping) and asks.get("choices"):
            choices = {key: word for key, word in asks["choices"].items() if key != flow["id"]}
            gateway["ask"] = {**asks, "choices": choices}
        return True

    def _forget(self, id: str, flows: tuple[str, ...]) -> None:
        self.data["activities"] = [entry for entry in self.data["activities"] if entry["id"] != id]
        for lane in self.data.get("lanes") or ():
            lane["elements"] = [one for one in lane.get("elements") or () if one != id]
        diagram = self.data.get("diagram")
        if isinstance(diagram, Mapping):
            (diagram.get("shapes") or {}).pop(id, None)
            for flow in flows:
                (diagram.get("edges") or {}).pop(flow, None)

    def _lead(self, flow: _Entry, target: str) -> None:
        """A new way in the place of one, to another target; what its source says of the old one it says of the new."""
        old, was = self.entry(flow["target"]), flow["id"]
        flow["id"] = self._id("f")
        flow["target"] = target
        keys = {was, old["id"], old.get("name")} - {None, "", flow.get("name")}
        source = self.entry(flow["source"])
        conditions = source.get("conditions") or {}
        if keys & conditions.keys():
            conditions = {flow["id"] if key in keys else key: text for key, text in conditions.items()}
        if conditions.get("default") in keys:
            conditions = {**conditions, "default": flow["id"]}
        if conditions:
            source["conditions"] = conditions
        if source.get("default") in keys:
            source["default"] = flow["id"]
        choices = (source.get("ask") or {}).get("choices") or {}
        if was in choices:
            renamed = {flow["id"] if key == was else key: word for key, word in choices.items()}
            source["ask"] = {**source["ask"], "choices": renamed}

    def _before(self, id: str, new: str) -> None:
        for flow in self.ways_in(id):
            self._lead(flow, new)

    def _after(self, id: str, new: str) -> bool:
        """The way out of an element passes a new one first; of one without a way out, what follows is an end."""
        outs = self.ways_out(id)
        if outs:
            target = outs[0]["target"]
            self._lead(outs[0], new)
        else:
            target = self._id("end")
            self.data["events"].append({"id": target, "name": "", "position": "end", **self._parent(id)})
            self._flow(id, new)
        self._flow(new, target)
        return True

    def _with_start(self, id: str) -> None:
        """Where the process begins with this element, a start event comes before it: then ways may lead to it."""
        if self.ways_in(id):
            return
        start = self._id("start")
        self.data["events"].append({"id": start, "name": "", "position": "start", **self._parent(id)})
        self._flow(start, id)

    def _has_boundary(self, id: str) -> bool:
        return any(event.get("attached_to") == id for event in self.data["events"])

    def _parent(self, id: str) -> _Entry:
        parent = self._level(id)
        return {"parent": parent} if parent else {}

    def _gateway(self, kind: str, near: str, *, ask: bool = False) -> str:
        id = self._id("g")
        asked = {"ask": {"who": "previous"}} if ask else {}
        self.data["gateways"].append({"id": id, "name": "", "type": f"{kind}Gateway", **asked, **self._parent(near)})
        self._same_lane(near, id)
        return id

    def _same_lane(self, near: str, new: str) -> None:
        for lane in self.data.get("lanes") or ():
            if near in (lane.get("elements") or ()):
                lane["elements"].append(new)

    def _flow(self, source: str, target: str) -> None:
        self.data["transitions"].append({"id": self._id("f"), "source": source, "target": target})

    def _id(self, kind: str) -> str:
        taken = set(self._ids())
        while True:
            self.added += 1
            if (id := f"mined{self.step}_{kind}{self.added}") not in taken:
                return id

    def _ids(self) -> Iterator[str]:
        return (entry["id"] for name in (*_COLLECTIONS, "transitions") for entry in self.data[name])
