"""pm4py as a second opinion: the same directly-follows graphs, and it reads what is written here."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.mining.activity_map import ActivityMap, activity_map
from penstock.mining.csv_writer import write_csv
from penstock.mining.event import Case
from penstock.mining.event_logs import read_log
from penstock.mining.xes_writer import write_xes
from tests.mining.planted import Planted
from tests.servers.pm4py import python

pytestmark = pytest.mark.xdist_group("pm4py")
LOGS = [*((seed, "xes") for seed in range(31, 37)), *((seed, "csv") for seed in range(37, 41))]
_LIMIT_S = 240


def file_of(folder: Path, seed: int, format: str) -> Path:
    """As others write them: XES with start and complete, CSV with the columns that pm4py asks for."""
    planted = Planted(seed, cases=60)
    file = folder / f"{seed}.{format}"
    if format == "xes":
        file.write_bytes(planted.xes())
    else:
        head, rest = planted.csv().decode().replace(";", ",").split("\r\n", 1)
        assert head.count(",") == 5
        names = "case:concept:name,concept:name,start_timestamp,time:timestamp,org:resource,axiom:agent_mode"
        file.write_text(f"{names}\r\n{rest}", encoding="utf-8", newline="")
    return file


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """Of all files by one process: to begin takes longer than to answer."""
    folder = tmp_path_factory.mktemp("logs")
    files = [file_of(folder, *log) for log in LOGS]
    cases = list(read_log(files[0], "first"))
    for name, blocks in (("written.xes", write_xes(cases, "written")), ("written.csv", write_csv(cases))):
        (folder / name).write_bytes(b"".join(blocks))
        files.append(folder / name)
    script = Path(__file__).parents[1] / "servers/pm4py_logs.py"
    done = subprocess.run(
        [str(python()), "-I", str(script), *map(str, files)], capture_output=True, text=True, timeout=_LIMIT_S
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    return {str(file): json.loads(line) for file, line in zip(files, lines, strict=True)}


def answered(answers: Mapping[str, dict[str, Any]], name: str) -> tuple[Path, dict[str, Any]]:
    (file,) = [file for file in answers if Path(file).name == name]
    return Path(file), answers[file]


def graph_of(found: ActivityMap) -> tuple[dict[tuple[str, str], int], dict[str, int], dict[str, int]]:
    inner = {(f.source, f.target): f.count for f in found.flows if f.source and f.target}
    return inner, {a.name: a.starts for a in found.activities if a.starts}, {
        a.name: a.ends for a in found.activities if a.ends
    }  # fmt: skip


@pytest.mark.parametrize(("seed", "format"), LOGS)
def test_pm4py_draws_the_same_graph(seed: int, format: str, answers: Mapping[str, dict[str, Any]]) -> None:
    """P-7.1.2, P-7.2.1: of the completed events, as the map takes them."""
    file, theirs = answered(answers, f"{seed}.{format}")
    flows, begins, ends = graph_of(activity_map(read_log(file, file.name)))
    assert flows == {(source, target): count for source, target, count in theirs["flows"]}
    assert (begins, ends) == (theirs["begins"], theirs["ends"])
    assert sum(flows.values()) > 200


def expected_rows(cases: list[Case], transitions: bool) -> Counter[tuple[Any, ...]]:
    rows: Counter[tuple[Any, ...]] = Counter()
    for case in cases:
        for event in case.events:
            about = (case.id, event.activity, event.resource, event.mode)
            rows[*about, "complete" if transitions else None, event.at] += 1
            if transitions and event.started is not None:
                rows[*about, "start", event.started] += 1
    return rows


@pytest.mark.parametrize("name", ["written.xes", "written.csv"])
def test_pm4py_reads_what_is_written(name: str, answers: Mapping[str, dict[str, Any]]) -> None:
    """P-A.16: the file opens in an XES reader, with every event as it was; P-7.3.3 to P-7.3.8."""
    file, theirs = answered(answers, name)
    rows = Counter(
        (row["case:concept:name"], row["concept:name"], row.get("org:resource"), row.get("axiom:agent_mode"),
         row.get("lifecycle:transition"), row["at"])
        for row in theirs["rows"]
    )  # fmt: skip
    cases = list(read_log(file.with_name(f"{LOGS[0][0]}.xes"), "first"))
    assert rows == expected_rows(cases, transitions=name.endswith("xes"))
