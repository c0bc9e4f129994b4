"""Schedules of pipelines: exactly one time, a zone that exists, a filter over files (F-1.5, F-X.11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.lang.pipeline.conditions import compiled_condition
from penstock.lang.pipeline.schedules import Schedule, read_schedule
from penstock.lang.read import read_document
from penstock.lang.report import Report

CRON = {"schedule_name": "nightly", "schedule_type": "CRON", "cron_expression": "30 2 * * *"}


def read(data: Any) -> tuple[Schedule, list[tuple[str, str]]]:
    document = read_document(json.dumps(data).encode(), name="s.json")
    report = Report(document)
    schedule = read_schedule(document, report)
    assert all(f.hint for f in report.findings)
    return schedule, [(f.rule, f.where.pointer) for f in report.findings]


@pytest.mark.parametrize(
    "data",
    [
        CRON,
        {**CRON, "timezone": "America/New_York", "is_active": 0, "execution_params": {"a": 1}},
        {"schedule_name": "n", "schedule_type": "INTERVAL", "interval_seconds": 1},
        {"schedule_name": "n", "schedule_type": "ONCE", "next_execution_at": "2026-11-15T09:00:00Z"},
    ],
)
def test_f_1_5_5_f_x_11_the_three_types(data: dict[str, Any]) -> None:
    schedule, problems = read(data)
    assert problems == [] and schedule.fields.schedule_name and schedule.files is None


def test_f_1_5_10_f_1_5_11_defaults() -> None:
    schedule, _ = read(CRON)
    assert schedule.fields.timezone == "UTC" and schedule.fields.is_active is True


@pytest.mark.parametrize(
    ("more", "rule", "at"),
    [
        ({"cron_expression": None}, "missing_field", ""),
        ({"cron_expression": "61 * * * *"}, "bad_duration", "/cron_expression"),
        ({"interval_seconds": 5}, "schedule_times", "/interval_seconds"),
        ({"timezone": "Mars/Base"}, "wrong_type", "/timezone"),
        ({"timezone": "../etc/passwd"}, "wrong_type", "/timezone"),
        ({"schedule_type": "DAILY"}, "wrong_type", "/schedule_type"),
        ({"schedule_type": "INTERVAL", "cron_expression": None, "interval_seconds": 0}, "wrong_type",
         "/interval_seconds"),
        ({"schedule_type": "ONCE", "cron_expression": None, "next_execution_at": "soon"}, "bad_duration",
         "/next_execution_at"),
        ({"schedule_name": ""}, "missing_field", ""),
        ({"target_filter": {"last": "1 hour"}}, "bad_duration", "/target_filter/last"),
        ({"target_filter": {"field": "nothing", "op": "eq", "value": 1}}, "condition_field", "/target_filter/field"),
        ({"cron": "* * * * *"}, "unknown_field", "/cron"),
    ],
)  # fmt: skip
def test_f_x_11_what_is_wrong_is_told_at_its_place(more: dict[str, Any], rule: str, at: str) -> None:
    assert (rule, at) in read({**CRON, **more})[1]


@pytest.mark.parametrize(
    ("target", "age_ms", "size", "holds"),
    [
        ({"last": "PT1H"}, 3_600_000, 1, True),
        ({"last": "PT1H"}, 3_600_001, 1, False),
        ({"last": "PT1H", "field": "size", "op": "gt", "value": 5}, 1, 6, True),
        ({"last": "PT1H", "field": "size", "op": "gt", "value": 5}, 1, 5, False),
        ({"all": [{"last": "P1D"}, {"field": "size", "op": "gt", "value": 5}]}, 86_400_000, 6, True),
        ({"any": [{"last": "P1D"}, {"field": "size", "op": "gt", "value": 5}]}, 86_400_001, 5, False),
    ],
)
def test_f_x_11_the_filter_over_files(target: Any, age_ms: int, size: int, holds: bool) -> None:
    schedule, problems = read({**CRON, "target_filter": target})
    assert problems == [] and schedule.files is not None
    assert compiled_condition(schedule.files)({"age_ms": age_ms, "size": size}) is holds
