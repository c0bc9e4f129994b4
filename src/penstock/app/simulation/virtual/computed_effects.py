"""Effects that only compute: they are executed in a simulation, too, for they reach nothing outside their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.executors import BUILTIN
from penstock.executors.contract import Executor, Input, Outcome, Request, Services
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.kernel.token import content_type_of
from penstock.kernel.view import View
from penstock.net.compiled import CNode

#: neither a tenant nor a file is in reach of these
COMPUTED = frozenset({"expression", "shape", "template"})
#: folders that are not there: nothing can be written to or read from them
_NOWHERE = Services(output_dir=Path("/nonexistent/simulation"), input_dir=Path("/nonexistent/simulation"))
_made: dict[str, Executor] = {}


def is_computed(node: CNode) -> bool:
    effect = node.effect
    if effect is None or effect.executor not in COMPUTED:
        return False
    return not (isinstance(effect.args, dict) and effect.args.get("output_path"))


def compute(run: Run, node: CNode, firing: Firing) -> Outcome | None:
    """The outcome; None where it cannot be had at once."""
    assert node.effect is not None
    name = node.effect.executor
    if name not in _made:
        _made[name] = BUILTIN[name]()
    running = _made[name].run(request_of(run, node, firing), _NOWHERE)
    try:
        running.send(None)
    except StopIteration as ended:
        outcome: Outcome = ended.value
        return outcome
    running.close()
    return None


def request_of(run: Run, node: CNode, firing: Firing) -> Request:
    """What an executor would be given."""
    assert node.effect is not None
    st = run.st
    args = node.effect.args if node.args_static else firing.args
    names: Any = View(run, st.scopes[firing.scope], firing.epoch, node, firing) if node.effect.sees_run else {}
    return Request(
        key=run.effect_key(firing), tenant=st.tenant, run=st.run, node=node.id, executor=node.effect.executor,
        args=args, inputs=_inputs(run, firing), epoch=firing.epoch, visit=firing.visit, attempt=firing.attempt,
        timeout_ms=node.spec.timeout_ms, trace_id=st.trace, names=names, at=run.now,
    )  # fmt: skip


def _inputs(run: Run, firing: Firing) -> tuple[Input, ...]:
    by_edge: dict[int, list[Any]] = {}
    for taken in firing.takes:
        by_edge.setdefault(taken.edge, []).append(taken)
    inputs = []
    for number, takes in by_edge.items():
        edge, envelopes = run.net.edges[number], [taken.envelope for taken in takes]
        bodies = tuple(run.resolve_blob(envelope.body) for envelope in envelopes)
        types = tuple(e.content_type or content_type_of(body) for e, body in zip(envelopes, bodies, strict=True))
        metas = tuple(envelope.meta for envelope in envelopes)
        inputs.append(Input(edge.id, edge.src.id, edge.var, bodies, types, metas, tuple(t.seq for t in takes)))
    return tuple(inputs)
