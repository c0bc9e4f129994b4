"""Pictures of definitions and of runs, over HTTP."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.api.places import ADMIN
from tests.api.serving import Server, until

HOSTILE = '</text><script>alert(1)</script><a href="javascript:alert(2)">" onload="alert(3)'


def _document() -> dict[str, Any]:
    nodes = [("Start", "start"), (HOSTILE, "user_response"), ("End", "endpoint")]
    return {
        "version": "light", "name": "hostile",
        "nodes": [{"label": label, "type": kind, **({"prompt": "?"} if kind == "user_response" else {})}
                  for label, kind in nodes],
        "connections": [{"from": "Start", "to": HOSTILE}, {"from": HOSTILE, "to": "End"}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def waiting(dev: Server) -> str:
    admin = dev.client(ADMIN)
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    return str(run)


def test_a_definition_is_drawn(dev: Server) -> None:
    """C-66: as SVG, as Mermaid and as text, each with its own type; another form is refused."""
    admin = dev.client(ADMIN)
    where = "/definitions/wf_defect_alert_v2/versions/2/draw"
    svg = admin.get(where)
    assert svg.status_code == 200 and svg.headers["content-type"] == "image/svg+xml"
    assert ElementTree.fromstring(svg.text).tag == "{http://www.w3.org/2000/svg}svg" and "request_approval" in svg.text
    assert "waiting" not in svg.text, "nothing runs in it"
    mermaid = admin.get(where, params={"format": "mermaid"})
    assert mermaid.text.startswith("flowchart LR") and mermaid.headers["content-type"].startswith("text/vnd.mermaid")
    text = admin.get(where, params={"format": "text"})
    assert "request_approval" in text.text and text.headers["content-type"].startswith("text/plain")
    assert admin.get(where, params={"theme": "dark"}).text != svg.text
    assert admin.get(where, params={"format": "pdf"}).status_code in (400, 422)
    assert admin.get("/definitions/wf_defect_alert_v2/versions/99/draw").status_code == 404


def test_a_run_is_drawn_with_its_tokens_after_a_fact(dev: Server, waiting: str) -> None:
    """C-66, D-X.29: at its last fact it waits for its approval; at its first nothing has happened yet."""
    admin = dev.client(ADMIN)
    now = admin.get(f"/runs/{waiting}/draw", params={"format": "text"}).text
    (line,) = [one for one in now.splitlines() if "request_approval" in one]
    assert "waiting" in line
    then = admin.get(f"/runs/{waiting}/draw", params={"format": "text", "at": 1}).text
    assert "waiting" not in then and "done" not in then and "request_approval" in then
    assert "waiting" in admin.get(f"/runs/{waiting}/draw").text
    of = admin.get(f"/runs/{waiting}/facts").json()["of"]
    assert admin.get(f"/runs/{waiting}/draw", params={"format": "text", "at": of}).text == now
    late = admin.get(f"/runs/{waiting}/draw", params={"at": of + 1000})
    assert late.status_code == 400 and f"1 to {of}" in late.json()["detail"]
    assert admin.get("/runs/nobody/draw").status_code == 404


def test_a_picture_runs_nothing(dev: Server) -> None:
    """D-X.29: names of nodes are text in it, and opened by itself it may do nothing but style itself."""
    admin = dev.client(ADMIN)
    assert admin.post("/diagrams", json={"document": _document()}).status_code == 201
    run = admin.post("/diagrams/hostile/runs", json={}).json()["run_id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    for path in (f"/runs/{run}/draw", "/definitions/hostile/versions/1/draw"):
        answer = admin.get(path)
        if answer.status_code == 404:
            assert path.startswith("/definitions"), answer.text  # a diagram that was never submitted for approval
            continue
        root = ElementTree.fromstring(answer.text)
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not names & {"script", "a", "foreignObject", "image", "use", "iframe"}, names
        said = [name for element in root.iter() for name in element.attrib]
        assert not [name for name in said if name.startswith("on") or "href" in name]
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "sandbox" in policy and "script-src" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    mermaid = admin.get(f"/runs/{run}/draw", params={"format": "mermaid"}).text
    assert "<script" not in mermaid and "javascript:" not in mermaid.replace("#", "")
