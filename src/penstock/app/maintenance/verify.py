"""verify: every invariant of RELIABILITY (a) that a store can show, asked of a store as it lies there.

Each run's journal is folded once; checks look at the facts as they pass, at the state they lead to, and at the rows
beside it. A checker is a function that yields what is wrong; the same ones run in the simulation and after a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.app.maintenance.integrity import check_integrity, damage_said
from penstock.app.maintenance.projections import Projections
from penstock.errors import StoreAway, StoreBusy
from penstock.host.blobs import REF
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.replay import fold
from penstock.kernel.state import CLOSED_DONE, COMPLETED, STATUS, State, decode_state, encode_state, key, new_state
from penstock.lifecycle import MACHINES
from penstock.net import codec
from penstock.net.compiled import EPOCH, MOST, Compiled
from penstock.store.contract import Store
from penstock.store.run_store import JournalRow, RunRow, is_whole

_RUN = MACHINES["run"]
_ITEM = MACHINES["work_item"]


class Violation(msgspec.Struct, frozen=True):
    check: str
    run: str
    detail: str


class Report(msgspec.Struct):
    violations: list[Violation]
    runs: int
    facts: int

    def say(self, check: str, detail: str) -> None:
        """Of no single run."""
        self.violations.append(Violation(check, "", detail))


class _Case:
    """One run while it is verified."""

    def __init__(self, store: Store, nets: Nets, row: RunRow) -> None:
        self.store, self.nets, self.row = store, nets, row
        self.journal: list[JournalRow] = []
        self.turns: list[list[Any]] = []
        self.st: State = new_state()
        self.net: Compiled | None = None
        self.settled: dict[int, int] = {}
        self.put: set[tuple[int, int, int, int]] = set()
        self.wrong: list[tuple[str, str]] = []

    def say(self, check: str, detail: str) -> None:
        self.wrong.append((check, detail))


def verify(store: Store, newest: int | None = None) -> Report:
    """Verify all runs, or only a number of the newest. Whatever is damaged is a violation, never an exception; only a
    store that cannot be reached raises StoreAway."""
    nets = Nets(store)
    report = Report([], 0, 0)
    projections = Projections(store, nets)
    for row in _all_runs(store, newest, report):
        case = _verified(store, nets, row, projections)
        if case.wrong:  # somebody may drive it meanwhile: what is wrong is wrong twice
            projections.look_again()
            case = _verified(store, nets, _row_again(store, row), projections)
        report.violations += [Violation(check, row.id, detail) for check, detail in case.wrong]
        report.runs += 1
        report.facts += case.st.n
    projections.close()
    if newest is not None:
        check_nets(store, sorted(nets.by_number), report.say)
        return report
    with damage_said(report.say, "D3", "the nets cannot be counted"):
        check_nets(store, store.net_numbers(), report.say)
    check_integrity(store, report.say)
    return report


def _verified(store: Store, nets: Nets, row: RunRow, projections: Projections) -> _Case:
    case = _Case(store, nets, row)
    with damage_said(case.say, "K1", "the journal cannot be folded"):
        _read_journal(case)
        _fold(case)
        for check in CHECKS:
            check(case)
        projections.check(case.say, row, case.journal)
    return case


def _row_again(store: Store, row: RunRow) -> RunRow:
    try:
        return next((found for found, _ in store.load([row.no])), row)
    except (StoreAway, StoreBusy):
        raise
    except Exception:
        return row


def _all_runs(store: Store, newest: int | None, report: Report) -> Iterator[RunRow]:
    """Those that can be read; of the others it is said that they cannot."""
    say, last = report.say, 0
    with damage_said(say, "D3", "the runs cannot be counted"):
        last = store.last_run()
    for first in range(1 if newest is None else max(last - newest + 1, 1), last + 1, 500):
        numbers = range(first, min(first + 500, last + 1))
        rows: list[RunRow] = []
        try:
            rows = [row for row, _ in store.load(numbers)]
        except (StoreAway, StoreBusy):
            raise
        except Exception:
            for number in numbers:
                with damage_said(say, "D3", f"run {number} cannot be read"):
                    rows += [row for row, _ in store.load([number])]
        yield from rows


def _read_journal(case: _Case) -> None:
    """D2: every row is as it was written."""
    run = case.row.no
    for row in case.store.journal(run):
        if not is_whole(run, row):
            case.say("D2", f"the row of facts {row.seq_from}..{row.seq_to} is not what was written")
        case.journal.append(row)
    case.turns = [F.decode_facts(row.body) for row in case.journal]


def _fold(case: _Case) -> None:
    """Fold the journal, and check each fact before it is folded."""
    st = case.st
    status = "CREATED"
    for row, facts in zip(case.journal, case.turns, strict=True):
        st.at = row.at
        for f in facts:
            if f[0] == F.STARTED:
                numbered_net = case.nets.by_hash(f[3])
                case.net = numbered_net[1] if numbered_net else None
            elif f[0] == F.MIGRATED:
                numbered_net = case.nets.by_hash(f[1])
                case.net = numbered_net[1] if numbered_net else None
            status = _before(case, f, status)
            EVOLVE[f[0]](st, f)
            st.n += 1
        st.hand = None
        if st.n == case.row.checkpoint_seq and case.row.checkpoint is not None:
            check_checkpoint(case)


def _before(case: _Case, f: list[Any], status: str) -> str:
    tag = f[0]
    if tag == F.MOVED:
        if not _RUN.allows(status, f[2]) or _RUN.next(status, f[2]) != f[1]:
            case.say("K3", f"{status} moved to {f[1]} by {f[2]}, which the table does not have")
        return str(f[1])
    if tag == F.STARTED:
        queued = len(f) > 10 and f[10]
        return status if queued else "RUNNING"
    if tag == F.SETTLED:
        if f[1] not in case.st.firings:
            case.say("E4", f"firing {f[1]} settled, but was not open")
        case.settled[f[1]] = case.settled.get(f[1], 0) + 1
    elif tag == F.REVIVED:
        case.settled.pop(f[1], None)
    elif tag == F.PUT:
        token = (f[1], f[2], f[3], f[4])
        if token in case.put:
            case.say("K6", f"token {token} was put twice")
        case.put.add(token)
    elif tag == F.FORGOT:
        case.put = {t for t in case.put if not (t[1] == f[1] and t[2] < f[2])}
    elif tag == F.SCOPE_FORGOTTEN:
        gone = set(f[1])
        case.put = {t for t in case.put if t[1] not in gone}
    elif tag == F.MIGRATED:  # edges have other numbers now; one that is gone and comes back counts from one again
        images = {old: new for old, new in f[4]}  # noqa: C416 (pairs are lists)
        case.put = {(image, *t[1:]) for t in case.put if (image := images.get(t[0], t[0])) >= 0}
    elif tag == F.REOPENED and f[1] == "restart":
        case.put = {t for t in case.put if t[1] == 0}
    elif tag in (F.FIRED, F.FIRED_VIA, F.PASSED):
        _check_firing(case, f)
    elif tag == F.WORK_MOVED:
        item = case.st.items.get(f[1])
        was = item.status if item is not None else case.st.closed_items.get(f[1])
        if was is not None and not (_ITEM.allows(was, f[3]) and _ITEM.next(was, f[3]) == f[2]):
            case.say("K24", f"work item {f[1]} moved from {was} to {f[2]} by {f[3]}")
    return status


def _check_firing(case: _Case, f: list[Any]) -> None:
    node_no, scope, epoch, visit = f[2], f[3], f[4], f[5]
    if case.net is None:
        return
    if scope in case.st.scopes:
        visit -= case.st.scopes[scope].before(key(node_no, epoch))  # a restart counts anew
    node = case.net.nodes[node_no]
    comp = f[9] if f[0] == F.FIRED else -1
    if node.max_iter is not None and visit > node.max_iter and comp < 0:
        case.say("K15", f"«{node.id}» fired {visit} times, its limit is {node.max_iter}")
    if node.spec.kind == "start" and scope == 0 and visit > 1:
        case.say("K14", f"START «{node.id}» fired {visit} times")


# ---- checks of one run
# -------------------------------------------------------------------------------------------------


def check_checkpoint(case: _Case) -> None:
    """K1: the checkpoint is the fold of the facts before it, byte for byte, and its tail leads to the same state."""
    assert case.row.checkpoint is not None
    if encode_state(case.st) != encode_state(decode_state(case.row.checkpoint)):
        case.say("K1", f"the checkpoint at fact {case.st.n} is not the fold of the journal")


def check_tail(case: _Case) -> None:
    """K1: the snapshot and its tail lead to the same state."""
    if case.row.checkpoint is None:
        return
    st = decode_state(case.row.checkpoint)
    for row, facts in zip(case.journal, case.turns, strict=True):
        if row.seq_from > case.row.checkpoint_seq:
            fold(st, facts, row.at)
    if encode_state(st) != encode_state(case.st):
        case.say("K1", "checkpoint and tail do not lead where the journal leads")


def check_numbers(case: _Case) -> None:
    """K2, H1: facts are numbered 1..n with no hole and no repeat."""
    expected = 1
    for row, facts in zip(case.journal, case.turns, strict=True):
        if row.seq_from != expected or row.seq_to != expected + len(facts) - 1:
            case.say("K2", f"a turn has facts {row.seq_from}..{row.seq_to}, expected from {expected}")
            return
        expected = row.seq_to + 1
    if not case.journal:
        case.say("K2", "the run has no journal")


def check_end(case: _Case) -> None:
    """K4, both directions."""
    st = case.st
    live = sum(s.live for s in st.scopes.values())
    if st.status >= COMPLETED:
        left = [
            n
            for n, v in (
                ("tokens", live),
                ("firings", st.firings),
                ("timers", st.timers),
                ("waits", st.waits),
                ("items", st.items),
            )
            if v
        ]
        if left:
            case.say("K4", f"the run is {STATUS[st.status]} and still has {', '.join(left)}")
    elif not st.paused and not (live or st.firings or st.timers or st.undo):
        case.say("K4", f"the run is {STATUS[st.status]} and nothing can move it")


def check_tokens(case: _Case) -> None:
    """K5: what lies there was put and not taken; counters agree with what they count."""
    for scope in case.st.scopes.values():
        if scope.live != sum(len(q) for q in scope.tokens.values()):
            case.say("K5", f"scope {scope.no} counts {scope.live} tokens")
        for place, queue in scope.tokens.items():
            for token in queue:
                if (place & (MOST - 1), scope.no, place >> EPOCH, token.seq) not in case.put:
                    case.say("K5", f"a token lies on edge {place & (MOST - 1)} that was never put")


def check_firings(case: _Case) -> None:
    """E4: a firing settles once."""
    for no, times in case.settled.items():
        if times > 1:
            case.say("E4", f"firing {no} settled {times} times")


def check_row(case: _Case) -> None:
    """The run's row says what its journal says."""
    row, st = case.row, case.st
    if row.status != st.status:
        case.say("H9", f"the row says {STATUS[row.status]}, the journal {STATUS[st.status]}")
    due = None if st.paused else min((t.due for t in st.timers.values()), default=None)
    if st.status < COMPLETED and row.wake_at != due:
        case.say("K17", f"the row wakes at {row.wake_at}, the next timer is due at {due}")
    for name, in_row, in_journal in (
        ("id", row.id, st.run), ("tenant", row.tenant, st.tenant),
        ("net", case.nets.get(row.net).hash, st.net),
    ):  # fmt: skip
        if in_row != in_journal:
            case.say("K1", f"its {name} is {in_row} in the row, {in_journal} in the journal")


def check_children(case: _Case) -> None:
    """Scopes: children of an open firing, closed ones hold nothing."""
    for scope in case.st.scopes.values():
        if scope.no and scope.status >= CLOSED_DONE and (scope.live or scope.busy):
            case.say("K4", f"scope {scope.no} is closed and holds something")


def check_blobs(case: _Case) -> None:
    """Every value that is stored by reference is there."""
    for scope in case.st.scopes.values():
        for queue in scope.tokens.values():
            for token in queue:
                body = token.envelope.body
                if type(body) is dict and REF in body and case.store.blob(body[REF]) is None:
                    case.say("K5", f"blob {body[REF]} is missing")


CHECKS: tuple[Callable[[_Case], None], ...] = (
    check_numbers, check_end, check_tokens, check_firings, check_row, check_tail, check_children, check_blobs,
)  # fmt: skip


def check_nets(store: Store, numbers: Iterable[int], say: Callable[[str, str], None]) -> None:
    """V1: a net is what its hash says."""
    for number in numbers:
        with damage_said(say, "V1", f"net {number} cannot be read"):
            row = store.net(number)
            if codec.content_hash(codec.decode(row.body)) != row.hash:
                say("V1", f"net {number} is not what its hash says")
