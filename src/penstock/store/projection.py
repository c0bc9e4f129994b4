"""From facts to rows: what people query. The engine never asks them; `rebuild` makes them again from the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.state import DONE, Firing, State, new_state
from penstock.net.compiled import Compiled
from penstock.store.contract import AGENT, Batch, JournalRow, RunRow

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
AUTONOMOUS = "AUTONOMOUS"
WATCHED = frozenset({F.WORK_OPENED, F.WORK_MOVED, F.WAIT_OPENED, F.WAIT_GONE, F.INCIDENT, F.SWEPT})


def firing_row(run: int, firing: Firing, status: int, at: int) -> tuple[int, ...]:
    return (run, firing.no, firing.node, firing.epoch, firing.visit, firing.attempt, status, firing.at, at)


def project(
    batch: Batch, run: int, facts: Iterable[F.Fact], first: int, at: int, names: dict[int, str],
    tenant: str | None = None,
) -> None:  # fmt: skip
    """Rows of the watched facts of a turn. `names` remembers the signal names of open waits. `tenant` is that of a
    process: its items are listed by it."""
    for seq, f in enumerate(facts, first):
        tag = f[0]
        if tag not in WATCHED:
            continue
        if tag == F.WORK_OPENED:
            _open_item(batch, run, f, at)
            if tenant is not None:
                _open_work(batch, run, f, seq, tenant)
        elif tag == F.WORK_MOVED:
            batch.item_moved.append((f[2], f[4], at, run, f[1]))
            if tenant is not None:
                mode = f[8] if len(f) > 8 else None
                batch.work_moved.append((f[2], assignee_of(f), mode, seq, run, f[1]))
        elif tag == F.WAIT_OPENED:
            names[f[1]] = f[4]
            batch.wait.append((f[4], run, f[1]))
        elif tag == F.WAIT_GONE:
            _unwait(batch, run, f[1], names)
        elif tag == F.INCIDENT:
            batch.incident.append((run, seq, f[1], str(f[2]), at))


def _open_item(batch: Batch, run: int, f: Any, at: int) -> None:
    """A firing that is revived opens its item anew: moves of the former one in the same batch must not reach it."""
    if batch.item_moved:
        batch.item_moved = [move for move in batch.item_moved if move[3] != run or move[4] != f[1]]
    candidates = None if f[4] is None else _pack(f[4])
    batch.item_new.append((run, f[1], f[2], "TODO", _pack(f[3]), candidates, None, at, at))


def _open_work(batch: Batch, run: int, f: Any, seq: int, tenant: str) -> None:
    if batch.work_moved:
        batch.work_moved = [move for move in batch.work_moved if move[4] != run or move[5] != f[1]]
    agent = f[3].get("agent") if isinstance(f[3], dict) else None
    mode = (f[6] if len(f) > 6 else "") or AUTONOMOUS  # what has no mode is done by the engine
    batch.work_new.append((run, f[1], tenant, "TODO", agent, named(f[4]), mode, seq))


def named(candidates: Any) -> str | None:
    """P-X.13: the one person for whom an item is, where it is for one."""
    targets = candidates.get("targets") if isinstance(candidates, dict) else None
    only = targets[0] if isinstance(targets, list | tuple) and len(targets) == 1 else None
    return only[5:] if isinstance(only, str) and only.startswith("user:") else None


def assignee_of(f: Any) -> str | None:
    """Who has an item after it was moved; None: who had it before, "": nobody."""
    event, by = f[3], f[4]
    if event in ("start", "submit_for_approval") and by == "agent":
        return AGENT
    if event in ("start", "take_over", "submit"):
        return str(by) if by else None
    if event == "reassign":
        given = f[10] if len(f) > 10 else f[9] if len(f) > 9 else None  # journals of before `target` have it as `why`
        return named({"targets": [given]}) or ""
    return None


def _unwait(batch: Batch, run: int, wait: int, names: dict[int, str]) -> None:
    name = names.pop(wait, None)
    if name is not None:
        batch.unwait.append((name, run, wait))


def sweep_waits(batch: Batch, run: int, open_waits: Iterable[int], names: dict[int, str]) -> None:
    """Waits that a sweep has taken: named before, not open any more."""
    still = set(open_waits)
    for wait in [w for w in names if w not in still]:
        _unwait(batch, run, wait, names)


# ---- judgments -------------------------------------------------------------------------------------------------------


@lru_cache(1024)
def judges(net: Compiled) -> Mapping[int, bool]:
    """The nodes whose answers are verdicts, by number; True: those of people who are asked instead."""
    found = {n.no: False for n in net.nodes if n.effect is not None and n.effect.executor == "judgment"}
    return found | {n.no: True for n in net.nodes if n.spec.type == "REVIEW" and n.spec.work is not None}


class Bench:
    """Whose judgments they are. `whole` gives the value of a body that is stored by reference; `kept` gives what is
    kept of a judgment that a person decides."""

    __slots__ = ("kept", "net", "run", "tenant", "whole")

    def __init__(
        self, run: str, tenant: str, net: Compiled, whole: Callable[[Any], Any], kept: Callable[[int], bytes | None]
    ) -> None:
        self.run, self.tenant, self.net, self.whole, self.kept = run, tenant, net, whole, kept


def judge(batch: Batch, bench: Bench, f: Any, firing: Firing, at: int) -> None:
    """The row of a verdict (C-52), from the fact that settles its firing. A person's verdict takes the place of the one
    that was left to them, and names it as what was proposed."""
    by_person = judges(bench.net).get(firing.node)
    if by_person is None or f[2] != DONE:
        return
    node = bench.net.nodes[firing.node]
    output = bench.whole(f[7])
    number, body = firing.no, {"input": None, "output": output}
    if by_person:
        output = {**output, "decided_by": "human"} if isinstance(output, dict) else output
        asked = firing.takes[0].envelope if firing.takes else None
        number = asked.firing if asked is not None else number
        kept = bench.kept(number)
        body = {**(_unpack(kept) if kept is not None else {}), "output": output}
        body["proposed"] = bench.whole(asked.body) if asked is not None else None
    else:
        args = firing.args if firing.args is not None or node.effect is None else node.effect.args
        body["input"] = _given(args if isinstance(args, dict) else {})
    said = output if isinstance(output, dict) else {}
    batch.judgment.append((
        bench.run, number, bench.tenant, bench.net.net.name, node.spec.origin or node.id,
        str(said.get("decision") or "unknown"), int(said.get("needs_review") is True), _pack(body), at,
    ))  # fmt: skip


def _given(args: Mapping[str, Any]) -> Any:
    """What it was made from; nothing where the document does not want it written down."""
    audit = args.get("audit")
    if isinstance(audit, dict) and audit.get("log_input") is False:
        return None
    policy = args.get("policy")
    found = {"data": args.get("data"), "context": args.get("context")}
    return {**found, "policy": policy} if policy is not None else found


# ---- all of it -------------------------------------------------------------------------------------------------------


def _of_process(f: Any) -> bool:
    return isinstance(f[3], dict) and "activity_id" in f[3]


def _same(body: Any) -> Any:
    return body


def rows_of(
    row: RunRow, journal: Iterator[JournalRow], batch: Batch, net_of: Callable[[str], Compiled] | None = None,
    whole: Callable[[Any], Any] = _same,
) -> State:  # fmt: skip
    """Every projected row of a run, folded from its journal. Without `net_of` nobody knows which firings judge."""
    st = new_state()
    names: dict[int, str] = {}
    decode = F.decode_facts
    judged: list[tuple[Any, ...]] = batch.judgment
    bench: Bench | None = None
    process = False

    def kept(firing: int) -> bytes | None:
        return next((r[7] for r in reversed(judged) if r[:2] == (row.id, firing)), None)

    for turn in journal:
        st.at = turn.at
        facts: list[Any] = decode(turn.body)
        for f in facts:
            if f[0] == F.SETTLED:
                firing = st.firings[f[1]]
                batch.firing.append(firing_row(row.no, firing, f[2], turn.at))
                if net_of is not None:
                    if bench is None or bench.net.hash != st.net:
                        bench = Bench(row.id, row.tenant, net_of(st.net), whole, kept)
                    judge(batch, bench, f, firing, turn.at)
            EVOLVE[f[0]](st, f)
            st.n += 1
        st.hand = None
        process = process or any(f[0] == F.WORK_OPENED and _of_process(f) for f in facts)
        project(batch, row.no, facts, turn.seq_from, turn.at, names, row.tenant if process else None)
        if any(f[0] == F.SWEPT for f in facts):
            sweep_waits(batch, row.no, st.waits, names)
    return st
