"""The names that an expression may read: the state of its own run, and nothing else.

Names are looked up when they are asked for, in the order of W-6.2.2: locals of the firing and of the scopes around
it, output names, node ids, reserved roots, variables, aliases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import ExprLimit
from penstock.expr.calendar import moment_at, text_of_moment
from penstock.kernel.state import DONE, FAILURE, Firing, Record, Scope
from penstock.net.compiled import EPOCH, CNode

if TYPE_CHECKING:
    from penstock.kernel.run import Run

#: names that mean the settling firing itself
_OF_ITS_OWN = ("output", "visit", "failure")
_UNIT = ("succeeded", "failed", "skipped", "cancelled")


class View(dict[str, Any]):
    """Locals as items; everything else is resolved by `__missing__` and remembered."""

    __slots__ = ("epoch", "firing", "node", "result", "run", "scope")

    def __init__(
        self,
        run: Run,
        scope: Scope,
        epoch: int = 0,
        node: CNode | None = None,
        firing: Firing | None = None,
        result: Any = None,
    ) -> None:
        self.run, self.scope, self.epoch, self.node, self.firing = run, scope, epoch, node, firing
        self.result: tuple[int, Any, Any] | None = result  # status, output, failure of a firing that is about to settle
        if run.refuse and node is not None and node.no in run.refuse and (result is None or result[0] == DONE):
            raise ExprLimit(why=run.refuse[node.no])
        if firing is not None and (takes := firing.takes):
            edges = run.net.edges
            body = takes[0].envelope.body
            self["default"] = run.resolve_blob(body) if type(body) is dict else body  # a reference is a dict
            for taken in takes:
                var = edges[taken.edge].var
                if var:
                    body = taken.envelope.body
                    self[var] = run.resolve_blob(body) if type(body) is dict else body

    def __missing__(self, name: str) -> Any:
        value = self._find(name)
        if type(value) is dict:
            value = self.run.resolve_blob(value)
        self[name] = value
        return value

    def _find(self, name: str) -> Any:
        run = self.run
        st, net = run.st, run.net
        own = self.node
        if self.result is not None and (name in _OF_ITS_OWN or own is not None and (name == own.id or own.spec.out)):
            settles, value = self._own(name, self.result)
            if settles:
                return value
        scope = self.scope
        while scope.no:
            if name in scope.vars:
                return scope.vars[name]
            scope = st.scopes[scope.parent]
        if name in st.names:
            return st.names[name]
        node = net.by_id.get(name)
        if node is not None:
            record = st.records.get(node.no)
            if record is None and name in net.cores:
                record = st.records.get(net.cores[name].no)
            return node_view(record, run.resolve_blob)
        root = _ROOTS.get(name)
        if root is not None:
            return root(self)
        if name in st.vars:
            return st.vars[name]
        alias = net.aliases.get(name)
        if alias is not None:
            record = st.records.get(alias.no)
            return None if record is None else record.output
        if name in net.net.declares.variables:
            return net.net.declares.variables[name]
        if name in net.known:
            return None
        raise KeyError(name)

    def _own(self, name: str, result: tuple[int, Any, Any]) -> tuple[bool, Any]:
        """What a settling firing knows of itself before the fact is said."""
        status, output, failure = result
        if name == "output":
            return True, output
        if name == "visit":
            return True, self.firing.visit if self.firing is not None else 0
        if name == "failure":
            return True, None if failure is None else failure_view(failure)
        node = self.node
        if node is not None:
            if name == node.id:
                return True, _settled_view(status, self.run.resolve_blob(output), failure)
            if (status != FAILURE or node.spec.keeps_output) and name in node.spec.out:
                return True, output
        return False, None


def _settled_view(status: int, output: Any, failure: Any) -> dict[str, Any]:
    return {
        **(output if type(output) is dict else {}),
        "output": output,
        "status": _UNIT[status],
        "error": None if failure is None else failure_view(failure),
    }


def node_view(record: Record | None, whole: Callable[[Any], Any]) -> dict[str, Any]:
    """W-6.2.4: reserved members come from the record, any other from the output."""
    if record is None:
        return dict.fromkeys(("output", "status", "error", "retry_count", "started_at", "completed_at", "duration_ms"))
    output = whole(record.output)
    failure = record.failure
    return {
        **(output if type(output) is dict else {}),
        "output": output,
        "status": _UNIT[record.status],
        "error": None if failure is None else failure_view(failure),
        "retry_count": record.attempt - 1,
        "started_at": record.started,
        "completed_at": record.ended,
        "duration_ms": record.ended - record.started,
    }


def failure_view(failure: Any) -> dict[str, Any]:
    return {"code": failure.code, "category": failure.category, "message": failure.message, "node": failure.node}


def _counters(view: View) -> dict[str, int]:
    """Rounds of every node in the firing's epoch, its scope first, then those around it."""
    out: dict[str, int] = {}
    st, nodes = view.run.st, view.run.net.nodes
    scope: Scope | None = view.scope
    while scope is not None:
        epoch = view.epoch if scope is view.scope else 0
        for at_key in scope.visits:
            if at_key >> EPOCH == epoch:
                out.setdefault(nodes[at_key & ((1 << EPOCH) - 1)].id, scope.rounds(at_key))
        scope = st.scopes[scope.parent] if scope.no else None
    return _Zero(out)


