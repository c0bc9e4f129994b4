"""DMN models whose expected values are known: each is right or refused by name, none is another value or a silent null.

`python -m tools.attacks.wrong_values [FOLDER]`; without a folder the models of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.attacks.contract import AttackResult
from tools.dmn_suite import counts, run_folder

FOLDER = Path(__file__).parents[2] / "tests/conformance/dmn"


def run(folder: Path = FOLDER) -> AttackResult:
    outcomes = run_folder(folder)
    figures = counts(outcomes)
    bad = [outcome for outcome in outcomes if outcome.kind in ("wrong", "silent", "crashed")]
    return AttackResult(
        "wrong values",
        "bad" if bad or not outcomes else "ok",
        {
            "right": figures["right"],
            "refused": figures["refused"],
            "wrong": figures["wrong"] + figures["crashed"],
            "silent": figures["silent"],
        },
        f"{bad[0].case}: {bad[0].note}" if bad else "",
    )


if __name__ == "__main__":
    result = run(*map(Path, sys.argv[1:]))
    print(result.name, result.verdict, *(f"{key} {value}" for key, value in result.figures.items()), result.note)
    sys.exit(result.verdict == "bad")
