"""Answers about a rollout as the server would give them, for states that take hours to come."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

ID, REPORT = "dep_0f3a91", "sim_7d11"
MINUTE = timedelta(minutes=1)
#: what each version has, in this stage
OLD: dict[str, Any] = {
    "version": "2.3.1", "role": "old", "error_rate": 0.00506, "errors": 10, "samples": 1975, "latency_p99_ms": 412.0,
    "latency_p50_ms": 61.0, "anomaly_score": 0.21,
}  # fmt: skip
NEW: dict[str, Any] = {
    "version": "2.4.0", "role": "new", "error_rate": 0.00676, "errors": 9, "samples": 1331, "latency_p99_ms": 438.0,
    "latency_p50_ms": 64.0, "anomaly_score": 0.34,
}  # fmt: skip
NONE: dict[str, Any] = {
    "error_rate": None, "errors": 0, "samples": 0, "latency_p99_ms": None, "latency_p50_ms": None,
    "anomaly_score": None,
}  # fmt: skip


def iso(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def stage(percent: int, begins: datetime, status: str, **more: Any) -> dict[str, Any]:
    ends = None if percent == 100 else iso(begins + 60 * MINUTE)
    return {
        "percent": percent, "lines": None, "begins_at": iso(begins), "ends_at": ends, "status": status, "counted": 0,
        "total": 0, "metrics": None, **more,
    }  # fmt: skip


def series(start: datetime, minutes: int) -> list[dict[str, Any]]:
    """A point every four minutes of both versions."""
    points = []
    for at in range(2, minutes, 4):
        for version, level, lag in (("2.3.1", 1.0, 0.0), ("2.4.0", 1.2, 2.0)):
            wave = level * (1 + 0.12 * math.sin(at / 9 + lag) + 0.05 * math.sin(at / 2.3 + lag))
            points.append({
                "at": iso(start + at * MINUTE), "version": version, "error_rate": 0.0055 * wave,
                "latency_p99_ms": 330 * wave, "anomaly_score": 0.25 * wave, "samples": 60,
            })  # fmt: skip
    return points


def rollout(**changes: Any) -> dict[str, Any]:
    """A canary 32 minutes into its second stage, all within limits."""
    now = datetime.now(UTC).replace(microsecond=0)
    start = now - 92 * MINUTE
    second, third, fourth = (start + hours * 60 * MINUTE for hours in (1, 2, 3))
    answer = {
        "deployment_id": ID, "artifact": {"type": "rule_pack", "id": "quality_rules_v2"}, "version": "2.4.0",
        "previous_version": "2.3.1", "to_version": "2.3.1", "environment": "production",
        "scope": {"line_ids": ["L01", "L02", "L03", "L04", "L05", "L06"]}, "strategy": "canary",
        "status": "in_progress", "percent": 40, "progress": 40, "next_at": iso(third), "started_at": iso(start),
        "ended_at": None, "paused_at": None, "run_id": "01KABCDEF7f3c", "rollout_run_id": "d1KABCDEF9a2b",
        "reason": None, "warnings": [], "simulation_id": REPORT,
        "stages": [
            stage(10, start, "done", counted=611, total=6128,
                  metrics={**NEW, "error_rate": 0.005, "latency_p99_ms": 421.0}),
            stage(40, second, "now", counted=1331, total=3306),
            stage(70, third, "next"),
            stage(100, fourth, "next"),
        ],
        "criteria": {"error_rate_max": 0.01, "latency_p99_max_ms": 500},
        "triggers": {"error_rate": 0.05, "latency_p99_ms": 1000, "anomaly_score": 0.8},
        "automatic": True,
        "notify": {"on_start": True, "on_complete": True, "on_rollback": True, "channels": ["slack", "email"]},
        "versions": [OLD, NEW],
        "versions_since_start": [{**OLD, "samples": 7492}, {**NEW, "samples": 1942}],
        "series": series(start, 92),
        "events": [
            {"at": iso(start - 30 * MINUTE), "what": "note", "who": None, "text": "준비 환경 24시간 지남",
             "percent": 0, "metrics": []},
            {"at": iso(start), "what": "begin", "who": None, "text": "", "percent": 10, "metrics": []},
            {"at": iso(second), "what": "advance", "who": None, "text": "", "percent": 40,
             "metrics": [OLD, {**NEW, "error_rate": 0.005, "latency_p99_ms": 421.0}]},
        ],
        "moves": [
            {"move": "pause", "permission": "deploy.pause", "allowed": True},
            {"move": "promote", "permission": "deploy.promote", "allowed": False},
            {"move": "rollback", "permission": "deploy.rollback", "allowed": True},
        ],
    }  # fmt: skip
    return {**answer, **changes}


def without_samples() -> dict[str, Any]:
    """Nothing has been judged in this stage: only time is looked at."""
    empty = [{**OLD, **NONE}, {**NEW, **NONE}]
    return rollout(versions=empty, versions_since_start=empty, series=[], warnings=["no_samples"])


def paused() -> dict[str, Any]:
    now = datetime.now(UTC).replace(microsecond=0)
    moves = [
        {"move": each, "permission": f"deploy.{'pause' if each == 'resume' else each}", "allowed": True}
        for each in ("resume", "promote", "rollback")
    ]
    reason = {"code": "BY_HAND", "metric": None, "value": None, "limit": None, "text": "교대 인수인계", "by": "it"}
    return rollout(status="paused", paused_at=iso(now - 8 * MINUTE), next_at=None, moves=moves, reason=reason)


def rolled_back() -> dict[str, Any]:
    """Its error rate passed the limit, and it went back by itself."""
    now = datetime.now(UTC).replace(microsecond=0)
    whole = rollout()
    stages = [whole["stages"][0], *({**each, "status": "stopped"} for each in whole["stages"][1:])]
    for each in stages[2:]:
        each.update(begins_at=None, ends_at=None)
    reason = {
        "code": "TRIGGER_EXCEEDED", "metric": "error_rate", "value": 0.062, "limit": 0.05,
        "text": "error rate 0.062 > 0.05", "by": None,
    }  # fmt: skip
    bad = {**NEW, "error_rate": 0.062, "errors": 83}
    return rollout(
        status="rolled_back", percent=0, ended_at=iso(now - MINUTE), next_at=None, moves=[], reason=reason,
        stages=stages, versions=[OLD, bad],
    )  # fmt: skip


def report(**changes: Any) -> dict[str, Any]:
    """A replay of seven days: the difference is real, but small."""
    until = datetime.now(UTC).replace(microsecond=0)
    rates = {
        "accuracy": (0.942, 0.961), "false_negative_rate": (0.214, 0.095), "false_positive_rate": (0.025, 0.027),
        "precision": (0.89, 0.9), "recall": (0.786, 0.905), "f1_score": (0.835, 0.902),
    }  # fmt: skip
    result = {
        "summary": {"total_samples": 10000, "baseline_accuracy": 0.942, "simulated_accuracy": 0.961,
                    "improvement": 0.019, "statistical_significance": True},
        "detailed_comparison": [
            *({"metric": name, "baseline": a, "simulated": b, "difference": b - a} for name, (a, b) in rates.items()),
            {"metric": "decision_distribution", "baseline": {"normal": 8420, "warning": 1230, "critical": 350},
             "simulated": {"normal": 8198, "warning": 1428, "critical": 374}},
            {"metric": "processing_time", "baseline": 61.0, "simulated": 64.0, "difference": 3.0},
        ],
        "risk_assessment": {"level": "low", "changed_decisions": 310, "new_false_negatives": 4},
        "recommendation": "deploy",
        "test": {"name": "chi_square", "statistic": 18.5, "p_value": 0.0001, "confidence_level": 0.95,
                 "significant": True, "effect_size": {"name": "Cramér's V", "value": 0.03, "magnitude": "small"}},
        "transitions": {"decisions": ["normal", "warning", "critical"],
                        "counts": [[8170, 236, 14], [26, 1182, 22], [2, 10, 338]]},
        "labelled": 1840,
    } | changes  # fmt: skip
    return {
        "simulation_id": REPORT, "run_id": "01KABCDEF7f3c", "node": "simulate_impact",
        "artifact": {"type": "rule_pack", "id": "quality_rules_v2"}, "candidate_version": "2.4.0",
        "baseline_version": "2.3.1", "mode": "replay", "created_at": iso(until), "until": iso(until),
        "since": iso(until - 7 * 1440 * MINUTE), "reports": ["html", "pdf", "json"], "result": result,
    }  # fmt: skip


def judgments() -> dict[str, Any]:
    at = iso(datetime.now(UTC) - 600 * MINUTE)
    item = {"run": "01KABCDEF0001", "node": "judge_quality", "at": at, "line_id": "L02"}
    return {"items": [{**item, "before": "warning", "after": "normal", "label": "critical"}] * 4}
