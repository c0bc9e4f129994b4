"""The page on event logs says what the code does: its columns work, and its findings and limits are those there are."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from penstock.mining import log_options, map_counts, names, quantiles
from penstock.mining.event_logs import read_log
from penstock.mining.log_findings import RULES

PAGE = (Path(__file__).parents[2] / "docs/explanation/event-logs.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]


def usual_names() -> list[tuple[str, str]]:
    rows = [row for row in ROWS if len(row) == 3 and row[0].startswith("`")]
    return [(row[0].strip("`"), name) for row in rows for name in re.findall(r"`([^`]+)`", row[2])]


def test_there_are_names_for_every_column() -> None:
    assert {what for what, _ in usual_names()} == {
        "case", "activity", "time", "start", "resource", "lifecycle", "mode", "instance", "paused",
    }  # fmt: skip
    assert len(usual_names()) > 60


@pytest.mark.parametrize(("what", "name"), usual_names())
def test_a_column_of_the_page_is_known(what: str, name: str) -> None:
    """Under each of its names, beside the others under their first."""
    row = {"case": "7", "activity": "Check", "time": "2026-01-01T10:00:00Z", "start": "2026-01-01T09:00:00Z",
           "resource": "kim", "lifecycle": "complete", "mode": "AUTONOMOUS", "instance": "1",
           "paused": "5000"}  # fmt: skip
    if what == "lifecycle":
        row["lifecycle"] = "schedule"
    names_of = {**dict(reversed(usual_names())), what: name}
    text = f"{','.join(names_of[each] for each in row)}\n{','.join(row.values())}\n"
    if what == "lifecycle":
        text += ",".join({**row, "lifecycle": "complete", "activity": "Done"}.values())
    (case,) = read_log(io.BytesIO(text.encode()), "log.csv")
    (event,) = case.events
    assert (case.id, event.activity) == ("7", "Done" if what == "lifecycle" else "Check")
    assert (event.at - (event.started or 0), event.resource, event.mode, event.paused) == (
        3_600_000, "kim", "AUTONOMOUS", 5000,
    )  # fmt: skip


def test_its_findings_are_those_there_are() -> None:
    assert sorted(row[0].strip("`") for row in ROWS if row[0].startswith("`log_")) == sorted(RULES)


def test_its_limits_are_those_there_are() -> None:
    said = {row[0]: int(row[1].replace(",", "")) for row in ROWS if row[1].replace(",", "").isdigit()}
    assert said == {
        "bytes, after decompression": log_options.MAX_BYTES,
        "events": log_options.MAX_EVENTS,
        "events in one case": log_options.MAX_CASE_EVENTS,
        "activities": map_counts.MAX_ACTIVITIES,
        "flows between activities": map_counts.MAX_FLOWS,
        "variants": map_counts.MAX_VARIANTS,
        "characters in the name of an activity": names.MAX_NAME,
        "pairs of people whose hand-overs are counted": map_counts.MAX_HANDOVERS,
        "people of an activity that are counted": map_counts.MAX_PEOPLE,
    }
    assert f"up to {quantiles.EXACT:,} values" in PAGE
