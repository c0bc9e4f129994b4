"""Documents of the seeds that are no diagrams, lowered by hand: two workflows, a saga, a pipeline, a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.net.model import (
    INCLUSIVE,
    MERGE,
    Body,
    Branch,
    Breaker,
    Edge,
    Effect,
    Net,
    Node,
    OnError,
    Retry,
    RunRetry,
    Trigger,
    Work,
)
from tests.kernel.nets import edge, edges

HOUR = 3_600_000
DAY = 24 * HOUR


def expr(text: str) -> dict[str, str]:
    return {"$expr": text}


# ---- decision: the common parts of 11.1 and 11.2 ---------------------------------------------------------------------


def step(id: str, executor: str, args: Any, *out: str, timeout_ms: int = 30_000, **more: Any) -> Node:
    """DATA, JUDGMENT, ACTION: a task whose output has the author's name or the derived one (C-10)."""
    breaker = more.pop("breaker", None)
    effect = Effect(executor=executor, args=args, breaker=breaker)
    return Node(id=id, kind="task", join=INCLUSIVE, effect=effect, out=out, timeout_ms=timeout_ms, **more)


def switch(id: str, selector: str, cases: dict[Any, str], default: str = "") -> tuple[Node, list[Edge]]:
    """SWITCH: a route that yields what it saw and chose (W-4.8.5). A goto and an edge to one target are one edge; `goto
    end` is none, so the way out is the first guard that holds, or no way."""
    matched, goto = ("['default']", f"['{default}']") if default else ("[]", "[]")
    for case, target in reversed(cases.items()):
        literal = _literal(case)
        matched = f"fn.if({selector} == {literal}, [{literal}], {matched})"
        goto = f"fn.if({selector} == {literal}, ['{target}'], {goto})"
    value = {"value": expr(selector), "matched": expr(matched), "goto": expr(goto)}
    node = Node(id=id, join=INCLUSIVE, split="first", no_match="end", value=value)
    ways = [
        edge(f"{id}>{target}", guard=f"output.value == {_literal(case)}", label=str(case).lower())
        for case, target in cases.items()
        if target != "end"
    ]
    return node, ways


def _literal(case: Any) -> str:
    return str(case).lower() if isinstance(case, bool) else f"'{case}'"


def net(name: str, language: str, nodes: list[Node], ways: Sequence[str | Edge], **more: Any) -> Net:
    flat: list[Edge] = []
    for way in ways:
        flat += edges(way) if isinstance(way, str) else [way]
    return Net(name=name, language=language, nodes=tuple(nodes), edges=tuple(flat), **more)


# ---- decision: 11.1 wf_defect_alert_v2 -------------------------------------------------------------------------------


