"""How to test a document: real engine, a store that is thrown away, executors that answer what the case needs.

Run it with Python, or with pytest (`pytest examples/python/testing.py`).
"""

import tempfile
from pathlib import Path
from typing import Any

from penstock import Blocking, RunView

DIAMOND = Path(__file__).parents[1] / "diagram/diamond.yaml"


def run(document: Path, given: Any = None, **answers: Any) -> RunView:
    """Runs a document in a store of its own; `answers` are functions that stand in for executors, by name."""
    with tempfile.TemporaryDirectory() as folder, Blocking(Path(folder) / "test.db") as penstock:
        for name, answer in answers.items():
            penstock.executor(name)(answer)
        return penstock.wait(penstock.start(penstock.release(document), given), timeout=10)


def test_only_the_chosen_branch_runs() -> None:
    look = run(DIAMOND, {"express": True})
    assert look.status == "COMPLETED"
    assert look.nodes["By air"] == "COMPLETED"
    assert look.nodes["By sea"] == "SKIPPED"


def test_a_failure_is_named() -> None:
    def nobody(**_: Any) -> None:
        raise ConnectionError("nobody answers")

    look = run(DIAMOND, {"express": True}, person=nobody)
    assert look.status == "FAILED"
    assert look.failure is not None
    assert (look.failure["code"], look.failure["node"]) == ("CONNECTION_LOST", "By air")


if __name__ == "__main__":
    test_only_the_chosen_branch_runs()
    test_a_failure_is_named()
    print("two cases hold")

# Prints:
# > two cases hold
