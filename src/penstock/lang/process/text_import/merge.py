"""Merges what a model has read from each chunk of a manual into one definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.lang.process.text_import.evidence import normalized

_COLLECTIONS = ("roles", "activities", "gateways", "transitions", "data_items", "events")


def merged_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One definition of all. The same role, activity or data item is one element, whatever ids it was given; where two
    others have the same id the later one gets a new one. The end of one chunk leads to the next one's beginning."""
    merged: dict[str, Any] = {name: [] for name in _COLLECTIONS}
    merged["process_definition_name"] = ""
    for answer in answers:
        name = answer.get("process_definition_name")
        merged["process_definition_name"] = merged["process_definition_name"] or (name if isinstance(name, str) else "")
        _add(merged, answer)
    return merged


def _entries(answer: Mapping[str, Any], collection: str) -> list[dict[str, Any]]:
    listed = answer.get(collection)
    return [dict(entry) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _add(merged: dict[str, Any], answer: Mapping[str, Any]) -> None:
    ids: dict[str, str] = {}
    ends = _ends(merged)
    for collection in ("roles", "activities", "gateways", "events"):
        for entry in _entries(answer, collection):
            _add_entry(merged, collection, entry, ids)
    for entry in _entries(answer, "data_items"):
        if normalized(str(entry.get("name"))) not in {
            normalized(str(each.get("name"))) for each in merged["data_items"]
        }:
            merged["data_items"].append(entry)
    for activity in merged["activities"]:
        role = activity.get("role")
        activity["role"] = ids.get(role, role) if isinstance(role, str) else ""
    flow_ids: dict[str, str] = {}
    flows: list[dict[str, Any]] = []
    for flow in _entries(answer, "transitions"):
        given = str(flow.get("id") or "")
        flow["id"] = flow_ids[given] = _free_id(
            given or "flow", {each["id"] for each in [*merged["transitions"], *flows]}
        )
        flow |= {end: ids.get(str(flow.get(end)), str(flow.get(end))) for end in ("source", "target")}
        flows.append(flow)
    for gateway in merged["gateways"]:
        if gateway["id"] in ids.values() and isinstance(gateway.get("default"), str):
            gateway["default"] = flow_ids.get(gateway["default"], gateway["default"])
    new = [id for id in dict.fromkeys(ids.values()) if _is_node(merged, id)]
    merged["transitions"] += flows
    _connect(merged, ends, new, flows)


def _add_entry(merged: dict[str, Any], collection: str, entry: dict[str, Any], ids: dict[str, str]) -> None:
    given, name = str(entry.get("id") or ""), normalized(str(entry.get("name") or ""))
    same = None
    if collection in ("roles", "activities") and name:
        same = next((each for each in merged[collection] if normalized(str(each.get("name") or "")) == name), None)
    if same is not None:
        ids[given] = same["id"]
        return
    taken = {each["id"] for known in ("roles", "activities", "gateways", "events") for each in merged[known]}
    entry["id"] = ids[given] = _free_id(given or collection[0], taken)
    merged[collection].append(entry)


def _free_id(id: str, taken: set[str]) -> str:
    number = 2
    free = id
    while free in taken:
        free, number = f"{id}_{number}", number + 1
    return free


def _is_node(merged: Mapping[str, Any], id: str) -> bool:
    return any(each["id"] == id for collection in ("activities", "gateways", "events") for each in merged[collection])


def _ends(merged: Mapping[str, Any]) -> list[str]:
    """The elements that nothing follows yet."""
    led = {flow["source"] for flow in merged["transitions"]}
    return [each["id"] for name in ("activities", "gateways") for each in merged[name] if each["id"] not in led]


def _connect(merged: dict[str, Any], ends: list[str], new: list[str], flows: list[dict[str, Any]]) -> None:
    known = set(ends) | {flow["source"] for flow in merged["transitions"] if flow not in flows}
    if not ends or not new or any(flow["source"] in known and flow["target"] in new for flow in flows):
        return  # it is the first chunk, or the model itself has said how they follow
    targets = {flow["target"] for flow in flows}
    first = next((id for id in new if id not in targets), new[0])
    taken = {flow["id"] for flow in merged["transitions"]}
    for end in ends:
        if end == first:
            continue
        id = _free_id(f"next_{end}", taken)
        taken.add(id)
        merged["transitions"].append({"id": id, "source": end, "target": first})