def defect_alert() -> Net:
    """11.1. `fn.date_add(fn.now(), -1, 'day')` is written as arithmetic on `now`."""

    def policy(id: str) -> dict[str, Any]:
        fuse = Breaker(name=f"wf_defect_alert_v2/{id}", failure_rate=0.3, window=10, cooldown_ms=60_000)
        return {"retry": Retry(max=2, base_ms=5000), "breaker": fuse}

    def action(id: str, channel: dict[str, Any], template: dict[str, Any], **more: Any) -> Node:
        args = {"channel": channel, "template": template}
        return step(f"action_{id}", "notify", args, id, **policy(f"action_{id}"), **more)

    sql = "SELECT * FROM fact_daily_defect WHERE line_id = :line_id AND date >= :start_date"
    data = {
        "connection": "postgres_main",
        "query": sql,
        "params": {"line_id": expr("input.line_id"), "start_date": expr(f"now - {DAY}")},
    }
    judge = {
        "policy": {"type": "HYBRID", "rule_pack_id": "defect_rules_v3"},
        "data": expr("defect_data"),
        "context": {"line_info": expr("aas.line.${input.line_id}")},
    }
    severity, chosen = switch(
        "switch_severity",
        "judgment_result.decision",
        {"critical": "parallel_emergency", "warning": "action_warning", "normal": "action_log"},
    )
    required, asked = switch(
        "approval_required",
        "(judgment_result.decision == 'critical' && judgment_result.confidence < 0.8)",
        {True: "request_approval"},
        default="end",
    )
    branches = (
        Branch(key="branch_slack", entry="action_slack_emergency"),
        Branch(key="branch_sms", entry="action_sms_manager"),
        Branch(key="branch_ticket", entry="action_create_ticket"),
    )
    inside: dict[str, Any] = {"scope": "parallel_emergency"}
    ticket = {"type": "webhook", "config": {"url": "${secrets.jira_webhook}", "method": "POST"}}
    critical = {"id": "emergency_alert", "params": {"severity": "critical"}}
    nodes = [
        step("data_defect", "sql", data, "defect_data", **policy("data_defect")),
        # what lies outside the run is fetched by an effect of its own, so that it is journaled
        step("judge_quality.aas", "aas", {"path": {"$template": "line.${input.line_id}"}}),
        step("judge_quality", "judgment", judge, "judgment_result", timeout_ms=60_000, **policy("judge_quality")),
        severity,
        Node(id="parallel_emergency", kind="scope", join=INCLUSIVE, body=Body(mode="branches", branches=branches),
             out=("parallel_results",)),
        action("slack_emergency", {"type": "slack"}, critical, **inside),
        action("sms_manager", {"type": "sms"}, {"id": "sms_emergency"}, **inside),
        action("create_ticket", ticket, {"id": "jira_ticket_critical"}, **inside),
        action("warning", {"type": "slack"}, {"id": "warning_alert"}),
        action("log", {"type": "database"}, {"id": "log_normal_check"}),
        required,
        approval("request_approval", "긴급 불량 알람 검토 요청", ["quality_manager"], hours=2),
        Node(id="request_approval.no", kind="end", ends="cancel:REJECTED"),
    ]  # fmt: skip
    ways: list[str | Edge] = [
        "data_defect>judge_quality.aas",
        edge("judge_quality.aas>judge_quality", var="aas"),
        "judge_quality>switch_severity",
        *chosen,
        "parallel_emergency>approval_required action_warning>approval_required",
        *asked,
        "request_approval:rejected>request_approval.no",
    ]
    return net("wf_defect_alert_v2", "decision", nodes, ways, active_timeout_ms=120_000)


def approval(id: str, title: str, targets: list[str], *, hours: int) -> Node:
    """APPROVAL, on_timeout escalate: three levels of the full duration each, then the run fails (C-34)."""
    others = {"type": "role", "targets": ["admin"]}
    triggers = (Trigger(after_ms=hours * HOUR, action="reopen", times=3, value=others, code="APPROVAL_TIMEOUT"),)
    work = Work(quorum=1, candidates={"type": "role", "targets": targets}, prompt={"title": title})
    return Node(id=id, kind="work", join=INCLUSIVE, work=work, triggers=triggers, out=("approval_result",))


# ---- decision: 11.2 wf_ccp_deviation_v2 ------------------------------------------------------------------------------


