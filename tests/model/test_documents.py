"""Documents lowered by hand."""

from __future__ import annotations

from tests.model.net import XOR, Body, Edge, Net, Node, Poll, Retry, Trigger
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def test_pipeline_group_resume_runs_only_the_failed_stage():  # F-A.13 inside a parallel group
    net = Net(
        (
            S,
            *chain("s1"),
            Node("g", "scope", body=Body("branches", branches=(("a", "ia", None, None), ("b", "ib", None, None)))),
            Node("ia", "start", scope="g"),
            Node("ib", "start", scope="g"),
            *chain("a", "b", scope="g"),
            *chain("s3"),
            X,
        ),
        edges("s>s1 s1>g g>s3 s3>x ia>a ib>b"),
    )
    sim = Sim(net)
    sim.ok("s1")
    sim.bad("b")
    assert sim.status == "RUNNING"
    sim.ok("a", "A")
    assert sim.status == "FAILED"
    sim.do(c="retry")
    assert sim.effect("b") and not sim.effect("a")
    sim.ok("b", "B")
    assert {k: r["output"] for k, r in sim.state["outputs"]["g"]["output"].items()} == {"a": "A", "b": "B"}
    sim.ok("s3")
    assert sim.status == "COMPLETED"


def test_pipeline_fail_restarts_retry_resumes():  # F-X.6b
    for how, again in (("restart", 2), ("here", 1)):
        net = Net((S, *chain("a"), Node("b", "task", on_final=how), X), edges("s>a a>b b>x"), retry_run=(1, 60))
        sim = Sim(net)
        sim.ok("a")
        sim.bad("b")
        sim.due()
        if how == "restart":
            sim.ok("a")
        sim.ok("b")
        assert sim.status == "COMPLETED" and sim.fired().count("a") == again


def ccp():  # 11.2 lowered by the table
    return Net(
        (
            S,
            *chain("data_ccp", "judge_ccp"),
            Node("switch_ccp", split="first", no_match="end"),
            Node(
                "parallel_response",
                "scope",
                body=Body(
                    "branches", branches=(("alert", "i1", None, None), ("sample", "i2", None, None)), timeout=7_200_000
                ),
            ),
            Node("i1", "start", scope="parallel_response"),
            Node("i2", "start", scope="parallel_response"),
            *chain("action_ccp_alert", "action_sample_request", "action_report", scope="parallel_response"),
            Node(
                "wait_lab",
                "wait",
                scope="parallel_response",
                triggers=(
                    Trigger(
                        "done",
                        "signal",
                        name="lab.result.completed",
                        match=lambda v: v["event"]["sample_id"] == v["nodes"]["action_sample_request"]["id"],
                    ),
                    Trigger("done", "timer", after=7_200_000, action="fail"),
                ),
            ),
        ),
        (
            *edges(
                "s>data_ccp data_ccp>judge_ccp judge_ccp>switch_ccp i1>action_ccp_alert i2>action_sample_request "
                "action_sample_request>wait_lab wait_lab>action_report"
            ),
            Edge(
                "sw", "switch_ccp", "parallel_response", guard=lambda v: v["nodes"]["judge_ccp"]["decision"] != "normal"
            ),
        ),
    )


def test_wf_ccp_normal_and_event():
    sim = Sim(ccp())
    sim.ok("data_ccp")
    sim.ok("judge_ccp", {"decision": "normal"})
    assert sim.status == "COMPLETED" and "parallel_response" not in sim.fired()
    sim = Sim(ccp())
    sim.ok("data_ccp")
    sim.ok("judge_ccp", {"decision": "unknown"})
    sim.ok("action_sample_request", {"id": "S7"})
    assert sim.status == "RUNNING"
    sim.ok("action_ccp_alert")
    assert sim.status == "WAITING"
    sim.do(c="signal", id="1", name="lab.result.completed", payload={"sample_id": "S8"})
    assert sim.status == "WAITING"
    sim.do(c="signal", id="2", name="lab.result.completed", payload={"sample_id": "S7"})
    sim.ok("action_report")
    assert sim.status == "COMPLETED"


def test_wf_ccp_timeout_join_first():  # W-11.2.11
    sim = Sim(ccp())
    sim.ok("data_ccp")
    sim.ok("judge_ccp", {"decision": "high"})
    sim.now = 5000
    sim.ok("action_sample_request", {"id": "S7"})
    sim.ok("action_ccp_alert")
    sim.now = 10**8
    sim.do(c="tick")
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "JOIN_TIMEOUT"


def deploy():  # 11.3 lowered
    def approval(name, quorum):
        return Node(name, "work", quorum=quorum, triggers=(Trigger("rejected", "timer", after=86_400_000),))

    return Net(
        (
            S,
            *chain("load_rule", "simulate_impact"),
            approval("approval_staging", 1),
            *chain("deploy_staging"),
            Node("wait_staging_test", "wait", triggers=(Trigger("done", "timer", after=86_400_000),)),
            Node("switch_prod", split="first", no_match="end"),
            approval("approval_production", 2),
            Node("deploy_production", "task", undo=("comp_rollback",)),
            Node(
                "monitor_deploy",
                "task",
                poll=Poll(
                    300_000,
                    lambda v: v["response"]["progress"] == 100,
                    lambda v: v["response"].get("status") in ("failed", "rolled_back"),
                ),
            ),
            Node("reject", "end", join=XOR, ends="error:REJECTED"),
            Node(
                "comp_rollback", "task", off_path=True, arg=lambda v: v["undone"]["deployment_id"], retry=Retry(5, 2000)
            ),
        ),
        (
            *edges(
                "s>load_rule load_rule>simulate_impact simulate_impact>approval_staging "
                "approval_staging>deploy_staging approval_staging:rejected>reject approval_production:rejected>reject "
                "deploy_staging>wait_staging_test wait_staging_test>switch_prod "
                "approval_production>deploy_production deploy_production>monitor_deploy"
            ),
            Edge("sw", "switch_prod", "approval_production", guard=lambda v: v["input"] == "production"),
        ),
    )


def test_wf_rule_deploy_rollback():
    sim = Sim(deploy(), input="production")
    sim.ok("load_rule")
    sim.ok("simulate_impact")
    assert sim.status == "WAITING"
    sim.do(c="work", item=sim.item("approval_staging"), verb="vote", by="q", vote="approved")
    sim.ok("deploy_staging")
    assert sim.status == "WAITING"
    sim.now = 86_400_000
    sim.do(c="tick")
    i = sim.item("approval_production")
    sim.do(c="work", item=i, verb="vote", by="a", vote="approved")
    assert sim.status == "WAITING"
    sim.do(c="work", item=i, verb="vote", by="b", vote="approved")
    sim.ok("deploy_production", {"deployment_id": "D1"})
    sim.ok("monitor_deploy", {"progress": 10})
    sim.due()
    sim.ok("monitor_deploy", {"progress": 40, "status": "rolled_back"})
    assert sim.status == "COMPENSATING" and next(iter(sim.state["effects"].values()))["arg"] == "D1"
    sim.bad("comp_rollback", "T", "transient")
    sim.due()
    sim.ok("comp_rollback")
    assert sim.status == "COMPENSATED"


def test_wf_rule_deploy_staging_only():
    sim = Sim(deploy(), input="staging")
    sim.ok("load_rule")
    sim.ok("simulate_impact")
    sim.do(c="work", item=sim.item("approval_staging"), verb="vote", by="q", vote="approved")
    sim.ok("deploy_staging")
    sim.now = 86_400_000
    sim.do(c="tick")
    assert sim.status == "COMPLETED"
