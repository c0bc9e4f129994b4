"""The dry run of a document: what it reaches, evaluates, cannot resolve, and would have done to the world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.releases.documents import compile_source
from penstock.app.simulation.dry_run import DryRun, dry_run
from penstock.app.simulation.report import simulate
from penstock.app.simulation.subject import of_document, of_net
from penstock.app.simulation.virtual.assumed_rollouts import AssumedRollouts
from penstock.app.simulation.virtual.compared_values import compared_values
from penstock.app.simulation.virtual.effect_kinds import kind_of
from penstock.errors import BadInput
from penstock.net.compiled import Compiled
from penstock.net.model import MERGE, Edge, Effect, Net, Node
from tests.conformance.decision.make import act, approval, document, judge, switch, value, wait

NOW = 1_790_000_000_000
ROOT = Path(__file__).parents[3]


def net_of(body: dict[str, Any]) -> Net:
    return compile_source(json.dumps(body).encode(), name="test")[0].net


def ran(body: dict[str, Any], input: Any = None, **more: Any) -> DryRun:
    return dry_run(net_of(body), input or {}, now=NOW, **more)


def checked() -> dict[str, Any]:
    nodes = [
        judge("judge", type="RULE_ONLY"),
        switch(
            "which", "${judgment_result.decision}", [("critical", "stop"), ("warning", "warn")], default={"goto": "end"}
        ),
        approval("stop", "qa"),
        act("warn", message="${input.line}: ${judgment_result.decision}"),
    ]
    return document(nodes, ("judge>which",))


def test_the_example_is_dry_run_to_its_end() -> None:
    """W-9.4.2: nodes reached, expressions evaluated, unresolved references, recorders for whatever has side effects."""
    net = compile_source(ROOT / "examples/decision/defect_alert.json")[0].net
    report = dry_run(net, {"line_id": "L1"}, now=NOW)
    assert report.status == "COMPLETED" and report.unresolved == [] and report.ok
    assert report.unreached == [] and len(report.reached) == 12  # every branch is taken by some variation
    texts = {(use.node, use.text): use.value for use in report.expressions}
    assert texts["data_defect", "${input.line_id}"] == "L1"
    assert texts["switch_severity", "${judgment_result.decision}"] in ("critical", "warning", "normal")
    sent = {record.node: record.executor for record in report.effects if record.kind == "send"}
    assert set(sent) == {
        "action_slack_emergency", "action_sms_manager", "action_create_ticket", "action_warning", "action_log",
    }  # fmt: skip
    assert report.refused["ask"] == 1 and report.refused["deploy"] == 0


def test_what_is_refused_is_counted() -> None:
    """W-9.4.2: five messages would have been sent: refused five times, and each with what it would have said."""
    nodes = [act(f"tell_{i}", message=f"{i}: ${{input.line}}") for i in range(5)]
    report = ran(document(nodes, ("tell_0>tell_1 tell_1>tell_2 tell_2>tell_3 tell_3>tell_4",)), {"line": "L7"})
    assert report.refused == {"send": 5, "write": 0, "deploy": 0, "run": 0, "ask": 0}
    assert "3: L7" in json.dumps(next(record.args for record in report.effects if record.node == "tell_3"))


def test_a_reference_that_leads_nowhere_is_listed() -> None:
    """W-9.4.2: a division by a text cannot be evaluated; the run would fail there, and the report says where."""
    report = ran(document([value("half", "input.amount / 2"), act("tell")], ("half>tell",)), {"amount": "many"})
    assert report.status == "FAILED" and not report.ok
    assert report.failure is not None and report.failure["node"] == "half"
    assert report.unreached == ["tell"]


def test_an_expression_that_fails_is_unresolved() -> None:
    report = ran(document([act("tell", message="${input.amount / 2}")]), {"amount": "many"})
    (problem,) = report.unresolved
    assert (problem.node, problem.code) == ("tell", "EXPR_TYPE") and "input.amount / 2" in problem.text
    assert not report.ok


def test_given_answers_decide_the_way() -> None:
    report = ran(checked(), {"line": "L1"}, answers={"judge": {"decision": "critical"}, "stop": "rejected"})
    assert {node.id: node.reached for node in report.nodes if node.reached}.keys() == {"judge", "which", "stop"}
    assert report.status == "CANCELLED" and report.unreached == ["warn", "end"]
    sources = {node.id: node.source for node in report.nodes}
    assert sources["judge"] == sources["stop"] == "given"


def test_an_answer_of_a_node_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput) as error:
        ran(checked(), answers={"jugde": {}})
    assert "jugde" in str(error.value) and "«judge»" in error.value.facts["hint"]


def test_a_deployment_takes_its_stages_and_is_refused() -> None:
    """W-11.3.9 in virtual time: two deployments are refused, a day of staging passes, the canary is not waited for."""
    net = compile_source(ROOT / "examples/decision/rule_deploy.json")[0].net
    report = dry_run(net, {"rule_pack_id": "quality_rules_v2", "target_env": "production"}, now=NOW)
    assert report.status == "COMPLETED" and report.refused["deploy"] == 2 and report.unreached == []
    assert report.duration_ms > 86_400_000
    begun = next(record.args for record in report.effects if record.node == "deploy_production.begin")
    assert begun["request"]["artifact"] == {"type": "rule_pack", "id": "quality_rules_v2"}
    staged = dry_run(net, {"rule_pack_id": "quality_rules_v2", "target_env": "staging"}, now=NOW)
    assert staged.refused["deploy"] == 1 and "deploy_production" in staged.unreached


def test_stages_of_a_canary_take_the_time_that_the_document_gives_them() -> None:
    """10 → 40 → 70 → 100 with an hour each: three hours."""
    canary = {"initial_percent": 10, "increment_percent": 30, "interval_minutes": 60}
    rollouts = AssumedRollouts()
    took, begun = rollouts.answer({"op": "begin", "request": {"strategy": {"type": "canary", "canary": canary}}}, NOW)
    after, ended = rollouts.answer({"op": "look", "deployment_id": begun["deployment_id"]}, NOW + took)
    assert after == 3 * 3_600_000 and ended["status"] == "succeeded" and ended["settled"]
    took, other = rollouts.answer({"op": "begin", "request": {"strategy": {"type": "immediate"}}}, NOW)
    assert rollouts.answer({"op": "look", "deployment_id": other["deployment_id"]}, NOW + took)[0] == 0


def test_what_is_called_is_simulated_too() -> None:
    """Three items, three virtual runs of the called diagram, each with its own effect."""
    compiled = compile_source(ROOT / "examples/diagram/calls.yaml")[0]
    subject = of_document(ROOT / "examples/diagram/calls.yaml", None)
    assert list(subject.called) == list(compiled.children)
    report = dry_run(compiled.net, {}, now=NOW, called=subject.called)
    assert report.status == "COMPLETED" and report.refused["ask"] == 3
    assert [record.node for record in report.effects if record.kind == "ask"] == ["Greet all.item/Greet"]


def test_values_are_drawn_from_what_the_document_compares_with() -> None:
    compared = compared_values(Compiled(net_of(checked())))
    assert compared["judge"]["decision",] == ["critical", "warning"]


def test_a_wait_takes_virtual_time() -> None:
    """An hour passes, and nobody waits for it."""
    report = ran(document([wait("pause", {"type": "time", "duration_seconds": 3600}), act("tell")], ("pause>tell",)))
    assert report.status == "COMPLETED" and 3_600_000 <= report.duration_ms < 3_700_000


def test_a_loop_that_nothing_ends_is_given_up() -> None:
    """A net that waits for nothing and never ends: after so many turns the report says so instead of going on."""
    ring = (Edge(id="s>a", src="s", dst="a"), Edge(id="a>a", src="a", dst="a"))
    task = Node(id="a", kind="task", join=MERGE, effect=Effect(executor="notify"))
    net = Net(name="ring", nodes=(Node(id="s", kind="start"), task), edges=ring, max_visits=10**9)
    report = dry_run(net, {}, now=NOW, variations=1)
    assert report.status == "ENDLESS" and not report.ok


@pytest.mark.parametrize(
    ("executor", "args", "kind"),
    [
        ("http", {"method": "get"}, "read"),
        ("http", {"method": "POST"}, "send"),
        ("api", {}, "read"),
        ("file", {"operation": "write"}, "write"),
        ("file", {}, "read"),
        ("judgment", {"policy": {"type": "RULE_ONLY"}}, "compute"),
        ("judgment", {"policy": {"type": "HYBRID"}}, "ask"),
        ("rollout", {"op": "begin"}, "deploy"),
        ("rollout", {"op": "look"}, "read"),
        ("rollback", {}, "deploy"),
        ("template", {"output_path": "a.txt"}, "write"),
        ("somebody's own", {}, "run"),
    ],
)
def test_kinds_of_effects(executor: str, args: dict[str, Any], kind: str) -> None:
    assert kind_of(executor, args) == kind


def test_a_report_holds_no_secret() -> None:
    """References to secrets are shown as the author wrote them; members that are called so are masked."""
    config = {"url": "https://example.com/${secrets.hook}"}
    body = document([act("tell", channel={"type": "webhook", "config": config}, message="x")])
    report = ran(body, {"password": "hunter2-hunter2"})
    text = json.dumps(report.as_json(), ensure_ascii=False)
    assert "${secrets.hook}" in text and "§" not in text
    shown = ran(document([value("all", "input")]), {"password": "hunter2-hunter2"})
    assert "hunter2" not in json.dumps(shown.as_json())


def test_inputs_that_a_schema_allows_are_varied() -> None:
    """W-9.4.2: the seed's rule deployment without an input: its schema names two environments, and only one of them
    leads to the second half of the document."""
    subject = of_document(ROOT / "examples/decision/rule_deploy.json", None)
    assert subject.inputs_from == "schema" and {each["target_env"] for each in subject.inputs} == {
        "staging", "production",
    }  # fmt: skip
    report = simulate(subject, runs=0).dry_run
    assert report is not None and report.unreached == []


def test_values_that_are_compared_are_inputs_if_the_schema_allows_them() -> None:
    """W-9.4.2: both sides of a comparison are tried; what the schema forbids is no input."""
    schema = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number", "minimum": 100}}}
    nodes = [switch("which", "${input.amount > 500}", [(True, "large")], default={"goto": "end"}), act("large")]
    subject = of_net(Compiled(net_of({**document(nodes), "input_schema": schema})), None)
    amounts = {each["amount"] for each in subject.inputs}
    assert min(amounts) == 100 and max(amounts) > 500 and subject.inputs[0] == {"amount": 100}
    report = simulate(subject, runs=0).dry_run
    assert report is not None and report.unreached == []
    below = [switch("which", "${input.amount < 50}", [(True, "small")], default={"goto": "end"}), act("small")]
    subject = of_net(Compiled(net_of({**document(below), "input_schema": schema})), None)
    assert subject.inputs == [{"amount": 100}]
    report = simulate(subject, runs=0).dry_run
    assert report is not None and report.unreached == ["small"]
