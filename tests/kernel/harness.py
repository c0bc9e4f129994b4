"""A run without store or host: keeps facts only, and checks the laws that hold after every turn."""

from __future__ import annotations

from typing import Any

from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine, FactReader
from penstock.kernel.failure import Failure
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import (
    COMPLETED,
    EFFECT,
    OPEN,
    STATUS,
    Firing,
    State,
    decode_state,
    encode_state,
    new_state,
)
from penstock.kernel.step import advance
from penstock.lifecycle import MACHINES
from penstock.net.compiled import Compiled
from penstock.net.model import Net


class Naming(FactReader):
    """Remembers which number a firing had, and which one asked for an effect: it may be gone at the end of the turn,
    and a firing that is repeated has the same name and another number."""

    def __init__(self, net_of: Any) -> None:
        super().__init__(net_of)
        self.named: dict[str, int] = {}
        self.asked: dict[str, int] = {}

    def firing_id(self, firing: Firing) -> str:
        name = super().firing_id(firing)
        self.named[name] = firing.no
        return name

    def _lines(self, seq: int, at: int, f: Any) -> list[FactLine]:
        if f[0] == F.ASKED:
            _, no, attempt, probe, _args, *_place = f
            self.asked[f"{self.firing_id(self.st.firings[no])}/a{attempt}" + (f".{probe}" if probe else "")] = no
        return super()._lines(seq, at, f)


