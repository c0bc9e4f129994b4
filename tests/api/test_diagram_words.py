"""The diagram language's own words over HTTP (D-X.29)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tests.api.serving import ROOT, Server, until

ADMIN, OPERATOR = "admin@example.com", "operator@example.com"
EXAMPLES = ROOT / "examples" / "diagram"


def _kept(dev: Server, path: Path) -> str:
    made = dev.client(ADMIN).post("/diagrams", json={"document": path.read_text()})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def _run(dev: Server, id: str, **more: Any) -> str:
    made = dev.client(OPERATOR).post(f"/diagrams/{id}/runs", json=more)
    assert made.status_code == 201, made.text
    run = str(made.json()["run_id"])
    assert made.headers["location"] == f"/api/v1/diagram-runs/{run}"
    return run


def _stands(dev: Server, run: str, status: str) -> dict[str, Any]:
    operator = dev.client(OPERATOR)
    found: dict[str, Any] = until(
        lambda: operator.get(f"/diagram-runs/{run}").json(), lambda one: one["status"] == status
    )
    return found


def test_a_diagram_is_kept_with_its_versions(dev: Server) -> None:
    """D-X.29: 201 with an id; the same again is the same version; another text of the name is the next."""
    admin, text = dev.client(ADMIN), (EXAMPLES / "diamond.yaml").read_text()
    first = admin.post("/diagrams", json={"document": text}).json()
    again = admin.post("/diagrams", json={"document": text}).json()
    assert (first["version"], first["new"], first["status"]) == (1, True, "active")
    assert (again["version"], again["new"]) == (1, False)
    assert admin.post("/diagrams", json={"document": text + "\ndescription: changed\n"}).json()["version"] == 2
    assert admin.get(f"/definitions/{first['id']}/versions").json()["items"][0]["version"] == 2
    assert admin.get(f"/workflows/{first['id']}/versions").status_code == 404, "a diagram is no workflow"


def test_problems_are_a_list_with_places(dev: Server) -> None:
    """D-X.29: 400 with every problem; validate says the same and keeps nothing."""
    admin = dev.client(ADMIN)
    wrong = "version: light\nname: wrong\nnodes:\n  - {label: A, type: nope}\nconnections:\n  - {from: A, to: B}\n"
    refused = admin.post("/diagrams", json={"document": wrong})
    assert refused.status_code == 400 and refused.headers["content-type"] == "application/problem+json"
    found = refused.json()["findings"]
    assert len(found) >= 2 and all(one["message"] for one in found) and found[0]["where"]["line"]
    checked = admin.post("/diagrams:validate", json={"document": wrong}).json()
    assert not checked["valid"] and checked["problems"] == found
    assert admin.post("/diagrams/wrong/runs", json={}).status_code == 404
    for unread in ("[1, 2", "a: [", "5"):
        assert admin.post("/diagrams", json={"document": unread}).status_code in (400, 422), unread


def test_the_loop_is_told_step_by_step(dev: Server) -> None:
    """D-X.29, D-X.22, D-A.1, D-A.18: the trace in order, node states, and as many tokens taken as were put."""
    run = _run(dev, _kept(dev, EXAMPLES / "loop.yaml"))
    ended, operator = _stands(dev, run, "COMPLETED"), dev.client(OPERATOR)
    assert ended["error"] is None and "MAXITER_REACHED" in ended["nodes"].values()
    steps = operator.get(f"/diagram-runs/{run}/trace").json()["steps"]
    assert [one["seq"] for one in steps] == list(range(1, len(steps) + 1))
    names = [one["name"] for one in steps]
    assert names[0] == "run.started" and names[-1] == "run.completed"
    gone = sum(names.count(f"token.{fate}") for fate in ("consumed", "absorbed", "expired", "discarded"))
    assert names.count("token.published") == gone > 0
    tokens = operator.get(f"/diagram-runs/{run}/tokens").json()["items"]
    assert len(tokens) == gone and all(one["fate"] for one in tokens)
    edge = tokens[0]["edge"]
    some = operator.get(f"/diagram-runs/{run}/tokens", params={"edge": edge, "epoch": 0}).json()["items"]
    assert some and {one["edge"] for one in some} == {edge}
    assert operator.get(f"/diagram-runs/{run}/tokens?epoch=7").json()["items"] == []


def test_d_x_29_as_many_nodes_at_once_as_the_caller_says(dev: Server, tmp_path: Path) -> None:
    """D-X.29: `max_concurrent` of a run holds; counted by what has begun and not ended in its trace."""
    labels = [f"N{n}" for n in range(4)]
    nodes = [{"label": label, "type": "person_job", "person": "W", "default_prompt": "x"} for label in labels]
    ways = [{"from": "Start", "to": label} for label in labels]
    document = {
        "version": "light", "name": "wide", "persons": {"W": {"service": "echo"}},
        "nodes": [{"label": "Start", "type": "start"}, *nodes], "connections": ways,
    }  # fmt: skip
    (tmp_path / "wide.json").write_text(json.dumps(document))
    id = _kept(dev, tmp_path / "wide.json")
    for limit in (1, 4):
        run = _run(dev, id, max_concurrent=limit)
        _stands(dev, run, "COMPLETED")
        steps = dev.client(OPERATOR).get(f"/diagram-runs/{run}/trace").json()["steps"]
        changes = [{"node.started": 1, "node.completed": -1}.get(step["name"], 0)
                   for step in steps if step["node"] in labels]  # fmt: skip
        assert max(itertools.accumulate(changes)) == limit and sum(changes) == 0


def test_events_come_as_they_happen_and_go_on_where_a_reader_stopped(dev: Server) -> None:
    """D-X.29, D-X.22: server-sent events with their numbers; Last-Event-ID leaves out what was seen."""
    run = _run(dev, _kept(dev, EXAMPLES / "loop.yaml"))
    _stands(dev, run, "COMPLETED")
    operator = dev.client(OPERATOR)
    whole = _events(operator.get(f"/diagram-runs/{run}/events").text)
    assert whole[0]["name"] == "run.started" and [one["seq"] for one in whole] == list(range(1, len(whole) + 1))
    rest = _events(operator.get(f"/diagram-runs/{run}/events", headers={"Last-Event-ID": "3"}).text)
    assert rest == whole[3:]


def _events(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [one for one in map(json.loads, lines) if one]


def test_a_person_answers_once(dev: Server) -> None:
    """D-X.29, D-X.18, D-A.16: waits, is answered, the value reaches the next node; again 409, another node 404."""
    run, admin = _run(dev, _kept(dev, EXAMPLES / "ask.yaml")), dev.client(ADMIN)
    stands = _stands(dev, run, "WAITING")
    assert [one["node"] for one in stands["waiting"]] == ["Ask name"]
    where = f"/diagram-runs/{run}/nodes"
    assert admin.post(f"{where}/Nobody:respond", json={"value": "Kim"}).status_code == 404
    assert admin.post(f"{where}/Ask name:respond", json={"value": "Kim"}).status_code == 200
    ended = _stands(dev, run, "COMPLETED")
    assert "Kim" in json.dumps(ended["outputs"])
    assert admin.post(f"{where}/Ask name:respond", json={"value": "Lee"}).status_code == 409


def test_a_run_is_cancelled_once(dev: Server) -> None:
    """D-X.29, F-X.22: the verb after the colon is no part of the id: 202, then 409; 404 for a run that is not there."""
    run, operator = _run(dev, _kept(dev, EXAMPLES / "ask.yaml"), max_concurrent=1), dev.client(OPERATOR)
    _stands(dev, run, "WAITING")
    done = operator.post(f"/diagram-runs/{run}:cancel")
    assert done.status_code == 202, done.text
    assert _stands(dev, run, "CANCELLED")["run_id"] == run
    again = operator.post(f"/diagram-runs/{run}:cancel")
    assert again.status_code == 409 and again.json()["state"] == "CANCELLED"
    assert operator.post("/diagram-runs/nothing:cancel").status_code == 404
    assert operator.get(f"/instances/{run}").status_code == 404, "a diagram's run is no instance"
