"""An agent of tests of plans: does what the scenario of its task says (`scenarios.json`), attempt by attempt.

python task_agent.py SCENARIOS      {"a": [steps], "b": {"attempts": [[steps], [steps]]}, "*": [steps]}
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

SCRIPTED = Path(__file__).parents[1] / "executors" / "scripted_agent.py"


def scenario_of(known: dict[str, Any], task: str, attempt: int) -> Any:
    given = known.get(task, known.get("*", [{"init": True}, {"result": "done"}]))
    if not isinstance(given, dict) or "attempts" not in given or "counted_in" in given:
        return given
    attempts = given["attempts"]
    return {**{name: value for name, value in given.items() if name != "attempts"},
            "steps": attempts[min(attempt, len(attempts)) - 1]}  # fmt: skip


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text())
    wanted = scenario_of(told, os.environ["PENSTOCK_TASK"], int(os.environ["PENSTOCK_ATTEMPT"]))
    os._exit(runpy.run_path(str(SCRIPTED))["main"](json.dumps(wanted)))
