"""Documents that are right, to be broken in one place each, and what the reader declares of them."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from penstock.lang.decision.nodes import NODE_TYPES
from penstock.lang.decision.workflow import EdgeFields, TopFields
from penstock.lang.fields import Fields
from tests.conformance.decision.make import act, approval, data, document, judge, mcp, parallel, switch, undo, wait

POLL = {"type": "polling", "polling": {"endpoint": "/", "success_condition": "true"}}
#: for every type a node that is right, with everything in it that has fields of its own
GOOD: dict[str, dict[str, Any]] = {
    "DATA": data("x", cache={}),
    "JUDGMENT": judge("x", llm_config={}, routing={}) | {"audit": {}},
    "MCP": mcp("x", fallback={}),
    "ACTION": act("x", template={"id": "t"}, conditions={}, rate_limit={}),
    "APPROVAL": approval("x", timeout={}),
    "WAIT": wait("x", {**POLL, "event": {"source": "e"}}, timeout={}),
    "SWITCH": switch("x", "1", [(1, "end")], default={"goto": "end"}, multi_match={}),
    "PARALLEL": parallel("x", {"b": ["y"]}),
    "COMPENSATION": undo("x", "y", trigger={}, audit={}),
    "DEPLOY": {
        "id": "x", "type": "DEPLOY", "artifact": {"type": "rule_pack", "id": "p"},
        "target": {"environment": "staging", "scope": {}},
        "strategy": {"type": "canary", "canary": {"success_criteria": {}}, "rolling": {"success_criteria": {}},
                     "blue_green": {"success_criteria": {}}},
        "rollback": {"trigger": {}, "specific_version": "1"},
    },
    "ROLLBACK": {
        "id": "x", "type": "ROLLBACK", "artifact": {"type": "rule_pack", "id": "p"},
        "target_version": {"specific_version": "1", "last_stable_criteria": {}}, "scope": {"override": {}},
        "verification": {},
    },
    "SIMULATE": {
        "id": "x", "type": "SIMULATE", "artifact": {"type": "rule_pack", "id": "p"},
        "mode": {"type": "replay", "replay": {"time_range": {}}, "monte_carlo": {"distributions": {"a": {"dist": "x"}}},
                 "what_if": {"modifications": [{"type": "rule_disable", "rule_id": "r"}]}},
        "comparison": {}, "analysis": {}, "report": {}, "input": {},
    },
    "BI": {
        "id": "x", "type": "BI",
        "analysis": {
            "type": "trend", "metrics": ["m"], "time_grain": "day", "filters": [{"field": "line_id", "op": "eq"}],
            "time_range": {"start": "2026-01-01", "end": "2026-01-02"}, "bucket_config": {},
            "compare_periods": [{"start": "2026-01-01", "end": "2026-01-02"}], "correlation_pairs": [["m", "n"]],
            "compare_groups": {"dimension": "line_id"}, "anomaly_config": {"algorithm": "zscore", "threshold": 3},
        },
        "visualization": {},
    },
}  # fmt: skip
COMMON: dict[str, Any] = {
    "output": {"transform": {"expression": "."}},
    "retry": {"backoff": {}}, "side_effects": {}, "idempotency": {}, "circuit_breaker": {"on_open": {}, "metrics": {}},
    "checkpoint": {"include": {}, "storage": {}, "retention": {}},
}  # fmt: skip
TOP: dict[str, Any] = {
    "name": "n", "trigger": {"type": "manual", "config": {}}, "context": {}, "metadata": {}, "tags": [],
    "policies": {"compensation": {}, "dlq": {"include": {}, "alerts": {}, "replay": {}}, **COMMON},
}  # fmt: skip
for name in ("side_effects", "output"):
    del TOP["policies"][name]


def whole(type: str) -> dict[str, Any]:
    """A document with a node of this type that is right."""
    node = {**copy.deepcopy(GOOD[type]), **copy.deepcopy(COMMON)}
    nodes = [node, act("y")] if type in ("PARALLEL", "COMPENSATION") else [node]
    return document(nodes)


def top() -> dict[str, Any]:
    return {**document([act("x"), act("z")], ["x>z"]), **copy.deepcopy(TOP)}


def parts(kind: type[Fields], value: dict[str, Any], at: str) -> Iterator[tuple[type[Fields], str]]:
    """Every map in a value that has fields, and where it stands."""
    yield kind, at
    hints = _hints(kind, False)
    for field in msgspec.structs.fields(kind):
        name = next((n for n in (field.encode_name, *_aliases(kind, field.encode_name)) if n in value), None)
        inner = _struct(hints[field.name])
        if name is None or inner is None:
            continue
        held = value[name]
        for one, where in (
            [(held, f"{at}/{name}")]
            if isinstance(held, dict)
            else [(v, f"{at}/{name}/{i}") for i, v in enumerate(held)]
        ):
            yield from parts(inner, one, where)


def _aliases(kind: type[Fields], name: str) -> list[str]:
    return [other for other, known in kind.ALIASES.items() if known == name]


def _struct(hint: Any) -> type[Fields] | None:
    if isinstance(hint, type) and issubclass(hint, Fields):
        return hint
    return next((found for part in get_args(hint) if (found := _struct(part)) is not None), None)


def declared() -> dict[str, set[tuple[str, str]]]:
    """What the reader declares: (who, pointer) of the fields that are required, have choices, or one plain kind."""
    made: dict[str, set[tuple[str, str]]] = {"required": set(), "choices": set(), "kinds": set(), "numbers": set()}
    for who, struct, at in _places():
        made["required"] |= {(who, f"{at}/{name}") for name in struct.REQUIRED}
        for name, hint in hints_of(struct).items():
            if choices(hint):
                made["choices"].add((who, f"{at}/{name}"))
            if plain_type(hint) is not None and name not in ("schema", "$schema"):
                made["kinds"].add((who, f"{at}/{name}"))
            if numeric(hint) and name not in struct.IDLE:
                made["numbers"].add((who, f"{at}/{name}"))
    return made


def _places() -> Iterator[tuple[str, type[Fields], str]]:
    """Every map of every node type, of the document and of an edge."""
    for name, kind in NODE_TYPES.items():
        for struct, at in parts(kind.fields, whole(name)["nodes"][0], "/nodes/0"):
            yield name, struct, at
    for struct, at in parts(TopFields, top(), ""):
        yield "TOP", struct, at
    yield "TOP", EdgeFields, "/edges/0"


def numeric(hint: Any) -> bool:
    """A number, or a list of them."""
    if hint in (int, float):
        return True
    if get_origin(hint) is Annotated:
        return numeric(get_args(hint)[0])
    return any(numeric(part) for part in get_args(hint) if get_origin(hint) is not dict)


def at(document: Any, pointer: str) -> Any:
    found = document
    for step in pointer.split("/")[1:]:
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


@functools.cache
def _hints(struct: type[Fields], include_extras: bool) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=include_extras)


def hints_of(struct: type[Fields]) -> dict[str, Any]:
    plain = _hints(struct, True)
    return {field.encode_name: plain[field.name] for field in msgspec.structs.fields(struct)}


def choices(hint: Any) -> tuple[Any, ...]:
    origin = get_origin(hint)
    if origin is Literal:
        return get_args(hint)
    if origin in (Union, types.UnionType, Annotated):
        return tuple(one for part in get_args(hint)[: 1 if origin is Annotated else None] for one in choices(part))
    return ()


def plain_type(hint: Any) -> Any:
    """str, int, bool … of a field; None where it is something else, or anything."""
    origin = get_origin(hint)
    if origin is Annotated:
        return plain_type(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        known = [one for one in get_args(hint) if one is not type(None)]
        return plain_type(known[0]) if len(known) == 1 else None
    if origin in (list, dict):
        return origin
    return (
        hint
        if hint in (str, int, float, bool)
        else dict
        if isinstance(hint, type) and issubclass(hint, Fields)
        else None
    )


WRONG: dict[Any, tuple[Any, ...]] = {
    str: (5, True, ["x"], {}),
    int: ("five", "5", 1.5, True, []),
    float: ("five", "0.5", False, {}),
    bool: ("yes", "true", 1, 0),
    list: ("one", 1, {}),
    dict: ("map", 1, []),
}
