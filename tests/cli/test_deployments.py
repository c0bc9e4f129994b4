"""penstock deployments and deploy: list, begin, follow, move; killed half-way, a rollout goes on."""

from __future__ import annotations

import json
import signal

import pytest

from tests.app.test_deployments import CANARY, NEW, OLD, PACK
from tests.app.workflows import workflow
from tests.cli.shell import Shell

BEGIN = ("deploy", "begin", "rule_pack", PACK, "--version", NEW)


def test_begin_list_show_and_move(penstock: Shell) -> None:
    """W-4.11.1: a canary by hand, moved by hand; JSON for programs, text for people, exit 3 where it was taken back."""
    blocks = json.dumps({"strategy": CANARY})
    begun = penstock(*BEGIN, "--with", blocks, "--by", "it@example.com", "--json").json()
    id = begun["deployment_id"]
    assert (begun["status"], begun["percent"], begun["begun_by"]) == ("in_progress", 10, "it@example.com")
    listed = penstock("deployments", "--json").json()
    assert listed[0]["deployment_id"] == id and listed[0]["previous_version"] == OLD
    assert penstock("deploy", "pause", id, "-m", "shift", "--by", "ann", "--json").json()["status"] == "paused"
    assert "paused" in penstock("deployments").out
    assert penstock("deploy", "resume", id, "--json").json()["status"] == "in_progress"
    assert penstock("deploy", "promote", id, "--json").json()["percent"] == 40
    shown = penstock("deployments", id).out
    assert f"{OLD} → {NEW}" in shown and "▶  40 %" in shown and "penstock" not in shown.splitlines()[0]
    back = penstock("deploy", "rollback", id, "-m", "misses", "--json").json()
    assert (back["status"], back["percent"], back["to_version"]) == ("rolled_back", 0, OLD)
    assert "because misses" in penstock("deployments", id).out
    assert penstock("deployments", "--status", "paused", "--json").json() == []
    assert penstock("deploy", "pause", id, "--json", code=2).error()["code"] == "PS-409-STATUS"


def test_immediate_is_over_at_once(penstock: Shell) -> None:
    done = penstock(*BEGIN, "--json").json()
    assert (done["status"], done["percent"], done["progress"]) == ("succeeded", 100, 100)
    assert done["strategy"] == "immediate" and done["ended_at"] is not None


def test_killed_half_way_it_goes_on(penstock: Shell) -> None:
    """W-4.11.1, issue 14: three hours of a canary pass in seconds; kill -9 at 40 % loses nothing of it."""
    process = penstock.start(*BEGIN, "--with", json.dumps({"strategy": CANARY}), "--follow", "--speed", "1200")
    assert process.stdout is not None
    while "40 %" not in (line := process.stdout.readline()):
        assert line, "it ended before"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (row,) = penstock("deployments", "--status", "in_progress", "--json").json()
    id = row["deployment_id"]
    assert row["percent"] == 40
    ended = penstock("deployments", id, "--follow", "--speed", "36000", "--json").json()
    assert (ended["status"], ended["percent"]) == ("succeeded", 100)
    assert [event["percent"] for event in ended["events"]][::-1] == [10, 40, 70, 100, 100]
    begins = [stage["begins_at"] for stage in ended["stages"]]
    # a look that comes late by up to a tenth of a stage moves no later stage
    assert all(later - earlier >= 3_240_000 for earlier, later in zip(begins, begins[1:], strict=False))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("deploy", "begin", "spoon", PACK), "PS-400-INPUT"),
        (("deploy", "begin", "rule_pack", "none"), "ARTIFACT_NOT_FOUND"),
        (("deploy", "begin", "rule_pack", PACK, "--version", "9"), "VERSION_NOT_FOUND"),
        (("deploy", "begin", "rule_pack", PACK, "--line", "L99"), "LINE_UNKNOWN"),
        (("deploy", "begin", "rule_pack", PACK, "--strategy", "sudden"), "PS-400-INPUT"),
        (("deploy", "begin", "rule_pack", PACK, "--with", "[1]"), "PS-400-INPUT"),
        (("deploy", "begin", "rule_pack", PACK, "--with", '{"stratgy": {}}'), "PS-400-INPUT"),
        (
            ("deploy", "begin", "rule_pack", PACK, "--with", '{"strategy": {"canary": {"initial_percent": 101}}}'),
            "PS-400-INPUT",
        ),
        (
            ("deploy", "begin", "rule_pack", PACK, "--strategy", "canary", "--with", '{"strategy": "canary"}'),
            "PS-400-INPUT",
        ),
        (("deploy", "begin", "rule_pack", PACK, "--environment", "prodction"), "PS-422-DEPLOYMENT"),
        (("deploy", "begin", "workflow", "wf_none"), "PS-404-RELEASE"),
        (("deploy", "pause", "dep_none"), "PS-404-DEPLOYMENT"),
        (("deployments", "dep_none"), "PS-404-DEPLOYMENT"),
    ],
)
def test_bad_input(penstock: Shell, words: tuple[str, ...], code: str) -> None:
    if words[1] != "begin":
        penstock(*BEGIN, "--json")
    said = penstock(*words, "--json", code=2).error()
    assert said["code"] == code and said["message"]


def test_w_9_4_1_a_definition_is_rolled_out(penstock: Shell) -> None:
    """W-9.4.1: approved, rolled out by parts, in force at the end."""
    for version in (1, 2):
        file = penstock.write(f"v{version}.json", json.dumps(workflow("wf_cli", version=version, name=str(version))))
        penstock("releases", "submit", file, "--by", "author")
        penstock("releases", "approve", "wf_cli", str(version), "--by", "lead")
    penstock("releases", "activate", "wf_cli", "1")
    blocks = json.dumps({"strategy": CANARY})
    words = ("deploy", "begin", "workflow", "wf_cli", "--with", blocks, "--follow", "--speed", "36000", "--json")
    done = penstock(*words).json()
    assert (done["status"], done["version"], done["previous_version"]) == ("succeeded", "2", "1")
    states = {row["version"]: (row["status"], row["message"]) for row in penstock("releases", "ls", "--json").json()}
    assert states == {1: ("deprecated", "Out of force"), 2: ("active", "Workflow activated")}
