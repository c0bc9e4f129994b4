"""`penstock plan`: every verb, its messages and its exit codes."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import serving
from tests.cli.plan_site import DONE, GIT, PlanSite, alive, claims, until
from tests.cli.shell import PROGRAM, Shell, environment
from tools import record

Made = Callable[..., PlanSite]


@pytest.fixture
def made(penstock: Shell) -> Iterator[Made]:
    """Makes the project of a test."""
    sites: list[PlanSite] = []

    def make(**settings: Any) -> PlanSite:
        sites.append(PlanSite(penstock, **settings))
        return sites[-1]

    yield make
    for site in sites:
        site.close()


# ---- a project -------------------------------------------------------------------------------------------------------


def test_a_new_project_is_checked_and_runs_as_it_is(penstock: Shell) -> None:
    """T-X.8, T-X.9: two tasks, the second after the first; what they wrote is there, and their files say so."""
    assert "penstock plan run first" in penstock("plan", "init", "first").out
    assert "ok (2 tasks, 1 agent)" in penstock("plan", "check", "first").out
    printed = penstock("plan", "run", "first").out
    assert "greeting" in printed and "workflow completed: 2 completed" in printed
    assert (penstock.folder / "first/summary.txt").read_text() == "4\n"
    assert "status: completed" in (penstock.folder / "first/tasks/summary.md").read_text()
    error = penstock("plan", "init", "first", "--json", code=2).error()
    assert "already" in error["message"] and error["hint"]


def test_what_is_wrong_with_files_is_told_with_its_place(made: Made) -> None:
    """T-X.8, T-X.29: front matter, unknown and own dependencies are errors; every file is looked at."""
    site = made()
    site.task("good")
    site.task("own", depends_on=["own"])
    site.task("lost", depends_on=["nowhere"])
    (site.folder / "tasks/broken.md").write_text("---\nid: [\n---\nx\n")
    checked = site("check", code=2)
    assert checked["ok"] is False
    told = " ".join(finding["message"] for finding in checked["findings"])
    assert "tasks/broken.md" in told
    (site.folder / "tasks/broken.md").unlink()
    told = " ".join(finding["message"] for finding in site("check", code=2)["findings"])
    assert "tasks/own.md" in told and "tasks/lost.md" in told and "nowhere" in told
    said = site.said("check", code=2)
    assert "2 errors" in said.err
    assert site.refused("run")["code"]


def test_a_cycle_is_a_warning_and_the_check_names_it(made: Made) -> None:
    """T-8.3.1, T-X.29: a plan whose cycle cannot be broken can be run; it is told before."""
    site = made()
    site.task("a", depends_on=["b"])
    site.task("b", depends_on=["a"])
    checked = site("check")
    (finding,) = checked["findings"]
    assert (checked["ok"], finding["rule"], finding["severity"]) == (True, "dependency_cycle", "warning")


def test_what_is_not_there_is_told(made: Made, penstock: Shell) -> None:
    """T-X.39: a folder, a project and a task that nobody knows; exit code 2 and a hint, never a traceback."""
    site = made()
    site.task("t1")
    assert penstock("plan", "run", "nowhere", "--json", code=2).error()["hint"]
    assert penstock("plan", "status", "site", "--json", code=2).error()["code"] == "PS-404-STORE"
    site("projects", code=None)
    penstock("plan", "projects", "--add", "site")
    assert penstock("plan", "status", "elsewhere", "--json", code=2).error()["code"] == "PROJECT-404"
    assert site.refused("execute", "t9")["code"] == "TASK-404"
    assert site.refused("status", "t9")["code"] == "TASK-404"
    assert "t9" in site.said("cancel", "t9", code=2).err


def test_projects_are_listed_and_changed(made: Made, penstock: Shell) -> None:
    """T-6.1.2, T-X.33: registered once, by its folder; disabled and trusted by hand."""
    site = made()
    site.task("t1")
    (first,) = [penstock("plan", "projects", "--add", "site", "--json").json()]
    assert penstock("plan", "projects", "--add", "site", "--json").json()["id"] == first["id"]
    (listed,) = penstock("plan", "projects", "--json").json()
    assert (listed["path"], listed["enabled"], listed["trusted"]) == (str(site.folder), True, False)
    assert penstock("plan", "projects", "--trust", "site", "--json").json()["trusted"] is True
    assert penstock("plan", "projects", "--disable", first["id"], "--json").json()["enabled"] is False
    assert "trusted, disabled" in penstock("plan", "projects").out
    error = penstock("plan", "projects", "--trust", "site", "--disable", "site", "--json", code=2).error()
    assert "only one" in error["message"]


# ---- health, reports, sync -------------------------------------------------------------------------------------------


def test_a_project_in_bad_health_is_started_only_by_force(made: Made) -> None:
    """T-7.1.3, T-X.31, T-4.2.3: the missing file is named; --force runs it all the same."""
    site = made(critical_files=["CLAUDE.md"])
    site.task("t1")
    error = site.refused("run")
    assert (error["code"], "CLAUDE.md" in error["message"]) == ("PROJECT-409-HEALTH", True)
    health = site("health", code=3)
    assert (health["status"], health["score"], health["missing"]) == ("error", 70, ["CLAUDE.md"])
    assert "CLAUDE.md" in site.said("health", code=3).out
    assert site("run", "--force")["state"]["status"] == "completed"
    (site.folder / "CLAUDE.md").write_text("Be brief.\n")
    assert site("health")["status"] == "healthy"


def test_reports_are_collected_and_listed(made: Made, penstock: Shell) -> None:
    """T-6.1.6, T-R.4, T-X.33: one per project, with every field that is asked for."""
    site = made()
    site.task("t1")
    site("run")
    collected = penstock("plan", "report", "--collect", "--json").json()
    assert (len(collected["reports"]), collected["skipped"]) == (1, [])
    (periodic,) = site.reports("periodic")
    assert {"project_id", "task_counts", "executable", "blocked", "agent_counts", "zombies"} <= periodic.keys()
    assert {"recent_tasks", "recent_executions", "health", "issues", "generated_at"} <= periodic.keys()
    assert "completion" in penstock("plan", "report", "site").out
    assert penstock("plan", "report", "--type", "zombie").out == "There are no reports.\n"


def test_edited_files_are_taken_over_while_nothing_is_lost(made: Made) -> None:
    """T-X.8: a new task, a changed dependency and a deleted file; planned first, then applied."""
    site = made()
    site.task("a")
    site.task("b")
    site.task("c", depends_on=["b"])
    site("run", "--once")
    site.task("d", depends_on=["a"])
    planned = site("sync", "--dry-run")
    assert (planned["added"], planned["migrated"]) == (["d"], False)
    assert "d" not in site.statuses()
    applied = site("sync")
    assert (applied["added"], applied["migrated"]) == (["d"], True)
    assert site.statuses()["d"] == "pending"
    site("run")
    assert site.statuses() == dict.fromkeys("abcd", "completed")
    assert "The files say what the run knows." in site.said("sync").out


# ---- board and status ------------------------------------------------------------------------------------------------


def test_status_and_board_say_how_it_stands(made: Made) -> None:
    """T-9.1.6, T-9.1.7, T-9.1.9, T-9.1.10, T-6.1.3: in words and as JSON; blocked tasks say by what."""
    site = made()
    site.task("bad", {"exit": 3})
    site.task("after", depends_on=["bad"])
    board = site("run", "--once", code=4)
    assert board["state"]["status"] == "paused"
    assert board["state"]["counts"]["failed"] == 1
    status = site("status")
    assert status["projectPath"] == str(site.folder) and status["status"] == "paused"
    printed = site.said("status").out
    assert "✗ bad" in printed and "dependency_failed: bad" in printed
    assert site.said("board", "--once").out == printed
    detail = site.said("status", "bad").out
    assert detail.count("attempt ") == 4 and "exit code 3" in detail
    assert {"project", "state", "tasks", "agents", "health"} == site("board").keys()


def screens_of(
    shell: Shell, *words: str, answers: tuple[tuple[str, str], ...] = (),
    actions: tuple[tuple[str, Callable[[], None]], ...] = (),
) -> tuple[list[str], int]:  # fmt: skip
    """What somebody at a terminal of 120 by 40 sees, who answers and acts when something is on the screen."""
    master, slave = pty.openpty()
    env = {**environment(), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    del env["NO_COLOR"]
    process = subprocess.Popen([*PROGRAM, *words], cwd=shell.folder, env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    screen, screens, left = record.Screen(120, 40), [""], b""
    waiting: list[tuple[str, Callable[[], object]]] = [
        (text, partial(os.write, master, answer.encode())) for text, answer in answers
    ]
    waiting += actions
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text, left = record.whole(left + data)
        screen.feed(text)
        screens.append(screen.plain())
        if waiting and waiting[0][0] in screens[-1]:
            waiting.pop(0)[1]()
    os.close(master)
    return screens, process.wait(180)


def test_the_board_is_seen_in_place_on_a_terminal(made: Made, penstock: Shell) -> None:
    """T-7.2.1, T-10.2.3: columns, agents, what a running agent said last, health."""
    site = made(max_concurrent=1)
    gate = site.gate("go")
    site.task("one", {"say": "laying bricks"}, {"wait_for": str(gate)}, DONE, priority=1)
    site.task("two", depends_on=["one"])

    screens, code = screens_of(penstock, "plan", "run", "site", actions=(("laying bricks", gate.touch),))
    assert code == 0
    assert any("In progress 1/1" in each and "blocked by one" in each for each in screens)
    assert any("→ one" in each for each in screens)
    assert "Finished 2" in screens[-1] and "health healthy" in screens[-1]
    assert screens[-1].count("Needs review") == 1, "it is redrawn in place, not below"


def test_on_a_terminal_it_asks_whether_the_previous_workflow_goes_on(made: Made, penstock: Shell) -> None:
    """T-9.2.5, T-X.25: yes goes on from where it was, no sets it back."""
    site = made()
    gate = site.gate("go")
    site.attempts("long", [{"wait_for": str(gate)}, DONE])
    for answer, starts in (("n", 1), ("y", 2)):
        driver = site.start("run", "--no-resume") if answer == "y" else site.start("run")
        until(partial(site.starts, "long"), starts.__eq__)
        site.killed(driver)
        screens, code = screens_of(
            penstock, "plan", "resume", "site", answers=(("Resume previous workflow?", f"{answer}\n"),),
            actions=(("In progress 1", gate.touch),),
        )  # fmt: skip
        assert any("Resume previous workflow?" in each for each in screens)
        assert (code, site.statuses()["long"]) == ((0, "completed") if answer == "y" else (4, "pending"))
    assert site.starts("long") == 2


def test_the_console_is_served_beside_the_board(made: Made, penstock: Shell) -> None:
    """T-X.39, T-X.35: one process drives the plan and answers over HTTP; what one changes, the other shows."""
    site = made()
    gate = site.gate("go")
    site.task("a", {"wait_for": str(gate)}, DONE)
    with serving(penstock.folder, "plan", "run", "site", "--console") as server:
        with contextlib.closing(server.client("admin@example.com")) as client:
            (project,) = until(lambda: client.get("/projects").json()["items"], bool)
            tasks = f"/projects/{project['id']}/tasks"
            until(lambda: client.get(tasks).json()["items"], lambda items: items[0]["status"] == "in_progress")
            gate.touch()
            ended = until(lambda: client.get(tasks).json()["items"], lambda items: items[0]["status"] == "completed")
            assert [item["id"] for item in ended] == ["a"]


# ---- stop ------------------------------------------------------------------------------------------------------------


def test_ctrl_c_lets_running_tasks_end(made: Made) -> None:
    """T-7.1.10, T-X.32: the first one; nothing begins, and it goes on later."""
    site = made(max_concurrent=1)
    gate = site.gate("go")
    site.task("a", {"wait_for": str(gate)}, DONE, priority=1)
    site.task("b")
    process = site.start("run")
    site.until_status("a", "in_progress")
    process.send_signal(signal.SIGINT)
    until(lambda: site("status"), lambda state: state["stopping"] or state["status"] == "paused")
    gate.touch()
    out, _ = process.communicate()
    assert (process.returncode, site.statuses()) == (130, {"a": "completed", "b": "pending"})
    assert "penstock plan resume site" in out
    assert site("resume")["state"]["status"] == "completed"


def test_the_second_ctrl_c_ends_them(made: Made) -> None:
    """T-X.32, T-X.3: they are pending again, and no process is left."""
    site = made()
    site.task("a", {"fork": {"setsid": True}}, {"hang": True})
    process = site.start("run")
    site.until_status("a", "in_progress")
    pid = site.pid("a")
    process.send_signal(signal.SIGINT)
    until(lambda: site("status"), lambda state: state["stopping"] or state["status"] == "paused")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert (process.returncode, site.statuses()) == (130, {"a": "pending"})
    assert not alive(pid)


def test_stop_now_and_reset_set_tasks_back(made: Made) -> None:
    """T-X.32, T-X.25: from another process; what is completed stays."""
    site = made()
    site.task("done", priority=1)
    site.attempts("hangs", [{"hang": True}], depends_on=["done"])
    process = site.start("run", "--json")
    site.until_status("hangs", "in_progress")
    pid = site.pid("hangs")
    site("stop", "--now")
    process.communicate()
    assert (process.returncode, site.statuses()) == (4, {"done": "completed", "hangs": "pending"})
    assert not alive(pid)
    second = site.start("resume", "--json")
    site.until_status("hangs", "in_progress")
    pid = site.pid("hangs")
    assert site("reset")["status"] == "idle"
    second.communicate()
    assert site.statuses() == {"done": "completed", "hangs": "pending"}
    assert not alive(pid)


def test_a_running_task_is_cancelled_with_its_processes(made: Made) -> None:
    """T-1.2.3, T-X.3: its process first, then the agent is released; a pending one needs none."""
    site = made()
    site.task("hangs", {"fork": {"double": True}}, {"hang": True})
    site.task("waits", depends_on=["hangs"])
    site.shell("plan", "projects", "--add", "site")
    process = site.start("execute", "hangs", "--json")
    site.until_status("hangs", "in_progress")
    pid = site.pid("hangs")
    site("cancel", "hangs")
    process.communicate()
    assert site.task_of("hangs")["status"] == "cancelled"
    assert not alive(pid)
    assert [a["status"] for a in site("board")["agents"]] == ["idle"]
    (execution,) = site.executions("hangs")
    assert (execution["status"], "cancel" in execution["error"].lower()) == ("failed", True)
    assert site("cancel", "waits")["status"] == "cancelled"


# ---- review ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def doubtful(made: Made) -> PlanSite:
    """A project in git whose one task waits for review with a diff."""
    site = made()
    (site.folder / "page.html").write_text("<h1>Mill</h1>\n")
    site.task(
        "news", {"edit": {"page.html": "<h1>Mill</h1>\n<p>News</p>\n"}}, claims("it has news"),
        success_criteria=["it has news", "it has a date"],
    )  # fmt: skip
    site.git()
    site("run", "--once", code=4)
    return site


def log_of(folder: Path) -> str:
    return subprocess.run([*GIT, "log", "--format=%s"], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_review_shows_diff_and_criteria_and_an_approval_merges(doubtful: PlanSite) -> None:
    """T-5.2.8, T-X.14: what was met and what was changed; approved, the change is in the project."""
    site = doubtful
    assert "news" in site.said("review").out
    printed = site.said("review", "news").out
    assert "[x] it has news" in printed and "[ ] it has a date" in printed
    assert "+<p>News</p>" in printed and "--approve" in printed
    shown = site("review", "news")
    assert "+<p>News</p>" in shown["diff"] and shown["task"]["confidence"] == 50
    assert "tasks/" not in shown["diff"]
    assert (site.folder / "page.html").read_text() == "<h1>Mill</h1>\n"
    assert site("review", "news", "--approve")["status"] == "completed"
    until((site.folder / "page.html").read_text, lambda text: "News" in text)
    assert "Nothing waits for review." in site.said("review").out


def test_a_rejection_is_the_next_attempts_instruction(doubtful: PlanSite) -> None:
    """T-X.14: pending again, with the comment; it is needed."""
    site = doubtful
    assert "--comment" in site.refused("review", "news", "--reject")["message"]
    site.scenario("news", [{"prompt": "prompt.txt"}, claims("it has news", "it has a date")])
    assert site("review", "news", "--reject", "--comment", "add the date")["status"] == "pending"
    assert site("resume")["state"]["status"] == "completed"
    assert "add the date" in (site.folder / "prompt.txt").read_text()


def test_a_review_has_one_verdict(doubtful: PlanSite) -> None:
    error = doubtful.refused("review", "news", "--approve", "--merge")
    assert "only one" in error["message"]


@pytest.mark.parametrize(
    ("verdict", "merged", "branches"), [("merge", True, 0), ("keep", False, 1), ("discard", False, 0)]
)
def test_a_branch_is_merged_kept_or_discarded(made: Made, verdict: str, merged: bool, branches: int) -> None:
    """T-X.13: with `merge: keep` the change waits on its branch for a person."""
    site = made(merge="keep")
    site.task("page", {"edit": {"page.html": "<h1>Mill</h1>\n"}}, DONE)
    site.git()
    site("run")
    assert not (site.folder / "page.html").exists()
    site("review", "page", f"--{verdict}")
    assert (site.folder / "page.html").exists() == merged
    listed = subprocess.run([*GIT, "branch", "--list", "penstock/*"], cwd=site.folder, capture_output=True, text=True)
    assert len(listed.stdout.splitlines()) == branches


def test_at_a_terminal_the_review_asks(doubtful: PlanSite, penstock: Shell) -> None:
    """T-X.14: the diff, then the question."""
    answers = (("approve, reject", "a\n"),)
    screens, code = screens_of(penstock, "plan", "review", "site", "news", answers=answers)
    assert code == 0 and "completed" in screens[-1]
    assert doubtful.statuses() == {"news": "completed"}
