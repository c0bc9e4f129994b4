"""penstock plan check: what is wrong with a project's files, with its places."""

from __future__ import annotations

from typing import Any

from penstock.app.plan.files.project_folder import read_plan_files
from penstock.cli.options import STORE, Json, NoStore
from penstock.cli.output import DONE, TONES, WRONG, finding_json, print_finding, print_json, say
from penstock.cli.plan.project import HERE, Folder, folder_of
from penstock.errors import Finding
from penstock.lang.compile import check_document
from penstock.lang.plan.project_files import plan_document


def check(folder: Folder = HERE, json: Json = False, store: NoStore = STORE) -> int:
    """Say whether a project's plan can be run: every error and warning, with its place and what to do about it."""
    root = folder_of(folder)
    read = plan_document(read_plan_files(root), name=root.name)
    findings: list[Finding] = [*read.findings]
    if not any(finding.severity == "error" for finding in findings):
        findings += check_document(read.bytes(), name="plan.json")[1]
    errors = [finding for finding in findings if finding.severity == "error"]
    tasks, agents = len(read.document["tasks"]), _agents(read.document["agents"])
    if json:
        told = [finding_json(finding) for finding in findings]
        print_json({"ok": not errors, "language": "plan", "tasks": tasks, "agents": agents, "findings": told})
        return WRONG if errors else DONE
    for finding in findings:
        print_finding(finding, folder, err=bool(errors))
    if errors:
        say((f"{folder}: ", "bold"), (_count(len(errors), "error"), TONES["failed"]), err=True)
        return WRONG
    more = f", {_count(len(findings), 'warning')}" if findings else ""
    say((f"{folder}: ", "bold"), ("ok", TONES["done"]), f" ({_count(tasks, 'task')}, {_count(agents, 'agent')}{more})")
    return DONE


def _agents(agents: list[Any]) -> int:
    """With the one that every plan has."""
    return len({"default", *(str(agent.get("name")) for agent in agents if isinstance(agent, dict))})


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
