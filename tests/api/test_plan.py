"""Projects, tasks, executions and reports over HTTP: every route, what it answers, and what it refuses (T-X.39)."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN
from tests.api.plans import DONE, Listener, PlanSite, ProjectFolder, plan_site, plans
from tests.api.serving import until

__all__ = ["plans"]


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_projects_are_registered_and_listed(plans: PlanSite) -> None:
    """T-X.39, T-6.1.2: 201 with its address; the same folder again is the same project; switched off and on."""
    files = plans.project(title="A site")
    files.task("a")
    made = plans.admin.post("/projects", json={"path": str(files.folder), "name": "Our site"})
    assert made.status_code == 201, made.text
    body = made.json()
    assert made.headers["location"] == f"/api/v1/projects/{body['id']}"
    assert (body["path"], body["status"], body["health"], body["score"]) == (str(files.folder), "idle", "unknown", None)
    assert body["counts"]["pending"] == 1 and body["run"] and body["trusted"] is False and body["enabled"] is True
    again = plans.admin.post("/projects", json={"path": str(files.folder)})
    assert (again.status_code, again.json()["id"]) == (201, body["id"])
    assert body["id"] in [each["id"] for each in plans.viewer.get("/projects").json()["items"]]
    assert plans.viewer.get(f"/projects/{body['id']}").json()["title"] == "A site"
    changed = plans.admin.patch(f"/projects/{body['id']}", json={"enabled": False, "trusted": True})
    assert (changed.status_code, changed.json()["enabled"], changed.json()["trusted"]) == (200, False, True)
    refused = plans.operator.post(f"/projects/{body['id']}/workflow:start", json={})
    assert refused.status_code == 400 and "disabled" in refused.json()["detail"]
    assert plans.admin.patch(f"/projects/{body['id']}", json={"enabled": True}).json()["enabled"] is True


def test_what_cannot_be_registered(plans: PlanSite, tmp_path: Path) -> None:
    """T-X.39: no folder, no whole path, the engine's own folder, a broken plan; nothing is kept of it."""
    before = len(plans.viewer.get("/projects").json()["items"])
    (tmp_path / "file").write_text("")
    own = str(Path(plans.server.store).parent) if plans.server.kind == "sqlite" else str(plans.folder / ".penstock")
    for path in ("site", "../site", str(tmp_path / "nowhere"), str(tmp_path / "file"), own, "/x\ty/none", "/x\nnone"):
        answer = plans.admin.post("/projects", json={"path": path})
        assert code_of(answer) == (400, "PS-400-INPUT"), (path, answer.text)
    broken = plans.project()
    broken.task("a", depends_on=["a"])
    (broken.folder / "tasks" / "b.md").write_text("---\nid: [\n---\n")
    answer = plans.admin.post("/projects", json={"path": str(broken.folder)})
    assert answer.status_code == 422 and answer.json()["findings"], answer.text
    assert all("where" in finding for finding in answer.json()["findings"])
    assert plans.admin.post("/projects", json={}).status_code == 422
    assert plans.admin.post("/projects", json={"path": "/x", "color": "red"}).status_code == 422
    assert len(plans.viewer.get("/projects").json()["items"]) == before


def test_what_is_not_there(plans: PlanSite) -> None:
    """T-X.39: 404 with the code of what is missing, on every route."""
    files = plans.project()
    files.task("a")
    project = plans.registered(files)
    for method, path, body in (
        ("GET", "", None), ("GET", "/health", None), ("POST", ":check", None), ("GET", "/tasks", None),
        ("GET", "/agents", None), ("GET", "/executions", None), ("GET", "/workflow/state", None),
        ("GET", "/workflow/next", None), ("POST", "/workflow:start", {}), ("POST", "/workflow:stop", {}),
        ("POST", "/workflow:resume", None), ("POST", "/workflow:reset", None), ("GET", "/deadlocks", None),
        ("GET", "/sync", None), ("POST", ":sync", None), ("PATCH", "", {"enabled": True}), ("GET", "/events", None),
        ("POST", "/tasks", {"id": "x", "title": "X"}), ("GET", "/tasks/a", None), ("POST", "/tasks/a:execute", {}),
    ):  # fmt: skip
        answer = plans.admin.request(method, f"/projects/nowhere{path}", json=body)
        assert code_of(answer) == (404, "PROJECT-404"), (method, path, answer.text)
    for verb, body in (
        ("start", {}), ("execute", {}), ("complete", {}), ("cancel", None), ("retry", None), ("review-approve", {}),
        ("review-reject", {"comment": "no"}), ("force-complete", {"reason": "x"}),
    ):  # fmt: skip
        assert code_of(project.ask(f"/tasks/none:{verb}", body, plans.admin)) == (404, "TASK-404"), verb
    for path in ("/tasks/none", "/tasks/none/can-execute"):
        assert code_of(plans.viewer.get(f"{project.path}{path}")) == (404, "TASK-404")
    assert code_of(project.ask("/tasks/none/worktree", {"action": "keep"}, plans.admin)) == (404, "TASK-404")
    patched = plans.admin.patch(f"{project.path}/tasks/none", json={"dependsOn": []})
    assert code_of(patched) == (404, "TASK-404")
    for path in ("", "/log", "/diff"):
        answer = plans.viewer.get(f"{project.path}/executions/none{path}")
        assert code_of(answer) == (404, "EXECUTION-404"), path
    assert code_of(project.ask("/executions/none:heartbeat")) == (404, "EXECUTION-404")
    assert code_of(plans.viewer.get("/reports", params={"project": "nowhere"})) == (404, "PROJECT-404")


