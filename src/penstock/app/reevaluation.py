"""When to think again (P-8): seven thresholds, what is measured now, and which of them are exceeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process_events import process_nets
from penstock.app.processes import approval_of, in_force, origin_of
from penstock.app.workitems import folded
from penstock.kernel.state import COMPENSATED, FAILED
from penstock.store.contract import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.queries import Queries

_LOOKED_AT = 200  # of the newest runs that have failed
_ELEMENTS = ("activities", "gateways", "transitions", "roles", "data", "events")


class Threshold(msgspec.Struct, frozen=True):
    id: str
    condition: str
    what: str
    value: float | None
    threshold: float
    exceeded: bool


def reevaluation(door: Queries) -> list[Threshold]:
    by_name: dict[str, list[ReleaseRow]] = {}
    for row in door.store.releases(door.tenant, kind="*"):
        by_name.setdefault(row.name, []).append(row)
    known = list(by_name.values())
    return [
        _over("P-8.1", "definitions > 100", "definition caching strategy", len(known), 100),
        _over("P-8.2", "running instances > 500", "horizontal scaling of the engine", _running(door), 500),
        _over("P-8.3", "compensation failure rate > 5%", "compensation strategy", _undoing(door), 0.05),
        _under("P-8.4", "extraction accuracy < 70%", "prompt optimisation or fine-tuning", _accuracy(known), 0.7),
        _under("P-8.5", "mined model fitness < 0.7", "event-log quality, preprocessing", _fitness(known), 0.7),
        _over("P-8.6", "log export > 100,000 records", "batch and incremental export", None, 100_000),
        _under("P-8.7", "approval rate of discovered models < 50%", "mining parameters", _approved(known), 0.5),
    ]


def _over(id: str, condition: str, what: str, value: float | None, threshold: float) -> Threshold:
    return Threshold(id, condition, what, value, threshold, value is not None and value > threshold)


def _under(id: str, condition: str, what: str, value: float | None, threshold: float) -> Threshold:
    return Threshold(id, condition, what, value, threshold, value is not None and value < threshold)


def _running(door: Queries) -> int:
    nets = set(process_nets(door))
    return sum(count for _, net, _, count in door.store.open_counts(door.tenant, 0) if net in nets)


def _undoing(door: Queries) -> float | None:
    """Of the instances that were undone: the share in which something could not be."""
    nets, store, tenant = set(process_nets(door)), door.store, door.tenant
    well = [row for row in store.ended_runs(tenant, COMPENSATED, 0, _LOOKED_AT) if row.net in nets]
    badly = [row for row in store.ended_runs(tenant, FAILED, 0, _LOOKED_AT) if row.net in nets]
    partial = sum(folded(door, row).compensation_status == "PARTIAL" for row in badly)
    return partial / (len(well) + partial) if well or partial else None


def _accuracy(known: list[list[ReleaseRow]]) -> float | None:
    """P-X.22, P-X.43: the share of extracted elements that were approved as they were read."""
    shares = []
    for rows in known:
        if origin_of(rows[0]).get("source") == "extracted" and approval_of(in_force(rows)) == "approved":
            read, now = _elements(rows[0]), _elements(in_force(rows))
            shares.append(sum(now.get(key) == one for key, one in read.items()) / len(read) if read else 1.0)
    return sum(shares) / len(shares) if shares else None


def _elements(row: ReleaseRow) -> Mapping[tuple[str, str], Any]:
    said: dict[str, Any] = msgspec.json.decode(row.document)
    return {
        (name, str(one.get("id") or one.get("name"))): one
        for name in _ELEMENTS
        for one in said.get(name) or ()
        if isinstance(one, dict)
    }


def _fitness(known: list[list[ReleaseRow]]) -> float | None:
    """Of the model that fits its log least."""
    found = [origin_of(rows[0]).get("fitness") for rows in known if rows[0].kind == "discovered"]
    return min((float(one) for one in found if one is not None), default=None)


def _approved(known: list[list[ReleaseRow]]) -> float | None:
    """P-X.43: approved / (approved + rejected)."""
    said = [approval_of(rows[-1]) for rows in known if rows[0].kind == "discovered"]
    decided = [one for one in said if one != "pending"]
    return decided.count("approved") / len(decided) if decided else None
