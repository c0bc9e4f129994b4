"""Child runs: a call starts one, its end is the call's outcome, a dropped call cancels it.

A child's id is derived from the key of the call, so asking again, after a crash or by a retry, finds the same child.
A *detached* call (`detached` among its arguments) is answered as soon as its child is in the store; that child goes on
when its caller ends or is cancelled.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.dialects import dialect_of
from penstock.errors import PenstockError, RunNotFound
from penstock.executors.contract import Done, Failed, Outcome, failed
from penstock.host.blobs import Blobs
from penstock.host.loaded_run import Ask, InternalReply, LoadedRun
from penstock.host.nets import Nets
from penstock.host.start_limits import StartLimits
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel import state as S
from penstock.kernel.failure import Failure
from penstock.kernel.run import Run
from penstock.net.calls import AGAIN, again
from penstock.net.codec import content_hash
from penstock.net.compiled import CNode, Compiled
from penstock.net.model import Net
from penstock.store.run_store import RunRow, RunStore

#: the option of a run that says how many runs have called each other above it
DEPTH = "depth"
CALLED = "c"  # begins the id of a run that another one has called
DETACHED = "d"  # begins the id of a run that another one has called and does not wait for


def child_id(key: str, *, detached: bool = False) -> str:
    return (DETACHED if detached else CALLED) + hashlib.sha256(key.encode()).hexdigest()[:15]


class Children:
    """`answer` takes outcomes of calls; `resume_run` drives a run of the store here; `inputs` is what a call took."""

    def __init__(
        self,
        store: RunStore,
        nets: Nets,
        turns: Turns,
        blobs: Blobs,
        answer: Callable[[Ask, Outcome, int], None],
        resume_run: Callable[[int], None],
        inputs: Callable[[Ask, CNode], dict[str, Any]],
        now: Callable[[], int],
        start_limits: StartLimits,
    ) -> None:
        self.store, self.nets, self.turns, self.blobs = store, nets, turns, blobs
        self.start_limits = start_limits
        self.paced: dict[tuple[int, int], tuple[int, Ask, str]] = {}  # caller, firing → when it may start its child
        self._paces: list[tuple[int, int, int]] = []  # when, caller, firing
        self.answer, self.resume_run, self.inputs, self.now = answer, resume_run, inputs, now
        self.parents: dict[str, list[Ask]] = {}  # child run id → calls that wait for its end
        self.called: dict[int, dict[int, str]] = {}  # caller → firing → child run id
        self.numbers: dict[str, int] = {}  # children started here that may not be in the store yet
        self.deadlines: list[tuple[int, int, int, int]] = []  # due, caller, firing, attempt
        turns.on_end.append(self._ended)

    def call(self, ask: Ask) -> None:
        run = ask.loaded.run
        assert run is not None
        node = run.net.nodes[ask.firing.node]
        detached = _is_detached(_args(ask, node))
        child = child_id(run.effect_key(ask.firing), detached=detached)
        row = self.row(child)  # first: when it cannot be read, nothing has happened
        known = child in self.parents  # called here already; it may not be in the store yet
        self.parents.setdefault(child, []).append(ask)
        self.called.setdefault(ask.loaded.no, {})[ask.firing.no] = child
        if node.spec.timeout_ms is not None:
            due = self.now() + node.spec.timeout_ms
            heapq.heappush(self.deadlines, (due, ask.loaded.no, ask.firing.no, ask.attempt))
        if row is not None and detached:
            self._started(child)
        elif row is not None:
            self._again(ask, child, row)
        elif not known:
            self._start_in_time(ask, child, node)

    def has(self, loaded: LoadedRun, firing: S.Firing) -> bool:
        """Does this call wait for the end of its child already? Then that belongs to this fold of the run."""
        child = self.called.get(loaded.no, {}).get(firing.no)
        for ask in self.parents.get(child or "", ()):
            if (ask.loaded.no, ask.firing.no, ask.attempt) == (loaded.no, firing.no, firing.attempt):
                ask.loaded, ask.firing = loaded, firing
                return True
        return False

    def _again(self, ask: Ask, child: str, row: RunRow) -> None:
        """Asked again: after a crash the child goes on; when the caller is retried, what failed in the child is."""
        if row.status == S.FAILED and ask.attempt > 1:
            self.turns.send(
                row.no, C.retry(), InternalReply(lambda error: None if error is None else self._tell(child, row.no))
            )
        elif row.status >= S.COMPLETED:
            self._tell(child, row.no)
        else:
            self.resume_run(row.no)
            self.turns.send(row.no, C.nudge())

    def _start_in_time(self, ask: Ask, child: str, node: CNode) -> None:
        """Limits: too deep or one too many fails before anything is made; too fast waits."""
        failure = self._beyond(ask, node)
        if failure is not None:
            self._forget(child)
            self.answer(ask, failure, 0)
            return
        due = self.start_limits.due(ask.loaded.tenant, ask.loaded.id)
        if due is None:
            self._start(ask, child, node)
            return
        at = (ask.loaded.no, ask.firing.no)
        self.paced[at] = (due, ask, child)
        heapq.heappush(self._paces, (due, *at))

    def _beyond(self, ask: Ask, node: CNode) -> Failed | None:
        tenant, run = ask.loaded.tenant, ask.loaded.run
        assert run is not None
        most = self.start_limits.limits.of(tenant)
        if depth_of(run.st.options) >= most["call_depth"]:
            message = f"«{node.label}» would be the {most['call_depth'] + 1}th run that another one calls"
            return failed("CALL_DEPTH_LIMIT", "permanent", message, {"limit": most["call_depth"]})
        if len(self.called.get(ask.loaded.no, ())) > most["children_per_run"]:
            message = f"the run waits for {most['children_per_run']} runs that it has called, and that is the most"
            return failed("CHILDREN_LIMIT", "resource", message, {"limit": most["children_per_run"]})
        if self.start_limits.runs.full(tenant, most["open_runs"]):
            message = f"the tenant has {most['open_runs']} runs that have not ended, and that is the most"
            return failed("RUNS_LIMIT", "resource", message, {"limit": most["open_runs"]})
        return None

    def start_paced(self) -> None:
        """Calls that have waited for their minute to pass."""
        now = self.now()
        while self._paces and self._paces[0][0] <= now:
            _, *at = heapq.heappop(self._paces)
            _, ask, child = self.paced.pop((at[0], at[1]), (0, None, ""))
            if ask is not None and ask.loaded.run is not None and child in self.parents:
                self._start_in_time(ask, child, ask.loaded.run.net.nodes[ask.firing.node])

    def _start(self, ask: Ask, child: str, node: CNode) -> None:
        run = ask.loaded.run
        assert run is not None
        args = _args(ask, node)
        net = self._called_net(run, args) if isinstance(args, dict) else None
        if net is None:
            self._forget(child)
            self.answer(ask, failed("NET_UNKNOWN", "permanent", "the net that is called is not released"), 0)
            return
        given = args.get("input")
        if given is None:
            given = self.inputs(ask, node)
        loaded = self.turns.start(
            child, net[0], given, tenant=run.st.tenant, parent=run.st.run, trace=run.st.trace,
            options={DEPTH: depth_of(run.st.options) + 1, **_inherited(run.st.options)},
            reply=InternalReply(lambda error: self._started(child, error)) if _is_detached(args) else None,
        )  # fmt: skip
        self.numbers[child] = loaded.no

    def _called_net(self, run: Run, args: Mapping[str, Any]) -> tuple[int, Compiled] | None:
        """By its hash; one that calls itself, at once or by way of others, by the mark of its document."""
        if AGAIN not in args:
            return self.nets.by_hash(str(args.get("net", "")))
        net = again(args, self._family(run), self._net_of)
        return None if net is None else self.nets.by_hash(content_hash(net))

    def _family(self, run: Run) -> Iterator[Net]:
        """The net of a run, of the run that has called it, and so on."""
        yield run.net.net
        parent: str | None = run.st.parent
        while parent and (row := self.row(parent)) is not None:
            yield self.nets.get(row.net).net
            parent = row.parent

    def _net_of(self, hash: str) -> Net | None:
        known = self.nets.by_hash(hash)
        return None if known is None else known[1].net

    def _started(self, child: str, error: PenstockError | None = None) -> None:
        """A detached child is in the store: whoever has called it goes on, and knows what it was called with. Where it
        was refused instead, the call has failed."""
        for ask in self._forget(child):
            run = ask.loaded.run
            if run is not None and error is not None:
                self.answer(ask, failed(error.code, "permanent", str(error), {"hint": error.hint}), 0)
            elif run is not None:
                args = _args(ask, run.net.nodes[ask.firing.node])
                self.answer(ask, Done({"run_id": child, "input": args.get("input")}), 0)

    def row(self, run_id: str) -> RunRow | None:
        try:
            return self.store.run_by_id(run_id)
        except RunNotFound:
            return None

    def _ended(self, loaded: LoadedRun) -> None:
        if loaded.id in self.parents:
            self._tell(loaded.id, loaded.no)

    def _tell(self, child: str, no: int) -> None:
        """The child has ended: its callers get what it made, or why it made nothing."""
        loaded = self.turns.read_committed(no)
        if loaded is None or loaded.run is None:
            return  # it is parked: they wait until it is tried again
        st = loaded.run.st
        outcome: Outcome | None = None
        if st.status != S.COMPLETED:
            outcome = Failed(_child_failure(loaded.run, child))
        for ask in self._forget(child):
            if ask.loaded.run is not None:  # else the caller has ended in the same batch
                self.answer(ask, outcome or Done(self._result(ask, st)), 0)

    def _forget(self, child: str) -> list[Ask]:
        asks = self.parents.pop(child, [])
        self.numbers.pop(child, None)
        for ask in asks:
            mine = self.called.get(ask.loaded.no)
            if mine is not None and mine.pop(ask.firing.no, None) is not None and not mine:
                del self.called[ask.loaded.no]
        return asks

    def _result(self, ask: Ask, child: S.State) -> Any:
        """What the caller gets: some variables, one named result, some under other names, or all there is."""
        run = ask.loaded.run
        assert run is not None
        whole = self.blobs.of(child.tenant)
        args = _args(ask, run.net.nodes[ask.firing.node])
        if isinstance(args, dict) and "variables" in args:
            return {as_: whole(child.vars.get(name)) for as_, name in args["variables"].items()}
        results = {name: whole(body) for name, body in child.results.items()}
        if isinstance(args, dict) and "output" in args:
            return results.get(args["output"])
        if isinstance(args, dict) and "outputs" in args:
            return {as_: results.get(name) for name, as_ in args["outputs"].items()}
        return results or whole(child.scopes[0].last)

    def stop(self, loaded: LoadedRun, firings: list[int]) -> None:
        """The kernel has dropped these calls."""
        mine = self.called.get(loaded.no)
        for no in firings if mine else ():
            child = (mine or {}).get(no)
            if child is None:
                continue
            number = self.numbers.get(child)
            row = self.row(child) if number is None else None
            self._forget(child)
            if (row is not None or number is not None) and not child.startswith(DETACHED):
                self.turns.send(row.no if row is not None else number or 0, C.cancel("now"), InternalReply(_whatever))

    def overdue(self) -> None:
        """Calls that have taken longer than their node allows."""
        now = self.now()
        while self.deadlines and self.deadlines[0][0] <= now:
            _, caller, firing, attempt = heapq.heappop(self.deadlines)
            child = self.called.get(caller, {}).get(firing)
            ask = next((a for a in self.parents.get(child or "", ()) if a.attempt == attempt), None)
            if ask is None or ask.loaded.run is None:
                continue
            node = ask.loaded.run.net.nodes[ask.firing.node]
            self.stop(ask.loaded, [firing])
            message = f"«{node.label}» took longer than {node.spec.timeout_ms} ms"
            self.answer(ask, failed("NODE_TIMEOUT", "timeout", message), 0)

    def next_due(self) -> int | None:
        return min((heap[0][0] for heap in (self.deadlines, self._paces) if heap), default=None)

    def clock_went_back(self, by: int) -> None:
        self._paces = [(due - by, caller, firing) for due, caller, firing in self._paces]
        self.deadlines = [(due - by, caller, firing, attempt) for due, caller, firing, attempt in self.deadlines]


def depth_of(options: Mapping[str, Any]) -> int:
    depth = options.get(DEPTH, 0)
    return depth if isinstance(depth, int) else 0


def _inherited(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a called run has of its caller: where it is at work."""
    return {"environment": options["environment"]} if "environment" in options else {}


def _child_failure(run: Run, child: str) -> Failure:
    """How a call fails: where the language says so, with the error that the called run has ended with itself."""
    st = run.st
    status, failure = S.STATUS[st.status], st.failure
    message = f"the run it called ended {status}: {failure.message if failure is not None else status}"
    if failure is not None and failure.category == "business" and dialect_of(run.net.net.language).errors_pass_calls:
        return Failure(failure.code, "business", message, "", {"run": child})
    code = "CHILD_CANCELLED" if st.status == S.CANCELLED else "CHILD_FAILED"
    return Failure(code, "permanent", message, "", {"run": child})


def _is_detached(args: Any) -> bool:
    return isinstance(args, dict) and args.get("detached") is True


def _args(ask: Ask, node: CNode) -> Any:
    if node.effect is None:
        return None
    return node.effect.args if node.args_static else ask.firing.args


def _whatever(error: PenstockError | None) -> None:
    """Whether there was still something to cancel makes no difference."""