class _SecretNames(dict[str, str]):
    """Every secret as a reference in the run's own mark: the kernel never sees a value, and no text from outside can
    pass for a reference."""

    def __init__(self, mark: str, places: dict[str, str]) -> None:
        super().__init__()
        self.mark, self.places = mark, places

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]

    def __missing__(self, name: str) -> str:
        return f"{self.mark}{self.places.get(name, name)}{self.mark}"


def secret_mark(run: Run) -> str:
    return "§" + hashlib.sha256(f"{run.st.seed}/{run.st.run}/secrets".encode()).hexdigest()[:16] + "§"


class _Zero(dict[str, int]):
    """A node that has not fired counts 0, not null."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, 0)

    def __missing__(self, name: str) -> int:
        return 0


def _branches(view: View) -> dict[str, Any]:
    nodes = view.run.net.nodes
    return {nodes[no].id: record.port for no, record in view.run.st.records.items() if record.epoch == view.epoch}


def _nodes(view: View) -> dict[str, Any]:
    nodes = view.run.net.nodes
    return {nodes[no].id: node_view(record, view.run.resolve_blob) for no, record in view.run.st.records.items()}


def _context(view: View) -> dict[str, Any]:
    held = {**view.run.net.net.declares.variables, **view.run.st.vars}
    if view.scope.no:
        held |= _locals(view)
    return {**held, "variables": held}


def _locals(view: View) -> dict[str, Any]:
    """What the scopes around have declared as their own, the innermost last."""
    st, nodes = view.run.st, view.run.net.nodes
    names: dict[str, Any] = {}
    scope = view.scope
    while scope.no:
        owner = st.firings.get(scope.firing)
        body = nodes[owner.node].spec.body if owner is not None else None
        mine = (
            {n: view.run.resolve_blob(scope.vars[n]) for n in body.locals if n in scope.vars}
            if body is not None
            else {}
        )
        names = {**mine, **names}
        scope = st.scopes[scope.parent]
    return names


def _sys(view: View) -> dict[str, Any]:
    st, firing = view.run.st, view.firing
    attempt = view.get("attempt", firing.attempt if firing is not None else 1)
    return {
        "workflow_id": view.run.net.net.name,
        "workflow_version": view.run.net.net.declares.version or st.net,
        "instance_id": st.run,
        "tenant_id": st.tenant,
        "execution_start": text_of_moment(moment_at(st.scopes[0].at)),
        "current_node": (view.node.spec.origin or view.node.id) if view.node is not None else None,
        "retry_count": attempt - 1,
        "parent_instance_id": st.parent or None,
        "now": view.run.now,
        "node_started": firing.at if firing is not None else None,
        "trigger": st.options.get("trigger"),
        "done_by": _done_by(view),
    }


def _done_by(view: View) -> list[str]:
    """The people who did the finished work that this firing comes from, where the run tracks origins; at the beginning
    of a scope what the scope comes from. Of work that is begun again: those whom it was for."""
    st, firing, scope = view.run.st, view.firing, view.scope
    again = st.items.get(firing.no) if firing is not None else None
    if again is not None and type(again.candidates) is dict:
        return [who[5:] for who in again.candidates.get("targets") or () if str(who).startswith("user:")]
    while firing is not None:
        keys = firing.passed or ()
        items = (st.redoable[-key].item for key in keys if key < 0 and -key in st.redoable)
        people = list(dict.fromkeys(item.by for item in items if item.by and item.by != "agent"))
        if people or not scope.no:
            return people
        firing, scope = st.firings.get(scope.firing), st.scopes[scope.parent]
    return []


def _outside(view: View, root: str) -> dict[str, Any]:
    """What was fetched from outside the run: for all of it at the start, and for this node before it began."""
    names, node = view.run.st.names, view.node
    context: dict[str, Any] = {}
    for name in ("context.prefetch", f"{node.spec.origin or node.id}.context" if node is not None else ""):
        fetched = view.run.resolve_blob(names.get(name))
        for key, value in (fetched.get(root) or {}).items() if type(fetched) is dict else ():
            before = context.get(key)
            context[key] = {**before, **value} if type(before) is dict and type(value) is dict else value
    return context


def _random(view: View) -> Callable[[], float]:
    """Random from the run's own seed: the n-th draw of a firing is the same on every machine and every replay."""
    st, firing = view.run.st, view.firing
    stem = f"{st.seed}/{firing.no if firing is not None else 0}/{st.n}/"
    drawn = 0

    def draw() -> float:
        nonlocal drawn
        drawn += 1
        return int.from_bytes(hashlib.sha256(f"{stem}{drawn}".encode()).digest()[:6], "big") / (1 << 48)

    return draw


_ROOTS: dict[str, Callable[[View], Any]] = {
    "input": lambda v: v.run.st.input,
    "context": _context,
    "nodes": _nodes,
    "counters": _counters,
    "branches": _branches,
    "epoch": lambda v: v.epoch,
    "sys": _sys,
    "config": lambda v: v.run.net.net.declares.config,
    "now": lambda v: v.run.now,
    "$now": lambda v: v.run.now,
    "$random": _random,
    "$calendar": lambda v: v.run.st.options.get("calendar"),
    "$config": lambda v: v.run.st.options.get("config"),
    "$tenant_config": lambda v: v.run.st.options.get("tenant_config"),
    "secrets": lambda v: _SecretNames(secret_mark(v.run), v.run.net.net.declares.secrets),
    "aas": lambda v: _outside(v, "aas"),
    "rag": lambda v: _outside(v, "rag"),
    "undoing": lambda v: v.run.st.undo.why if v.run.st.undo is not None else None,
}