def test_tasks_are_added_and_changed(plans: PlanSite) -> None:
    """T-X.39, T-X.8, T-8.3.5: 201 and a file; what is wrong is TASK-400-SCHEMA, and nothing is written."""
    files = plans.project()
    files.task("a", steps=DONE)
    project = plans.registered(files)
    answer = project.ask(
        "/tasks",
        {
            "id": "b",
            "title": "The second",
            "dependsOn": ["a"],
            "description": "Do it.",
            "successCriteria": ["it is done"],
        },
    )
    assert answer.status_code == 201 and answer.headers["location"].endswith("/tasks/b"), answer.text
    assert (answer.json()["status"], answer.json()["blockingTasks"]) == ("pending", ["a"])
    assert files.front("b")["depends_on"] == ["a"] and "Do it." in (files.folder / "tasks" / "b.md").read_text()
    detail = project.get("/tasks/b")
    assert detail["description"].strip() == "Do it." and [each["text"] for each in detail["criteria"]] == ["it is done"]
    assert project.get("/tasks/a")["dependents"] == ["b"]
    names = sorted(path.name for path in (files.folder / "tasks").iterdir())
    for wrong in (
        {}, {"id": "c"}, {"title": "C"}, {"id": "a", "title": "again"}, {"id": "c", "title": 5},
        {"id": "../c", "title": "out"}, {"id": "c/d", "title": "below"}, {"id": "c", "title": "C", "dependsOn": ["c"]},
        {"id": "c", "title": "C", "dependsOn": ["nobody"]}, {"id": "c", "title": "C", "color": "red"},
        {"id": "c", "title": "C", "priority": "high"}, {"id": "c", "title": "C", "schedule": "whenever"},
        {"id": "c", "title": "C", "successCriteria": [{"output_matches": "("}]},
    ):  # fmt: skip
        answer = project.ask("/tasks", wrong)
        assert code_of(answer) == (400, "TASK-400-SCHEMA"), (wrong, answer.text)
    assert sorted(path.name for path in (files.folder / "tasks").iterdir()) == names
    changed = plans.operator.patch(f"{project.path}/tasks/b", json={"dependsOn": []})
    assert changed.status_code == 200 and changed.json()["dependsOn"] == [], changed.text
    assert project.get("/tasks/b/can-execute")["canExecute"] is True
    listed = project.get("/tasks", status="pending")["items"]
    assert [task["id"] for task in listed] == ["a", "b"] and project.get("/tasks", status="failed")["items"] == []
    assert plans.viewer.get(f"{project.path}/tasks", params={"status": "odd"}).status_code == 422


