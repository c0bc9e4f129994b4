"""publish: a message or a signal goes to the tenant's intake, once, under the key of its effect."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.executors.contract import Done, News
from penstock.executors.publish import PublishExecutor
from tests.executors.desk import Desk

PUBLISH = PublishExecutor()


@pytest.mark.parametrize("name", [None, "", 5, 0, [], {"a": 1}, True])
def test_what_has_no_name_is_not_sent(tmp_path: Any, name: Any) -> None:
    """P-X.25: a name is a text that is not empty; nobody hears anything else."""
    failure = Desk(tmp_path).failed(PUBLISH, {"kind": "message", "name": name, "payload": 1})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")


def test_what_is_sent_says_so(tmp_path: Any) -> None:
    """P-X.25: the outcome names it, and carries it to whoever waits for it."""
    done = Desk(tmp_path).run(PUBLISH, {"kind": "signal", "name": "paid", "payload": {"n": 1}}, key="t/r/n/0/1")
    assert isinstance(done, Done) and done.body == {"sent": "paid"}
    assert done.told == News("publish:t/r/n/0/1", "paid", {"n": 1})
