"""A server that lets agents work through plans, over HTTP only. Agents are real processes: scripted, and obedient."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.api.places import ADMIN, OPERATOR, VIEWER
from tests.api.serving import Server, until
from tests.api.sites import STORES, database

AGENT = Path(__file__).parents[1] / "executors" / "scripted_agent.py"
OVER = ("completed", "cancelled", "failed")
#: T-X.34: the real times, turned down
QUICK: dict[str, Any] = {"critical_files": [], "retry_delays_s": [0, 0, 0], "term_s": 1, "kill_s": 2, "heartbeat_s": 60}
DONE = [{"init": True}, {"result": "done"}]


class ProjectFolder:
    """Files of a project: its settings, tasks, and agents that do what a scenario says."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder, self._numbers = folder, itertools.count(1)
        for part in ("tasks", "agents"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self.settings(**settings)

    def settings(self, **settings: Any) -> None:
        (self.folder / "plan.yaml").write_text(
            yaml.safe_dump({"plan": {"name": self.folder.name, **QUICK, **settings}})
        )

    def task(self, id: str, *, steps: Sequence[Any] | dict[str, Any] | None = None, **front: Any) -> None:
        """With `steps` it has an agent of its own, which does them."""
        if steps is not None:
            self.agent(f"for-{id}", steps)
            front = {"assigned_agent": f"for-{id}", **front}
        text = yaml.safe_dump({"id": id, "title": id.title(), **front}, sort_keys=False)
        (self.folder / "tasks" / f"{id}.md").write_text(f"---\n{text}---\nDo {id}.\n")

    def agent(self, name: str, steps: Sequence[Any] | dict[str, Any]) -> None:
        scenario = self.folder / "scenarios" / f"{name}.json"
        scenario.parent.mkdir(exist_ok=True)
        scenario.write_text(json.dumps(steps))
        text = yaml.safe_dump({"name": name, "command": [sys.executable, str(AGENT), str(scenario)]})
        (self.folder / "agents" / f"{name}.md").write_text(f"---\n{text}---\nBe quick.\n")

    def attempts(self, *attempts: Sequence[Any]) -> dict[str, Any]:
        """The n-th start does the n-th list."""
        return {"attempts": list(attempts), "counted_in": str(self.folder / f"counted-{next(self._numbers)}")}

    def begun(self, number: int, times: int) -> None:
        """Wait until the agent of that scenario of `attempts` has begun so often: its process may be there before."""
        counter = self.folder / f"counted-{number}"
        until(lambda: counter.read_text().count("\n") if counter.exists() else 0, lambda count: count >= times)

    def front(self, id: str) -> dict[str, Any]:
        """What the task's file says now."""
        _, text, _ = (self.folder / "tasks" / f"{id}.md").read_text().split("---\n", 2)
        known: dict[str, Any] = yaml.safe_load(text)
        return known

    def status(self, id: str) -> str | None:
        return self.front(id).get("status")

    def let_go(self, name: str = "go") -> None:
        """What waits for the file goes on."""
        (self.folder / name).write_text("")

    def waits(self, name: str = "go") -> dict[str, Any]:
        return {"wait_for": str(self.folder / name)}

    def git(self) -> None:
        for words in ("init -q -b main", "add -A", "-c user.name=T -c user.email=t@example.com commit -qm first"):
            subprocess.run(["git", *words.split()], cwd=self.folder, check=True, capture_output=True)


class PlanSite:
    def __init__(self, folder: Path, store: str | None, *, words: Sequence[str] = ("dev", "--quiet")) -> None:
        self.folder, self._numbers = folder, itertools.count(1)
        self.projects = folder / "projects"
        self.projects.mkdir()
        self.server = Server(folder, *words, store=store)

    def start(self) -> PlanSite:
        self.server.start()
        self.admin, self.operator, self.viewer = (self.server.client(who) for who in (ADMIN, OPERATOR, VIEWER))
        return self

    def close(self) -> None:
        """An agent outlives its server: whatever a test has left at work is ended first."""
        with contextlib.suppress(httpx2.HTTPError, AssertionError):
            for project in self.admin.get("/projects").json()["items"]:
                path = f"/projects/{project['id']}"
                if self._at_work(path):
                    self.admin.post(f"{path}/workflow:reset")
                    until(lambda path=path: self._at_work(path), lambda left: not left, 20)
        self.server.stop()

    def _at_work(self, path: str) -> list[str]:
        executions = self.admin.get(f"{path}/executions").json()["items"]
        return [each["session"] for each in executions if each["completedAt"] is None]

    def project(self, **settings: Any) -> ProjectFolder:
        """A new folder; it is registered when its files are there."""
        return ProjectFolder(self.projects / f"p{next(self._numbers)}", **settings)

    def registered(self, project: ProjectFolder, **more: Any) -> Registered:
        made = self.admin.post("/projects", json={"path": str(project.folder), **more})
        assert made.status_code == 201, made.text
        return Registered(self, made.json()["id"], project)

    def stranger(self, name: str) -> httpx2.Client:
        """The administrator of another tenant."""
        made = self.admin.post("/tenants", json={"id": name, "name": name, "admin": f"boss@{name}"})
        assert made.status_code == 201, made.text
        return self.server.client(key=made.json()["token"])


class Registered:
    """A project by its address."""

    def __init__(self, site: PlanSite, id: str, files: ProjectFolder) -> None:
        self.site, self.id, self.files = site, id, files

    @property
    def path(self) -> str:
        return f"/projects/{self.id}"

    def get(self, path: str = "", **params: Any) -> Any:
        answer = self.site.viewer.get(f"{self.path}{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ask(self, path: str, body: Any = None, who: httpx2.Client | None = None) -> httpx2.Response:
        return (who or self.site.operator).post(f"{self.path}{path}", json=body)

    def done(self, path: str, body: Any = None, who: httpx2.Client | None = None) -> Any:
        answer = self.ask(path, body, who)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    def task(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/tasks/{id}")["task"]
        return found

    def until(self, id: str, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        found: dict[str, Any] = until(lambda: self.task(id), holds)
        return found

    def ended(self, id: str) -> dict[str, Any]:
        return self.until(id, lambda task: task["status"] in OVER)

    def execute(self, id: str, **asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.done(f"/tasks/{id}:execute", asked)
        return found

    def executions(self, task: str | None = None) -> list[dict[str, Any]]:
        """The oldest first."""
        found = self.get("/executions", **({"task": task} if task else {}))["items"]
        return list(reversed(found))

    def agent(self, name: str) -> dict[str, Any]:
        return next(agent for agent in self.get("/agents")["items"] if agent["name"] == name)

    def reports(self, type: str) -> list[dict[str, Any]]:
        answer = self.site.viewer.get("/reports", params={"type": type, "project": self.id})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    def report(self, type: str, task: str | None = None) -> dict[str, Any]:
        """The body of the one that there is, of a task or not, as soon as it is there."""

        def bodies() -> list[dict[str, Any]]:
            return [each["body"] for each in self.reports(type) if each["body"].get("taskId") == task]

        found: list[dict[str, Any]] = until(bodies, bool)
        assert len(found) == 1, found
        return found[0]

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.get("/workflow/state")
        return found

    def until_state(self, status: str) -> dict[str, Any]:
        found: dict[str, Any] = until(self.state, lambda state: state["status"] == status)
        return found


class Listener:
    """Hears server-sent events in a thread until it is closed."""

    def __init__(self, client: httpx2.Client, path: str) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._ready = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._listen, args=(client, path), daemon=True)
        self._thread.start()
        assert self._ready.wait(120), "it does not begin"

    def _listen(self, client: httpx2.Client, path: str) -> None:
        with contextlib.suppress(httpx2.HTTPError), client.stream("GET", path, timeout=180) as answer:
            assert answer.status_code == 200
            event = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                    if event == "hello":
                        self._ready.set()
                elif line.startswith("data: ") and event not in ("hello", "ping"):
                    self.heard.append((event, json.loads(line.removeprefix("data: "))))
                if self._stopped:
                    return

    def names(self) -> list[str]:
        return [name for name, _ in self.heard]

    def close(self) -> None:
        self._stopped = True


@contextlib.contextmanager
def plan_site(folder: Path, kind: str, **more: Any) -> Iterator[PlanSite]:
    with database() if kind == "postgresql" else contextlib.nullcontext(None) as store:
        site = PlanSite(folder, store, **more)
        try:
            yield site.start()
        finally:
            site.close()


@pytest.fixture(scope="module", params=STORES)
def plans(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlanSite]:
    with plan_site(tmp_path_factory.mktemp("plans"), request.param) as site:
        yield site