def test_an_execution_has_a_log_a_diff_and_a_worktree(plans: PlanSite) -> None:
    """T-X.39, T-X.12: pages of the log, the diff beside it; kept until somebody merges or discards it, once."""
    files = plans.project(merge="review", review_below=0)
    for id in ("a", "b"):
        files.task(id, steps=[{"init": True}, {"say": "hello"}, {"edit": {f"{id}.txt": "text\n"}}, {"result": "done"}])
    files.git()
    project = plans.registered(files)
    for id in ("a", "b"):
        project.execute(id)
        assert project.ended(id)["status"] == "completed"
    first, _ = project.executions()
    log = project.get(f"/executions/{first['session']}/log", limit=1)
    assert len(log["lines"]) == 1 and log["next"] > 0
    rest = project.get(f"/executions/{first['session']}/log", after=log["next"])
    assert "hello" in [line["text"] for line in rest["lines"]]
    end = project.get(f"/executions/{first['session']}/log", after=rest["next"])
    assert (end["lines"], end["ended"]) == ([], True)
    diff = project.get(f"/executions/{first['session']}/diff")
    assert diff["session"] == first["session"] and "+text" in diff["diff"] and "tasks/" not in diff["diff"]
    found = project.get(f"/executions/{first['session']}")
    assert found["diffStat"]["files"] == 1 and found["branch"] and not (files.folder / "a.txt").exists()
    assert project.ask("/tasks/a/worktree", {"action": "merge"}).status_code == 403
    assert project.done("/tasks/a/worktree", {"action": "merge"}, plans.admin)["merge"] == "merged"
    assert (files.folder / "a.txt").read_text() == "text\n"
    project.done("/tasks/b/worktree", {"action": "discard"}, plans.admin)
    assert not (files.folder / "b.txt").exists()
    tracked = subprocess.run(["git", "worktree", "list"], cwd=files.folder, check=True, capture_output=True, text=True)
    assert len(tracked.stdout.splitlines()) == 1
    assert project.ask("/tasks/a/worktree", {"action": "merge"}, plans.admin).status_code in (200, 409)
    assert project.ask("/tasks/a/worktree", {"action": "burn"}, plans.admin).status_code == 422


def test_a_heartbeat_keeps_a_silent_agent(plans: PlanSite) -> None:
    """T-X.7: called often enough, an agent that writes nothing is no zombie; afterwards it is refused."""
    files = plans.project(heartbeat_s=6, max_retries=0)
    files.task("a", steps=[files.waits(), {"result": "done"}])
    project = plans.registered(files)
    project.execute("a")
    (running,) = until(project.executions, lambda found: found and found[0]["pid"])
    session = running["session"]
    for _ in range(20):
        beat = project.ask(f"/executions/{session}:heartbeat")
        assert beat.status_code == 200, beat.text
        time.sleep(0.4)  # nothing but the time tells that it was heard
    assert project.task("a")["status"] == "in_progress"
    files.let_go()
    assert project.ended("a")["status"] == "completed"
    assert project.ask(f"/executions/{session}:heartbeat").status_code == 409
    assert project.reports("zombie") == []


def test_a_cancelled_task_ends_its_process(plans: PlanSite) -> None:
    """T-X.3, T-1.2.3, T-1.2.4, T-2.2.3: the process first, its execution failed with `cancelled`, the agent idle."""
    files = plans.project()
    files.task("a", steps=[{"init": True}, {"hang": True}])
    project = plans.registered(files)
    project.execute("a")
    (running,) = until(project.executions, lambda found: found and found[0]["pid"])
    answer = project.ask("/tasks/a:cancel")
    assert answer.status_code in (200, 202)
    assert project.ended("a")["status"] == "cancelled" and project.agent("for-a")["status"] == "idle"
    assert not Path(f"/proc/{running['pid']}").exists()
    (execution,) = project.executions()
    assert (execution["status"], execution["error"]) == ("failed", "cancelled")


def test_a_running_task_is_completed_by_hand(plans: PlanSite) -> None:
    """T-1.2.2, T-1.1.2: with notes, while its process is ended."""
    files = plans.project()
    files.task("a", steps=[{"init": True}, {"hang": True}])
    files.task("b")
    project = plans.registered(files)
    project.execute("a")
    (running,) = until(project.executions, lambda found: found and found[0]["pid"])
    project.done("/tasks/a:complete", {"notes": "seen to by hand"})
    task = project.ended("a")
    assert task["status"] == "completed" and "seen to by hand" in task["reviewNotes"]
    until(lambda: Path(f"/proc/{running['pid']}").exists(), lambda there: not there)
    assert project.agent("for-a")["status"] == "idle"


def test_files_are_taken_over(plans: PlanSite) -> None:
    """T-X.8, T-X.39: what would change is said first, then done, in the same run; what is wrong changes nothing."""
    files = plans.project()
    files.task("a", steps=DONE)
    project = plans.registered(files)
    run = project.get()["run"]
    files.task("b", steps=DONE, depends_on=["a"])
    planned = project.get("/sync")
    assert (planned["added"], planned["migrated"]) == (["b"], False) and len(project.get("/tasks")["items"]) == 1
    done = project.done(":sync")
    assert (done["added"], done["migrated"]) == (["b"], True)
    assert project.get()["run"] == run and project.task("b")["blockingTasks"] == ["a"]
    (files.folder / "tasks" / "c.md").write_text("---\nid: c\ndepends_on: [nobody]\n---\n")
    answer = project.ask(":sync")
    assert answer.status_code == 422 and "nobody" in answer.text
    (files.folder / "tasks" / "c.md").unlink()
    assert project.done(":sync")["added"] == []


