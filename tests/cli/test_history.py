"""`trace --history`, and the history in `show --json`."""

from __future__ import annotations

import json

from tests.app.workflows import workflow
from tests.cli.shell import EXAMPLES, Shell


def test_the_history_of_a_run(penstock: Shell) -> None:
    """W-2.2.5, C-60: each transition with its moment, event, from, to, node and reason; statuses in lower case."""
    penstock.write("wf.json", json.dumps(workflow()))
    penstock("run", "wf.json", "--key", "k", "--json", code=4)
    found = penstock("trace", "k", "--history", "--json").json()
    assert [one["event"] for one in found if one["of"] == "instance"] == [
        "create_instance", "schedule", "start_execution", "wait_started"
    ]  # fmt: skip
    assert set(found[-1]) == {"at", "of", "event", "from", "to", "node_id", "reason", "by", "execution"}
    assert [found[-1][name] for name in ("from", "to", "node_id", "reason")] == [
        "running", "waiting", "first", "manual:first"
    ]  # fmt: skip
    assert penstock("show", "k", "--json").json()["history"] == found
    last = penstock("trace", "k", "--history").out.splitlines()[-1]
    assert last.split() == [found[-1]["at"], *"instance running → waiting wait_started first manual:first".split()]


def test_a_diagram_has_one_too(penstock: Shell) -> None:
    """W-2.2.5."""
    penstock("run", EXAMPLES / "diamond.yaml", "--key", "d", "--json")
    assert [one["to"] for one in penstock("show", "d", "--json").json()["history"]] == ["RUNNING", "COMPLETED"]