def ccp_deviation() -> Net:
    """11.2. No policies: no retry, no time limit of the run, no breaker. All output names are derived."""
    data = {
        "query": "SELECT * FROM fact_ccp WHERE line_id = :line_id AND timestamp >= :since",
        "params": {"line_id": expr("input.line_id"), "since": expr(f"now - {HOUR}")},
    }
    judge = {"policy": {"type": "RULE_ONLY", "rule_pack_id": "ccp_rules_v2"}, "data": expr("ccp_data")}
    deviates, chosen = switch("switch_ccp", "(judgment_result.decision != 'normal')", {True: "parallel_response"})
    branches = (
        Branch(key="alert_branch", entry="action_ccp_alert"),
        Branch(key="sample_branch", entry="action_sample_request"),
    )
    inside: dict[str, Any] = {"scope": "parallel_response"}
    alert = {"channel": {"type": "slack"}, "template": {"id": "ccp_deviation_alert"}}
    request = {"channel": {"type": "webhook"}, "template": {"id": "lab_sample_request"}}
    template = {"id": "ccp_report", "params": {"lab_result": expr("lab_result")}}
    triggers = (
        Trigger(
            kind="signal",
            name="lab.result.completed",
            filter={"sample_id": expr("sample_request.id")},
            match="event.sample_id == filter.sample_id",
        ),
        Trigger(after_ms=2 * HOUR, action="fail"),
    )
    nodes = [
        step("data_ccp", "sql", data, "ccp_data"),
        step("judge_ccp", "judgment", judge, "judgment_result", timeout_ms=60_000),
        deviates,
        Node(id="parallel_response", kind="scope", join=INCLUSIVE, out=("parallel_results",),
             body=Body(mode="branches", branches=branches, timeout_ms=7_200_000)),
        step("action_ccp_alert", "notify", alert, "ccp_alert", **inside),
        step("action_sample_request", "notify", request, "sample_request", **inside),
        Node(id="wait_lab", kind="wait", join=INCLUSIVE, triggers=triggers, out=("lab_result",), **inside),
        step("action_report", "notify", {"channel": {"type": "email"}, "template": template}, "report", **inside),
    ]  # fmt: skip
    ways: list[str | Edge] = [
        "data_ccp>judge_ccp judge_ccp>switch_ccp",
        *chosen,
        "action_sample_request>wait_lab wait_lab>action_report",
    ]
    return net("wf_ccp_deviation_v2", "decision", nodes, ways)


# ---- process: P-A.13 -------------------------------------------------------------------------------------------------


def saga(
    classify: Work | None = None, verify: Work | None = None, *, rounds: int = 1, late_success: Any = "ignore"
) -> Net:
    """An activity before a fork, four branches, a join. B undoes two things, D has nothing to undo."""

    def activity(id: str, label: str, work: Work, undo: tuple[str, ...] = (), **more: Any) -> Node:
        effect = Effect(executor="agent", args={"task": label}) if work.agent else None
        return Node(id=id, kind="work", label=label, work=work, effect=effect, undo=undo, **more)

    def handler(id: str, tool: str) -> Node:
        effect = Effect(executor="mcp", args={"tool": tool, "data": expr("undone")})
        return Node(id=id, kind="task", off_path=True, effect=effect)

    agent = Work(agent=True)
    nodes = [
        Node(id="start", kind="start"),
        Node(id="again", join=MERGE),
        activity("P", "자료 수집", agent, ("P.undo",)),
        Node(id="enough", join=MERGE, split="first"),
        Node(id="fork"),
        activity("A", "데이터 수치 검증", verify or agent, ("A.undo",)),
        activity("B", "문서 생성", agent, ("B.undo.1", "B.undo.2")),
        activity("C", "데이터 분류", classify or agent, ("C.undo",), late_success=late_success),
        activity("D", "통지", agent),
        Node(id="join"),
        Node(id="end", kind="end"),
        handler("P.undo", "delete_collection"),
        handler("A.undo", "delete_verification"),
        handler("B.undo.1", "delete_pdf"),
        handler("B.undo.2", "cancel_event"),
        handler("C.undo", "drop_classes"),
    ]
    ways: list[str | Edge] = [
        "start>again again>P P>enough",
        edge("enough>again", guard=f"counters.P < {rounds}"),
        edge("enough>fork", default=True),
        "fork>A fork>B fork>C fork>D A>join B>join C>join D>join join>end",
    ]
    return net("saga", "process", nodes, ways, on_stuck="pause", undo_policy="group")


# ---- pipeline --------------------------------------------------------------------------------------------------------

CONTINUE = (OnError(match="*", action="continue"),)
SKIP = (OnError(match="*", action="skip"),)