def test_rights(plans: PlanSite) -> None:
    """T-X.30, T-X.39: read, write, review and admin are four permissions; others get 403 at what is not theirs."""
    files = plans.project()
    files.task("a")
    project = plans.registered(files)
    for name, permissions in (("p-reader", ["plan.read"]), ("p-writer", ["plan.write"]), ("p-judge", ["plan.review"])):
        assert plans.admin.put(f"/roles/{name}", json={"permissions": permissions}).status_code == 200

    def client(role: str) -> httpx2.Client:
        made = plans.admin.post("/keys", json={"name": role, "user": role, "roles": [role]})
        return plans.server.client(key=made.json()["token"])

    reader, writer, judge = (client(name) for name in ("p-reader", "p-writer", "p-judge"))
    reads = ("", "/health", "/tasks", "/tasks/a", "/tasks/a/can-execute", "/agents", "/executions", "/workflow/state",
             "/workflow/next", "/deadlocks", "/sync")  # fmt: skip
    for path in reads:
        assert reader.get(f"{project.path}{path}").status_code == 200, path
        assert code_of(writer.get(f"{project.path}{path}")) == (403, "PS-403-PERMISSION"), path
    assert reader.get("/projects").status_code == 200 == reader.get("/reports").status_code
    writes: tuple[tuple[str, Any], ...] = (
        (":check", None), (":sync", None), ("/tasks", {"id": "z", "title": "Z"}), ("/tasks/a:start", {}),
        ("/tasks/a:execute", {}), ("/tasks/a:complete", {}), ("/tasks/a:cancel", None), ("/tasks/a:retry", None),
        ("/workflow:start", {}), ("/workflow:stop", {}), ("/workflow:resume", None), ("/executions/x:heartbeat", None),
    )  # fmt: skip
    for path, body in writes:
        for who in (reader, judge):
            answer = project.ask(path, body, who)
            assert code_of(answer) == (403, "PS-403-PERMISSION") and "plan.write" in answer.text, path
    reviews: tuple[tuple[str, Any], ...] = (
        ("/tasks/a:review-approve", {}),
        ("/tasks/a:review-reject", {"comment": "x"}),
        ("/tasks/a/worktree", {"action": "keep"}),
    )
    for path, body in reviews:
        assert "plan.review" in project.ask(path, body, writer).text
        assert project.ask(path, body, judge).status_code in (404, 409), path
    for path, body in (("/tasks/a:force-complete", {"reason": "x"}), ("/workflow:reset", None)):
        for who in (reader, writer, judge):
            assert "plan.admin" in project.ask(path, body, who).text
    for who in (reader, writer, judge):
        assert who.post("/projects", json={"path": "/x"}).status_code == 403
        assert who.patch(project.path, json={"enabled": False}).status_code == 403
    assert reader.post("/reports:collect").status_code == 403 and writer.post("/reports:collect").status_code == 200
    assert project.task("a")["status"] == "pending"


def test_another_tenant(plans: PlanSite, tmp_path: Path) -> None:
    """T-X.39, C-78: a project is its tenant's own, and no folder of the machine is another tenant's to register."""
    files = plans.project()
    files.task("a")
    project = plans.registered(files)
    other = plans.stranger("neighbour")
    assert other.get("/projects").json()["items"] == []
    for path in ("", "/tasks", "/tasks/a", "/workflow/state", "/events", "/agents"):
        assert code_of(other.get(f"{project.path}{path}")) == (404, "PROJECT-404")
    assert code_of(other.post(f"{project.path}/tasks/a:execute", json={})) == (404, "PROJECT-404")
    assert other.get("/reports").json()["items"] == []
    assert other.post("/reports:collect").json()["reports"] == []
    known = (files.folder, files.folder / "tasks", files.folder.parent, tmp_path, Path("/"), Path("/etc"))
    for folder in (*known, tmp_path / "none"):
        answer = other.post("/projects", json={"path": str(folder)})
        assert code_of(answer) == (400, "PS-400-INPUT"), answer.text
        assert "no project of yours can be there" in answer.json()["detail"], "whether there is a folder or not"


