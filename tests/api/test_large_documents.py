"""Large documents are checked, compiled and kept beside the engine: the same answers, and no work for them here."""

from __future__ import annotations

import importlib
import json
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.api import strict_routes
from penstock.api.forwarding import LOOP_BYTES
from penstock.api.route_table import ROUTES
from penstock.executors import handler
from penstock.lang import compile as compiling
from penstock.net.compiled import CNode
from tests.api.in_process import Site, on_site
from tests.net.tangled import tangled

NODES = 150
explore = importlib.import_module("penstock.net.soundness.explore")  # the function has its name


@pytest.fixture(autouse=True)
def _no_types_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have registered would keep documents here."""
    monkeypatch.setattr(handler, "HANDLERS", {})


def workflow(id: str = "wf_large", nodes: int = NODES, **more: Any) -> dict[str, Any]:
    channel = {"type": "webhook", "config": {"url": "http://x.example/hook"}}
    made = [{"id": f"n{n}", "type": "ACTION", "channel": channel, "message": f"hello {n}"} for n in range(nodes)]
    edges = [{"from": f"n{n}", "to": f"n{n + 1}"} for n in range(nodes - 1)]
    return {"id": id, "version": 1, "nodes": made, "edges": edges, **more}


def diagram(name: str = "large", nodes: int = NODES) -> dict[str, Any]:
    labels = ["Start", *(f"Work {n}" for n in range(nodes)), "End"]
    work = {"type": "person_job", "person": "Writer", "default_prompt": "x" * 50, "max_iteration": 1}
    return {
        "version": "light", "name": name, "persons": {"Writer": {"service": "echo"}},
        "nodes": [{"label": label, **(_ENDS.get(label) or work)} for label in labels],
        "connections": [{"from": a, "to": b} for a, b in zip(labels, labels[1:], strict=False)],
    }  # fmt: skip


_ENDS = {"Start": {"type": "start"}, "End": {"type": "endpoint"}}


def bpmn(id: str = "large_process", tasks: int = NODES) -> str:
    ids = ["s", *(f"t{n}" for n in range(tasks)), "e"]
    flows = "".join(
        f'<sequenceFlow id="f{n}" sourceRef="{a}" targetRef="{b}"/>'
        for n, (a, b) in enumerate(zip(ids, ids[1:], strict=False))
    )
    made = "".join(f'<userTask id="t{n}" name="Task number {n}"/>' for n in range(tasks))
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="x">'
        f'<process id="{id}" isExecutable="true"><startEvent id="s"/>{made}<endEvent id="e"/>{flows}</process>'
        "</definitions>"
    )


class Work:
    """What is parsed, lowered and wired in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: Counter[str] = Counter()
        parse, lower, wire = strict_routes.parse_strict, compiling._Compilation.lower, CNode.__init__

        def parsing(body: bytes) -> Any:
            self.done["parsed"] += len(body)
            return parse(body)

        def lowering(*given: Any) -> Any:
            self.done["lowered"] += 1
            return lower(*given)

        def wiring(*given: Any) -> None:
            self.done["wired"] += 1
            wire(*given)

        monkeypatch.setattr(strict_routes, "parse_strict", parsing)
        monkeypatch.setattr(compiling._Compilation, "lower", lowering)
        monkeypatch.setattr(CNode, "__init__", wiring)


