"""Every attack against a server of its own, and a table of what came of it: `python -m tools.attacks [NAME …]`."""

from __future__ import annotations

import importlib
import sys
import time

from tools.attacks.contract import AttackResult

ATTACKS = (
    "million_items", "self_starting", "half_open", "deleted_store", "damaged_pages", "long_reads", "wrong_values",
)  # fmt: skip


def main(names: list[str]) -> int:
    unknown = set(names) - set(ATTACKS)
    if unknown:
        print(f"There is no attack {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}.", file=sys.stderr)
        return 2
    results: list[AttackResult] = []
    for name in names or ATTACKS:
        began = time.monotonic()
        result = importlib.import_module(f"tools.attacks.{name}").run()
        results.append(result)
        print(f"{result.verdict:4} {result.name}  ({time.monotonic() - began:.0f} s) {result.note}", flush=True)
        for figure, value in result.figures.items():
            print(f"       {figure:<24} {value}", flush=True)
    bad = [result.name for result in results if result.verdict == "bad"]
    print(f"{len(results) - len(bad)} of {len(results)} attacks came to nothing." + (f" Bad: {bad}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