def test_roots_on_a_shared_machine(tmp_path: Path) -> None:
    """T-X.39: below `plans.roots` of the settings, each tenant its own; nobody makes a project trusted by HTTP."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "settings.toml").write_text(
        f'[tenants.one.plans]\nroots = ["{ours}"]\n[tenants.two.plans]\nroots = ["{theirs}", "{ours}"]\n'
    )
    with plan_site(tmp_path, "sqlite") as site:
        one, two = site.stranger("one"), site.stranger("two")
        mine, near = ProjectFolder(ours / "site"), ProjectFolder(theirs / "site")
        for files in (mine, near):
            files.task("a")
        (ours / "link").symlink_to(near.folder)
        assert one.post("/projects", json={"path": str(near.folder)}).status_code == 400
        assert one.post("/projects", json={"path": str(ours / "link")}).status_code == 400
        trusted = one.post("/projects", json={"path": str(mine.folder), "trusted": True})
        assert trusted.status_code == 400 and "trusted" in trusted.json()["detail"]
        made = one.post("/projects", json={"path": str(mine.folder)})
        assert made.status_code == 201, made.text
        assert one.patch(f"/projects/{made.json()['id']}", json={"trusted": True}).status_code == 400
        assert two.post("/projects", json={"path": str(mine.folder)}).status_code == 400, "it is another tenant's"
        assert two.post("/projects", json={"path": str(ours)}).status_code == 400, "another tenant's is in it"
        assert two.post("/projects", json={"path": str(near.folder)}).status_code == 201


def test_a_plan_does_not_come_by_itself(plans: PlanSite) -> None:
    """T-X.39, T-X.12: a document with commands in it is no way around the folders that somebody may register."""
    plan = {"plan": {"name": "sly"}, "tasks": [{"id": "a", "title": "A"}]}
    agents = [{"name": "default", "command": ["touch", str(plans.folder / "sly")]}]
    document = json.dumps({**plan, "agents": agents, "skills": []})
    for client in (plans.admin, plans.stranger("sly")):
        answer = client.post("/definitions", json={"document": document})
        assert code_of(answer) == (400, "PS-400-INPUT") and "a plan is a folder" in answer.json()["detail"]
        started = client.post("/runs", json={"definition": "sly", "input": {"project": str(plans.folder)}})
        assert started.status_code == 404
        assert client.post("/definitions/check", json={"document": document}).status_code == 200, "looking is allowed"


def test_events_come_by_every_stream(plans: PlanSite) -> None:
    """T-X.35, T-R.9: GET /stream, and GET /events for who accepts an event stream; of the own tenant only."""
    files = plans.project()
    files.task("a", steps=DONE)
    project = plans.registered(files)
    stranger = plans.stranger("listener")
    by_events = plans.server.client(ADMIN)
    by_events.headers["Accept"] = "text/event-stream"
    with ExitStack() as stack:
        wanted = ((plans.server.client(ADMIN), "/stream"), (by_events, "/events"), (stranger, "/stream"))
        *ours, theirs = [stack.enter_context(closing(Listener(client, path))) for client, path in wanted]
        project.execute("a")
        project.ended("a")
        for listener in ours:
            until(listener.names, lambda names: names.count("task:statusChanged") >= 2)
            data = next(told for name, told in listener.heard if name == "task:statusChanged")
            assert (data["project"], data["taskId"], data["to"]) == (project.id, "a", "in_progress") and data["at"]
        assert "task:statusChanged" not in theirs.names()
    assert plans.viewer.get("/events", headers={"Accept": "application/json"}).json()["items"] is not None


@pytest.mark.parametrize("body", ["[]", "{", '{"queue": "yes"}', '{"force": 1}', '"x"'])
def test_bodies_that_are_no_bodies(plans: PlanSite, body: str) -> None:
    """T-X.39: 400 or 422, never more."""
    files = plans.project()
    files.task("a")
    project = plans.registered(files)
    headers = {"Content-Type": "application/json"}
    for path in (
        "/tasks/a:execute",
        "/workflow:start",
        "/workflow:stop",
        "/tasks",
        "/tasks/a:review-reject",
        "/tasks/a:force-complete",
    ):
        answer = plans.admin.post(f"{project.path}{path}", content=body, headers=headers)
        assert answer.status_code in (400, 422), (path, answer.text)
    assert project.task("a")["status"] == "pending"
