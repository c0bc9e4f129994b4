"""Every sample of the seed, alternative by alternative, and its whole workflows: they load clean and become nets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.kernel import command as C
from penstock.lang.decision.nodes import NODE_TYPES
from penstock.net import codec
from penstock.net.checks import check
from penstock.net.compiled import Compiled
from penstock.net.soundness import verdicts
from tests.conformance.decision.harness import INPUT, Sample, samples, shown, table
from tests.conformance.decision.make import blocks, compiled, found, seeds
from tests.kernel.harness import Sim

SAMPLES = list(samples())
#: what is said of a sample that is no mistake: what another type of wait brings, or where nothing else is said
HARMLESS = {"wait_output_from", "idle_setting"}


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: one.id)
def test_a_sample_loads_clean(one: Sample) -> None:
    """C-05, W-4.0.5, W-4.14.1: no error, and a net that passes its checks."""
    assert [str(f) for f in found(one.workflow) if f.rule not in HARMLESS] == []
    net = compiled(one.workflow).net
    assert [f for f in check(net) if f.severity == "error"] == []
    assert codec.decode(codec.encode(net)) == net and Compiled(net).starts
    assert {v.status for v in verdicts(net).values()} <= {"sound", "undecided"}


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: one.id)
def test_a_sample_starts(one: Sample) -> None:
    """C-05: its expressions can be computed from the variables that the harness supplies."""
    m = Sim(compiled(one.workflow).net, INPUT)
    assert m.status in ("RUNNING", "WAITING", "COMPLETED"), m.st.failure


def test_every_alternative_is_there() -> None:
    """C-05: all «a | b» of the samples that this version runs; the table knows who shows what they do."""
    assert set(shown()) <= {(one.section, one.leaf, one.alternative) for one in SAMPLES}
    left = {text for one in SAMPLES for text in re.findall(r'"([^"]* \| [^"]*)"', json.dumps(one.workflow))}
    assert left == {".items | map({code: .item_code, qty: .quantity})"}
    for said in shown().values():
        file, _, name = said.partition("::")
        assert f"def {name}(" in (Path(__file__).parent / file).read_text("utf-8")
    assert len(table().splitlines()) == len([one for one in SAMPLES if one.leaf])


@pytest.mark.parametrize("section", ["11.1", "11.2", "11.3"])
def test_whole_workflows_load_clean(section: str) -> None:
    """W-11.1.1, W-11.2.2, W-11.3.2, W-1.2.1: unmodified, without any finding, sound, one start."""
    (whole,) = seeds(section)
    assert found(whole) == []
    net = compiled(whole).net
    starts = [node.id for node in Compiled(net).starts]
    assert starts == [{"11.1": "data_defect", "11.2": "data_ccp", "11.3": "load_rule"}[section]]
    assert {v.status for v in verdicts(net).values()} == {"sound"}


def test_no_type_of_the_seed_is_refused() -> None:
    """W-4.14.1, W-1.2.1: all thirteen run, and every JSON block that is a node goes through the harness."""
    nodes = {(section, block["id"]) for section, block in blocks() if block.get("type") in NODE_TYPES}
    assert set(NODE_TYPES) == {block["type"] for _, block in blocks() if block.get("type") in NODE_TYPES}
    assert nodes <= {(sample.section, sample.name) for sample in SAMPLES}


EMERGENCY = ("action_slack_emergency", "action_sms_manager", "action_create_ticket")


def defect(decision: str, confidence: float = 0.9) -> Sim:
    (whole,) = seeds("11.1")
    m = Sim(compiled(whole).net, {"line_id": "L01"})
    m.ok("data_defect", [{"defect_rate": 0.12}])
    m.ok("judge_quality.context", {"aas": {"line": {"L01": {"name": "Line 1"}}}, "rag": {}})
    firing = m.asked("judge_quality")
    assert firing is not None and firing.args["context"] == {"line_info": {"name": "Line 1"}}
    m.ok("judge_quality", {"decision": decision, "confidence": confidence})
    return m


def asks(m: Sim) -> list[str]:
    return [m.net.nodes[f.node].id for f in m.effects()]


def test_11_1_runs_as_lowered_by_hand() -> None:
    """W-11.1.3, W-11.1.4, W-11.1.5, W-11.1.7, W-11.1.8, W-11.1.12: every path, the same as the net written by hand."""
    m = defect("normal")
    assert asks(m) == ["action_log"]
    m.ok("action_log")
    assert m.status == "COMPLETED"
    m = defect("unknown")
    assert m.status == "COMPLETED" and m.incidents() == ["SWITCH_NO_MATCH"]
    m = defect("warning")
    m.ok("action_warning")
    assert m.status == "COMPLETED"
    m = defect("critical", 0.8)
    for id in EMERGENCY:
        m.ok(id)
    assert m.status == "COMPLETED"
    m = defect("critical", 0.79)
    assert sorted(asks(m)) == sorted(EMERGENCY)
    for id in EMERGENCY:
        m.ok(id, {"_delivery": {"status": "sent"}})
    m.tick(m.now)
    while m.effects():
        firing = m.effects()[0]
        m.do(C.done(firing.no, firing.attempt, firing.probe, {}))
    assert m.status == "WAITING"
    m.do(C.work(m.item("request_approval"), "vote", "kim", {"vote": "approved"}))
    assert m.status == "COMPLETED"
    names = {
        "defect_data",
        "judgment_result",
        "parallel_results",
        "approval_result",
        "slack_emergency",
        "sms_manager",
        "create_ticket",
    }
    assert names <= set(m.vars())


def test_11_1_one_branch_fails() -> None:
    """W-11.1.11: after two retries of 5000 ms the PARALLEL and the run fail."""
    m = defect("critical")
    m.ok("action_sms_manager"), m.ok("action_create_ticket")
    for attempt in range(3):
        m.bad("action_slack_emergency", "HTTP_5XX", "external")
        if attempt < 2:
            m.tick()
    assert m.status == "FAILED" and m.now == 10_000


def test_11_2_runs_as_lowered_by_hand() -> None:
    """W-11.2.3, W-11.2.4, W-11.2.5, W-11.2.6, W-11.2.7, W-11.2.8, W-11.2.9, W-11.2.10."""
    (whole,) = seeds("11.2")
    m = Sim(compiled(whole).net, {"line_id": "L01"})
    m.ok("data_ccp", [{"v": 1}])
    m.ok("judge_ccp", {"decision": "normal"})
    assert m.status == "COMPLETED"
    m = Sim(compiled(whole).net, {"line_id": "L01"})
    m.ok("data_ccp", [{"v": 1}]), m.ok("judge_ccp", {"decision": "warning"})
    assert sorted(asks(m)) == ["action_ccp_alert", "action_sample_request"]
    m.ok("action_ccp_alert"), m.ok("action_sample_request", {"id": "S-1"})
    assert m.status == "WAITING"
    m.crash()
    m.do(C.signal("", "lab.result.completed", {"sample_id": "S-2"}))
    assert m.status == "WAITING"
    m.do(C.signal("", "lab.result.completed", {"sample_id": "S-1", "ok": True}))
    firing = m.asked("action_report")
    assert firing is not None and firing.args["template"]["params"] == {"lab_result": {"sample_id": "S-1", "ok": True}}
    m.ok("action_report")
    assert m.status == "COMPLETED"


def test_11_2_nothing_comes() -> None:
    """W-11.2.11, C-72: the join's time is over first; category timeout; the alert's result is kept."""
    (whole,) = seeds("11.2")
    m = Sim(compiled(whole).net, {"line_id": "L01"})
    m.ok("data_ccp", []), m.ok("judge_ccp", {"decision": "warning"})
    m.ok("action_ccp_alert", {"sent": 1})
    m.now = 5
    m.ok("action_sample_request", {"id": "S-1"})
    m.tick(7_200_000)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.category == "timeout"
    assert m.vars()["ccp_alert"] == {"sent": 1}


def test_documents_do_not_change_by_being_read() -> None:
    """W-3.1.2: what is given is left as it was."""
    (whole,) = seeds("11.1")
    before = json.dumps(whole)
    compiled(whole)
    assert json.dumps(whole) == before
