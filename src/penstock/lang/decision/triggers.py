"""Checks the settings of a trigger (W-3.2): schedules, events and webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.expr.cron import CATCH_UPS, OVERLAPS, cron_problem, zone_of
from penstock.expr.filters import problems, unranked
from penstock.lang.decision import limits
from penstock.lang.decision.workflow import TriggerFields
from penstock.lang.document import child_pointer
from penstock.lang.report import Report

METHODS = ("POST", "PUT")
#: Rule, message, and pointer below the trigger's config.
Problem = tuple[str, str, str]


#: C-30: the hint for a word that is on no scale.
_SCALE_HINT = "Write a word of the scale, or give the tenant one of its own."


def check_trigger(trigger: TriggerFields | None, report: Report) -> None:
    if trigger is None:
        return
    config, at = trigger.config, "/trigger/config"
    for rule, message, where in trigger_problems(trigger.type, config):
        report.error(rule, message, at + where, hint="Correct the trigger's config.")
    if trigger.type == "schedule":
        _check_schedule(config, at, report)
    elif trigger.type == "event":
        _check_event(config, at, report)
    elif trigger.type == "webhook" and config.get("auth") not in (None, "bearer_token"):
        message = f"«{config.get('auth')}» is no way to log in here."
        report.error("webhook_auth", message, f"{at}/auth", hint="Write bearer_token.")


def _check_event(config: dict[str, Any], at: str, report: Report) -> None:
    if not isinstance(config.get("source"), str) or not config["source"]:
        hint = 'Write `"source": "mes.defect.detected"`.'
        report.error("missing_field", "«source» is missing.", at, hint=hint)
    for where, why in problems(config.get("filter") or {}):
        hint = "The operators of filters are $eq $ne $gt $gte $lt $lte $in $nin $exists $regex $and $or $not."
        report.error("filter_operator", f"The filter cannot be meant so: {why}.", f"{at}/filter{where}", hint=hint)
    for where, why in unranked(config.get("filter")):
        report.warning("filter_scale", f"{why}.", f"{at}/filter{where}", hint=_SCALE_HINT)


def _check_schedule(config: dict[str, Any], at: str, report: Report) -> None:
    cron, zone = config.get("cron"), config.get("timezone")
    problem = cron_problem(str(cron)) if cron is not None else None
    if cron is None:
        report.error("missing_field", "«cron» is missing.", at, hint='Write `"cron": "0 8 * * *"`.')
    elif problem is not None:
        hint = "Five fields: minute, hour, day, month, weekday, such as `0 8,14,20 * * *`."
        report.error("cron_syntax", f"«{cron}» is no schedule: {problem}.", child_pointer(at, "cron"), hint=hint)
    if zone is not None and zone_of(str(zone)) is None:
        hint = "Write a name of the IANA table, such as Asia/Seoul."
        report.error("timezone_known", f"There is no time zone «{zone}».", child_pointer(at, "timezone"), hint=hint)


def trigger_problems(kind: str | None, config: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with a schedule's or a webhook's settings; also used when a trigger is registered."""
    if kind == "schedule":
        return list(_schedule(config))
    return list(_webhook(config)) if kind == "webhook" else []


def _schedule(config: Mapping[str, Any]) -> Iterator[Problem]:
    for name, known in (("overlap", OVERLAPS), ("catch_up", CATCH_UPS)):
        if config.get(name, known[0]) not in known:
            yield "schedule_policy", f"«{config[name]}» is none of {', '.join(known)}.", f"/{name}"
    if "input" in config and not isinstance(config["input"], Mapping):
        yield "schedule_input", "«input» is an object.", "/input"
    inputs = config.get("inputs", [])
    if not isinstance(inputs, list) or not all(isinstance(input, Mapping) for input in inputs):
        yield "schedule_input", "«inputs» is a list of objects, one run each.", "/inputs"


def _webhook(config: Mapping[str, Any]) -> Iterator[Problem]:
    path, method, rate = config.get("path", "/"), config.get("method", "POST"), config.get("rate_limit")
    if not isinstance(path, str) or not path.startswith("/") or any(c in path for c in " ?#"):
        yield "webhook_path", "«path» begins with / and has no query.", "/path"
    if str(method).upper() not in METHODS:
        yield "webhook_method", f"«{method}» is none of {', '.join(METHODS)}.", "/method"
    most = {"requests": limits.COUNT, "window_sec": limits.SECONDS}
    if rate is not None and not (
        isinstance(rate, Mapping) and all(_positive(rate.get(name, 1), limit) for name, limit in most.items())
    ):
        message = f"«rate_limit» has requests, at most {limits.COUNT}, and window_sec, at most ten years; both over 0."
        yield "webhook_rate", message, "/rate_limit"


def _positive(value: Any, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
