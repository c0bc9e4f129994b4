"""The example: its files make a plan without a finding, and its agent does what each task asks for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.lang.plan.project_files import plan_document
from tests.conformance.plan.make import all_findings

SITE = Path(__file__).parents[3] / "examples" / "plan" / "site"


def files() -> dict[str, bytes]:
    found = [*SITE.glob("*.yaml"), *SITE.glob("*/*.md")]
    return {path.relative_to(SITE).as_posix(): path.read_bytes() for path in found}


def test_the_example_is_a_plan_of_five_tasks() -> None:
    """T-X.8, T-X.9, T-X.11: nothing is said about it."""
    read = plan_document(files())
    assert all_findings(read) == []
    assert {one["id"] for one in read.document["tasks"]} == {"style", "home", "about", "feed", "proofread"}
    assert {one["name"] for one in read.document["agents"]} == {"ann", "ben", "cho"}
    assert read.document["plan"]["max_concurrent"] == 3


def attempt(folder: Path, task: str, number: int = 1) -> tuple[int, list[dict[str, Any]]]:
    env = {"PATH": "/usr/bin:/bin", "PENSTOCK_TASK": task, "PENSTOCK_ATTEMPT": str(number), "SITE_PAUSE": "0"}
    ended = subprocess.run(
        ["sh", str(SITE / "agent.sh")],
        cwd=folder,
        env=env,
        input="Do it.\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize("task", ["style", "home", "about"])
def test_the_agent_edits_files_and_tells_its_progress(tmp_path: Path, task: str) -> None:
    """T-X.12, T-X.13: any program that writes JSON lines; the files that its criteria name are there."""
    code, lines = attempt(tmp_path, task)
    assert code == 0 and lines[0]["type"] == "system" and lines[-1]["type"] == "result"
    assert [line["percent"] for line in lines if line["type"] == "progress"] == [10, 60]
    document = next(one for one in plan_document(files()).document["tasks"] if one["id"] == task)
    for criterion in document["success_criteria"]:
        if isinstance(criterion, dict):
            assert (tmp_path / criterion["file_exists"]).is_file()
        else:
            assert criterion in lines[-1]["matched_criteria"]


def test_the_feed_fails_once(tmp_path: Path) -> None:
    """T-5.1.11: and is then fine."""
    attempt(tmp_path, "home")
    assert attempt(tmp_path, "feed")[0] == 1
    code, lines = attempt(tmp_path, "feed", 2)
    assert code == 0 and (tmp_path / "public/feed.xml").is_file()
    assert any("1 entries" in line.get("content", "") for line in lines)


def test_the_proofreader_is_seven_tenths_sure(tmp_path: Path) -> None:
    """T-A.7: 7 of 10 criteria; after a person has sent it back, all of them."""
    attempt(tmp_path, "home")
    document = next(one for one in plan_document(files()).document["tasks"] if one["id"] == "proofread")
    criteria = document["success_criteria"]
    assert len(criteria) == 10
    assert attempt(tmp_path, "proofread")[1][-1]["matched_criteria"] == criteria[:7]
    assert attempt(tmp_path, "proofread", 2)[1][-1]["matched_criteria"] == criteria
