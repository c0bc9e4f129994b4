"""An agent of tests of plans: does what the scenario of its task says (`scenarios.json`), attempt by attempt.

    python task_agent.py SCENARIOS      {"a": [steps], "b": {"attempts": [[steps], [steps]]}, "*": [steps]}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "executors"))

import scripted_agent

if __name__ == "__main__":
    known = json.loads(Path(sys.argv[1]).read_text())
    given = known.get(os.environ["PENSTOCK_TASK"], known.get("*", [{"init": True}, {"result": "done"}]))
    if isinstance(given, dict) and "attempts" in given and "counted_in" not in given:
        attempts = given["attempts"]
        given = {**given, "steps": attempts[min(int(os.environ["PENSTOCK_ATTEMPT"]), len(attempts)) - 1]}
        del given["attempts"]
    os._exit(scripted_agent.main(json.dumps(given)))
