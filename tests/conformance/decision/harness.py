"""The harness of C-05: every sample of the seed, with each alternative of each «a | b» in turn, as a workflow.

A sample stays as it is printed except for the one leaf that is replaced, the other leaves (their first alternative),
and what C-05 allows: the node is wrapped, stub nodes stand for the ids it names, free variables go into the context.
What an alternative cannot do without and the sample does not have (C-36: a default, a target; C-35: a moment; W-4.2.2,
W-4.11.2, W-4.12.1: what a type of analysis or a way back needs) is supplied, too.

Who shows what an alternative does when it runs says so itself: `@shows(section, leaf, alternative, …)` gives a test
those samples, one by one. `@leaves(section, leaf, …)` names what a test shows besides, of leaves that have one value.

`python -m tests.conformance.decision.harness` prints the table: leaf path, alternative, test.
"""

from __future__ import annotations

import ast
import copy
import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.decision.make import act, blocks, data, document, seeds
from tests.conformance.decision.world import TENANT, Door

_WORD = r"[A-Za-z_0-9]+(?:\.[a-z]+)?(?: \+ [a-z_]+)?"
_CHOICE = re.compile(rf"{_WORD}(?: \| {_WORD})+\Z")
#: 3.1 prints types where values stand
_TYPES = {
    "string (UUID or slug)": "wf_sample",
    "string (display name)": "name",
    "string (optional)": "text",
    "string": "text",
    "integer (auto-increment)": 1,
    "integer": 5000,
    "timestamp": "2024-01-10T00:00:00Z",
    "user_id": "user_1",
}
#: W-4.14.1: what the samples read
VARIABLES: dict[str, Any] = {
    "defect_data": [{"line_id": "L01", "defect_rate": 0.12, "defect_count": 3, "date": "2024-01-10"}],
    "judgment_result": {"decision": "critical", "confidence": 0.95, "recommendations": ["stop the line"]},
    "rule_pack": {"id": "quality_rules_v2", "name": "Quality", "version": "2", "summary": "s", "rules": [{"id": "r1"}]},
    "simulation_result": {"summary": {}},
    "rollback_config": {"to": "previous"},
    "sample_request": {"sample_id": "S-1", "id": "S-1"},
    "deploy_result": {"artifact_id": "quality_rules_v2"},
}
#: W-4.2.2, C-50: what each type of analysis needs
ANALYSES: dict[str, dict[str, Any]] = {
    "trend": {},
    "comparison": {"compare_groups": {"dimension": "line_id", "groups": ["L01", "L02"]}},
    "distribution": {"bucket_config": {"field": "defect_rate", "count": 4}},
    "correlation": {"correlation_pairs": [["defect_rate", "yield_rate"]]},
    "anomaly": {"anomaly_config": {"algorithm": "zscore", "threshold": 3}},
}
INPUT = {"line_id": "L01", "target_lines": ["L01"], "item_code": "I-1", "order_id": "O-1"}


@dataclass
class Sample:
    """One sample with one alternative of one leaf chosen; `leaf` is empty for a sample without any."""

    section: str
    name: str
    leaf: str
    alternative: str
    workflow: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.section}-{self.name}" + (f"-{self.leaf}={self.alternative}" if self.leaf else "")

    @property
    def node(self) -> dict[str, Any]:
        """The sample itself, or the node that was made for it."""
        found: dict[str, Any] = self.workflow["nodes"][0]
        return found

    async def run(self, door: Door, given: Any = INPUT, **variables: Any) -> str:
        """Start it as it stands and wait until it has ended, waits or backs off."""
        whole = copy.deepcopy(self.workflow)
        if variables:
            whole["context"]["variables"].update(variables)
        run = await door.start(door.release(json.dumps(whole).encode()), given)
        await door.quiet()
        return run


def samples() -> Iterator[Sample]:
    """Sections 3, 4, 6.3, 7 and 8; own copies."""
    return map(copy.deepcopy, _samples())