def requests() -> list[tuple[str, str, dict[str, Any]]]:
    """Every route that takes a document, with a sound one, a wrong one, and one that cannot be read."""
    broken = {**workflow(), "edges": [{"from": "n1", "to": "nowhere"}]}
    text = json.dumps(workflow(), indent=1)
    torn = text[:-20]
    definition = {"process_definition_id": "large_form", "process_definition_name": "x" * LOOP_BYTES}
    return [
        ("POST", "/definitions/check", {"document": workflow()}), ("POST", "/definitions/check", {"document": text}),
        ("POST", "/definitions/check", {"document": broken}), ("POST", "/definitions/check", {"document": torn}),
        ("POST", "/definitions/check", {"document": bpmn()}), ("POST", "/definitions/check", {"nonsense": text}),
        ("POST", "/definitions/inspect", {"document": text}), ("POST", "/definitions/inspect", {"document": torn}),
        ("POST", "/definitions", {"document": text}), ("POST", "/definitions", {"document": text}),
        ("POST", "/definitions", {"document": torn}), ("POST", "/definitions", {"document": broken}),
        ("POST", "/definitions", {"document": bpmn("handed_in")}), ("POST", "/definitions", {"document": diagram()}),
        ("POST", "/workflows", {"dsl": workflow("wf_other")}), ("POST", "/workflows", {"dsl": broken}),
        ("POST", "/workflows/validate", {"dsl": workflow()}), ("POST", "/workflows/validate", {"dsl": broken}),
        ("POST", "/diagrams", {"document": diagram("kept")}), ("POST", "/diagrams", {"document": text}),
        ("POST", "/diagrams:validate", {"document": diagram()}),
        ("POST", "/processes/definitions:import-bpmn", {"bpmn_xml": bpmn()}),
        ("POST", "/processes/definitions:import-bpmn", {"bpmn_xml": bpmn()[:-9]}),
        ("POST", "/processes/definitions", {"document": bpmn("by_text")}),
        ("POST", "/processes/definitions", definition),
        ("PUT", "/processes/definitions/by_text", {"document": bpmn("by_text", NODES + 1)}),
    ]  # fmt: skip


def test_every_route_with_a_large_document_works_beside_the_engine_and_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-78: neither parsed nor compiled here, whatever is wrong with it; kept where it shall be; and the answer is the
    one that this process would have given."""
    sent = requests()
    taking = {
        (method, route.path) for router in ROUTES for route in router.routes for method in route.methods
        if getattr(route, "forwards_large", False) and method != "GET" and "/drafts" not in route.path
    }  # fmt: skip
    tried = {(method, path.replace("by_text", "{id}")) for method, path, _ in sent}
    assert tried == taking, "each is tried"
    here: list[Any] = []

    async def alone(place: Site) -> None:
        server, documents = place.app.state.server, place.documents
        server.large_documents = None
        here.extend([await _answer(place, *request) for request in sent])
        server.large_documents = documents

    async def beside(place: Site) -> None:
        work = Work(monkeypatch)
        for number, (request, expected) in enumerate(zip(sent, here, strict=True), 1):
            answer = await _answer(place, *request)
            assert answer == expected, f"{request[:2]} {number}"
            assert place.documents.asked == number and not work.done, f"{request[:2]} {number} {work.done}"
        started = await place.client.post("/api/v1/diagrams/kept/runs", json={})
        assert started.status_code == 201, started.text
        run = started.json()["run_id"]
        await place.door.wait(run)
        assert place.door.status(run).status == "COMPLETED", "what was kept there is run here"

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    on_site(alone, tmp_path / "a", rounds=0)
    on_site(beside, tmp_path / "b", rounds=0)


def test_a_large_draft_is_brought_answered_and_released_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.25, C-78: however small the request: what it is about is large."""
    steps: list[tuple[str, str, Any]] = [
        ("POST", "", {"text": bpmn("sketch1", 2 * NODES), "name": "a.bpmn"}),
        ("POST", "", {"text": bpmn("sketch1", 2 * NODES)[:-9]}),
        ("GET", "/sketch1", None), ("GET", "/sketch1/bpmn", None), ("GET", "/sketch1/bpmn?accepted=true", None),
        ("PUT", "/sketch1", {"number": 1, "text": bpmn("sketch1", 2 * NODES + 1)}),
        ("POST", "/sketch1:accept", {"number": 2}), ("POST", "/sketch1:accept", {"number": 1}),
        ("POST", "/sketch1:answer", {"number": 2, "answers": [{"key": "nothing:sketch1:t1", "proposal": 0}]}),
        ("POST", "/sketch1:undo", {"number": 2}), ("POST", "/sketch1:release", {"number": 2}),
        ("POST", "/sketch1:release", {"number": 3}),
    ]  # fmt: skip

    async def body(place: Site) -> None:
        server, documents, here = place.app.state.server, place.documents, list[tuple[int, str]]()
        server.large_documents = None
        for method, path, given in steps:
            text = None if given is None else json.loads(json.dumps(given).replace("sketch1", "sketch2"))
            here.append(await _draft_step(place, method, path.replace("sketch1", "sketch2"), text))
        server.large_documents = documents
        work, asked = Work(monkeypatch), place.documents.asked
        for number, (step, expected) in enumerate(zip(steps, here, strict=True), 1):
            status, text = await _draft_step(place, *step)
            assert (status, text.replace("sketch1", "sketch2")) == expected, f"{step[:2]} {number}"
            assert place.documents.asked == asked + number and not work.done["lowered"], f"{step[:2]} {number}"
        assert [status for status, _ in here] == [201, 400, 200, 200, 200, 200, 200, 409, 404, 404, 200, 409]

    on_site(body, tmp_path, rounds=0)


