"""Every store: cases of agents' drafts are replaced by run; a proposal changes with its audit entry."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.audit_chain import AuditRow
from penstock.store.autonomy import AutonomyCaseRow, AutonomyProposalRow
from penstock.store.autonomy_tables import AUTONOMY_CASE, AUTONOMY_PROPOSAL
from tests.contract.store_suite import Kit


def a_case(run: int = 1, firing: int = 1, **more: Any) -> AutonomyCaseRow:
    given: dict[str, Any] = {
        "tenant": "t", "run": run, "firing": firing, "item": f"r{run}~{firing}", "process": "p", "version": 1,
        "activity": "a", "agent": "bot", "mode": "SUPERVISED", "outcome": "unchanged", "at": 10, "rework_ms": None,
        "compensated": 0,
    }  # fmt: skip
    return AutonomyCaseRow(**{**given, **more})


def a_proposal(id: str = "x", **more: Any) -> AutonomyProposalRow:
    given: dict[str, Any] = {
        "tenant": "t", "id": id, "process": "p", "version": 1, "activity": "a", "name": "A", "agent": "bot",
        "mode": "SUPERVISED", "proposed": "AUTONOMOUS", "status": "open", "number": 1, "body": b"\x80", "since": 5,
    }  # fmt: skip
    return AutonomyProposalRow(**{**given, **more})


def an_entry(action: str) -> AuditRow:
    return AuditRow("t", 0, 7, "autonomy", action, "autonomy:x", b"{}")


def test_the_rows_have_the_columns_of_their_tables() -> None:
    assert AutonomyCaseRow.__struct_fields__ == AUTONOMY_CASE.names
    assert AutonomyProposalRow.__struct_fields__ == AUTONOMY_PROPOSAL.names


def test_cases_of_a_run_are_replaced_and_listed_in_the_order_in_which_they_were_clear(kit: Kit) -> None:
    """P-X.40: a run that is read again has no case twice; nobody sees those of another tenant."""
    store = kit.open()
    store.put_autonomy_cases("t", 1, [a_case(at=30), a_case(firing=2, at=20, outcome="rejected", rework_ms=4)])
    store.put_autonomy_cases("t", 2, [a_case(2, at=10), a_case(2, 2, agent="other"), a_case(2, 3, activity="b")])
    store.put_autonomy_cases("u", 3, [a_case(3, tenant="u")])
    found = store.autonomy_cases("t", "p", "a", "bot")
    assert [(row.run, row.firing) for row in found] == [(2, 1), (1, 2), (1, 1)]
    assert found[1] == a_case(firing=2, at=20, outcome="rejected", rework_ms=4)
    store.put_autonomy_cases("t", 1, [a_case(at=40, outcome="corrected")])
    assert [(row.run, row.outcome) for row in store.autonomy_cases("t", "p", "a", "bot")] == [
        (2, "unchanged"), (1, "corrected"),
    ]  # fmt: skip
    store.put_autonomy_cases("t", 1, [])
    assert [row.run for row in store.autonomy_cases("t", "p", "a", "bot")] == [2]


def test_the_mark_of_what_was_read_never_goes_back(kit: Kit) -> None:
    store = kit.open()
    assert store.autonomy_mark("t") == 0
    store.put_autonomy_mark("t", 50)
    store.put_autonomy_mark("t", 40)
    assert (store.autonomy_mark("t"), store.autonomy_mark("u")) == (50, 0)


def test_a_proposal_changes_only_from_the_number_that_was_seen_and_with_its_audit_entry(kit: Kit) -> None:
    """P-X.40: of two who decide at once the second changes nothing, and says nothing in the audit."""
    store = kit.open()
    one = a_proposal()
    assert store.put_autonomy_proposal(one, None, [an_entry("autonomy.propose")])
    assert not store.put_autonomy_proposal(one, None, [an_entry("autonomy.propose")])
    assert not store.put_autonomy_proposal(a_proposal("y"), None), "one of an activity is open"
    assert store.put_autonomy_proposal(a_proposal("z", activity="b", since=9), None)
    done = replace(one, status="accepted", number=2, ended_at=8, ended_by="kim", made_version=2)
    assert store.put_autonomy_proposal(done, 1, [an_entry("autonomy.accept")])
    assert not store.put_autonomy_proposal(replace(one, status="dismissed", number=2), 1, [an_entry("no")])
    assert store.autonomy_proposal("t", "x") == done and store.autonomy_proposal("u", "x") is None
    assert [row.action for row in store.audit("t")] == ["autonomy.accept", "autonomy.propose"]
    assert store.put_autonomy_proposal(a_proposal("y", since=6), None), "the one before is over"
    assert [row.id for row in store.autonomy_proposals("t")] == ["z", "y", "x"]
    assert [row.id for row in store.autonomy_proposals("t", process="p", status="open")] == ["z", "y"]
    assert store.autonomy_proposals("u") == store.autonomy_proposals("t", process="q") == []