@functools.cache
def _samples() -> tuple[Sample, ...]:
    """Made once: the marks of a hundred tests choose from them while the tests are collected."""
    return tuple(
        sample
        for section, block in blocks()
        if section.split(".")[0] in ("3", "4", "6", "7", "8")
        for sample in _of(section, block)
    )


def _of(section: str, block: dict[str, Any]) -> Iterator[Sample]:
    name = _name(section, block)
    leaves = dict(alternatives(block))
    first = {at: options[0] for at, options in leaves.items()}
    chosen = [(at, one) for at, options in leaves.items() for one in options] or [("", "")]
    for leaf, one in chosen:
        made = copy.deepcopy(block)
        for at, value in {**first, **({leaf: one} if leaf else {})}.items():
            _put(made, at, value)
        yield Sample(section, name, leaf, one, _wrapped(section, made))


def _name(section: str, block: dict[str, Any]) -> str:
    if section in ("3.1", "3.2"):
        return "top" if section == "3.1" else str(block["trigger"]["type"])
    return str(block.get("id") or next(iter(block)))


def alternatives(value: Any, at: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every «a | b» below a value of the seed: where it stands, and its words."""
    if isinstance(value, str) and _CHOICE.match(value):
        yield at, value.split(" | ")
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from alternatives(one, f"{at}/{key}" if at else str(key))


def _put(value: Any, at: str, one: Any) -> None:
    *way, last = at.split("/")
    for key in way:
        value = value[int(key)] if isinstance(value, list) else value[key]
    value[last] = one


def _wrapped(section: str, made: dict[str, Any]) -> dict[str, Any]:
    if section == "3.1":
        whole = _typed(made)
        configs = {block["trigger"]["type"]: block["trigger"]["config"] for block in seeds("3.2")}
        whole["tenant_id"] = TENANT  # C-04: nobody else may run it
        whole["trigger"]["config"] = configs.get(whole["trigger"]["type"], {})
        return {**whole, "nodes": [act("x")]}
    if section == "3.2":
        return document([act("x")], **made)
    if "type" in made and "id" in made:
        return _with_stubs(made)
    if "retry" in made or "circuit_breaker" in made or "idempotency" in made:
        return _with_stubs(act("x", **made))
    return document([act("x")], policies=made)


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_typed(one) for one in value]
    return _TYPES.get(value, value) if isinstance(value, str) else value


def _supply(node: dict[str, Any]) -> None:
    """What the chosen type of analysis or way back cannot do without."""
    if node["type"] == "BI":
        node["analysis"] |= copy.deepcopy(ANALYSES[node["analysis"]["type"]])
    if node["type"] == "SIMULATE" and node["mode"]["type"] == "monte_carlo":
        distribution = {"dist": "normal", "mean": 0.03, "sd": 0.02}
        node["mode"]["monte_carlo"] = {"iterations": 200, "seed": 1, "distributions": {"defect_rate": distribution}}
    for block, choice in (("rollback", "to_version"), ("target_version", "strategy")):
        if isinstance(node.get(block), dict) and node[block].get(choice) == "specific":
            node[block]["specific_version"] = "2.0.0"


def _with_stubs(node: dict[str, Any]) -> dict[str, Any]:
    """The node, what an alternative needs, and a stub for every id it names."""
    _supply(node)
    timeout, condition = node.get("timeout") or {}, node.get("condition")
    if node["type"] == "WAIT" and isinstance(condition, dict):
        if timeout.get("on_timeout") == "default_value":
            timeout["default"] = {"status": "unknown"}
        if timeout.get("on_timeout") == "alternative_path":
            timeout["goto"] = "alternative"
        if condition["type"] == "time":
            condition["duration_minutes"] = 5
    named: list[str] = [case["goto"] for case in node.get("cases", ())]
    named += [node["default"]["goto"]] if isinstance(node.get("default"), dict) else []
    named += [id for branch in node.get("branches", ()) for id in branch["nodes"]]
    named += [node["for_node"]] if "for_node" in node else []
    named += ["alternative"] if timeout.get("goto") else []
    breaker = node.get("circuit_breaker") or {}
    named += [breaker["on_open"]["fallback_node"]] if breaker.get("on_open", {}).get("action") == "fallback" else []
    stubs = [data(id) if node["type"] == "COMPENSATION" else act(id) for id in dict.fromkeys(named)]
    own = (node.get("output") or {}).get("variable")
    variables = {name: value for name, value in VARIABLES.items() if name != own}
    return document([node, *stubs], context={"variables": variables, "rag_context": ["similar_judgments"]})


# ---- who shows what --------------------------------------------------------------------------------------------------


def shows(at: str, leaf: str, *alternatives: str) -> pytest.MarkDecorator:
    """The test is run with each of these as `one`. `at` is a section, and the sample's name where it has several."""
    section, _, name = at.partition(" ")
    found = [one for one in _samples() if one.section == section and name in ("", one.name) and one.leaf == leaf]
    chosen = [copy.deepcopy(one) for one in found if one.alternative in alternatives or not leaf]
    assert len(chosen) == max(1, len(alternatives)), f"{at} {leaf} has {[one.alternative for one in found]}"
    return pytest.mark.parametrize("one", chosen, ids=lambda one: one.alternative or one.name)


def leaves(at: str, *paths: str) -> Callable[[Any], Any]:
    """What a test would not find so if the leaf had another value."""
    return lambda test: test


def plain() -> Iterator[tuple[str, str, str, Any]]:
    """Section, sample, path and value of every leaf that has one value; a schema and a list of words are one leaf."""
    for section, block in blocks():
        if section.split(".")[0] in ("3", "4", "6", "7", "8"):
            for path, value in _plain(block, ""):
                yield section, _name(section, block), path, value


def _plain(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    deep = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))
    if not deep or not value or at.endswith("schema"):
        if not (isinstance(value, str) and _CHOICE.match(value)):
            yield at, value
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _plain(one, f"{at}/{key}" if at else str(key))


