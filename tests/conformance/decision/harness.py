"""The harness of C-05: every sample of the seed, with each alternative of each «a | b» in turn, as a workflow.

A sample stays as it is printed except for the one leaf that is replaced, the other leaves (their first alternative),
and what C-05 allows: the node is wrapped, stub nodes stand for the ids it names, free variables go into the context.
What an alternative cannot do without and the sample does not have (C-36: a default, a target; C-35: a moment) is
supplied, too.

`python -m tests.conformance.decision.harness` prints the table: leaf path, alternative, test.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.lang.decision.nodes import LATER
from tests.conformance.decision.make import act, blocks, data, document

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
INPUT = {"line_id": "L01", "target_lines": ["L01"], "item_code": "I-1", "order_id": "O-1"}
#: who shows what an alternative does when it runs: section, leaf, alternative, test; others have no run test yet
_RUN = """
4.3 policy/type ESCALATE test_policies.py::test_a_person_judges
4.4 fallback/on_error skip test_policies.py::test_mcp_fallbacks
4.4 fallback/on_error fail test_policies.py::test_mcp_fallbacks
4.4 fallback/on_error default_value test_policies.py::test_mcp_fallbacks
4.4 fallback/on_error alternative_server test_policies.py::test_an_alternative_server
4.6 request/priority high test_approval.py::test_what_those_who_decide_are_shown
4.6 request/approvers/type user test_approval.py::test_min_approvals_distinct_people
4.6 request/approvers/type role test_approval.py::test_min_approvals_distinct_people
4.6 request/approvers/type group test_approval.py::test_min_approvals_distinct_people
4.6 request/approvers/type any_of test_approval.py::test_min_approvals_distinct_people
4.6 request/approvers/type all_of test_approval.py::test_all_of_needs_every_target
4.6 timeout/on_timeout reject test_approval.py::test_time_is_over_and_it_is_rejected
4.6 timeout/on_timeout escalate test_approval.py::test_escalation_goes_to_others_three_times
4.6 timeout/on_timeout auto_approve test_approval.py::test_time_is_over_and_it_is_approved
4.7 condition/type event test_wait.py::test_an_event_whose_filter_matches_resumes
4.7 condition/type time test_wait.py::test_a_moment
4.7 condition/type polling test_wait.py::test_polling
4.7 condition/type manual test_wait.py::test_a_manual_go
4.7 timeout/on_timeout fail test_wait.py::test_time_is_over_and_it_fails
4.7 timeout/on_timeout skip test_wait.py::test_time_is_over_and_it_is_skipped
4.7 timeout/on_timeout default_value test_wait.py::test_time_is_over_and_there_is_a_default
4.7 timeout/on_timeout alternative_path test_wait.py::test_time_is_over_and_another_way_is_taken
4.7 output/from event.payload test_wait.py::test_a_part_of_the_news
4.7 output/from polling.response test_wait.py::test_a_part_of_the_news
4.8 multi_match/mode first test_switch.py::test_several_matches
4.8 multi_match/mode all test_switch.py::test_several_matches
4.8 multi_match/mode priority test_switch.py::test_several_matches
4.9 join/strategy all test_parallel.py::test_all_waits_for_every_branch_also_after_a_failure
4.9 join/strategy any test_parallel.py::test_any_takes_the_first_success
4.9 join/strategy n_of test_parallel.py::test_n_of
4.9 join/on_partial_failure continue test_parallel.py::test_partial_failure
4.9 join/on_partial_failure fail test_parallel.py::test_partial_failure
4.9 join/on_partial_failure compensate test_parallel.py::test_partial_failure_that_compensates
4.9 output/merge_strategy array test_parallel.py::test_how_results_are_merged
4.9 output/merge_strategy object test_parallel.py::test_how_results_are_merged
4.9 output/merge_strategy first_success test_parallel.py::test_the_first_success_in_time
7.2 retry/backoff/type exponential test_policies.py::test_delays
7.2 retry/backoff/type linear test_policies.py::test_delays
7.2 retry/backoff/type fixed test_policies.py::test_delays
7.3 circuit_breaker/on_open/action skip test_policies.py::test_an_open_breaker_skips_or_fails
7.3 circuit_breaker/on_open/action fail test_policies.py::test_an_open_breaker_skips_or_fails
7.3 circuit_breaker/on_open/action fallback test_policies.py::test_a_fallback_stands_in
"""
SHOWN = {(s, leaf, one): test for s, leaf, one, test in (line.split() for line in _RUN.strip().splitlines())}


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


def samples() -> Iterator[Sample]:
    """Sections 3, 4.1 to 4.10, 6.3, 7 and 8, without the types that this version does not run."""
    for section, block in blocks():
        if section.split(".")[0] not in ("3", "4", "6", "7", "8") or block.get("type") in LATER:
            continue
        yield from _of(section, block)


def _of(section: str, block: dict[str, Any]) -> Iterator[Sample]:
    name = str(block.get("id") or next(iter(block)))
    leaves = dict(_leaves(block, ""))
    first = {at: options[0] for at, options in leaves.items()}
    chosen = [(at, one) for at, options in leaves.items() for one in options] or [("", "")]
    for leaf, one in chosen:
        made = copy.deepcopy(block)
        for at, value in {**first, **({leaf: one} if leaf else {})}.items():
            _put(made, at, value)
        yield Sample(section, name if section != "3.1" else "top", leaf, one, _wrapped(section, made))


def _leaves(value: Any, at: str) -> Iterator[tuple[str, list[str]]]:
    if isinstance(value, str) and _CHOICE.match(value):
        yield at, value.split(" | ")
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _leaves(one, f"{at}/{key}" if at else str(key))


def _put(value: Any, at: str, one: Any) -> None:
    *way, last = at.split("/")
    for key in way:
        value = value[int(key)] if isinstance(value, list) else value[key]
    value[last] = one


def _wrapped(section: str, made: dict[str, Any]) -> dict[str, Any]:
    if section == "3.1":
        whole = _typed(made)
        configs = {
            block["trigger"]["type"]: block["trigger"]["config"] for number, block in blocks() if number == "3.2"
        }
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


def _with_stubs(node: dict[str, Any]) -> dict[str, Any]:
    """The node, what an alternative needs, and a stub for every id it names."""
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


def table() -> str:
    """Leaf path × alternative × test."""
    lines = []
    for one in samples():
        if one.leaf:
            shown = SHOWN.get((one.section, one.leaf, one.alternative), "-")
            lines.append(f"{one.section:5} {one.name:24} {one.leaf:38} {one.alternative:22} {shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
