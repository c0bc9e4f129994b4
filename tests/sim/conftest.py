"""After the tests: how many seeds, how fast, which faults fired, which planted bug was found by which seed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.sim.faults import FAULTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    told: dict[str, list[Any]] = {}
    for report in [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]:
        for name, value in getattr(report, "user_properties", ()):
            told.setdefault(name, []).append(value)
    if not {"sim", "planted", "nth"} & told.keys():
        return
    terminalreporter.section("simulation", sep="-")
    for line in _lines(told):
        terminalreporter.write_line(line)


def _never(fired: Counter[str]) -> str:
    return ", ".join(fault for fault in FAULTS if not fired[fault]) or "none"


def _lines(told: dict[str, list[Any]]) -> list[str]:
    lines = []
    if "sim" in told:
        seeds = sum(part["seeds"] for part in told["sim"])
        cpu = sum(part["cpu"] for part in told["sim"])
        wrong = sum(part["violations"] for part in told["sim"])
        fired: Counter[str] = Counter()
        counters: Counter[str] = Counter()
        for part in told["sim"]:
            fired.update(part["fired"])
            counters.update(part["counters"])
        idle = sum(part["idle"] for part in told["sim"])
        lines.append(f"{seeds} seeds, {wrong} violations, {seeds / max(cpu, 0.001):.1f} seeds/s/core")
        lines.append(f"turned on and never fired: {idle} times in a seed, in all seeds: {_never(fired)}")
        lines.append("faults: " + ", ".join(f"{name} {n}" for name, n in sorted(fired.items())))
        lines.append("counters: " + ", ".join(f"{name} {n}" for name, n in sorted(counters.items())))
    if "planted" in told:
        found = sorted(told["planted"], key=lambda one: one[1])
        lines.append(f"{len(found)} planted bugs found: " + ", ".join(f"{name} by seed {seed}" for name, seed in found))
    if "nth" in told:
        lines.append(f"{sum(told['nth'])} runs with a crash at one host call")
    return lines
