"""What is wrong with the settings of a trigger (W-3.2): schedules and webhooks as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.expr.cron import CATCH_UPS, OVERLAPS
from penstock.lang.decision import bounds

METHODS = ("POST", "PUT")
#: rule, message, where below the trigger's config
Problem = tuple[str, str, str]


def trigger_problems(kind: str | None, config: Mapping[str, Any]) -> list[Problem]:
    if kind == "schedule":
        return list(_schedule(config))
    return list(_webhook(config)) if kind == "webhook" else []


def _schedule(config: Mapping[str, Any]) -> Iterator[Problem]:
    for name, known in (("overlap", OVERLAPS), ("catch_up", CATCH_UPS)):
        if config.get(name, known[0]) not in known:
            yield "schedule_policy", f"«{config[name]}» is none of {', '.join(known)}.", f"/{name}"
    if "input" in config and not isinstance(config["input"], Mapping):
        yield "schedule_input", "«input» is an object.", "/input"
    each = config.get("inputs", [])
    if not isinstance(each, list) or not all(isinstance(one, Mapping) for one in each):
        yield "schedule_input", "«inputs» is a list of objects, one run each.", "/inputs"


def _webhook(config: Mapping[str, Any]) -> Iterator[Problem]:
    path, method, rate = config.get("path", "/"), config.get("method", "POST"), config.get("rate_limit")
    if not isinstance(path, str) or not path.startswith("/") or any(c in path for c in " ?#"):
        yield "webhook_path", "«path» begins with / and has no query.", "/path"
    if str(method).upper() not in METHODS:
        yield "webhook_method", f"«{method}» is none of {', '.join(METHODS)}.", "/method"
    most = {"requests": bounds.COUNT, "window_sec": bounds.SECONDS}
    if rate is not None and not (
        isinstance(rate, Mapping) and all(_positive(rate.get(name, 1), limit) for name, limit in most.items())
    ):
        message = f"«rate_limit» has requests, at most {bounds.COUNT}, and window_sec, at most ten years; both over 0."
        yield "webhook_rate", message, "/rate_limit"


def _positive(value: Any, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
