"""What two models of a process differ in, in groups of elements that hang together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from penstock.app.process.mining.editing.learned_step import LearnedStep, Shape, shared_out
from penstock.lang.process.diff import difference

_NODES = ("activities", "gateways", "events")
#: what a gateway or an activity says of its ways: it changes with them, and alone it is no other step
_WAYS = {"conditions", "default", "ask"}
_Entry = Mapping[str, Any]
Kind = Literal["added", "removed", "changed"]
_KINDS: Mapping[Shape, Kind] = {
    "path_back": "added", "optional": "added", "step_added": "added", "step_removed": "removed", "beside": "changed",
    "other": "changed",
}  # fmt: skip


class ChangeGroup(msgspec.Struct, frozen=True):
    """`step`: the one of the proposal that it comes from; None where only the two models are known."""

    kind: Kind
    shape: Shape
    activities: tuple[str, ...]
    elements: tuple[str, ...]
    step: LearnedStep | None = None


class ChangedElements:
    def __init__(self, base: _Entry, model: _Entry) -> None:
        self.before, self.after = _by_id(base), _by_id(model)
        found = difference(base, model)
        self.added, self.removed, self.changed = (
            [id for name in (*_NODES, "transitions") for id in found.get(name, {}).get(part, ())]
            for part in ("added", "removed", "changed")
        )
        #: gateways and activities that say the same of other ways
        self.ways_only = {
            id for name in _NODES for id, fields in found.get(name, {}).get("changed", {}).items()
            if fields.keys() <= _WAYS
        }  # fmt: skip

    def groups(self, steps: Sequence[LearnedStep] = ()) -> list[ChangeGroup]:
        """By the steps that a proposal has taken, where they are known; the rest by what hangs together."""
        shared = shared_out(steps, [*self.added, *self.removed, *self.changed])
        groups = [
            ChangeGroup(_KINDS[step.shape], step.shape, step.activities, ids, step) for step, ids in shared if ids
        ]
        known = {id for step in steps for id in step.touched}
        parts = (part for part in self._parts() if not known.issuperset(part))
        return groups + [group for part in parts if (group := self._group(part)) is not None]

    # -- what hangs together -------------------------------------------------------------------------------------------

    def _parts(self) -> list[list[str]]:
        """A way belongs to its ends that differ, too; a way that is gone and one that came in its place to each
        other. What differs only in what it says of its ways goes with the first of them."""
        every = dict.fromkeys([*self.added, *self.removed, *self.changed])
        differ = dict.fromkeys(id for id in every if id not in self.ways_only)
        above = {id: id for id in differ}

        def root(id: str) -> str:
            while above[id] != id:
                above[id] = id = above[above[id]]
            return id

        together: dict[str, str] = {}
        for id in differ:
            step = _step(id) if id in self.added else ""
            above[root(id)] = root(together.setdefault(step, id)) if step else root(id)
            for other in self._beside(id):
                if other in differ and (not step or _step(other) in ("", step)):
                    above[root(id)] = root(other)
        for gone in self.removed:
            beside = [came for came in self.added if _same_source(self.before[gone], self.after[came])]
            places = [came for came in beside if self._takes_place(self.before[gone], self.after[came])]
            alone = all(other not in differ for other in self._beside(gone))
            for came in places or (beside[:1] if alone else []):
                above[root(gone)] = root(came)
        parts: dict[str, list[str]] = {}
        for id in differ:
            parts.setdefault(root(id), []).append(id)
        found = self._with_gateways(list(parts.values()))
        for gateway in (id for id in every if id in self.ways_only):
            holding = (part for part in found if any(gateway in self._beside(id) for id in part))
            (next(holding, None) or _new(found)).append(gateway)
        return found

    def _with_gateways(self, parts: list[list[str]]) -> list[list[str]]:
        """A gateway that is another one now, and none of whose ways differs, goes with what differs where they lead."""
        found = list(parts)
        for part in parts:
            if len(part) > 1 or part[0] not in self.changed or part[0] not in self.after:
                continue
            ways = {str(way["target"]) for way in self.after.values() if way.get("source") == part[0]}
            near = {n: len(ways & self._ends(other)) for n, other in enumerate(found) if len(other) > 1}
            best = max(near, key=near.__getitem__, default=None)
            if best is not None and near[best]:
                found[best].append(part[0])
                found.remove(part)
        return found

    def _ends(self, part: Iterable[str]) -> set[str]:
        return {end for id in part for end in self._beside(id)}

    def _beside(self, id: str) -> Iterable[str]:
        entries = [entries[id] for entries in (self.before, self.after) if id in entries]
        return (str(entry[end]) for entry in entries if "source" in entry for end in ("source", "target"))

    def _takes_place(self, gone: _Entry, came: _Entry) -> bool:
        """Does a way that came lead to where one that is gone did, past what is new; or past a step that is gone?"""
        target, met, todo = str(gone["target"]), {str(came["target"])}, [str(came["target"])]
        if target not in self.after:
            return any(way.get("source") == target and way.get("target") in met for way in self.before.values())
        while todo:
            at = todo.pop()
            if at not in self.before:
                following = {str(way["target"]) for way in self.after.values() if way.get("source") == at} - met
                met |= following
                todo += following
        return target in met

    # -- what it is ----------------------------------------------------------------------------------------------------

    def _group(self, part: list[str]) -> ChangeGroup | None:
        nodes = [id for id in part if "source" not in self._entry(id)]
        came = [id for id in nodes if id in self.added]
        gone = [id for id in nodes if id in self.removed]
        if all(id in self.ways_only for id in part):
            return self._other(part)
        steps_added = self._steps(came)
        steps_removed = self._steps(gone)
        if steps_added and not steps_removed:
            return ChangeGroup("added", "step_added", steps_added, tuple(part))
        if steps_removed and not came:
            return ChangeGroup("removed", "step_removed", steps_removed, tuple(part))
        if steps_added or steps_removed:
            return self._other(part)
        return self._by_gateways(part, came) or self._other(part)

    def _by_gateways(self, part: list[str], came: list[str]) -> ChangeGroup | None:
        new = [self.after[id] for id in came if str(self.after[id].get("type", "")).endswith("Gateway")]
        kinds = {entry["type"] for entry in new}
        asked = [entry["id"] for entry in new if entry.get("ask")]
        if kinds & {"parallelGateway", "inclusiveGateway"}:
            names = self._that_meet([entry["id"] for entry in new if entry["type"] != "exclusiveGateway"])
            return ChangeGroup("changed", "beside", names, tuple(part)) if len(names) > 1 else None
        if len(asked) == 1:
            ways = [str(way["target"]) for way in self.after.values() if way.get("source") == asked[0]]
            past = [id for id in ways if id in came]  # a new join: where the step leads, too
            names = self._names([id for id in ways if any(self._leads_back(join, id) for join in past if join != id)])
            if names:
                return ChangeGroup("added", "optional", names[:1], tuple(part))
        for id in part:
            way = self.after.get(id)
            if way is None or id not in self.added or "source" not in way:
                continue
            if self._leads_back(str(way["source"]), str(way["target"])) and self._names([str(way["target"])]):
                names = (*self._names([str(way["target"])]), *self._before_it(str(way["source"])))
                return ChangeGroup("added", "path_back", names, tuple(part))
        return None

    def _other(self, part: list[str]) -> ChangeGroup:
        around = dict.fromkeys(end for id in part for end in (id, *self._beside(id)))
        names = self._names([id for id in around if id in self.before or id in self.after])
        if not names:  # gateways alone: what stands around them
            ways = [way for way in (*self.before.values(), *self.after.values()) if "source" in way]
            ends = [(str(way["source"]), str(way["target"])) for way in ways]
            names = self._names(list(dict.fromkeys(id for way in ends if around.keys() & set(way) for id in way)))
        return ChangeGroup("changed", "other", names[:4], tuple(part))

    def _that_meet(self, gateways: list[str]) -> tuple[str, ...]:
        """The steps right before a join that is new; in the order of the base."""
        found = [str(way["source"]) for way in self.after.values() if way.get("target") in gateways]
        order = list(self.before)
        found = sorted((id for id in dict.fromkeys(found) if id in self.before), key=order.index, reverse=True)
        return self._names(found)

    def _leads_back(self, source: str, target: str) -> bool:
        """Did the base, or what was there of it, lead from the target to the source already?"""
        met, todo = {target}, [target]
        while todo:
            at = todo.pop()
            following = {str(way["target"]) for way in self.after.values() if way.get("source") == at} - met
            met |= following
            todo += following
        return source in met

    def _before_it(self, id: str) -> tuple[str, ...]:
        """The step that leads to a gateway."""
        ways = [str(way["source"]) for way in self.after.values() if way.get("target") == id]
        return self._names([id, *ways])[:1]

    def _steps(self, ids: list[str]) -> tuple[str, ...]:
        return self._names([id for id in ids if id not in self.ways_only])

    def _names(self, ids: list[str]) -> tuple[str, ...]:
        """Of those that are activities."""
        entries = (self._entry(id) for id in ids)
        return tuple(str(entry.get("name") or entry["id"]) for entry in entries if _is_activity(entry))

    def _entry(self, id: str) -> _Entry:
        return self.after[id] if id in self.after else self.before[id]


def _same_source(gone: _Entry, came: _Entry) -> bool:
    return "source" in gone and gone["source"] == came.get("source")


def _new(parts: list[list[str]]) -> list[str]:
    parts.append([])
    return parts[-1]


def _step(id: str) -> str:
    """What a proposal has added together has a number of its own in its ids."""
    found = re.match(r"mined(\d+)_", id)
    return found[1] if found is not None else ""


def _is_activity(entry: _Entry) -> bool:
    return "source" not in entry and "position" not in entry and not str(entry.get("type", "")).endswith("Gateway")


def _by_id(definition: _Entry) -> dict[str, _Entry]:
    return {
        str(entry["id"]): entry for name in (*_NODES, "transitions") for entry in definition.get(name) or ()
        if isinstance(entry, Mapping)
    }  # fmt: skip
