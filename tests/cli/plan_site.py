"""A project of a plan for tests: task files, agents that do what a scenario says, and the program that runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.store.address import driver_of
from tests.cli.program import write_program
from tests.cli.shell import ROOT, Said, Shell, environment

AGENT = ROOT / "tests/executors/scripted_agent.py"
#: how long something may take on a machine that is slow: only a hang runs into it
LONG_S = 120
#: the real timings, turned down
QUICK = {"retry_delays_s": [0], "term_s": 2, "kill_s": 2, "critical_files": []}
DONE: dict[str, Any] = {"result": "done"}
GIT = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.com")


def claims(*criteria: str) -> dict[str, Any]:
    """A result that says which criteria are met."""
    return {"event": {"type": "result", "result": "done", "matched_criteria": list(criteria)}}


def percent(number: int) -> dict[str, Any]:
    return {"event": {"type": "progress", "percent": number}}


class PlanSite:
    """A folder of a shell. Agents are the scripted program; what it does is a scenario per task."""

    def __init__(self, shell: Shell, name: str = "site", **settings: Any) -> None:
        self.shell, self.name = shell, name
        self.folder, self.scenarios = shell.folder / name, shell.folder / "scenarios" / name
        self.processes: list[subprocess.Popen[str]] = []
        (self.folder / "tasks").mkdir(parents=True)
        self.scenarios.mkdir(parents=True)
        self.program = shell.folder / "penstock"
        write_program(self.program)
        self.settings(**settings)

    def settings(self, **settings: Any) -> None:
        line = f'exec {sys.executable} -S {AGENT} "{self.scenarios}/$PENSTOCK_TASK.json"'
        plan = {"name": self.name, "preset": "shell", "command": ["sh", "-c", line], **QUICK, **settings}
        (self.folder / "plan.yaml").write_text(yaml.safe_dump({"plan": plan}))

    def agent(self, *names: str) -> None:
        (self.folder / "agents").mkdir(exist_ok=True)
        for name in names:
            (self.folder / f"agents/{name}.md").write_text(f"---\nname: {name}\n---\nYou are {name}.\n")

    def task(self, id: str, *steps: Mapping[str, Any], body: str = "Do it.", **front: Any) -> None:
        """What an agent that is given it does; without steps it says that it is done."""
        fields = yaml.safe_dump({"id": id, "title": f"Title of {id}", **front}, sort_keys=False)
        (self.folder / f"tasks/{id}.md").write_text(f"---\n{fields}---\n{body}\n")
        self.scenario(id, list(steps) or [DONE])

    def scenario(self, id: str, scenario: Any) -> None:
        (self.scenarios / f"{id}.json").write_text(json.dumps(scenario))

    def attempts(self, id: str, *attempts: list[Mapping[str, Any]], **front: Any) -> None:
        """The n-th start does the n-th list, and the last one again and again."""
        self.task(id, **front)
        self.scenario(id, {"attempts": attempts, "counted_in": str(self._starts(id))})

    def starts(self, id: str) -> int:
        counter = self._starts(id)
        return len(counter.read_text().splitlines()) if counter.exists() else 0

    def _starts(self, id: str) -> Path:
        """Inside the project: nothing else can be written by an agent."""
        return self.folder / f"{id}.starts"

    def git(self) -> None:
        """A repository of its own, everything committed."""
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "plan")):
            subprocess.run([*GIT, *words], cwd=self.folder, check=True, stdin=subprocess.DEVNULL)

    def gate(self, name: str) -> Path:
        """A file outside of the project that agents wait for."""
        return self.shell.folder / name

    # -- the program ---------------------------------------------------------------------------------------------------

    def __call__(self, verb: str, *words: Any, code: int | None = 0) -> Any:
        """What the verb answers as JSON."""
        return self.said(verb, *words, "--json", code=code).json()

    def said(self, verb: str, *words: Any, code: int | None = 0) -> Said:
        return self.shell("plan", verb, self.name, *map(str, words), code=code)

    def refused(self, verb: str, *words: Any) -> dict[str, Any]:
        """T-X.2: exit code 2, and an error with its code."""
        return self.said(verb, *words, "--json", code=2).error()

    def start(self, verb: str, *words: Any) -> subprocess.Popen[str]:
        """A process that goes on beside the test."""
        process = subprocess.Popen(
            [str(self.program), "plan", verb, self.name, *map(str, words)], cwd=self.shell.folder, env=environment(),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def killed(self, process: subprocess.Popen[str]) -> None:
        """kill -9; nobody drives the store afterwards."""
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: driver_of(self.shell.store), lambda driver: driver is None)

    def close(self) -> None:
        """Nothing of a test outlives it: neither the program nor an agent that was left on purpose."""
        for process in self.processes:
            if process.poll() is None:
                self.killed(process)
        if self.shell.store.exists():
            self.shell("plan", "reset", self.name, "--json", code=None)
        for process in self.processes:
            if process.stdout is not None and not process.stdout.closed:
                process.communicate()

    # -- how it stands -------------------------------------------------------------------------------------------------

    def stands(self, id: str) -> dict[str, Any]:
        body: dict[str, Any] = self("status", id)
        return body

    def task_of(self, id: str) -> dict[str, Any]:
        task: dict[str, Any] = self.stands(id)["task"]
        return task

    def statuses(self) -> dict[str, str]:
        return {task["id"]: task["status"] for task in self("status")["tasks"]}

    def executions(self, id: str) -> list[dict[str, Any]]:
        """The oldest first."""
        found: list[dict[str, Any]] = self.stands(id)["executions"]
        return sorted(found, key=lambda execution: int(execution["attempt"]))

    def running(self) -> set[str]:
        return {task["id"] for task in self("status")["tasks"] if task["status"] == "in_progress"}

    def pid(self, id: str) -> int:
        """Of the agent that works on a task."""
        return int(until(lambda: self.executions(id)[-1]["pid"], bool))

    def reports(self, type: str) -> list[dict[str, Any]]:
        return [report["body"] for report in self("report", "--type", type, "--limit", 100)]

    def front_matter(self, id: str) -> dict[str, Any]:
        text = (self.folder / f"tasks/{id}.md").read_text()
        found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
        return found

    def until(self, id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until a task stands like this; the task."""
        return dict(until(lambda: self._task_if_there(id), lambda task: bool(task) and condition(task)))

    def until_status(self, id: str, *statuses: str) -> dict[str, Any]:
        return self.until(id, lambda task: task["status"] in statuses)

    def until_workflow(self, *statuses: str) -> dict[str, Any]:
        return dict(until(lambda: self("status"), lambda state: state["status"] in statuses))

    def _task_if_there(self, id: str) -> dict[str, Any]:
        if not self.shell.store.exists():
            return {}
        said = self.said("status", id, "--json", code=None)
        return dict(said.json()["task"]) if said.code == 0 else {}


def until(look: Callable[[], Any], condition: Callable[[Any], bool]) -> Any:
    end = time.monotonic() + LONG_S
    while not condition(found := look()):
        assert time.monotonic() < end, f"it never stood like this: {found}"
        time.sleep(0.05)
    return found


def alive(pid: int) -> bool:
    """Does a process live? One that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
