"""Prints what pm4py reads out of event logs, one JSON line per file: its directly-follows graph and its rows.

Run by an environment of its own, which has nothing of Penstock: pm4py is AGPL.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_CASE, _NAME, _AT, _TRANSITION = "case:concept:name", "concept:name", "time:timestamp", "lifecycle:transition"
_START = "start_timestamp"


def answer(pm4py: Any, pandas: Any, file: str) -> dict[str, Any]:
    if file.endswith(".csv"):
        frame = pandas.read_csv(file, dtype=str, keep_default_na=False)
        frame[_AT] = pandas.to_datetime(frame[_AT], utc=True, format="ISO8601")
    else:
        frame = pm4py.convert_to_dataframe(pm4py.read_xes(file))
    done = frame if _TRANSITION not in frame else frame[frame[_TRANSITION] == "complete"]
    done = done.drop(columns=[_START], errors="ignore")  # with it, pm4py would put what started first first
    graph, begins, ends = pm4py.discover_dfg(pm4py.format_dataframe(done, _CASE, _NAME, _AT))
    columns = [name for name in (_CASE, _NAME, "org:resource", "axiom:agent_mode", _TRANSITION) if name in frame]
    rows = frame[columns].astype(object).where(frame[columns].notna(), "").to_dict("records")
    moments = (frame[_AT] - pandas.Timestamp(0, tz="UTC")) // pandas.Timedelta(milliseconds=1)
    return {
        "flows": [[source, target, int(count)] for (source, target), count in graph.items()],
        "begins": {name: int(count) for name, count in begins.items()},
        "ends": {name: int(count) for name, count in ends.items()},
        "rows": [{**row, "at": int(at)} for row, at in zip(rows, moments, strict=True)],
    }


def main(files: list[str]) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what the library prints goes elsewhere
    os.dup2(2, 1)
    import pandas
    import pm4py

    for file in files:
        print(json.dumps(answer(pm4py, pandas, file)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
