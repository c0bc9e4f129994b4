"""Settings that a scenario file may have: those that change how the engine goes on, and none that opens the world."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

_LIMITS = (
    "fan_items", "children_per_run", "call_depth", "starts_per_minute", "open_runs", "open_work_items", "facts_warning",
    "facts_per_run",
)  # fmt: skip
#: a setting → what it holds; NAME stands for any word
OPEN: dict[str, type] = {
    "environment": str,
    "waits.timeout_s": int,
    "workers.total": int,
    "workers.per_tenant": int,
    "workers.tenants.NAME": int,
    "code.timeout_ms": int,
    "tenants.NAME.environment": str,
    "tenants.NAME.share": int,
    **{f"limits.{limit}": int for limit in _LIMITS},
    **{f"tenants.NAME.limits.{limit}": int for limit in _LIMITS},
    **{f"plans.{span}": int for span in ("heartbeat_s", "stuck_s", "wait_s")},
    "pipelines.allow_cancel_pending": bool,
    "pipelines.max_pending": int,
    **{f"pipelines.alarms.{alarm}": float for alarm in ("success_rate", "pending_seconds", "retry_rate")},
    "pipelines.alarms.dlq_messages": int,
    "pipelines.rates.NAME": float,
}
#: groups of settings that the machine's operator has besides: what may be reached, started, read, kept and let in
_OPERATORS: tuple[str, ...] = (
    "agent", "agents", "audit", "code", "drafts", "file", "hooks", "http", "jwt", "llm", "log", "mcp", "metrics",
    "notify", "otel", "pipelines", "plans", "python", "reads", "remarks", "secrets", "secrets_folder", "serve",
    "server", "services", "simulations", "sizes", "sql", "uses",
)  # fmt: skip
_OF_TENANTS = ("file", "http", "mcp", "secrets", "sql")
_PATTERNS = [(re.compile(re.escape(name).replace("NAME", r"[^.]+") + r"\Z"), kind) for name, kind in OPEN.items()]
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_HINT = "It is set on the machine, or in Python: VirtualPenstock(settings={…})."


def checked_settings(settings: dict[str, Any], at: str, report: Report) -> dict[str, Any]:
    """Those that may be set so; each of the others is a finding at its place."""
    return {name: value for name, value in settings.items() if _is_right(name, value, at, report)}


def _is_right(name: str, value: Any, at: str, report: Report) -> bool:
    kind = next((kind for pattern, kind in _PATTERNS if pattern.match(name)), None)
    where = child_pointer(at, name)
    if kind is None:
        _refuse(name, where, report)
        return False
    right = type(value) is kind or kind is float and type(value) is int
    if not right:
        message = f"«{name}» must be {_WORDS[kind]}."
        report.error("scenario_setting", message, where, hint=f"Write {_WORDS[kind]} here.")
    return right


def _refuse(name: str, where: str, report: Report) -> None:
    group, _, rest = name.partition(".")
    known = _OPERATORS
    if group == "tenants":
        group, known = rest.partition(".")[2].partition(".")[0], _OF_TENANTS
    if group in known:
        message = f"A scenario is data: «{name}» is for whoever runs the machine."
        module = "Name the module on the command line: penstock test --module NAME."
        report.error("scenario_setting", message, where, hint=module if group == "python" else _HINT, key=True)
        return
    hint = did_you_mean(name, list(OPEN), "docs/reference/settings.md has them all.")
    report.error("scenario_setting", f"There is no setting «{name}».", where, hint=hint, key=True)