class Sim:
    """`check=False` leaves out the laws, for speed."""

    def __init__(
        self, net: Net, input: Any = None, *, run: str = "r1", check: bool = True, begin: bool = True, **start: Any
    ) -> None:
        self.net = Compiled(net)
        self.run = Run.fresh(self.net)
        self.turns: list[tuple[int, bytes]] = []
        self.facts: list[Any] = []
        self.reader = Naming(lambda _: self.net)
        self.lines: list[FactLine] = []
        self.now = 0
        self.check = check
        self.name = run
        if begin:
            self.do(C.start(run, input, **start))

    # -- commands ------------------------------------------------------------------------------------------------------

    def do(self, *commands: C.Command) -> list[FactLine]:
        """One turn."""
        before = encode_state(self.run.st) if self.check else b""
        status = STATUS[self.run.st.status]
        try:
            self.run, facts = advance(self.run, list(commands), self.now, self.reload)
        except BaseException:
            self.run = self.reload()
            assert not self.check or encode_state(self.run.st) == before, "a refused command leaves nothing behind"
            raise
        body = F.encode_facts(facts)
        self.turns.append((self.now, body))
        decoded = F.decode_facts(body)
        self.facts += decoded
        lines = self.reader.turn(self.now, decoded)
        self.lines += lines
        if self.check:
            self.laws(status, facts)
        return lines

    def reload(self) -> Run:
        """What a crash leaves: the journal."""
        return Run.load(self.net, self.folded())

    def folded(self) -> State:
        st = new_state()
        for at, body in self.turns:
            fold(st, F.decode_facts(body), at)  # type: ignore[arg-type]
        return st

    def crash(self) -> None:
        self.run = self.reload()

    @property
    def st(self) -> State:
        return self.run.st

    @property
    def status(self) -> str:
        return STATUS[self.st.status]

    def firing(self, node: str) -> Firing:
        return next(f for f in self.st.firings.values() if self.net.nodes[f.node].id == node)

    def asked(self, node: str) -> Firing | None:
        found = [f for f in self.st.firings.values() if self.net.nodes[f.node].id == node and f.phase == EFFECT]
        return found[0] if found else None

    def effects(self) -> list[Firing]:
        return [f for f in self.st.firings.values() if f.phase == EFFECT]

    def ok(self, node: str, body: Any = None, **more: Any) -> list[FactLine]:
        firing = self.asked(node)
        assert firing is not None, f"{node} has no effect in flight"
        return self.do(C.done(firing.no, firing.attempt, firing.probe, body, **more))

    def bad(self, node: str, code: str = "X", category: str = "permanent") -> list[FactLine]:
        firing = self.asked(node)
        assert firing is not None, f"{node} has no effect in flight"
        return self.do(C.failed(firing.no, firing.attempt, Failure(code, category, "it broke"), firing.probe))

    def skip(self, node: str) -> list[FactLine]:
        firing = self.asked(node)
        assert firing is not None
        return self.do(C.skipped(firing.no, firing.attempt, "policy", firing.probe))

    def tick(self, now: int | None = None) -> list[FactLine]:
        """To the next timer, or to a time."""
        due = self.run.wake_at()
        self.now = now if now is not None else max(self.now, due if due is not None else self.now)
        return self.do(C.tick())

    def item(self, node: str) -> int:
        return next(no for no in self.st.items if self.net.nodes[self.st.firings[no].node].id == node)

    # -- what happened -------------------------------------------------------------------------------------------------

    def fired(self) -> list[str]:
        return [line.node for line in self.lines if line.fact == "fired"]

    def settled(self) -> list[tuple[str, str]]:
        return [(line.node, line.data["status"]) for line in self.lines if line.fact == "settled"]

    def of(self, fact: str) -> list[FactLine]:
        return [line for line in self.lines if line.fact == fact]

    def output(self, node: str) -> Any:
        found = [line.data.get("output") for line in self.lines if line.fact == "settled" and line.node == node]
        return found[-1]

    def incidents(self) -> list[str]:
        return [code for code, _, _ in self.st.incidents]

    def vars(self) -> dict[str, Any]:
        return {**self.st.vars, **self.st.names}

    def trace(self) -> str:
        return "\n".join(f"{line.seq:>3} {line.text()}" for line in self.lines) + "\n"

    # -- laws that hold after every turn -------------------------------------------------------------------------------

    def laws(self, was: str, facts: list[Any]) -> None:
        st = self.st
        held = encode_state(st)
        assert encode_state(self.folded()) == held, "K1: the state is the fold of the journal"
        assert encode_state(decode_state(held)) == held, "K1: a checkpoint loads as what it was"
        assert st.n == len(self.facts), "K2: facts are numbered without a hole"
        self._conservation()
        self._ending()
        self._moves(was, facts)
        self._index()
        keys: dict[str, set[str]] = {}
        for line in self.of("effect.asked"):
            firing = f"{line.node}~{line.epoch}"
            keys.setdefault(line.data["key"], set()).add(firing)
        renamed = bool(self.of("migrated"))
        assert renamed or all(len(v) == 1 for v in keys.values()), "E2: a key belongs to one firing"

    def _conservation(self) -> None:
        """K5, K6: every token is put once and taken at most once; put minus taken is what lies there."""
        put = [(x.edge, x.scope, x.epoch, x.data["token"]) for x in self.lines if x.fact == "put"]
        if any(x.fact in ("migrated", "run.reopened", "revived", "forgot") for x in self.lines):
            return
        assert len(put) == len(set(put)), "K6: no two tokens share an identity"
        taken = [(e, x.scope, x.epoch, n) for x in self.lines if x.fact == "fired" for e, n in x.data["takes"]]
        taken += [(x.edge, x.scope, x.epoch, x.data["token"]) for x in self.lines if x.fact == "absorbed"]
        live = sum(len(q) for s in self.st.scopes.values() for q in s.tokens.values())
        assert live == sum(s.live for s in self.st.scopes.values()) == self.st.live, "K5: a scope counts its tokens"
        swept = sum(len(x.data.get("tokens", ())) for x in self.lines if x.fact == "swept")
        assert len(taken) == len(set(taken)), "K5: a token is taken once"
        assert len(put) - len(taken) - swept == live, "K5: created minus consumed is what lives"

    def _ending(self) -> None:
        st = self.st
        live = any(s.live for s in st.scopes.values())
        if st.status >= COMPLETED:
            assert not (live or st.firings or st.timers or st.waits or st.items), (
                f"K4: {self.status} leaves nothing behind"
            )
        elif not st.paused and not (self.status == "PENDING" and self.net.queued) and not (live and st.stopped):
            assert st.firings or st.timers or st.undo, "K4: a run that has not ended has something to wait for"
        assert st.asked == len(self.effects()), "effects in flight are counted"
        assert st.active == sum(f.phase <= 2 for f in st.firings.values()), "active firings are counted"
        for scope in st.scopes.values():
            busy = sum(f.scope == scope.no for f in st.firings.values())
            assert scope.busy == busy, "a scope counts its firings"

    def _moves(self, was: str, facts: list[Any]) -> None:
        """K3, K24: every move is a row of a lifecycle table."""
        machine = MACHINES["run"]
        status = was
        for fact in facts:
            if fact[0] == F.STARTED:
                status = "CREATED" if self.net.queued else machine.next("CREATED", "start")
            elif fact[0] == F.MOVED:
                assert machine.next(status, fact[2]) == fact[1], f"{status} --{fact[2]}--> {fact[1]}"
                status = fact[1]

    def _index(self) -> None:
        """What is worked out beside the state equals what a reload works out."""
        again = Run.load(self.net, self.folded())
        mine = self.run
        assert mine.marks == again.marks, "marks"
        assert {k: set(v) for k, v in mine.by_scope.items()} == {k: set(v) for k, v in again.by_scope.items()}, (
            "firings by scope"
        )
        assert {k: v for k, v in mine.groups.items() if v} == {k: v for k, v in again.groups.items() if v}, "groups"
        assert mine.wake_at() == again.wake_at(), "the next timer"
        assert {s for s in mine.idle if s in self.st.scopes and self.st.scopes[s].status == OPEN} <= again.idle, (
            "idle scopes; one that is held back is not looked at in every turn"
        )
