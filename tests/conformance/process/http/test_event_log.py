"""The event log over HTTP on either store: both formats, ranges, cursors, two tenants."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest

from penstock.mining.event_logs import read_log
from tests.api.sites import STORES
from tests.conformance.process.http.world import Case, World, world
from tests.conformance.process.make import process, service, task

XES = "{http://www.xes-standard.org/}"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FIELDS = {"activity", "timestamp", "resource", "lifecycle", "agent_mode"}
TWO = process([task("A", name="접수"), task("B", name="검토")], ["A>B"])
HOSTILE = "a<b & \"c\" 'd'\n\t]]>é한&#x0;<!ENTITY x>"
_names = itertools.count(1)


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(request.param, tmp_path_factory.mktemp("log")) as one:
        yield one


def asked(office: World, id: str, **how: Any) -> httpx2.Response:
    return office.operator.get(f"/processes/definitions/{id}/event-log", params=how)


def log(office: World, id: str, **how: Any) -> dict[str, Any]:
    answer = asked(office, id, **how)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def events(office: World, id: str, **how: Any) -> list[dict[str, Any]]:
    return [one for trace in log(office, id, **how)["traces"] for one in trace["events"]]


def finished(office: World, document: dict[str, Any] | str) -> Case:
    case = office.begun(document)
    case.submits("A", {"a": 1})
    case.submits("B")
    assert case.look()["status"] == "COMPLETED"
    return case


def test_a_log_has_a_trace_for_each_case(office: World) -> None:
    """P-7.3.1, P-7.3.2, P-7.3.3, P-7.3.4, P-7.3.5, P-7.3.6, P-7.3.9, P-7.3.10: what was done, by whom and when."""
    first = finished(office, TWO)
    second = office.begun(first.definition)
    second.submits("A")
    found = log(office, first.definition)
    assert list(found) == ["name", "source", "export_date", "traces", "next"]
    assert (found["name"], found["source"]) == (f"BPM Export - {first.definition}", "axiom_bpm_engine")
    assert MOMENT.fullmatch(found["export_date"])
    assert [one["case_id"] for one in found["traces"]] == [first.id, second.id]
    assert [len(one["events"]) for one in found["traces"]] == [2, 1], "what is not done is not in it"
    for case, trace in zip((first, second), found["traces"], strict=True):
        told = {one["activity_name"]: one for one in case.items() if one["status"] == "DONE"}
        for one in trace["events"]:
            item = told[one["activity"]]
            assert set(one) == FIELDS and one["timestamp"] == item["completed_at"]
            assert (one["resource"], one["lifecycle"]) == (item["assignee"], "complete")
        assert trace["events"] == sorted(trace["events"], key=lambda one: one["timestamp"])
    assert [one["activity"] for one in found["traces"][0]["events"]] == ["접수", "검토"]
    assert asked(office, first.definition).headers["content-type"] == "application/json"


def test_who_did_it_a_person_or_an_agent(office: World) -> None:
    """P-7.5.4, P-7.3.8, P-7.3.6, P-X.40: the mode at completion; what the engine has done itself is of the system."""
    bot = office.agent("classifier", {"ok": True})
    case = office.begun(
        process(
            [service("A", agent=bot), service("B", "SUPERVISED", agent=bot), task("C"),
             task("D", type="scriptTask", python_code="result = {'d': 1}")],
            ["A>B", "B>C", "C>D"],
        )
    )  # fmt: skip
    case.until(B="SUBMITTED")
    case.does("B", "approve")
    case.submits("C")
    case.until(status="COMPLETED")
    told = {one["activity"]: (one["agent_mode"], one["resource"]) for one in events(office, case.definition)}
    assert told["A"] == ("AUTONOMOUS", bot) and told["B"] == ("SUPERVISED", bot)
    assert told["C"] == ("MANUAL", case.item("C")["assignee"]) and told["D"][0] == "AUTONOMOUS"
    assert {one["activity_id"]: one["assignee"] or "system" for one in case.items()} == {
        name: who for name, (_, who) in told.items()
    }


def test_xes_is_well_formed_and_typed(office: World) -> None:
    """P-A.16, P-X.24, P-X.28: four extensions, traces by case, events with five attributes; no text breaks out."""
    case = finished(office, process([task("A", name=HOSTILE), task("B", name="검토")], ["A>B"]))
    answer = asked(office, case.definition, format="xes")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/xml")
    assert answer.headers["content-disposition"] == 'attachment; filename="event-log.xes"'
    assert b"<!DOCTYPE" not in answer.content and b"<!ENTITY" not in answer.content
    root = ElementTree.fromstring(answer.content)
    assert root.tag == f"{XES}log" and root.get("xes.version") == "1.0"
    kinds = [one.tag.removeprefix(XES) for one in root]
    order = ["extension", "global", "classifier", "string", "date", "trace"]
    assert kinds == sorted(kinds, key=order.index), "in the order that the schema has"
    assert {one.get("name"): one.get("prefix") for one in root.iter(f"{XES}extension")} == {
        "Concept": "concept", "Time": "time", "Lifecycle": "lifecycle", "Organizational": "org",
    }  # fmt: skip
    assert {one.get("key") for one in root.findall(f"{XES}global[@scope='event']/*")} == {
        "concept:name", "time:timestamp", "org:resource", "lifecycle:transition", "axiom:agent_mode",
    }  # fmt: skip
    (trace,) = root.findall(f"{XES}trace")
    assert [(one.get("key"), one.get("value")) for one in trace.findall(f"{XES}string")] == [("concept:name", case.id)]
    told = [{str(one.get("key")): one for one in event} for event in trace.findall(f"{XES}event")]
    assert [one["concept:name"].get("value") for one in told] == [HOSTILE, "검토"]
    for one in told:
        assert len(one) == 5 and one["lifecycle:transition"].get("value") == "complete"
        assert {key: value.tag.removeprefix(XES) for key, value in one.items()} == {
            key: "date" if key == "time:timestamp" else "string" for key in one
        }
        assert MOMENT.fullmatch(str(one["time:timestamp"].get("value")))
        assert one["axiom:agent_mode"].get("value") == "MANUAL"
    assert answer.text.rstrip().endswith(f"<!-- next: {answer.headers['penstock-next']} -->")


def test_a_full_log_has_starts(office: World) -> None:
    """P-7.3.7, P-X.24: start at started_at and complete at completed_at, by their instants."""
    case = office.begun(process([task("A"), task("B")], []))
    case.does("A", "start")
    case.does("B", "start")
    case.submits("A")
    case.submits("B")
    told = [(one["activity"], one["lifecycle"]) for one in events(office, case.definition, lifecycle="full")]
    assert told == [("A", "start"), ("B", "start"), ("A", "complete"), ("B", "complete")]
    items = {one["activity_id"]: one for one in case.items()}
    for one in events(office, case.definition, lifecycle="full"):
        field = "started_at" if one["lifecycle"] == "start" else "completed_at"
        assert one["timestamp"] == items[one["activity"]][field]
    assert {one["lifecycle"] for one in events(office, case.definition)} == {"complete"}


def test_what_was_undone_is_told_only_when_asked_for(office: World) -> None:
    """P-X.24: COMPENSATED items are marked, and stand at the moment at which they were completed."""
    office.tool("undo_a")
    office.agent("breaks", ValueError("broken"))
    document = process([task("A", compensation="undo_a"), task("B"), service("C", agent="breaks")], ["A>B", "B>C"])
    case = office.begun(document)
    case.submits("A")
    case.submits("B")
    case.until(status="TERMINATED", A="COMPENSATED")
    assert [one["activity"] for one in events(office, case.definition)] == ["B"]
    told = events(office, case.definition, all="true")
    assert [(one["activity"], one["lifecycle"]) for one in told] == [("A", "ate_abort"), ("B", "complete")]
    assert told[0]["timestamp"] == case.item("A")["completed_at"]


def test_a_range_is_half_open(office: World) -> None:
    """P-X.24, P-7.3.2: from <= completed < to, by instants, whatever the zone they are written in."""
    case = finished(office, TWO)
    first, second = (one["timestamp"] for one in events(office, case.definition))
    assert first < second
    assert [one["activity"] for one in events(office, case.definition, **{"from": second})] == ["검토"]
    assert [one["activity"] for one in events(office, case.definition, to=second)] == ["접수"]
    assert events(office, case.definition, **{"from": first, "to": first}) == []
    seoul = datetime.fromisoformat(first).astimezone(timezone(timedelta(hours=9))).isoformat()
    assert seoul > second, "as texts they would be compared wrongly"
    assert len(events(office, case.definition, **{"from": seoul})) == 2
    assert len(events(office, case.definition, to=seoul)) == 0


def test_an_export_goes_on_where_the_one_before_ended(office: World) -> None:
    """P-X.24, P-8.6: each event in one of them, also of cases that were open; told in a header and at the end."""
    case = finished(office, TWO)
    open_ = office.begun(case.definition)
    open_.submits("A")
    found: list[tuple[str, str]] = []
    cursor = "0"
    for step in range(4):
        answer = asked(office, case.definition, since=cursor)
        assert answer.headers["penstock-next"] == answer.json()["next"] != cursor
        cursor = answer.json()["next"]
        new = [(one["case_id"], event["activity"]) for one in answer.json()["traces"] for event in one["events"]]
        assert not set(new) & set(found), "nothing twice"
        found += new
        assert len(new) == (3, 1, 2, 0)[step]
        if step == 0:
            open_.submits("B")
        elif step == 1:
            last = finished(office, case.definition)
    assert {one for one, _ in found} == {case.id, open_.id, last.id} and len(found) == 6


@pytest.mark.parametrize(
    "wrong", [{"from": "yesterday"}, {"to": "2026-13-01"}, {"format": "pdf"}, {"since": "x"}, {"lifecycle": "half"},
              {"from": "2026-02-01", "to": "2026-01-01"}, {"since": "9" * 30}]
)  # fmt: skip
def test_what_is_asked_wrongly_is_refused(office: World, wrong: dict[str, str]) -> None:
    """P-X.28, P-X.1: 400 with a code, before anything is sent."""
    id = office.defined(TWO)
    refused = asked(office, id, **wrong)
    assert refused.status_code == 400, refused.text
    assert refused.json()["code"] and refused.headers["content-type"] == "application/problem+json"


def test_nobody_reads_it_without_leave(office: World) -> None:
    """P-X.28, P-X.1: a process that is not there is 404; a header that names another tenant is refused."""
    assert asked(office, "nowhere").json()["code"] == "PROC-404"
    id = office.defined(TWO)
    other = office.operator.get(f"/processes/definitions/{id}/event-log", headers={"X-Tenant-Id": "other"})
    assert (other.status_code, other.json()["code"]) == (403, "PROC-403-SCOPE")


def test_the_command_writes_the_same(office: World, tmp_path: Path) -> None:
    """P-A.16, P-7.3.1, P-X.24: `penstock process log` in either format, into a file, with a cursor."""
    case = finished(office, TWO)
    told = command(office, case.definition, "--format", "xes", "--full", "--out", str(tmp_path / "log.xes"))
    cursor = told.stdout.split()[-1]
    root = ElementTree.fromstring((tmp_path / "log.xes").read_bytes())
    assert len(root.findall(f"{XES}trace/{XES}event")) == 4
    assert [one.name for one in tmp_path.iterdir()] == ["log.xes"]
    later = office.begun(case.definition)
    later.submits("A")
    found = json.loads(command(office, case.definition, "--since", cursor, "--all").stdout)
    assert [one["case_id"] for one in found["traces"]] == [later.id]
    assert found["traces"][0]["events"] == log(office, case.definition)["traces"][1]["events"]
    assert command(office, case.definition, "--from", "soon", code=2).stdout == ""
    assert "PROC-404" in command(office, "nowhere", code=None).stderr


def test_as_csv_it_has_the_same_events(office: World, tmp_path: Path) -> None:
    """P-7.3.3 to P-7.3.8: a row per event, what stands in a name breaks out of none, and our reader reads it again."""
    odd = 'Say "yes", or\n=1+1; no'
    document = {**TWO, "activities": [{**TWO["activities"][0], "name": odd}, *TWO["activities"][1:]]}
    case = finished(office, document)
    text = asked(office, case.definition, format="csv", lifecycle="full").text
    rows = list(csv.DictReader(io.StringIO(text)))
    (trace,) = log(office, case.definition, lifecycle="full")["traces"]
    assert [
        {"activity": row["concept:name"], "timestamp": row["time:timestamp"], "resource": row["org:resource"],
         "lifecycle": row["lifecycle:transition"], "agent_mode": row["axiom:agent_mode"]}
        for row in rows
    ] == trace["events"] and {row["case:concept:name"] for row in rows} == {case.id}  # fmt: skip
    assert [row["lifecycle:transition"] for row in rows].count("start") == 2
    (again,) = read_log(io.BytesIO(text.encode()), "log.csv")
    assert [event.activity for event in again.events] == [odd, "검토"]
    assert all(event.started is not None and event.started <= event.at for event in again.events)
    told = command(office, case.definition, "--format", "csv", "--out", str(tmp_path / "log.csv"))
    assert told.stdout.split()[-1].isdecimal() and (tmp_path / "log.csv").read_text().count(case.id) == 2


def command(office: World, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "penstock", "process", "log", *words, "--store", office.server.store]
    done = subprocess.run(
        given, env={**office.server.env, "COLUMNS": "200"}, capture_output=True, text=True, timeout=60
    )
    assert code in (None, done.returncode), done.stderr
    return done


def test_another_tenants_work_is_in_no_log(office: World) -> None:
    """P-7.5.2, P-A.16, P-7.2.1: the same process of two tenants, and each exports its own cases only."""
    case = finished(office, TWO)
    name = f"other{next(_names)}"
    token = office.admin.post("/tenants", json={"id": name, "admin": "boss@other"}).json()["token"]
    other = office.server.client(key=token)
    document = {**TWO, "process_definition_id": case.definition}
    assert other.post("/processes/definitions", json=document).status_code == 201
    begun = other.post(f"/processes/definitions/{case.definition}/instances", json={"input_data": {}}).json()
    item = other.get("/processes/workitems", params={"status": "TODO"}).json()["items"][0]["id"]
    done = other.post(f"/processes/workitems/{item}:submit", json={"result_data": {}})
    assert done.status_code == 200, done.text
    for how in ({}, {"since": "0"}, {"from": "2020-01-01"}, {"format": "xes", "all": "true", "lifecycle": "full"}):
        mine = asked(office, case.definition, **how).text
        theirs = other.get(f"/processes/definitions/{case.definition}/event-log", params=how).text
        assert case.id in mine and begun["proc_inst_id"] not in mine
        assert case.id not in theirs and begun["proc_inst_id"] in theirs
        assert "boss@other" in theirs and "boss@other" not in mine