def pipeline(max_retries: int = 2, *, resize: dict[str, Any] | None = None) -> Net:
    """fetch; {resize SKIP, ocr RETRY, checksum optional} two at a time; index on a condition; publish FAIL."""

    def stage(id: str, **more: Any) -> Node:
        retries = more.pop("retries", 0)
        effect = Effect(executor="processor", args={"stage": id, "input": expr("default")})
        retry = Retry(max=retries, base_ms=1000, kind="exponential", cap_ms=HOUR)
        return Node(id=id, kind="task", effect=effect, retry=retry, timeout_ms=60_000, **more)

    def hook(id: str) -> Node:
        effect = Effect(executor="processor", args={"undo": expr("undone")})
        return Node(id=id, kind="task", off_path=True, effect=effect)

    members = ("resize", "ocr", "checksum")
    inside: dict[str, Any] = {"scope": "group", "group": "parallelism"}
    body = Body(mode="branches", branches=tuple(Branch(key=m, entry=f"{m}.in") for m in members))
    rollback: dict[str, Any] = {"undo_on": ("cancel",)}
    nodes = [
        Node(id="start", kind="start"),
        stage("fetch", on_final="restart", undo=("fetch.undo",), **rollback),
        Node(id="group", kind="scope", body=body, on_final="member"),
        *(Node(id=f"{m}.in", kind="start", scope="group") for m in members),
        stage("resize", undo=("resize.undo",), **(resize or {"on_error": SKIP}), **rollback, **inside),
        stage("ocr", on_final="here", **inside),
        stage("checksum", on_error=CONTINUE, **inside),
        Node(id="index.if", port="fn.if(input.size <= 1000, 'run', 'skip')"),
        stage("index"),
        Node(id="index.out", join=MERGE),
        stage("publish", retries=1, on_final="restart"),
        Node(id="end", kind="end"),
        hook("fetch.undo"),
        hook("resize.undo"),
    ]
    ways: list[str | Edge] = [
        "start>fetch fetch>group resize.in>resize ocr.in>ocr checksum.in>checksum",
        "group>index.if index.if:run>index index>index.out index.if:skip>index.out index.out>publish publish>end",
    ]
    return net(
        "IMG_BASIC", "pipeline", nodes, ways, limits={"parallelism": 2}, undo_policy="continue",
        run_retry=RunRetry(max=max_retries, delay_ms=60_000),
    )  # fmt: skip


# ---- plan ------------------------------------------------------------------------------------------------------------


def plan(tasks: dict[str, list[str]], *, most: int = 2, priority: dict[str, int] | None = None) -> Net:
    """Tasks and what they depend on; «b?» is an optional dependency on b.

    Every task has a token from the start: that is its `pending`. Without it a plan whose only ready task has failed
    would be at its end, since nothing would be left that waits.
    """
    nodes = [Node(id="start", kind="start")]
    ways: list[Edge] = []
    optional = {one[:-1] for needs in tasks.values() for one in needs if one.endswith("?")}
    for id, needs in tasks.items():
        nodes.append(_plan_task(id, (priority or {}).get(id, 1000)))
        ways.append(edge(f"start>{id}"))
        for one in needs:
            ways += (
                [edge(f"{one}>{id}", guard=f"counters.{id} == 0")]
                if not one.endswith("?")
                else _optional(nodes, one[:-1], id)
            )
        ways += [] if id in optional else edges(f"{id}:failed>over {id}:cancelled>over")
    nodes.append(Node(id="over", kind="end"))
    return net("plan", "plan", nodes, ways, limits={"plan": most}, on_stuck="pause")


def _plan_task(id: str, priority: int) -> Node:
    effect = Effect(executor="agent", args={"task": id})
    retry = Retry(max=3, base_ms=5000, kind="linear")
    failed = (OnError(match="*", action="park:failed"),)
    work = Work(agent=True)
    return Node(
        id=id, kind="work", work=work, effect=effect, retry=retry, on_error=failed, group="plan", priority=priority
    )


def _optional(nodes: list[Node], before: str, after: str) -> list[Edge]:
    """Whatever became of the one, the other goes on, once: a later retry of the one does not start the other again."""
    either = f"{after}?{before}"
    nodes.append(Node(id=either, join=MERGE))
    ways = edges(f"{before}>{either} {before}:failed>{either} {before}:cancelled>{either}")
    return [*ways, edge(f"{either}>{after}", guard="visit == 1")]
