"""Four eyes: every way into force, for every kind of author, under every trick.

What is no way is named as none, so a new route or command that nobody has thought about fails here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx2
import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.process.autonomy.assessment import Assessment
from penstock.cli.main import COMMANDS
from penstock.store.autonomy import AutonomyProposalRow
from tests.api.four_eyes import AUTHORS, FOUR_EYES, SECOND, TENANT, THIRD, House, Thing, house
from tests.cli.test_process_extract import PURCHASE

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
GOVERNED = ("rule-packs", "prompts", "models", "templates")
_TYPE = {"rule-packs": "rule_pack", "prompts": "prompt", "models": "model", "templates": "template"}


# ---- what is brought -------------------------------------------------------------------------------------------------


def process(id: str, name: str) -> dict[str, Any]:
    activities = [{"id": "a", "name": name, "type": "humanTask"}]
    return {"process_definition_id": id, "process_definition_name": id, "activities": activities}


def bpmn(id: str, name: str) -> str:
    return (
        f'<definitions xmlns="{BPMN}" targetNamespace="x"><process id="{id}" name="{id}" isExecutable="true">'
        f'<startEvent id="s"/><userTask id="a" name="{name}"/><endEvent id="e"/>'
        '<sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="e"/>'
        "</process></definitions>"
    )


def workflow(id: str, version: int, name: str) -> dict[str, Any]:
    wait = {"type": "manual"}
    nodes = [{"id": "one", "type": "WAIT", "condition": wait}, {"id": name, "type": "WAIT", "condition": wait}]
    return {"id": id, "version": version, "nodes": nodes, "edges": [{"from": "one", "to": name}]}


def diagram(name: str, label: str) -> dict[str, Any]:
    return {
        "version": "light", "name": name,
        "nodes": [{"label": "Start", "type": "start"}, {"label": label, "type": "endpoint"}],
        "connections": [{"from": "Start", "to": label}],
    }  # fmt: skip


def pipeline(code: str, text: str) -> dict[str, Any]:
    stage = {"stage_code": "sum", "stage_name": text, "sequence_order": 1, "processor_type": "Checksum"}
    return {"pipeline_code": code, "pipeline_name": text, "file_type": "ANY", "stages": [stage]}


def registered(path: str, text: str) -> dict[str, Any]:
    if path == "rule-packs":
        rule = {"id": "r", "name": "r", "scope": "dataset", "when": "true", "decision": "normal", "reasoning": text}
        return {"name": text, "rules": [rule]}
    if path == "templates":
        return {"subject": text, "body": text}
    return {"text": text} if path == "prompts" else {"provider": "stub", "model": text}


# ---- the ways --------------------------------------------------------------------------------------------------------

Bring = Callable[[House, str, str, str], Thing]


def sent(answer: httpx2.Response) -> Any:
    """What a way answers. Some authors may not go it at all."""
    assert answer.status_code < 500, answer.text
    return answer.json() if answer.status_code < 300 else {}


def release(name: str, body: Any) -> Thing:
    return Thing("release", name, int(body.get("version") or 2) if isinstance(body.get("version"), int) else 2)


def put_process(house: House, user: str, id: str, text: str) -> Thing:
    return release(id, sent(house.of(user).put(f"/processes/definitions/{id}", json=process(id, text))))


def post_process(house: House, user: str, id: str, text: str) -> Thing:
    return release(id, sent(house.of(user).post("/processes/definitions", json=process(id, text))))


def put_pending(house: House, user: str, id: str, text: str) -> Thing:
    """The console's button."""
    body = {"document": json.dumps(process(id, text)), "unsound": False, "pending": True}
    return release(id, sent(house.of(user).put(f"/processes/definitions/{id}", json=body)))


def import_bpmn(house: House, user: str, id: str, text: str) -> Thing:
    answer = house.of(user).post("/processes/definitions:import-bpmn", json={"bpmn_xml": bpmn(id, text)})
    return release(id, sent(answer))


def release_draft(house: House, user: str, id: str, text: str) -> Thing:
    """A finished drawing."""
    draft = sent(house.of(user).post("/processes/drafts", json={"text": bpmn(id, text)}))
    if draft:
        sent(house.of(user).post(f"/processes/drafts/{draft['id']}:release", json={"number": draft["number"]}))
    return Thing("release", id, 2)


def extract(house: House, user: str, id: str, text: str) -> Thing:
    """P-6.1.6: it is as sure as can be."""
    body = sent(house.of(user).post("/processes/definitions:extract", json={"text": PURCHASE + text, "id": id}))
    assert not body or body["confidence"] >= 0.8
    return release(id, body)