async def _draft_step(place: Site, method: str, path: str, body: Any) -> tuple[int, str]:
    answer = await place.client.request(method, f"/api/v1/processes/drafts{path}", json=body)
    if "json" not in answer.headers["content-type"]:
        return answer.status_code, answer.text
    text = json.dumps(_plain(answer), sort_keys=True)
    return answer.status_code, re.sub(r'"(draft_)?(id|uuid)": "[0-9a-f-]{12,}"', "", text)


async def _answer(place: Site, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any, str | None]:
    answer = await place.client.request(method, f"/api/v1{path}", json=body)
    return answer.status_code, _plain(answer), answer.headers.get("location")


def _plain(answer: httpx2.Response) -> Any:
    """Without what is another each time."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: plain(part) for name, part in value.items() if not name.endswith("_at") and name != "trace_id"
            }
        return [plain(part) for part in value] if isinstance(value, list) else value

    assert answer.status_code < 500, answer.text
    return plain(answer.json())


def test_large_definitions_and_their_runs_are_read_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-66, C-78: what is drawn or compared of them, and whatever is asked of a run of one, wires no net here; a run
    that is started has its net wired in a thread."""
    drawn = [
        "/definitions/large/versions/1/graph", "/definitions/large/versions/1/draw?format=mermaid",
        "/definitions/large/diff?from=1&to=2", "/definitions/large/versions/9/graph", "/definitions/large/diff?from=1",
    ]  # fmt: skip

    async def body(place: Site) -> None:
        for nodes in (160, 161):
            made = await place.client.post("/api/v1/diagrams", json={"document": diagram(nodes=nodes)})
            assert made.status_code == 201, made.text
        work = Work(monkeypatch)
        threads = set[int]()
        wire = CNode.__init__

        def wiring(*given: Any) -> None:
            threads.add(threading.get_ident())
            wire(*given)

        there = [await place.get(path) for path in drawn]
        assert [answer.status_code for answer in there] == [200, 200, 200, 404, 422] and not work.done["wired"]
        documents, place.app.state.server.large_documents = place.documents, None
        here = [await place.get(path) for path in drawn]
        place.app.state.server.large_documents = documents
        assert [_plain_text(answer) for answer in there] == [_plain_text(answer) for answer in here]
        place.door.nets.by_number.clear()
        monkeypatch.setattr(CNode, "__init__", wiring)
        started = await place.client.post("/api/v1/diagrams/large/runs", json={})
        assert started.status_code == 201, started.text
        assert threads and threading.get_ident() not in threads, "a start has it wired in a thread"
        run = started.json()["run_id"]
        await place.door.wait(run)
        asked = place.reads.asked
        graph = await place.get(f"/runs/{run}/graph")
        assert graph.status_code == 200 and place.reads.asked == asked + 1, graph.text

    on_site(body, tmp_path, rounds=0)


