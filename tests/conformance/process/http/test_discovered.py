"""News from outside about models, and what undoing returns: over HTTP, on either store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest

from tests.api.serving import until
from tests.api.sites import STORES
from tests.conformance.process.http.test_models import BPMN, MINED
from tests.conformance.process.http.world import World, world
from tests.conformance.process.make import process, service, task

EVENT = "PROCESS_DISCOVERED"


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(request.param, tmp_path_factory.mktemp("mined")) as one:
        yield one


def sent(office: World, id: str | None, payload: Any) -> httpx2.Response:
    return office.admin.post("/events", json={"source": EVENT, "payload": payload, **({"id": id} if id else {})})


def found(id: str, **more: Any) -> dict[str, Any]:
    return {"event_log_id": f"log-{id}", "bpmn_xml": BPMN.format(id=id), "mining_metadata": MINED, **more}


def versions(office: World, id: str) -> list[dict[str, Any]]:
    answer = office.admin.get(f"/processes/definitions/{id}/versions")
    return list(answer.json()["items"]) if answer.status_code == 200 else []


def test_a_discovered_model_comes_as_an_event(office: World) -> None:
    """P-E.4, P-7.2.2, P-X.25, P-7.5.1, P-7.5.3, P-7.5.5, P-7.4.1: imported as over `:import-discovered`, once."""
    base = office.defined(process([task("a", name="접수")], []))
    payload = found(
        "news1", base_proc_def_id=base, conformance={"deviations": 2}, bottlenecks=["b"], tenant_id="tenant_001"
    )
    first = sent(office, "evt-1", payload)
    assert (first.status_code, first.json()["imported"]) == (202, ["news1"]), first.text
    held = office.admin.get("/processes/definitions/news1").json()
    assert (held["type"], held["approval_status"], held["startable"]) == ("discovered", "pending", False)
    assert held["source_event_log_id"] == "log-news1" and "Fitness: 0.85" in held["description"]
    origin = held["origin"]
    assert (origin["event_log_id"], origin["precision"], origin["conformance"]) == ("log-news1", 0.9, {"deviations": 2})
    assert "b" in origin["base_diff"]["activities"]["added"] and origin["bottlenecks"] == ["b"]
    refused = office.operator.post("/processes/definitions/news1/instances", json={})
    assert refused.json()["code"] == "PROC-409-STATE"
    again = sent(office, "evt-1", found("news1", bpmn_xml=BPMN.format(id="another")))
    assert (again.json()["new"], again.json()["imported"]) == (False, []), "the same event is the same"
    assert versions(office, "another") == [] and len(versions(office, "news1")) == 1
    assert sent(office, None, payload).status_code == 202 and len(versions(office, "news1")) == 1
    told = [one["payload"]["proc_def_id"] for one in office.events("DISCOVERED_MODEL_IMPORTED")]
    assert told.count("news1") == 1
    assert office.admin.post("/processes/definitions/news1:approve").status_code == 200
    assert office.begun("news1").states() == {"a": "TODO"}


def test_a_log_goes_out_and_a_model_comes_back(office: World) -> None:
    """P-7.1.1, P-7.1.2, P-7.2.1, P-7.2.2: a program outside mines what was really done; an analyst sees what differs
    from the design, and what is approved can be done that way from then on."""
    designed = office.defined(
        process([task("A", name="접수"), task("B", name="대조"), task("C", name="검토")], ["A>B", "B>C"])
    )
    for _ in range(2):
        case = office.begun(designed)
        for activity in ("A", "B", "C"):
            case.submits(activity)
    answer = office.operator.get(f"/processes/definitions/{designed}/event-log", params={"format": "xes"})
    cases = [
        [str(one.get("value")) for one in trace.findall("{*}event/{*}string[@key='concept:name']")]
        for trace in ElementTree.fromstring(answer.content).findall("{*}trace")
    ]
    assert cases == [["접수", "대조", "검토"]] * 2
    model = _mined("mined_back", [name for name in cases[0] if name != "대조"])  # which is noise, says the miner
    payload = found("mined_back", bpmn_xml=model, base_proc_def_id=designed, mining_metadata={"case_count": len(cases)})
    assert sent(office, "evt-back", payload).json()["imported"] == ["mined_back"]
    diff = office.admin.get("/processes/definitions/mined_back").json()["origin"]["base_diff"]["activities"]
    assert list(diff["removed"]) == ["A", "B", "C"] and list(diff["added"]) == ["n0", "n1"]
    done = office.admin.post("/processes/definitions/mined_back:approve", json={"into": designed})
    assert (done.status_code, done.json()["version"]) == (200, 2), done.text
    case = office.begun(designed)
    assert case.submits("n0")["next_nodes"] == ["n1"]
    told = office.operator.get(f"/processes/definitions/{designed}/event-log").json()["traces"][-1]
    assert (told["case_id"], [one["activity"] for one in told["events"]]) == (case.id, ["접수"])


def _mined(id: str, names: list[str]) -> str:
    tasks = "".join(f'<userTask id="n{i}" name="{name}"/>' for i, name in enumerate(names))
    ways = [("s", "n0"), *((f"n{i}", f"n{i + 1}") for i in range(len(names) - 1)), (f"n{len(names) - 1}", "e")]
    flows = "".join(f'<sequenceFlow id="f{i}" sourceRef="{a}" targetRef="{b}"/>' for i, (a, b) in enumerate(ways))
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">'
        f'<process id="{id}" name="발견"><startEvent id="s"/>{tasks}<endEvent id="e"/>{flows}</process></definitions>'
    )


@pytest.mark.parametrize(
    ("change", "status", "code", "said"),
    [
        ({"event_log_id": None}, 400, "PROC-400-SCHEMA", "event_log_id"),
        ({"bpmn_xml": "<not"}, 400, "PROC-400-SCHEMA", ""),
        ({"bpmn_xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}, 400, "PROC-400-SCHEMA", ""),
        ({"bpmn_xml": 7}, 400, "PROC-400-SCHEMA", "bpmn_xml"),
        ({"mining_metadata": {"fitness": 7}}, 400, "PROC-400-SCHEMA", "fitness"),
        ({"tenant_id": "somebody_else"}, 403, "PROC-403-SCOPE", "tenant"),
        ({"base_proc_def_id": "nowhere"}, 404, "PROC-404", "nowhere"),
    ],
)
def test_an_event_that_brings_nothing_is_refused(
    office: World, change: dict[str, Any], status: int, code: str, said: str
) -> None:
    """P-E.4, P-X.1, P-X.25, P-7.5.2: told why, and neither the model nor the event is kept; the right one may follow
    under the same id."""
    id = f"bad{status}{said}{len(str(change))}"
    refused = sent(office, f"evt-{id}", {**found(id), **change})
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert said in refused.json()["detail"]
    kept = office.admin.get("/events", params={"source": EVENT, "limit": 200}).json()["items"]
    assert f"evt-{id}" not in [one["id"] for one in kept] and versions(office, id) == []
    assert sent(office, f"evt-{id}", "no object").json()["code"] == "PROC-400-SCHEMA"
    assert sent(office, f"evt-{id}", found(id)).json()["imported"] == [id]


def test_undoing_returns_its_steps(office: World) -> None:
    """P-5.3.9, P-5.3.5, P-5.3.6, P-5.3.8, P-X.20: `compensation_steps` of the answer, the instance and the event are
    the same results, also when it goes on where it has failed."""
    office.agent("breaks", ValueError("broken"))
    office.tool("undo_x", ValueError("no such record"))
    office.tool("undo_y")
    document = process(
        [task("X", name="등록", compensation="undo_x"), task("Y", compensation="undo_y"), service("Z", agent="breaks")],
        ["X>Y", "Y>Z"],
    )
    case = office.begun(document)
    case.submits("X")
    case.submits("Y")
    look = case.until(status="TERMINATED")
    steps = look["compensation_steps"]
    assert [(one["step"], one["status"]) for one in steps] == [("Y", "EXECUTED"), ("등록", "FAILED")]
    assert "422" in steps[1]["error"] and "error" not in steps[0]
    assert saga(office, case.id)[-1] == steps == look["compensation"]["results"]
    office.tool("undo_x")
    answer = office.admin.post(f"/processes/instances/{case.id}:compensate")
    assert answer.status_code == 202, answer.text
    told = answer.json()["compensation_steps"]
    assert [one["step"] for one in told] == ["Y", "등록"] and told[0]["status"] == "EXECUTED"
    assert told[1]["status"] in ("PENDING", "EXECUTED")
    done = until(case.look, lambda one: one["compensation_status"] == "COMPLETE")
    assert done["compensation_steps"] == [{"step": "Y", "status": "EXECUTED"}, {"step": "등록", "status": "EXECUTED"}]
    assert saga(office, case.id)[-1] == done["compensation_steps"]


def saga(office: World, id: str) -> list[Any]:
    told = office.events("SAGA_COMPENSATION_COMPLETED", proc_inst_id=id)
    return [one["payload"]["compensation_results"] for one in told]
