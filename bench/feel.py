"""How many FEEL expressions a core evaluates in a second, beside zen-engine where it is installed.

    python bench/feel.py

Ratios are of the same run; nothing is asserted.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import platform
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock import feel

SECONDS = 0.7
ORDER = {"amount": 1250, "status": "open"}
CUSTOMERS = {"customers": [{"name": f"c{n}", "age": n % 90, "spent": n * 1.5} for n in range(100)]}
#: FEEL, its names, and the same in zen's language
EXPRESSIONS: list[tuple[str, dict[str, Any], str]] = [
    ('amount > 1000 and status = "open"', ORDER, 'amount > 1000 and status == "open"'),
    ('amount > 1000 and status = "open"', {"amount": Decimal("1250.5"), "status": "open"}, ""),
    ("0.1 + 0.2 * amount", ORDER, "0.1 + 0.2 * amount"),
    ('if amount > 1000 then "large" else "small"', ORDER, 'amount > 1000 ? "large" : "small"'),
    ("sum(customers[age > 60].spent)", CUSTOMERS, "sum(map(filter(customers, #.age > 60), #.spent))"),
    ('date("2026-03-01") + duration("P1M")', {}, ""),
]
TESTS = [("> 1000", 1250), ("[100..2000)", 1250), ('"a", "b", "open"', "open"), ("not(< 10)", 1250)]


def per_second(call: Callable[[], Any], batch: int = 200) -> float:
    """Calls in a second: the best of as many batches as fit into the time."""
    call()
    best, until = 0.0, time.perf_counter() + SECONDS
    gc.disable()
    while time.perf_counter() < until:
        began = time.perf_counter()
        for _ in range(batch):
            call()
        best = max(best, batch / (time.perf_counter() - began))
    gc.enable()
    return best


def zen_per_second(text: str, names: dict[str, Any]) -> float | None:
    if not text or importlib.util.find_spec("zen") is None:
        return None
    zen: Any = importlib.import_module("zen")
    compiled = zen.compile_expression(text)
    return per_second(lambda: compiled.evaluate(names))


def show(what: str, ours: float, theirs: float | None) -> None:
    beside = f"{theirs:>12,.0f}{ours / theirs:>8.1f}x" if theirs else f"{'-':>12}{'':>9}"
    print(f"{what[:48]:<50}{ours:>12,.0f}{beside}")


def main() -> None:
    print(f"Python {platform.python_version()}, one core, evaluations a second")
    print(f"{'':<50}{'penstock':>12}{'zen':>12}{'ratio':>9}")
    for text, names, other in EXPRESSIONS:
        expression = feel.compile(text, names)
        show(text, per_second(lambda e=expression, n=names: e.evaluate(n)), zen_per_second(other, names))
    for text, value in TESTS:
        tests = feel.compile_unary_tests(text)
        show(f"{text}  (unary tests)", per_second(lambda t=tests, v=value: t.matches(v)), None)
    text = EXPRESSIONS[0][0]
    show("compile the first", per_second(lambda: feel.compile(text)), None)


if __name__ == "__main__":
    main()