def proposed_mode(house: House, id: str, text: str) -> str:
    """A proposal for an agent's mode, as an evaluation would have made it; its id."""
    door = Penstock(house.server.store, drive=False, tenant=TENANT).open()
    try:
        row = AutonomyProposalRow(
            TENANT, f"{id}-{text}", id, 1, "a", "a", "", "MANUAL", "SUPERVISED", "open", 1,
            msgspec.msgpack.encode(Assessment(0.8)), 1,
        )  # fmt: skip
        door.store.put_autonomy_proposal(row, None)
        return door.store.autonomy_proposals(TENANT, process=id, status="open")[0].id
    finally:
        door.close()


def accept_mode(house: House, user: str, id: str, text: str) -> Thing:
    body = sent(house.of(user).post(f"/processes/autonomy/{proposed_mode(house, id, text)}:accept"))
    return release(id, {"version": body.get("made_version")})


def cli_accept_mode(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("autonomy", "accept", proposed_mode(house, id, text), key=house.keys[user])
    return Thing("release", id, 2)


def mined_log(id: str, text: str) -> bytes:
    """One case, whose activities are of this try alone."""
    return f"case_id,activity,time\n1,{id},2026-01-01T00:00:00Z\n1,{id} {text},2026-01-02T00:00:00Z\n".encode()


def discover_mined(house: House, user: str, id: str, text: str) -> Thing:
    asked = {"name": "log.csv", "content_base64": base64.b64encode(mined_log(id, text)).decode()}
    log = sent(house.of(user).post("/processes/mining/logs", json=asked))
    body = sent(house.of(user).post(f"/processes/mining/{log.get('id', 'none')}:discover"))
    return release(str(body.get("model_id", id)), body)


def cli_discover_mined(house: House, user: str, id: str, text: str) -> Thing:
    file = house.write(f"{id}.csv", mined_log(id, text).decode())
    said = house.cli("mine", "show", file, "--save", "--discover", key=house.keys[user])
    body = json.loads(said.out)["proposed"] if said.out.startswith("{") else {}
    return release(str(body.get("model_id", id)), body)


def mined(id: str, text: str) -> dict[str, Any]:
    return {"event_log_id": "log", "bpmn_xml": bpmn(id, text), "mining_metadata": {"fitness": 1.0}}


def import_discovered(house: House, user: str, id: str, text: str) -> Thing:
    body = sent(house.of(user).post("/processes/definitions:import-discovered", json=mined(id, text)))
    return Thing("release", f"{id}_discovered", int(body.get("version") or 1))


def send_discovered(house: House, user: str, id: str, text: str) -> Thing:
    sent(house.of(user).post("/events", json={"source": "PROCESS_DISCOVERED", "payload": mined(id, text)}))
    return Thing("release", f"{id}_discovered", 1)


def submit_process(house: House, user: str, id: str, text: str) -> Thing:
    body = sent(house.of(user).post("/definitions", json={"document": json.dumps(process(id, text))}))
    return release(id, body.get("version") or {})


def submit_workflow(house: House, user: str, id: str, text: str) -> Thing:
    sent(house.of(user).post("/definitions", json={"document": json.dumps(workflow(id, 2, text))}))
    return Thing("release", id, 2)


def post_workflow(house: House, user: str, id: str, text: str) -> Thing:
    sent(house.of(user).post("/workflows", json={"dsl": workflow(id, 2, text)}))
    return Thing("release", id, 2)


def post_diagram(house: House, user: str, id: str, text: str) -> Thing:
    return release(id, sent(house.of(user).post("/diagrams", json={"document": diagram(id, text)})))


def put_pipeline(house: House, user: str, id: str, text: str) -> Thing:
    return release(id, sent(house.of(user).put(f"/pipelines/definitions/{id}", json=pipeline(id, text))))


def post_pipeline(house: House, user: str, id: str, text: str) -> Thing:
    """Over one that is in force only a PUT goes."""
    refused = house.of(user).post("/pipelines/definitions", json=pipeline(id, text))
    assert refused.status_code in (403, 409), refused.text
    return release(f"{id}_new", sent(house.of(user).post("/pipelines/definitions", json=pipeline(f"{id}_new", text))))


def submit_pipeline(house: House, user: str, id: str, text: str) -> Thing:
    body = sent(house.of(user).post("/definitions", json={"document": json.dumps(pipeline(id, text))}))
    return release(id, body.get("version") or {})


def put_thing(path: str) -> Bring:
    def bring(house: House, user: str, id: str, text: str) -> Thing:
        sent(house.of(user).put(f"/{path}/{id}", json=registered(path, text)))
        return Thing(path, id)

    return bring


def drop_thing(path: str) -> Bring:
    def bring(house: House, user: str, id: str, text: str) -> Thing:
        answer = house.of(user).delete(f"/{path}/{id}")
        assert answer.status_code < 500, answer.text
        return Thing(path, id)

    return bring


def put_config(house: House, user: str, id: str, text: str) -> Thing:
    sent(house.of(user).put(f"/configs/{id}", json={"text": text}))
    return Thing("configs", id)


def drop_config(house: House, user: str, id: str, text: str) -> Thing:
    sent(house.of(user).delete(f"/configs/{id}"))
    return Thing("configs", id)


def cli_submit(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("releases", "submit", house.write("w.json", workflow(id, 2, text)), key=house.keys[user])
    return Thing("release", id, 2)


def cli_define(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("process", "define", house.write("p.json", process(id, text)), key=house.keys[user])
    return Thing("release", id, 2)


def cli_import(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("process", "import", house.write("p.bpmn", bpmn(id, text)), "--release", key=house.keys[user])
    return Thing("release", id, 2)


def cli_release_draft(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("process", "import", house.write("p.bpmn", bpmn(id, text)), key=house.keys[user])
    house.cli("process", "release", id, key=house.keys[user])
    return Thing("release", id, 2)


def cli_pipeline(house: House, user: str, id: str, text: str) -> Thing:
    """Under another's name nothing is brought: the name has to be proved."""
    file = house.write("f.json", pipeline(id, text))
    assert house.cli("pipeline", "define", file, "--by", SECOND).code != 0
    house.cli("pipeline", "define", file, key=house.keys[user])
    return Thing("release", id, 2)


def cli_watch(house: House, user: str, id: str, text: str) -> Thing:
    """Somebody else drives the store, and a folder is not watched beside it."""
    file = house.write("f.json", pipeline(id, text))
    house.cli("pipeline", "watch", str(house.folder), "--once", "--definition", file, key=house.keys[user])
    return Thing("release", id, 2)


def cli_extract(house: House, user: str, id: str, text: str) -> Thing:
    file = house.write("p.md", PURCHASE + text)
    house.cli("process", "extract", file, "--id", id, "--save", key=house.keys[user])
    return Thing("release", id, 2)


def cli_discovered(house: House, user: str, id: str, text: str) -> Thing:
    file = house.write("p.bpmn", bpmn(id, text))
    house.cli("process", "import-discovered", file, "--log", "log", key=house.keys[user])
    return Thing("release", f"{id}_discovered", 1)


def cli_event(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("events", "send", "PROCESS_DISCOVERED", json.dumps(mined(id, text)), key=house.keys[user])
    return Thing("release", f"{id}_discovered", 1)


def cli_put(house: House, user: str, id: str, text: str) -> Thing:
    body = json.dumps(registered("rule-packs", text))
    house.cli("registry", "put", "rule_pack", id, body, key=house.keys[user])
    return Thing("rule-packs", id)


def cli_put_config(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("registry", "put", "config", id, json.dumps({"text": text}), key=house.keys[user])
    return Thing("configs", id)


def cli_rm(house: House, user: str, id: str, text: str) -> Thing:
    house.cli("registry", "rm", "rule_pack", id, key=house.keys[user])
    return Thing("rule-packs", id)


class Way(NamedTuple):
    """`base`: what of the same id is in force before; `last`: what the route or the command is called."""

    bring: Bring
    base: str
    of: str


WAYS: dict[str, Way] = {
    "process PUT": Way(put_process, "process", "PUT /processes/definitions/{id}"),
    "process POST": Way(post_process, "process", "POST /processes/definitions"),
    "console submit": Way(put_pending, "process", "PUT /processes/definitions/{id}"),
    "BPMN import": Way(import_bpmn, "process", "POST /processes/definitions:import-bpmn"),
    "drawing": Way(release_draft, "process", "POST /processes/drafts/{id}:release"),
    "extraction": Way(extract, "process", "POST /processes/definitions:extract"),
    "discovery": Way(import_discovered, "process", "POST /processes/definitions:import-discovered"),
    "discovery by event": Way(send_discovered, "process", "POST /events"),
    "mined model": Way(discover_mined, "process", "POST /processes/mining/{id}:discover"),
    "learned mode": Way(accept_mode, "process", "POST /processes/autonomy/{id}:accept"),
    "process submit": Way(submit_process, "process", "POST /definitions"),
    "decision submit": Way(submit_workflow, "workflow", "POST /definitions"),
    "decision POST": Way(post_workflow, "workflow", "POST /workflows"),
    "diagram POST": Way(post_diagram, "diagram", "POST /diagrams"),
    "pipeline PUT": Way(put_pipeline, "pipeline", "PUT /pipelines/definitions/{code}"),
    "pipeline POST": Way(post_pipeline, "pipeline", "POST /pipelines/definitions"),
    "pipeline submit": Way(submit_pipeline, "pipeline", "POST /definitions"),
    "config PUT": Way(put_config, "configs", "PUT /configs/{id}"),
    "config DELETE": Way(drop_config, "configs", "DELETE /configs/{id}"),
    **{f"{path} PUT": Way(put_thing(path), path, f"PUT /{path}/{{id}}") for path in GOVERNED},
    **{f"{path} DELETE": Way(drop_thing(path), path, f"DELETE /{path}/{{id}}") for path in GOVERNED},
    "CLI releases submit": Way(cli_submit, "workflow", "releases submit"),
    "CLI process define": Way(cli_define, "process", "process define"),
    "CLI process import": Way(cli_import, "process", "process import"),
    "CLI process release": Way(cli_release_draft, "process", "process release"),
    "CLI pipeline define": Way(cli_pipeline, "pipeline", "pipeline define"),
    "CLI pipeline watch": Way(cli_watch, "pipeline", "pipeline watch"),
    "CLI process extract": Way(cli_extract, "process", "process extract"),
    "CLI process import-discovered": Way(cli_discovered, "process", "process import-discovered"),
    "CLI mine": Way(cli_discover_mined, "process", "mine show"),
    "CLI autonomy accept": Way(cli_accept_mode, "process", "autonomy accept"),
    "CLI events send": Way(cli_event, "process", "events send"),
    "CLI registry put": Way(cli_put, "rule-packs", "registry put"),
    "CLI registry put config": Way(cli_put_config, "configs", "registry put"),
    "CLI registry rm": Way(cli_rm, "rule-packs", "registry rm"),
}
#: these put what waits in force: every trick goes through them
GATES = {
    "POST /definitions/{name}/versions/{version}/approve", "POST /definitions/{name}/versions/{version}/activate",
    "POST /workflows/{id}/versions/{version}/approve", "POST /workflows/{id}/versions/{version}/activate",
    "POST /processes/definitions/{id}:approve", "POST /config-proposals/{id}/approve",
    *(f"POST /{path.removesuffix('s')}-proposals/{{id}}/approve" for path in GOVERNED),
    # or rolled out
    "POST /definitions/{name}/versions/{version}/deploy", "POST /workflows/{id}/versions/{version}/deploy",
    "POST /deploy", "deploy begin",
    # a version may be begun by its number
    "POST /runs", "POST /instances", "POST /processes/definitions/{id}/instances", "POST /diagrams/{id}/runs",
    # by which somebody could become somebody else
    "POST /keys", "PUT /users/{id}", "DELETE /users/{id}",
    "releases approve", "releases activate", "process approve", "registry approve", "keys make", "process start",
}  # fmt: skip
#: and these put no document, pack or setting in force, nor make anybody somebody else
_THINGS = (
    "connections", "calendars", "channels", "mcp-servers", "collections", "aas-shells", "robots", "agents", "tools",
    "roles", "bi-metrics",
)  # fmt: skip
_RUN = ("cancel", "pause", "resume", "retry", "compensate", "fork", "signal", "resolve", "skip", "migrate",
        "undo-migration")  # fmt: skip
_INBOX = (
    "approve", "reject", "judge", "respond", "claim", "release", "delegate", "comment", "escalate", "looking",
)  # fmt: skip
_TASK = (
    "execute", "start", "complete", "cancel", "retry", "review-approve", "review-reject", "force-complete",
)  # fmt: skip
_ITEM = ("start", "submit", "approve", "reject", "rework", "set-mode", "take-over", "delegate", "comment")
NO_WAY = {
    "POST /feel", "POST /rule-packs/{id}/test",  # tried out, and nothing is kept
    "POST /session", "DELETE /session", "POST /dev/session", "PATCH /runs/{run}/variables", "POST /runs:batch",
    "POST /batches", "POST /batches/{batch}/cancel", "POST /batches/{batch}/pause", "POST /batches/{batch}/resume",
    *(f"POST /runs/{{run}}/{verb}" for verb in _RUN), *(f"POST /inbox/{{run}}/{{node}}/{verb}" for verb in _INBOX),
    *(f"POST /processes/workitems/{{id}}:{verb}" for verb in _ITEM),
    # a worker does what an activity of a begun process asks for
    "POST /jobs/activate", *(f"POST /jobs/{{id}}:{verb}" for verb in ("extend", "complete", "fail", "error", "unlock")),
    *(f"{method} /{path}/{{id}}" for path in _THINGS for method in ("PUT", "DELETE")),
    "PUT /secrets/{name}", "DELETE /secrets/{name}", "DELETE /keys/{id}", "POST /tenants", "PUT /drafts/{key}",
    "DELETE /drafts/{key}", "POST /definitions/check", "POST /definitions/inspect", "POST /workflows/validate",
    "POST /diagrams:validate", "POST /workflows/{workflow_id}/trigger", "POST /judgment-reviews",
    "POST /judgments/label", "POST /judgments/import",
    *(f"POST /{kind}/versions/{{version}}/{verb}" for kind in ("definitions/{name}", "workflows/{id}")
      for verb in ("reject", "deprecate", "simulate")),
    *(f"POST /deploy/{{id}}/{verb}" for verb in ("pause", "resume", "promote", "rollback")),  # of what was approved
    *(f"POST /instances/{{id}}/{verb}" for verb in ("cancel", "resume", "retry", "compensate")),
    "POST /instances/{id}/nodes/{node_id}/signal",
    *(f"POST /approvals/{{id}}/{verb}" for verb in ("approve", "reject", "escalate")),
    "POST /diagram-runs/{id}:cancel", "POST /diagram-runs/{id}/nodes/{label}:respond",
    # a draft is no version: it is released
    "POST /processes/drafts", "PUT /processes/drafts/{id}", "DELETE /processes/drafts/{id}",
    *(f"POST /processes/drafts/{{id}}:{verb}" for verb in ("answer", "accept", "undo")),
    "POST /processes/definitions/{id}:reject", "POST /processes/instances/{id}:compensate",
    "POST /processes/instances/{id}:terminate", "POST /processes/autonomy/{id}:dismiss",
    "POST /processes/mining/logs", "DELETE /processes/mining/logs/{log}",  # what happened is no document
    *(f"POST /pipelines/executions/{{executionId}}:{verb}" for verb in ("cancel", "retry")), "POST /pipelines/ingest",
    "POST /pipelines/dlq:redrive", "DELETE /pipelines/definitions/{code}",
    "POST /pipelines/definitions/{code}/executions",  # only what is in force
    "POST /pipelines/schedules", "DELETE /pipelines/schedules/{scheduleId}",
    *(f"POST /schedules/{{name}}/{verb}" for verb in ("pause", "resume", "fire", "backfill")),
    "DELETE /dlq/{run}", "POST /dlq/{run}/replay", "POST /dlq/replay",
    "POST /circuit-breakers/{workflow}/{node}/reset", "POST /inventory/release", "POST /config-proposals/{id}/reject",
    *(f"POST /{path.removesuffix('s')}-proposals/{{id}}/reject" for path in GOVERNED),
    # a project is a folder: its files run as they are, as with `penstock run`, and nothing is released
    "POST /projects", "PATCH /projects/{id}", "POST /projects/{id}:sync", "POST /projects/{id}:check",
    "POST /projects/{id}/tasks", "PATCH /projects/{id}/tasks/{tid}", "POST /projects/{id}/tasks/{tid}/worktree",
    *(f"POST /projects/{{id}}/tasks/{{tid}}:{verb}" for verb in _TASK),
    *(f"POST /projects/{{id}}/workflow:{verb}" for verb in ("start", "stop", "resume", "reset")),
    "POST /projects/{id}/executions/{sid}:heartbeat", "POST /reports:collect",
}  # fmt: skip
#: commands that look, drive runs, or work on what is in force already; `run` and `fork` run a file, and release nothing
NO_WAY_CLI = {
    "test", "feel", "convert",
    "demo", "dev", "serve", "check", "run", "work", "ps", "show", "trace", "replay", "fork", "signal", "respond",
    "inbox", "approve", "reject", "outbox", "cancel", "pause", "resume", "retry", "compensate", "migrate", "draw",
    "verify", "doctor", "rebuild", "bench", "version", "events ls", "releases ls", "releases show", "releases reject",
    "releases deprecate", "releases diff", "registry ls", "registry get", "registry proposals", "registry reject",
    "keys ls", "keys revoke", "audit verify", "audit ls", "audit head", "deployments",
    *(f"deploy {verb}" for verb in ("pause", "resume", "promote", "rollback")),
    *(f"autonomy {verb}" for verb in ("ls", "show", "dismiss", "evaluate")),
    *(f"mine {verb}" for verb in ("import", "logs", "diff")),
}  # fmt: skip
NO_WAY_GROUPS = {"schedules", "dlq", "rules", "items", "batch", "plan", "judgments", "simulations", "simulate", "jobs"}
NO_WAY_PIPELINE = {"ingest", "ls", "show", "logs", "cancel", "retry", "dlq", "usage", "schedule", "schedules", "trace"}
NO_WAY_PROCESS = {
    "ls", "show", "bpmn", "versions", "diff", "reject", "instance", "terminate", "compensate", "events",
    "reevaluation", "log", "conformance", "drafts", "draft", "answer", "accept", "undo", "discard",
}  # fmt: skip


def test_every_route_is_a_way_a_gate_or_none() -> None:
    """Four eyes: whoever adds a route that changes something says here which it is."""
    from penstock.api.server import create

    paths = create(Penstock(":memory:", drive=False)).openapi()["paths"]
    routes = {
        f"{method.upper()} {path.removeprefix('/api/v1').removeprefix('/api')}"
        for path, methods in paths.items()
        for method in methods
        if method in ("post", "put", "patch", "delete")
    }
    ways = {way.of for way in WAYS.values() if way.of[0].isupper()}
    gates = {gate for gate in GATES if gate[0].isupper()}
    assert routes - ways - gates - NO_WAY == set(), "is it a way into force? Say so, and bring it through the matrix"
    assert (ways | gates | NO_WAY) - routes == set(), "there is no such route any more"


def test_every_command_is_a_way_a_gate_or_none() -> None:
    from importlib import import_module

    commands = set[str]()
    for name, (module, _) in COMMANDS.items():
        held = getattr(import_module(module), name)
        commands |= {f"{name} {verb}" for verb in held} if isinstance(held, dict) else {name}
    known = {way.of for way in WAYS.values()} | GATES | NO_WAY_CLI | {f"process {verb}" for verb in NO_WAY_PROCESS}
    known |= {f"pipeline {verb}" for verb in NO_WAY_PIPELINE}
    left = {command for command in commands if command not in known and command.split()[0] not in NO_WAY_GROUPS}
    assert left == set(), "is it a way into force? Say so, and bring it through the matrix"


# ---- the tricks ------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    house: House
    author: str
    thing: Thing
    way: Way
    id: str

    def gates(self, client: httpx2.Client) -> Iterator[httpx2.Response]:
        """Everything that could put it in force, or begin it although it is not."""
        kind, name, version = self.thing
        if kind != "release":
            yield client.post(f"/{kind.removesuffix('s')}-proposals/{name}/approve")
            return
        yield client.post(f"/processes/definitions/{name}:approve")
        for root in (f"/definitions/{name}", f"/workflows/{name}"):
            yield client.post(f"{root}/versions/{version}/approve")
            yield client.post(f"{root}/versions/{version}/activate")
            yield client.post(f"{root}/versions/{version}/deploy")
        yield client.post(f"/processes/definitions/{name}:approve", json={"into": self.id})
        yield client.post("/deploy", json={"artifact": {"type": "workflow", "id": name, "version": version}})
        for path, body in (
            ("/runs", {"definition": name, "version": version}),
            ("/instances", {"workflow_id": name, "version": version}),
            (f"/processes/definitions/{name}/instances", {"version": version}),
        ):
            begun = client.post(path, json=body)
            assert begun.status_code >= 400, f"{path} begins version {version}, which nobody has approved"
            yield begun

    def at_the_command_line(self, *more: str, key: str | None = None) -> Iterator[Any]:
        kind, name, version = self.thing
        if kind == "release":
            yield self.house.cli("releases", "approve", name, str(version), *more, key=key)
            yield self.house.cli("releases", "activate", name, str(version), *more, key=key)
            yield self.house.cli("process", "approve", name, *more, key=key)
            rollout = ("deploy", "begin", "workflow", name, "--version", str(version))
            yield self.house.cli(*rollout, *more, key=key)
        else:
            type = _TYPE.get(kind, kind.removesuffix("s"))
            yield self.house.cli("registry", "approve", type, name, *more, key=key)

    @property
    def own(self) -> httpx2.Client:
        return self.house.of(self.author)

    def key_for(self, user: str, client: httpx2.Client | None = None) -> str | None:
        made = (client or self.own).post("/keys", json={"name": "trick", "user": user})
        assert made.status_code < 500, made.text
        return str(made.json()["token"]) if made.status_code == 201 else None


def own_approval(trial: Trial) -> Iterator[Any]:
    yield from trial.gates(trial.own)


def other_spelling(trial: Trial) -> Iterator[Any]:
    """Another case, full-width letters, composed otherwise, with letters that nobody sees."""
    name = trial.author
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in name)
    import unicodedata

    for spelled in {name.upper(), wide, unicodedata.normalize("NFD", name), f"{name}\u200b", f" {name}"} - {name}:
        key = trial.key_for(spelled)
        if key is not None:
            yield from trial.gates(trial.house.client(key))


def second_registration(trial: Trial) -> Iterator[Any]:
    """The author may keep the users: the same name is not registered twice."""
    for spelled in (trial.author.upper(), f"{trial.author}\u200b"):
        if spelled == trial.author:
            continue
        answer = trial.own.put(f"/users/{spelled}", json={"roles": AUTHORS[trial.author]})
        assert answer.status_code in (403, 409), answer.text
        yield answer


def new_user(trial: Trial) -> Iterator[Any]:
    """Somebody who was made up for it has no key that approves."""
    trial.own.put("/users/sock_puppet", json={"roles": AUTHORS[trial.author]})
    key = trial.key_for("sock_puppet")
    if key is not None:
        yield from trial.gates(trial.house.client(key))


def minted_key(trial: Trial) -> Iterator[Any]:
    """A key for the second person, made by the author; and one that was made with it."""
    key = trial.key_for(SECOND)
    if key is None:
        return
    yield from trial.gates(trial.house.client(key))
    again = trial.key_for(SECOND, trial.house.client(key))
    assert again is not None
    yield from trial.gates(trial.house.client(again))
    yield from trial.at_the_command_line(key=key)


def borrowed_name(trial: Trial) -> Iterator[Any]:
    """The other way round: brought with a key in the second person's name, which the author has made, and approved
    under the author's own; also by way of a user who was made up, and with a key that is revoked by then."""
    house, name = trial.house, f"{SECOND} by {trial.author}"
    trial.own.put("/users/go_between", json={"roles": AUTHORS[trial.author]})
    between = trial.key_for("go_between")
    for maker in (None, house.client(between) if between is not None else None):
        key = trial.key_for(SECOND, maker)
        if key is None:
            return
        house.keys[name] = key
        thing = trial.way.bring(house, name, trial.id, f"borrowed {maker is None}")
        yield from trial._replace(thing=thing).gates(trial.own)
        yield trial.own.delete(f"/keys/{key.split('_')[1]}")
        yield from trial._replace(thing=thing).gates(trial.own)
        yield from trial._replace(thing=thing).at_the_command_line(key=house.keys[trial.author])


def address_of_mail(trial: Trial) -> Iterator[Any]:
    key = trial.key_for(f"{trial.author}@example.com")
    if key is not None:
        yield from trial.gates(trial.house.client(key))


def over_what_waits(trial: Trial) -> Iterator[Any]:
    """The same once more, and another over it: what waits still waits, and is nobody else's."""
    for text in ("first", "second"):
        again = trial.way.bring(trial.house, trial.author, trial.id, text)
        yield from trial._replace(thing=again).gates(trial.own)


def command_line(trial: Trial) -> Iterator[Any]:
    """Under the own name with a key, under another's without one, and under both."""
    own = trial.house.keys[trial.author]
    for done in (
        *trial.at_the_command_line(key=own), *trial.at_the_command_line("--by", SECOND),
        *trial.at_the_command_line("--by", SECOND, key=own), *trial.at_the_command_line(),
    ):  # fmt: skip
        assert done.code == 2, done.out
        yield done


def switch_off(trial: Trial) -> Iterator[Any]:
    """Four eyes are what they are switched off with."""
    yield trial.own.put("/configs/tenant", json={"release": {"four_eyes": False}})
    yield trial.own.post("/config-proposals/tenant/approve")
    yield trial.own.delete("/configs/tenant")
    yield trial.own.post("/config-proposals/tenant/approve")
    yield trial.house.cli("registry", "put", "config", "tenant", "{}", key=trial.house.keys[trial.author])
    yield trial.own.post("/config-proposals/tenant/approve")
    yield from trial.gates(trial.own)


TRICKS = (
    own_approval, other_spelling, second_registration, new_user, minted_key, borrowed_name, address_of_mail,
    over_what_waits, command_line, switch_off,
)  # fmt: skip


# ---- the matrix ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("four-eyes")) as made:
        yield made


def in_force_before(at: House, base: str, id: str) -> None:
    """By two persons, neither of whom is the author."""
    one, other = at.of(THIRD), at.of(SECOND)
    if base in ("process", "workflow", "diagram", "pipeline"):
        document = {
            "process": process(id, "a"), "workflow": workflow(id, 1, "two"), "diagram": diagram(id, "End"),
            "pipeline": pipeline(id, "before"),
        }[base]  # fmt: skip
        made = one.post("/diagrams" if base == "diagram" else "/definitions", json={"document": document})
        assert made.status_code == 201, made.text
        for verb in ("approve", "activate"):
            done = other.post(f"/definitions/{id}/versions/1/{verb}")
            assert done.status_code == 200, done.text
    else:
        body = {"text": "before"} if base == "configs" else registered(base, "before")
        assert one.put(f"/{base}/{id}", json=body).status_code == 202
        assert other.post(f"/{base.removesuffix('s')}-proposals/{id}/approve").status_code == 204


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize("way", WAYS)
def test_p_6_1_6_nothing_comes_in_force_by_its_author(at: House, way: str, author: str) -> None:
    """Ways × roles × tricks: what was in force before stays in force until a second person has approved the change;
    then, and not before, it is in force. P-6.1.6: a sure extraction skips the review, not the second person."""
    id = f"m{list(WAYS).index(way)}_{list(AUTHORS).index(author)}"
    in_force_before(at, WAYS[way].base, id)
    thing = WAYS[way].bring(at, author, id, "changed")
    before = at.in_force(thing)
    assert at.in_force(Thing("configs", "tenant"))["release"] == FOUR_EYES["release"]
    tried = 0
    for trick in TRICKS:
        for answer in trick(Trial(at, author, thing, WAYS[way], id)):
            tried += 1
            if isinstance(answer, httpx2.Response):
                assert answer.status_code < 500, answer.text
        assert at.in_force(thing) == before, f"{way} by {author}: {trick.__name__} put it in force"
        if thing.kind == "release":
            assert at.in_force(Thing("release", id)) == 1, f"{way} by {author}: {trick.__name__} put it in force"
        assert at.in_force(Thing("configs", "tenant"))["release"] == FOUR_EYES["release"], trick.__name__
    print(f"{way} × {author}: {tried} attempts, 0 holes")
    finish(at, WAYS[way].bring(at, author, id, "at last"), before)


def finish(at: House, thing: Thing, before: Any) -> None:
    """The second person can: what is never in force is no proof of anything. An author without the right to go this
    way has brought nothing."""
    second = at.of(SECOND)
    if thing.kind != "release":
        waits = second.get(f"/{thing.kind.removesuffix('s')}-proposals/{thing.name}")
        if waits.status_code == 200:
            assert second.post(f"/{thing.kind.removesuffix('s')}-proposals/{thing.name}/approve").status_code == 204
            assert at.in_force(thing) != before
        return
    versions = second.get(f"/definitions/{thing.name}/versions")
    rows = versions.json()["items"] if versions.status_code == 200 else []
    waiting = [row for row in rows if row["status"] == "pending_approval"]
    if waiting:
        root = f"/definitions/{thing.name}/versions/{waiting[0]['version']}"
        assert second.post(f"{root}/approve").status_code == 200
        assert second.post(f"{root}/activate").status_code == 200
        assert at.in_force(thing) == waiting[0]["version"] != before


def test_an_older_version_that_one_person_approved_does_not_come_back_by_its_author(at: House) -> None:
    """A rollback, too: what its author had approved before four eyes were asked for needs a second person now."""
    door = Penstock(at.server.store, drive=False).open()
    try:
        row = door.releases.submit(workflow("rollback", 1, "two"), by="kim").release
        from msgspec.structs import replace

        approved = replace(row, status="approved", approved_by="KIM", approved_at=1)
        assert door.store.move_releases([(approved, "pending_approval")])
    finally:
        door.close()
    path = "/definitions/rollback/versions/1/activate"
    refused = at.of("kim").post(path)
    assert refused.status_code == 403 and refused.json()["code"] == "PS-403-FOUR-EYES"
    assert at.of(SECOND).post(path).status_code == 200
