"""penstock plan: its verbs."""

from __future__ import annotations

from penstock.cli.plan.check import check
from penstock.cli.plan.look import board, deadlocks, health, status
from penstock.cli.plan.new_project import init
from penstock.cli.plan.projects import projects, report, sync
from penstock.cli.plan.review import review
from penstock.cli.plan.run import resume, run
from penstock.cli.plan.steering import cancel, execute, force_complete, reset, retry, stop

plan = {
    "init": init, "check": check, "run": run, "stop": stop, "resume": resume, "status": status, "board": board,
    "review": review, "force-complete": force_complete, "deadlocks": deadlocks, "report": report, "execute": execute,
    "cancel": cancel, "retry": retry, "sync": sync, "health": health, "projects": projects, "reset": reset,
}  # fmt: skip
