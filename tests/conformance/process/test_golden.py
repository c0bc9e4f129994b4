"""The examples as nets and as journals: what they are lowered to, and every fact of a run, at every crash the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.kernel import command as C
from penstock.lang.compile import compile_document
from penstock.net.model import Net
from tests.conformance.process.make import EXAMPLES
from tests.kernel.test_documents import Told

GOLDEN = Path(__file__).parent / "golden"
Golden = Callable[[Path, str], None]
FILES = sorted(EXAMPLES.glob("*.json"))


def net_of(name: str) -> Net:
    file = EXAMPLES / f"{name}.json"
    return compile_document(file.read_bytes(), name=file.name).net


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_it_is_lowered_to(file: Path, golden: Golden) -> None:
    """P-2.2.9, P-X.8: the net of an example; a change here is a change for instances that are started from now on."""
    net = msgspec.to_builtins(compile_document(file.read_bytes(), name=file.name).net)
    net.pop("source_map")
    golden(GOLDEN / f"{file.stem}.net.json", json.dumps(net, ensure_ascii=False, indent=1) + "\n")


class Story(Told):
    """A process told to the kernel alone; time stands still."""

    def __init__(self, name: str, input: Any = None) -> None:
        super().__init__(net_of(name), input, options={"trigger": {"initiator": "lee"}})

    def submit(self, node: str, data: Any = None, by: str = "kim") -> None:
        self.do(C.work(self.firing(node).no, "submit", by, data or {}))

    def same_after_every_crash(self, golden: Golden, name: str) -> None:
        """From every turn on the same commands write the same journal."""
        self.ended(golden, str(GOLDEN / name))


def test_data_registration(golden: Golden) -> None:
    """P-2.1.2, P-A.19: the seed's own process, with an issue."""
    told = Story("data_registration", {"case": 1})
    told.submit("receive", {"document": "d"})
    told.ok("verify", {"matches": True})
    told.ok("classify", {"class": "핵심", "has_issue": True})
    told.do(C.work(told.firing("classify").no, "approve", "manager", None, "ok"))
    told.submit("handle_issue", {"fixed": True})
    assert told.status == "COMPLETED"
    told.same_after_every_crash(golden, "data_registration")


def test_saga(golden: Golden) -> None:
    """P-5.2.2, P-5.4.1, P-A.19: the last step fails, all is undone; a crash changes nothing."""
    told = Story("saga")
    for node in ("register", "optimise", "report", "tell"):
        told.ok(node, {node: 1})
    told.bad("approve", "AGENT_ERROR")
    for node in ("tell", "report", "optimise", "register"):
        told.ok(f"{node}.undo")
    assert told.status == "COMPENSATED"
    told.same_after_every_crash(golden, "saga")


def test_fork_join(golden: Golden) -> None:
    """P-3.4.1, P-A.19: three branches, one join."""
    told = Story("fork_join", {"amount": 100})
    told.submit("open")
    told.ok("sales.assign", {"user": "cho"})
    told.ok("tax", {"tax": 10})
    told.submit("stock")
    told.submit("sales", by="cho")
    told.submit("report", by="lead")
    assert told.status == "COMPLETED"
    told.same_after_every_crash(golden, "fork_join")
