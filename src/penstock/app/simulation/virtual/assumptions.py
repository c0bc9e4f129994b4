"""What a simulation assumes where there is no history: durations, outputs, decisions. All of it is reported."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

from penstock.app.simulation.virtual.compared_values import ANY_TEXT, Keys, with_value

#: executor → the middle of its durations in milliseconds
_MIDDLE_MS = {
    "agent": 30_000, "api": 500, "assign": 5, "bi": 800, "cli_agent": 600_000, "code": 200, "context": 100,
    "command": 2_000,
    "dataset": 200, "expression": 1, "file": 20, "handler": 200, "http": 500, "judgment": 1_500, "llm": 4_000,
    "mcp": 1_000, "notify": 300, "person": 4_000, "processor": 2_000, "process_data": 300, "publish": 20,
    "rollback": 1_000, "rollout": 3_600_000, "shape": 1, "simulate": 5_000, "sql": 200, "stream": 1_000,
    "template": 5, "tool": 1_000,
}  # fmt: skip
_OTHER_MS = 1_000
#: a person decides, and news come, in the middle of their times after so long
PERSON_MS, NEWS_MS = 3_600_000, 3_600_000
#: how far durations spread around their middle (sigma of a lognormal distribution): machines, people
_MACHINE_SPREAD, _PERSON_SPREAD = 0.5, 0.8
APPROVED_SHARE = 0.9
DECISIONS = ("normal", "warning", "critical")
#: executor and place in its output → values that are possible whatever the document compares it with
_USUAL: dict[tuple[str, Keys], tuple[str, ...]] = {("judgment", ("decision",)): DECISIONS}


def seeded(seed: str) -> Random:
    """Where a simulation draws from: the same seed gives the same numbers on every machine."""
    return Random(seed)  # noqa: S311 - nobody must be unable to guess them


def middle_ms(executor: str) -> int:
    return _MIDDLE_MS.get(executor, _OTHER_MS)


def machine_ms(draw: Random, executor: str) -> int:
    return spread_ms(draw, middle_ms(executor), _MACHINE_SPREAD)


def person_ms(draw: Random) -> int:
    return spread_ms(draw, PERSON_MS, _PERSON_SPREAD)


def news_ms(draw: Random) -> int:
    return spread_ms(draw, NEWS_MS, _PERSON_SPREAD)


def spread_ms(draw: Random, middle: int, spread: float) -> int:
    return round(middle * math.exp(draw.gauss(0.0, spread)))


def assumed_body(draw: Random, executor: str, args: Any, compared: Mapping[Keys, list[Any]]) -> Any:
    """An output in the shape of the executor's, with the values that the document's expressions compare it with."""
    body = _base(draw, executor, args if isinstance(args, Mapping) else {})
    for keys, values in compared.items():
        if values and not (values == [ANY_TEXT] and _has(body, keys)):
            body = with_value(body, keys, draw.choice(possible_values(executor, keys, values)))
    return body


def _has(body: Any, keys: Keys) -> bool:
    for key in keys:
        if not isinstance(body, dict) or key not in body:
            return False
        body = body[key]
    return True


def possible_values(executor: str, keys: Keys, compared: list[Any]) -> list[Any]:
    """The compared values; where all of them are one word, also another: a document asks because it may differ."""
    usual = _USUAL.get((executor, keys))
    if usual is not None:
        return list(dict.fromkeys([*compared, *usual]))
    if len(compared) == 1 and isinstance(compared[0], str) and compared[0] != ANY_TEXT:
        return [*compared, f"not {compared[0]}"]
    return compared


def _base(draw: Random, executor: str, args: Mapping[str, Any]) -> Any:
    if executor == "judgment":
        return {"decision": draw.choice(DECISIONS), "confidence": 0.9, "reasoning": "", "needs_review": False}
    if executor in ("llm", "person"):
        return draw.choice(("yes", "no")) if args.get("answer") == "yes_no" else "simulated"
    if executor in ("sql", "dataset", "stream"):
        return []
    if executor == "processor":
        stage: dict[str, Any] = {
            "stage": args.get("stage"),
            "output": {},
            "output_ref": None,
            "file": args.get("file"),
            "usage": {},
        }
        return {**stage, "warnings": []}
    if executor == "assign":
        return {"user": None, "rule": args.get("rule"), "of": 0}
    if executor in ("expression", "shape", "template"):
        return None
    return {}


def example_of(schema: Any, draw: Random | None = None, depth: int = 0) -> Any:
    """A value that fits the common part of a JSON schema: default, constant, enumeration, then the type's smallest."""
    if not isinstance(schema, Mapping) or depth > 12:
        return None
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    if isinstance(examples := schema.get("examples"), list) and examples:
        return examples[0]
    if isinstance(choices := schema.get("enum"), list) and choices:
        return draw.choice(choices) if draw is not None else choices[0]
    for several in ("oneOf", "anyOf", "allOf"):
        if isinstance(parts := schema.get(several), list) and parts:
            return example_of(parts[0], draw, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        return {name: example_of(part, draw, depth + 1) for name, part in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [example_of(schema.get("items"), draw, depth + 1) for _ in range(int(schema.get("minItems") or 0))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    if kind == "boolean":
        return draw.choice((True, False)) if draw is not None else False
    return "example".ljust(int(schema.get("minLength") or 0), "x") if kind == "string" else None