def _told() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """(decorator, section and name, the rest, test) of every test beside this file."""
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for test in ast.parse(file.read_text("utf-8")).body:
            if not isinstance(test, ast.FunctionDef):
                continue
            for mark in test.decorator_list:
                how = mark.func.id if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) else ""
                if how in ("shows", "leaves") and isinstance(mark, ast.Call):
                    at, *rest = [str(ast.literal_eval(one)) for one in mark.args]
                    yield how, at, tuple(rest), f"{file.name}::{test.name}"


@functools.cache
def shown() -> dict[tuple[str, str, str], str]:
    """Section, leaf, alternative → a test."""
    return {
        (at.split()[0], rest[0], alternative): test
        for how, at, rest, test in _told() if how == "shows" for alternative in rest[1:]
    }  # fmt: skip


@functools.cache
def besides() -> dict[tuple[str, str], str]:
    """Section and sample's name, leaf with one value → a test."""
    return {(at, path): test for how, at, rest, test in _told() if how == "leaves" for path in rest}


def beside(section: str, name: str, path: str) -> str:
    return besides().get((f"{section} {name}", path)) or besides().get((section, path)) or "-"


def table() -> str:
    """Leaf path × alternative × test."""
    lines = []
    for one in samples():
        if one.leaf:
            test = shown().get((one.section, one.leaf, one.alternative), "-")
            lines.append(f"{one.section:5} {one.name:24} {one.leaf:38} {one.alternative:22} {test}")
    return "\n".join(lines)


def rest() -> str:
    """The same for the leaves that have one value."""
    return "\n".join(
        f"{section:5} {name:24} {path:38} {str(value)[:22]:22} {beside(section, name, path)}"
        for section, name, path, value in plain()
    )


if __name__ == "__main__":
    print(table(), rest(), sep="\n\n")
