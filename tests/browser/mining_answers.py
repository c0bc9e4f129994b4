"""Answers of process mining that stories are told with: a claim process, counted from its variants."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any
from xml.sax.saxutils import quoteattr

ID, MODEL = "claim_handling", "claim_handling_discovered"
HOUR, DAY, MINUTE = 3_600_000, 86_400_000, 60_000

RECEIVE, CLASSIFY, INSPECT, FIND = "클레임 접수", "내용 분류", "현품 확인", "원인 조사"
JUDGE, APPROVE, PAY, NOTIFY = "책임 판정", "보상 승인", "보상 처리", "고객 통보"
STEPS = (RECEIVE, CLASSIFY, INSPECT, FIND, JUDGE, APPROVE, PAY, NOTIFY)
#: letters as a person would shorten them, cases, which places deviate, and how long they took
VARIANTS: tuple[tuple[tuple[str, ...], int, tuple[int, ...], int], ...] = (
    (STEPS, 610, (), 3 * DAY + 4 * HOUR),
    ((RECEIVE, CLASSIFY, APPROVE, PAY, NOTIFY), 318, (), DAY + 7 * HOUR),
    ((RECEIVE, CLASSIFY, INSPECT, FIND, JUDGE, NOTIFY), 168, (), DAY + 14 * HOUR),
    ((RECEIVE, CLASSIFY, INSPECT, FIND, JUDGE, APPROVE, NOTIFY), 42, (), 2 * DAY + 20 * HOUR),
    ((RECEIVE, CLASSIFY, FIND, JUDGE, APPROVE, PAY, NOTIFY), 40, (2,), 2 * DAY + 15 * HOUR),
    ((RECEIVE, CLASSIFY, INSPECT, FIND, JUDGE, FIND, JUDGE, APPROVE, PAY, NOTIFY), 32, (5, 6), 4 * DAY + 23 * HOUR),
    ((RECEIVE, CLASSIFY, APPROVE, NOTIFY), 26, (), 22 * HOUR),
    ((RECEIVE, CLASSIFY, FIND, JUDGE, NOTIFY), 16, (2,), DAY + HOUR),
    ((RECEIVE, CLASSIFY, INSPECT, FIND, JUDGE, APPROVE, NOTIFY, PAY), 8, (6,), 3 * DAY),
)
WORK = {
    RECEIVE: 6 * MINUTE, CLASSIFY: 11_000, INSPECT: 48 * MINUTE, FIND: 2 * HOUR + 10 * MINUTE, JUDGE: 35 * MINUTE,
    APPROVE: 7 * MINUTE, PAY: 22 * MINUTE, NOTIFY: 14_000,
}  # fmt: skip
WAITS = {
    (RECEIVE, CLASSIFY): 2 * MINUTE, (CLASSIFY, INSPECT): 6 * HOUR, (INSPECT, FIND): 9 * HOUR, (FIND, JUDGE): 14 * HOUR,
    (JUDGE, APPROVE): DAY + 7 * HOUR, (APPROVE, PAY): 4 * HOUR, (PAY, NOTIFY): 8 * HOUR, (CLASSIFY, APPROVE): 18 * HOUR,
    (CLASSIFY, FIND): 3 * HOUR, (JUDGE, FIND): DAY + 2 * HOUR, (JUDGE, NOTIFY): 5 * HOUR, (APPROVE, NOTIFY): 4 * HOUR,
    (NOTIFY, PAY): HOUR,
}  # fmt: skip
AGENT = {CLASSIFY, NOTIFY}
PERIOD = {"from": "2026-08-17T15:00:00Z", "to": "2026-11-15T14:59:59Z"}
CASES = sum(cases for _, cases, _, _ in VARIANTS)


def mined_map(**changed: Any) -> dict[str, Any]:
    return {
        "id": ID, "name": "고객 클레임 처리", "version": 3, "source": "runs", "log_id": None, "period": PERIOD,
        "cases": CASES, "events": sum(len(steps) * cases for steps, cases, _, _ in VARIANTS),
        "median_case_ms": 2 * DAY + 20 * HOUR, "activities": _activities(), "flows": _flows(), "variants": _variants(),
        "variants_total": len(VARIANTS),
        "bottleneck": {
            "source": JUDGE, "target": APPROVE, "share": 0.39, "median_wait_ms": DAY + 7 * HOUR,
            "p95_wait_ms": 3 * DAY + 2 * HOUR, "arrivals_per_day": 12, "people": 2,
        },
        "rework": [{"activity": FIND, "cases": 32, "repeats": 32}],
        "handovers": [{"source": "김서연", "target": "박지훈", "count": 733, "median_wait_ms": DAY + 7 * HOUR}],
        "conformance": {
            "version": 3, "fitting": 1164, "cases": CASES, "fitness": 0.924, "precision": 0.91, "bounded": False,
            "deviations": [
                _deviation("skipped", INSPECT, CLASSIFY, FIND, 56, [5, 8], False),
                _deviation("repeated", FIND, JUDGE, JUDGE, 32, [6], True),
                _deviation("order", PAY, NOTIFY, "", 8, [9], True),
            ],
        },
        "discovered": {"model_id": MODEL, "version": 1, "changes": 3, "would_fit": 1204}, **changed,
    }  # fmt: skip


def _deviation(
    kind: str, activity: str, before: str, after: str, cases: int, variants: list[int], in_discovered: bool
) -> dict[str, Any]:
    return {
        "kind": kind, "activity": activity, "before": before, "after": after, "cases": cases, "variants": variants,
        "in_discovered": in_discovered,
    }  # fmt: skip


def _activities() -> list[dict[str, Any]]:
    times: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for steps, count, _, _ in VARIANTS:
        times.update({step: steps.count(step) * count for step in set(steps)})
        cases.update(dict.fromkeys(set(steps), count))
    return [
        {
            "name": step, "activity_id": f"step_{number}", "count": times[step], "cases": cases[step],
            "starts": sum(count for steps, count, _, _ in VARIANTS if steps[0] == step),
            "ends": sum(count for steps, count, _, _ in VARIANTS if steps[-1] == step),
            "human": 0 if step in AGENT else times[step], "agent": times[step] if step in AGENT else 0,
            "median_work_ms": WORK[step], "p95_work_ms": 3 * WORK[step], "total_work_ms": WORK[step] * times[step],
        }
        for number, step in enumerate(STEPS, 1)
    ]  # fmt: skip


def _flows() -> list[dict[str, Any]]:
    counts: Counter[tuple[str, str]] = Counter()
    cases: dict[tuple[str, str], int] = defaultdict(int)
    for steps, count, _, _ in VARIANTS:
        pairs = list(zip(("", *steps), (*steps, ""), strict=True))
        counts.update({pair: pairs.count(pair) * count for pair in set(pairs)})
        for pair in set(pairs):
            cases[pair] += count
    return [
        {
            "source": source, "target": target, "count": count, "cases": cases[source, target],
            "median_wait_ms": WAITS.get((source, target)),
            "p95_wait_ms": None if (source, target) not in WAITS else 3 * WAITS[source, target],
            "total_wait_ms": WAITS.get((source, target), 0) * count,
        }
        for (source, target), count in counts.items()
    ]  # fmt: skip


def _variants() -> list[dict[str, Any]]:
    return [
        {
            "rank": rank, "activities": list(steps), "cases": count, "share": count / CASES, "median_ms": took,
            "fits": not deviating, "deviating": list(deviating), "case_ids": [f"r{rank}case{n}" for n in range(3)],
        }
        for rank, (steps, count, deviating, took) in enumerate(VARIANTS, 1)
    ]  # fmt: skip


def line(**changed: Any) -> dict[str, Any]:
    whole = mined_map()
    return {
        **{
            name: whole[name]
            for name in ("id", "name", "version", "source", "cases", "events", "median_case_ms", "bottleneck")
        },
        "fitness": 0.924,
        "pending_model": MODEL,
        **changed,
    }


# ---- the discovered model against version 3 ------------------------------------------------------------------------

_SHAPES: dict[str, tuple[str, str, int, int, int, int]] = {
    "start": ("startEvent", "Claim", 210, 92, 36, 36),
    "receive": ("userTask", RECEIVE, 270, 70, 100, 80),
    "classify": ("serviceTask", CLASSIFY, 400, 70, 100, 80),
    "big": ("exclusiveGateway", "How big?", 520, 255, 50, 50),
    "inspect": ("userTask", INSPECT, 610, 240, 100, 80),
    "find": ("userTask", FIND, 740, 240, 100, 80),
    "decide": ("userTask", JUDGE, 870, 240, 100, 80),
    "visit": ("userTask", "Site visit", 610, 345, 100, 66),
    "whose": ("exclusiveGateway", "Whose?", 1000, 255, 50, 50),
    "approve": ("userTask", APPROVE, 970, 460, 100, 80),
    "paid": ("inclusiveGateway", "Pay?", 1110, 475, 50, 50),
    "pay": ("userTask", PAY, 1200, 460, 100, 80),
    "notify": ("serviceTask", NOTIFY, 1200, 70, 100, 80),
    "both": ("inclusiveGateway", "", 1335, 85, 50, 50),
    "end": ("endEvent", "Closed", 1420, 92, 36, 36),
}
_FLOWS: dict[str, tuple[str, str, str, list[tuple[int, int]]]] = {
    "f1": ("start", "receive", "", [(246, 110), (270, 110)]),
    "f2": ("receive", "classify", "", [(370, 110), (400, 110)]),
    "f3": ("classify", "big", "", [(500, 110), (545, 110), (545, 255)]),
    "f4": ("big", "inspect", "", [(570, 280), (610, 280)]),
    "f5": ("inspect", "find", "", [(710, 280), (740, 280)]),
    "f6": ("find", "decide", "", [(840, 280), (870, 280)]),
    "f7": ("decide", "whose", "", [(970, 280), (1000, 280)]),
    "f8": ("whose", "approve", "ours", [(1025, 305), (1025, 460)]),
    "f9": ("whose", "notify", "customer's", [(1050, 280), (1090, 280), (1090, 90), (1200, 90)]),
    "f10": ("big", "approve", "small amount", [(520, 280), (480, 280), (480, 500), (970, 500)]),
    "f11": ("approve", "paid", "", [(1070, 500), (1110, 500)]),
    "f12": ("paid", "pay", "", [(1160, 500), (1200, 500)]),
    "f13": ("paid", "notify", "", [(1135, 475), (1135, 125), (1200, 125)]),
    "f14": ("pay", "notify", "", [(1250, 460), (1250, 150)]),
    "f15": ("notify", "end", "", [(1300, 110), (1420, 110)]),
    "f16": ("big", "visit", "", [(545, 305), (545, 378), (610, 378)]),
    "f17": ("visit", "find", "", [(710, 378), (790, 378), (790, 320)]),
    "back": ("whose", "find", "", [(1025, 255), (1025, 205), (790, 205), (790, 240)]),
    "n1": ("pay", "both", "", [(1300, 500), (1360, 500), (1360, 135)]),
    "n2": ("notify", "both", "", [(1300, 110), (1335, 110)]),
    "n3": ("both", "end", "", [(1385, 110), (1420, 110)]),
}
_NEW, _GONE = {"back", "n1", "n2", "n3", "both"}, {"visit", "f14", "f15", "f16", "f17"}


def bpmn(left_out: set[str]) -> str:
    """The drawing of the claim process without some of its elements."""
    shapes = {id: shape for id, shape in _SHAPES.items() if id not in left_out}
    flows = {id: flow for id, flow in _FLOWS.items() if id not in left_out}
    parts = [f'<bpmn:{type} id="{id}" name={quoteattr(name)}/>' for id, (type, name, *_) in shapes.items()]
    parts += [
        f'<bpmn:sequenceFlow id="{id}" name={quoteattr(name)} sourceRef="{a}" targetRef="{z}"/>'
        for id, (a, z, name, _) in flows.items()
    ]
    drawn = [
        f'<bpmndi:BPMNShape id="{id}_di" bpmnElement="{id}">'
        f'<dc:Bounds x="{x}" y="{y}" width="{w}" height="{h}"/></bpmndi:BPMNShape>'
        for id, (_, _, x, y, w, h) in shapes.items()
    ]
    drawn += [
        f'<bpmndi:BPMNEdge id="{id}_di" bpmnElement="{id}">'
        + "".join(f'<di:waypoint x="{x}" y="{y}"/>' for x, y in points)
        + "</bpmndi:BPMNEdge>"
        for id, (_, _, _, points) in flows.items()
    ]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" '
        'xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" '
        'xmlns:di="http://www.omg.org/spec/DD/20100524/DI" id="d" targetNamespace="urn:claims">'
        f'<bpmn:process id="claims" isExecutable="true">{"".join(parts)}</bpmn:process>'
        f'<bpmndi:BPMNDiagram id="p"><bpmndi:BPMNPlane id="pl" bpmnElement="claims">{"".join(drawn)}</bpmndi:BPMNPlane>'
        "</bpmndi:BPMNDiagram></bpmn:definitions>"
    )


def diff(**changed: Any) -> dict[str, Any]:
    return {
        "id": ID,
        "name": "고객 클레임 처리",
        "base_version": 3,
        "model_id": MODEL,
        "model_version": 1,
        "approval_status": "pending",
        "algorithm": "inductive",
        "period": PERIOD,
        "cases": CASES,
        "events": 8623,
        "precision": 0.93,
        "sound": True,
        "base_bpmn": bpmn(_NEW),
        "model_bpmn": bpmn(_GONE),
        "merged_bpmn": bpmn(set()),
        "changes": [
            _change("added", "path_back", (FIND, JUDGE), ["back"], 32, 198),
            _change("changed", "beside", (NOTIFY, PAY), ["paid", "f13"], 8, 882),
            _change("removed", "step_removed", ("Site visit",), ["visit", "f16", "f17"], 0, None),
            _change("added", "other", (NOTIFY, PAY), ["both", "n1", "n2", "n3"], 1002, None),
            _change("removed", "other", (PAY, NOTIFY), ["f14", "f15"], 1002, None),
        ],
        "replay": {
            "cases": CASES,
            "base_fit": 1164,
            "model_fit": 1204,
            "still": [
                {"kind": "skipped", "activity": INSPECT, "before": CLASSIFY, "after": FIND, "cases": 56, "rule": True}
            ],
        },
        "saved_ms_per_week": 18 * HOUR,
        "approvers": {"permission": "process.model.approve", "mine": True, "needs_two": True, "by_author": False},
        "running": {
            "total": 33,
            "looked_at": 33,
            "can_move": 31,
            "cannot": [{"reason": "they rest in Pay, and in v4 Notify must have started beside it", "count": 2}],
            "at": [
                {"activity": APPROVE, "count": 12},
                {"activity": FIND, "count": 9},
                {"activity": INSPECT, "count": 6},
                {"activity": JUDGE, "count": 4},
            ],
        },
        **changed,
    }


def _change(
    kind: str, shape: str, names: tuple[str, ...], elements: list[str], cases: int, minutes: int | None
) -> dict[str, Any]:
    title, detail = f"{shape}: {' · '.join(names)}", "Changed: the ways around them."
    return {
        "kind": kind,
        "shape": shape,
        "activities": list(names),
        "title": title,
        "detail": detail,
        "elements": elements,
        "cases": cases,
        "saved_ms_per_week": None if minutes is None else minutes * MINUTE,
    }
