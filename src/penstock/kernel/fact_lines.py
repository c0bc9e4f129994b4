"""Facts as lines for people: numbers become names, and a fact that stands for two becomes two lines.

Used by `trace`, by events and by checks; the engine never reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.evolve.tokens import as_envelope
from penstock.kernel.state import SCOPE_STATUS, SETTLED, Firing, State, new_state
from penstock.kernel.token import EMPTY, Envelope, Path
from penstock.net.compiled import EPOCH, MOST, Compiled

NetOf = Callable[[str], Compiled]


class FactLine(msgspec.Struct, omit_defaults=True):
    """One thing that happened."""

    seq: int
    fact: str
    at: int
    node: str = ""
    edge: str = ""
    scope: str = ""
    epoch: int = -1
    data: dict[str, Any] = {}

    def text(self) -> str:
        """One line for people and for golden traces; times are left out."""
        where = " ".join(
            p
            for p in (
                self.node,
                self.edge,
                f"@{self.scope}" if self.scope else "",
                f"~{self.epoch}" if self.epoch > 0 else "",
            )
            if p
        )
        rest = " ".join(f"{k}={_short(v)}" for k, v in self.data.items() if v is not None and v != [] and v != {})
        return f"{self.fact:<16} {where} {rest}".rstrip()


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="deterministic").decode()


class FactReader:
    """Folds a run's journal turn by turn and tells what happened."""

    def __init__(self, net_of: NetOf) -> None:
        self.net_of = net_of
        self.st: State = new_state()
        self.net: Compiled | None = None
        self.paths: dict[int, str] = {0: ""}
        self.carried: list[Envelope] = []  # what the tokens carry that the last turn has put, in the order of its lines

    def turn(self, at: int, facts: Iterable[Any]) -> list[FactLine]:
        out: list[FactLine] = []
        self.carried = []
        for f in facts:
            out += self.one(at, f)
        self.st.at, self.st.hand = at, None
        return out

    def one(self, at: int, f: Any) -> list[FactLine]:
        """One fact of a turn, for those who look between two of them; `turn` is for all others."""
        st = self.st
        st.at = at
        if f[0] == F.STARTED:
            self.net = self.net_of(f[3])
        out = self._lines(st.n + 1, at, f)
        if f[0] == F.MIGRATED:
            self.net = self.net_of(f[1])
        EVOLVE[f[0]](st, f)
        st.n += 1
        if f[0] == F.PASSED:
            self._after_passed(out, 0, f)
        return out

    # -- names ---------------------------------------------------------------------------------------------------------

    def _node(self, no: int) -> str:
        assert self.net is not None
        return self.net.nodes[no].id

    def _edge(self, no: int) -> str:
        assert self.net is not None
        return self.net.edges[no].id

    def firing_id(self, firing: Firing) -> str:
        if firing.name:
            return firing.name
        stem = f"{self._node(firing.node)}@{self.paths.get(firing.scope, '')}~{firing.epoch}#{firing.visit}"
        return f"{stem}!{firing.comp}" if firing.comp >= 0 else stem

    def _takes(self, scope: int, epoch: int, edges: list[int]) -> list[list[Any]]:
        """Which tokens a firing is about to take: edge and number, oldest first."""
        seen: dict[int, int] = {}
        out = []
        tokens = self.st.scopes[scope].tokens
        for edge in edges:
            n = seen.get(edge, 0)
            seen[edge] = n + 1
            out.append([self._edge(edge), tokens[edge + (epoch << EPOCH)][n].seq])
        return out

    # -- one fact ------------------------------------------------------------------------------------------------------

    def _lines(self, seq: int, at: int, f: Any) -> list[FactLine]:
        tell = _TELL.get(f[0])
        if tell is not None:
            return tell(self, seq, at, f)
        name, fields = F.FIELDS[f[0]]
        data = dict(zip(fields, f[1:], strict=False))
        node = ""
        number = data.pop("firing", None)
        if number:
            firing = self.st.firings.get(number)
            if firing is not None:
                node = self._node(firing.node)
                data["firing"] = self.firing_id(firing)
            else:
                data["firing"] = number
        if isinstance(data.get("node"), int):
            node = self._node(data.pop("node"))
        elif isinstance(data.get("node"), str):
            node = data.pop("node")
        if "failure" in data:
            data["failure"] = failure_dict(data["failure"])
        if not data.get("level", 1):
            del data["level"]  # only an escalation has one
        return [FactLine(seq, name, at, node=node, data=data)]

    def _put(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, edge, scope, epoch, number, envelope, path, _passed = f
        data: dict[str, Any] = {"token": number}
        if path:
            data["path"] = path
        carried = as_envelope(envelope) if envelope is not None else self._in_hand()
        self.carried.append(carried)
        data["body"] = carried.body
        if carried.meta and carried.meta.get("maxiter"):
            data["maxiter"] = True
        return [
            FactLine(seq, "put", at, edge=self._edge(edge), scope=self.paths.get(scope, ""), epoch=epoch, data=data)
        ]

    def _fired(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, _no, node, scope, epoch, visit, edges, owed, flags, comp, _path = f
        data: dict[str, Any] = {"visit": visit, "takes": self._takes(scope, epoch, edges)}
        if owed:
            data["owed"] = [self._edge(e) for e in owed]
        if flags & F.RELAXED:
            data["relaxed"] = True
        if comp >= 0:
            data["undoes"] = comp
        return [
            FactLine(seq, "fired", at, node=self._node(node), scope=self.paths.get(scope, ""), epoch=epoch, data=data)
        ]

    def _fired_via(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, _no, node, scope, epoch, visit, edge, number, _flags = f
        path = self.paths.get(scope, "")
        return [
            self._via(seq, at, edge, path, epoch, number),
            FactLine(seq, "fired", at, node=self._node(node), scope=path, epoch=epoch,
                 data={"visit": visit, "takes": [[self._edge(edge), number]]}),
        ]  # fmt: skip

    def _via(self, seq: int, at: int, edge: int, path: str, epoch: int, number: int) -> FactLine:
        """The token that is put and taken by one fact."""
        carried = self._in_hand()
        self.carried.append(carried)
        data = {"token": number, "body": carried.body}
        return FactLine(seq, "put", at, edge=self._edge(edge), scope=path, epoch=epoch, data=data)

    def _in_hand(self) -> Envelope:
        return self.st.hand.envelope if self.st.hand is not None else EMPTY

    def _passed(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, _no, node, scope, epoch, visit, edges, via, number, _body, port, flags = f
        path = self.paths.get(scope, "")
        out = []
        takes = self._takes(scope, epoch, edges)
        if via >= 0:
            takes = [[self._edge(via), number]]
            out.append(self._via(seq, at, via, path, epoch, number))
        data: dict[str, Any] = {"visit": visit, "takes": takes}
        if flags & F.RELAXED:
            data["relaxed"] = True
        out.append(FactLine(seq, "fired", at, node=self._node(node), scope=path, epoch=epoch, data=data))
        ended: dict[str, Any] = {"status": "done", "visit": visit, "attempt": 1, "started": at}
        if port is not None:
            ended["port"] = port
        out.append(FactLine(seq, "settled", at, node=self._node(node), scope=path, epoch=epoch, data=ended))
        return out

    def _after_passed(self, out: list[FactLine], before: int, f: Any) -> None:
        """What a control node handed on is known only after the fact."""
        for line in out[before:]:
            if line.fact == "settled":
                line.data["output"] = self._in_hand().body

    def _settled(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, no, status, port, node, attempt, started, body, content_type, meta, failure, _flags = f
        firing = self.st.firings[no]
        data: dict[str, Any] = {
            "status": SETTLED[status],
            "visit": firing.visit,
            "attempt": attempt,
            "started": started,
        }
        if port is not None:
            data["port"] = port
        if body is not None:
            data["output"] = body
        if content_type is not None:
            data["content_type"] = content_type
        if meta:
            data["meta"] = meta
        if failure is not None:
            data["failure"] = failure_dict(failure)
        if firing.comp >= 0:
            data["undoes"] = firing.comp
        if firing.name:
            data["firing"] = firing.name
        path = self.paths.get(firing.scope, "")
        return [FactLine(seq, "settled", at, node=self._node(node), scope=path, epoch=firing.epoch, data=data)]

    def _asked(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, no, attempt, probe, args, *place = f
        firing = self.st.firings[no]
        data: dict[str, Any] = {"attempt": attempt, "key": f"{self.st.tenant}/{self.st.run}/{self.firing_id(firing)}"}
        if probe:
            data["probe"] = probe
        if args is not None:
            data["args"] = args
        if place:
            data["place"] = place[0]
        return [FactLine(seq, "effect.asked", at, node=self._node(firing.node), epoch=firing.epoch, data=data)]

    def _absorbed(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, scope, edge, epoch, seqs, why, _key, _visit = f
        return [
            FactLine(
                seq,
                "absorbed",
                at,
                edge=self._edge(edge),
                scope=self.paths.get(scope, ""),
                epoch=epoch,
                data={"token": number, "why": why},
            )
            for number in seqs
        ]

    def _dead(self, seq: int, at: int, f: Any) -> list[FactLine]:
        out = []
        for place in f[2]:
            gone = place < 0
            number = -place - 1 if gone else place
            name = "undead" if gone else "dead"
            out.append(FactLine(seq, name, at, edge=self._edge(number & (MOST - 1)), epoch=number >> EPOCH))
        return out

    def _swept(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, scope, why, firings, tokens, scopes, status, effects, _timers, _ids = f
        data: dict[str, Any] = {"why": why}
        if firings:
            data["firings"] = [self.firing_id(self.st.firings[n]) for n in firings]
        if tokens:
            data["tokens"] = [[self._edge(e), epoch, n] for e, _s, epoch, seqs in tokens for n in seqs]
        if effects:
            data["effects"] = [self.firing_id(self.st.firings[n]) for n in effects]
        if scopes:
            data["scopes"] = [self.paths.get(n, str(n)) for n in scopes]
            data["status"] = SCOPE_STATUS[status]
        return [FactLine(seq, "swept", at, scope=self.paths.get(scope, ""), data=data)]

    def _scope_opened(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, no, _parent, firing, key, index, vars_, required = f
        self.paths[no] = f"{self.firing_id(self.st.firings[firing])}/{key}"
        assert self.net is not None
        body = self.net.nodes[self.st.firings[firing].node].spec.body
        names = None if body is None else body.names
        name = "item" if names is None else next((n for n, value in names.items() if value == "item"), "")
        data = {"index": index, "item": vars_.get(name), "required": required}
        return [FactLine(seq, "scope.opened", at, scope=self.paths[no], data=data)]

    def _scope_closed(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, no, status, failure = f
        data = {"status": SCOPE_STATUS[status], "failure": failure_dict(failure)}
        return [FactLine(seq, "scope.closed", at, scope=self.paths.get(no, ""), data=data)]

    def _scope_forgotten(self, seq: int, at: int, f: Any) -> list[FactLine]:
        return [FactLine(seq, "scope.forgotten", at, data={"scopes": [self.paths.get(n, str(n)) for n in f[1]]})]

    def _fanned(self, seq: int, at: int, f: Any) -> list[FactLine]:
        """How many, and not what for: each child says that itself when it is opened."""
        firing = self.st.firings[f[1]]
        data = {"firing": self.firing_id(firing), "items": len(f[2])}
        return [FactLine(seq, "fanned", at, node=self._node(firing.node), epoch=firing.epoch, data=data)]

    def _rearmed(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, scope, key, visit, edges = f
        data = {"visit": visit, "edges": [self._edge(e) for e in edges]}
        return [
            FactLine(
                seq,
                "rearmed",
                at,
                node=self._node(key & (MOST - 1)),
                scope=self.paths.get(scope, ""),
                epoch=key >> EPOCH,
                data=data,
            )
        ]

    def _forwarded(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, scope, key, node, _path, _passed = f
        return [
            FactLine(seq, "forwarded", at, node=self._node(node), scope=self.paths.get(scope, ""), epoch=key >> EPOCH)
        ]

    def _revived(self, seq: int, at: int, f: Any) -> list[FactLine]:
        redo = self.st.redoable.get(f[1])
        was = redo.was if redo is not None else self.st.parked.get(f[1]) or self.st.reopen
        assert was is not None
        name = f"{self._node(was.node)}@{self.paths.get(was.scope, '')}~{was.epoch}#{was.visit}"
        return [FactLine(seq, "revived", at, node=self._node(was.node), epoch=was.epoch, data={"firing": name})]

    def _migrated(self, seq: int, at: int, f: Any) -> list[FactLine]:
        _, net, was, nodes, _edges, _names = f
        assert self.net is not None
        moved, after = dict(nodes), self.net_of(net)
        images = [(node.id, moved.get(node.no, node.no)) for node in self.net.nodes]
        known = after.nodes
        renamed = {id: known[to].id for id, to in images if 0 <= to < len(known) and known[to].id != id}
        return [FactLine(seq, "migrated", at, data={"net": net, "was": was, "renamed": renamed})]


def group_of(path: Path | None, net: Compiled) -> tuple[str, int] | None:
    """P-5.5.6: the author's element that has forked last before a firing or a ledger entry with this path, and which of
    its branches it is. A scope with several children is a fork as well; a boundary event that interrupts nothing is
    none."""
    for fork, branch in reversed(path or ()):
        if branch >= 0:
            at = fork.find("@")
            while at >= 0 and fork[:at] not in net.by_id:  # the author's own name may hold one, too
                at = fork.find("@", at + 1)
            node = net.by_id.get(fork[:at])
            return (node.spec.origin or node.id, branch) if node is not None else (fork, branch)
    return None


def firing_of(line: FactLine) -> str:
    """The id of the firing that a `fired` or `settled` line tells of: it has kept it, if its node was renamed."""
    if "firing" in line.data:
        return str(line.data["firing"])
    stem = f"{line.node}@{line.scope}~{line.epoch}#{line.data['visit']}"
    return f"{stem}!{line.data['undoes']}" if "undoes" in line.data else stem


def failure_dict(failure: Any) -> dict[str, Any] | None:
    if failure is None:
        return None
    raw = (
        list(failure)
        if isinstance(failure, list | tuple)
        else [failure.code, failure.category, failure.message, failure.node, failure.detail]
    )
    names = ("code", "category", "message", "node", "detail")
    return {k: v for k, v in zip(names, raw, strict=False) if v not in (None, "")}


_TELL: dict[int, Callable[[FactReader, int, int, Any], list[FactLine]]] = {
    F.PUT: FactReader._put, F.FIRED: FactReader._fired, F.FIRED_VIA: FactReader._fired_via,
    F.PASSED: FactReader._passed, F.SETTLED: FactReader._settled, F.ASKED: FactReader._asked,
    F.ABSORBED: FactReader._absorbed, F.DEAD: FactReader._dead, F.SWEPT: FactReader._swept,
    F.SCOPE_OPENED: FactReader._scope_opened, F.SCOPE_CLOSED: FactReader._scope_closed,
    F.SCOPE_FORGOTTEN: FactReader._scope_forgotten, F.REARMED: FactReader._rearmed, F.FORWARDED: FactReader._forwarded,
    F.REVIVED: FactReader._revived, F.MIGRATED: FactReader._migrated, F.FANNED: FactReader._fanned,
}  # fmt: skip
