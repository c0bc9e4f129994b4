"""Live conformance of a server that follows by itself, over HTTP, on either store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.serving import until
from tests.api.sites import STORES
from tests.conformance.process.http.world import World, world
from tests.conformance.process.make import process, task

STUCK = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
<process id="{id}" name="Stuck" isExecutable="true"><startEvent id="s"/><exclusiveGateway id="g" default="f3"/>
<userTask id="a" name="A"/><userTask id="b" name="B"/><parallelGateway id="j"/><endEvent id="e"/>
<sequenceFlow id="f1" sourceRef="s" targetRef="g"/><sequenceFlow id="f2" sourceRef="g" targetRef="a">
<conditionExpression>x == 1</conditionExpression></sequenceFlow><sequenceFlow id="f3" sourceRef="g" targetRef="b"/>
<sequenceFlow id="f4" sourceRef="a" targetRef="j"/><sequenceFlow id="f5" sourceRef="b" targetRef="j"/>
<sequenceFlow id="f6" sourceRef="j" targetRef="e"/></process></definitions>"""


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    settings = "\n[conformance]\nfollow_s = 0.2\n"
    with world(request.param, tmp_path_factory.mktemp("live"), settings) as one:
        yield one


def test_ended_instances_are_held_against_their_version_while_a_server_runs(office: World) -> None:
    """P-7.2.2: two fit, one was sent back; the runs behind a deviation are listed, page by page."""
    two = office.defined(process([task("a", name="접수"), task("b", name="발송")], ["a>b"]))
    at = f"/processes/definitions/{two}/conformance"
    assert office.admin.get(at).json()["versions"] == []
    for again in (False, False, True, True):
        case = office.begun(two)
        case.submits("a")
        if again:
            case.does("a", "rework", {"comment": "again"})
            case.submits("a")
        case.submits("b")
    found = until(lambda: _all_of(office.admin.get(at).json(), 4), bool)
    assert (found["fitting"], found["fitness"]) == (2, 0.5)
    (deviation,) = found["deviations"]
    assert deviation == {"kind": "repeated", "activity": "접수", "before": "접수", "after": "발송", "runs": 2}
    asked = {name: deviation[name] for name in ("kind", "activity", "before", "after")} | {"version": 1, "limit": 1}
    first = office.operator.get(f"{at}/runs", params=asked).json()
    second = office.operator.get(f"{at}/runs", params={**asked, "cursor": first["next"]}).json()
    assert len({row["id"] for row in (*first["items"], *second["items"])}) == 2 and second["next"] is None
    assert office.admin.get("/processes/definitions/none/conformance").json()["code"] == "PROC-404"
    assert office.admin.get(f"{at}/runs", params={**asked, "kind": "odd"}).status_code == 422


def _all_of(body: dict[str, Any], runs: int) -> dict[str, Any] | None:
    return next((one for one in body["versions"] if one["runs"] == runs), None)


def test_a_discovered_model_that_is_unsound_is_refused_and_nothing_is_stored(office: World) -> None:
    """P-7.5.1, P-7.4.1: the finding says where it gets stuck; there is no version of it."""
    body = {"event_log_id": "log-stuck", "bpmn_xml": STUCK.format(id="stuck")}
    refused = office.admin.post("/processes/definitions:import-discovered", json=body)
    assert refused.status_code == 400 and refused.json()["code"] == "PROC-400-SCHEMA", refused.text
    told = [(one["rule"], one["node"]) for one in refused.json()["findings"]]
    assert told == [("join_never_satisfied", "j"), ("unsound", "j")]
    assert office.admin.get("/processes/definitions/stuck").status_code == 404
