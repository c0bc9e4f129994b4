"""Answers what pm4py says of BPMN files: a JSON line in, a JSON line out.

Run by an environment of its own, which has nothing of Penstock: pm4py is AGPL.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def soundness(pm4py: Any, file: str) -> dict[str, Any]:
    """The verdict of Woflan on the Petri net that pm4py makes of a file."""
    net, initial, final = pm4py.convert_to_petri_net(pm4py.read_bpmn(file))
    sound, diagnostics = pm4py.check_soundness(net, initial, final)
    return {"sound": bool(sound), "places": len(net.places), "said": sorted(str(name) for name in diagnostics)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what the library prints goes elsewhere
    os.dup2(2, 1)
    import pm4py

    print(json.dumps({"version": pm4py.__version__}), file=answers, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawing.bpmn"
        for line in sys.stdin:
            file.write_text(json.loads(line)["bpmn"], encoding="utf-8")
            try:
                answer = soundness(pm4py, str(file))
            except Exception as wrong:  # said to who asked: a reader that fails is no reason to end
                answer = {"error": f"{type(wrong).__name__}: {wrong}"[:300]}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