def _plain_text(answer: httpx2.Response) -> Any:
    return answer.text if "json" not in answer.headers["content-type"] else _plain(answer)


def test_a_small_document_with_many_markings_is_judged_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-78: whether every run of it can end is asked here of a few markings, and of the others beside the engine."""
    looked, plain = [0], explore._Exploration._actions

    def actions(*given: Any) -> Any:
        looked[0] += 1
        return plain(*given)

    async def body(place: Site) -> None:
        monkeypatch.setattr(explore._Exploration, "_actions", actions)
        for number, (path, member) in enumerate((
            ("/definitions/check", "document"), ("/definitions/inspect", "document"), ("/definitions", "document"),
            ("/processes/definitions:import-bpmn", "bpmn_xml"),
        ), 1):  # fmt: skip
            looked[0] = 0
            answer = await place.client.post(f"/api/v1{path}", json={member: tangled(8)})
            assert answer.status_code < 300 and "soundness_undecided" in answer.text, answer.text
            assert place.documents.asked == number and 0 < looked[0] <= strict_routes.LOOP_MARKINGS + 1, looked

    assert len(tangled(8)) < LOOP_BYTES / 2
    on_site(body, tmp_path, rounds=0)


def test_small_documents_are_checked_here(tmp_path: Path) -> None:
    """Nobody waits for a process to check a few nodes."""

    async def body(place: Site) -> None:
        small = workflow(nodes=20)
        assert len(json.dumps({"document": small})) < LOOP_BYTES
        answer = await place.client.post("/api/v1/definitions/check", json={"document": small})
        assert answer.status_code == 200 and answer.json()["ok"], answer.text
        assert place.documents.asked == 0 and place.documents._process is None

    on_site(body, tmp_path, rounds=0)


def test_a_large_document_is_audited_by_its_digest_and_kept_once_per_key(tmp_path: Path) -> None:
    """The entry names who, what, and which document; a refusal has its code; the same key is answered again."""

    async def body(place: Site) -> None:
        document = workflow()
        headers = {"Idempotency-Key": "k1"}
        sent = {"document": document, "change_summary": "first"}
        first = await place.client.post("/api/v1/definitions", json=sent, headers=headers)
        again = await place.client.post("/api/v1/definitions", json=sent, headers=headers)
        assert (first.status_code, again.status_code) == (201, 201) and again.headers["idempotency-replayed"] == "true"
        assert first.json() == again.json() and place.documents.asked == 1
        wrong = {"document": {**document, "version": 2, "edges": [{"from": "n1", "to": "nowhere"}]}}
        refused = await place.client.post("/api/v1/definitions", json=wrong)
        assert refused.status_code == 422, refused.text
        entries = (await place.get("/audit?action=POST /definitions")).json()["items"]
        code, wrong_sent, kept = (entry["body"] for entry in entries)
        assert code == {"refused": refused.json()["code"]} and kept["change_summary"] == "first"
        assert set(kept["document"]) == {"bytes", "sha256"} and kept["document"] != wrong_sent["document"]

    on_site(body, tmp_path, rounds=0)


def test_who_may_not_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    async def body(place: Site) -> None:
        session = await place.client.post("/api/v1/dev/session", json={"user": "viewer@example.com"})
        assert session.status_code == 204
        refused = await place.client.post("/api/v1/definitions", json={"document": workflow()})
        assert refused.status_code == 403 and place.documents.asked == 0, refused.text
        torn = await place.client.post(
            "/api/v1/definitions/check", content=b"x" * 100_000, headers={"Content-Type": "text/plain"}
        )
        assert torn.status_code == 415 and place.documents.asked == 0, torn.text

    on_site(body, tmp_path, rounds=0)
