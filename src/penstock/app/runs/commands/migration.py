"""Moves a run to another version of its document: planned and shown first, then done in one fact, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.app.releases.triggers import active_release
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.errors import MigrationBlocked, NothingToUndo, ReleaseNotFound
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.migrate import plan
from penstock.kernel.state import COMPLETED, STATUS
from penstock.net.compiled import CEdge, CNode, Compiled
from penstock.store.releases import ReleaseRow

#: versions that somebody has approved
IN_FORCE = ("approved", "active", "deprecated")


class Migration(msgspec.Struct, kw_only=True):
    """What a move would do, or has done. Nodes are those of the author: `renamed` have another id in the new version.
    With `obstacles` it is not done."""

    run: str
    before: str  # the hash of the net that it is on
    after: str
    added: list[str] = []
    removed: list[str] = []
    renamed: dict[str, str] = {}
    at_work: list[str] = []  # nodes that work or wait, and go on in the new version
    tokens_put: list[str] = []  # edges
    tokens_dropped: list[str] = []
    obstacles: list[str] = []
    done: bool = False


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run goes, and what lies where there: ids of nodes and edges, old to new, where they have changed; tokens
    that are put on edges of the new net, and edges of the old one whose tokens are dropped."""

    to: str
    nodes: Mapping[str, str] = {}
    edges: Mapping[str, str] = {}
    puts: Sequence[str] = ()
    drops: Sequence[str] = ()

    def command(self) -> C.Command:
        return C.migrate(self.to, dict(self.nodes), dict(self.edges), puts=self.puts, drops=self.drops)


def approved_release(door: Queries, name: str, version: int | None) -> ReleaseRow:
    """A version that somebody has approved: no other is put in force for a run that goes on either. Raises
    ReleaseNotFound, MigrationBlocked."""
    if version is not None:
        row = door.store.release(door.tenant, name, version)
    else:
        row = active_release(door.store, door.tenant, name) or next(
            reversed(door.store.releases(door.tenant, name)), None
        )
    if row is None:
        raise ReleaseNotFound(name=name, version=version)
    if row.status not in IN_FORCE:
        raise MigrationBlocked(why=f"version {row.version} is {row.status}")
    return row


def planned(door: Queries, reading: RunReading, move: Move) -> Migration:
    """What the move would do as the run stands now. Nothing is changed."""
    new, old, st = _net(door, move.to), reading.net, reading.state
    moves = plan(old, new, st, dict(move.nodes), dict(move.edges), move.puts, move.drops)
    obstacles = list(moves.obstacles)
    if new.net.language != old.net.language:
        obstacles.insert(0, f"it is a document of another language ({new.net.language})")
    if st.status >= COMPLETED:
        obstacles.insert(0, f"the run has ended ({STATUS[st.status]})")
    elif STATUS[st.status] == "COMPENSATING":
        obstacles.insert(0, "the run is compensating")
    renamed = {a: b for a, b in move.nodes.items() if a in old.by_id and a != b}
    return Migration(
        run=reading.row.id, before=old.hash, after=new.hash, renamed=renamed,
        added=[n.id for n in new.nodes if n.id not in old.by_id and n.id not in renamed.values()],
        removed=[n.id for n in old.nodes if renamed.get(n.id, n.id) not in new.by_id],
        at_work=[old.nodes[f.node].id for f in st.firings.values()], tokens_put=list(move.puts),
        tokens_dropped=list(move.drops), obstacles=list(dict.fromkeys(obstacles)),
    )  # fmt: skip


def way_back(door: Queries, reading: RunReading) -> Move:
    """The move that takes back the newest one. Raises NothingToUndo where there was none."""
    newest: list[Any] | None = None
    for turn in door.store.journal(reading.row.no, 0):
        facts = F.decode_facts(turn.body)
        if any(fact[0] == F.MIGRATED for fact in facts):
            newest = facts
    if newest is None:
        raise NothingToUndo(
            run=reading.row.id,
            why="it was never moved to another version",
            hint="`penstock trace RUN` lists its moves.",
        )
    fact = next(fact for fact in newest if fact[0] == F.MIGRATED)
    new, old = _net(door, fact[1]), _net(door, fact[2])
    return Move(
        to=old.hash,
        nodes=_inverse(old.nodes, new.nodes, dict(fact[3])),
        edges=_inverse(old.edges, new.edges, dict(fact[4])),
        puts=[old.edges[f[2]].id for f in newest if f[0] == F.ABSORBED and f[5] == "migrated"],
        drops=[new.edges[f[1]].id for f in newest[newest.index(fact) :] if f[0] == F.PUT],
    )


def _inverse(old: Sequence[CNode | CEdge], new: Sequence[CNode | CEdge], moved: dict[int, int]) -> dict[str, str]:
    """New id → old id, of what was renamed; numbers that have not changed are not in the fact."""
    images = [(thing.id, moved.get(thing.no, thing.no)) for thing in old]
    return {new[to].id: id for id, to in images if to >= 0 and new[to].id != id}


def _net(door: Queries, hash: str) -> Compiled:
    known = door.nets.by_hash(hash)
    if known is None:
        raise MigrationBlocked(why="the new version is not released here")
    return known[1]
