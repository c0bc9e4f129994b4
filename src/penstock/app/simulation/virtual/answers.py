"""Who answers a virtual run: given values first, then what is computed, then history, then assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Literal

import msgspec

from penstock.app.simulation.virtual import assumptions
from penstock.app.simulation.virtual.assumed_rollouts import AssumedRollouts
from penstock.app.simulation.virtual.called_nets import DEEPEST, CalledDocument
from penstock.app.simulation.virtual.compared_values import Compared, compared_values, event_values, with_value
from penstock.app.simulation.virtual.computed_effects import compute, is_computed, request_of
from penstock.app.simulation.virtual.effect_kinds import Kind, kind_of
from penstock.app.simulation.virtual.history import History
from penstock.app.simulation.virtual.virtual_run import EffectAnswer, NewsAnswer, PersonAnswer, VirtualRun
from penstock.executors.contract import Done, Failed
from penstock.kernel.failure import Failure
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, Firing, State, Wait
from penstock.net.compiled import WAIT, CNode, Compiled

Source = Literal["given", "computed", "history", "assumed"]


class EffectRecord(msgspec.Struct):
    """Effects of a node that a simulation has recorded instead of executing them; `args` are those of the first."""

    node: str
    executor: str
    kind: Kind
    args: Any = None
    count: int = 0


class RecordedAnswers:
    """Answers for one virtual run. `effects` holds what would have been done; `sources` where answers came from."""

    def __init__(
        self, net: Compiled, draw: Random, history: History | None = None, given: Mapping[str, Any] | None = None,
        compared: Compared | None = None, keep_args: bool = False,
        called: Mapping[str, CalledDocument] | None = None, depth: int = 0,
    ) -> None:  # fmt: skip
        self.net, self.draw, self.history = net, draw, history or History()
        self.given, self.keep_args = given or {}, keep_args
        self.compared = compared_values(net) if compared is None else compared
        self.effects: dict[str, EffectRecord] = {}
        self.sources: dict[str, Source] = {}
        self.called, self.depth, self.rollouts = called or {}, depth, AssumedRollouts()
        self.approves = False  # whoever has no history always approves
        self.calls: list[VirtualRun] = []  # virtual runs of what was called
        self.unresolved: dict[str, Failure] = {}  # computations that failed only because their values were assumed

    # -- effects -------------------------------------------------------------------------------------------------------

    def effect(self, run: Run, node: CNode, firing: Firing) -> EffectAnswer:
        assert node.effect is not None
        executor = node.effect.executor
        args = node.effect.args if node.args_static else firing.args
        self._record(node, executor, args)
        samples = self.history.effects.get(node.id)
        sample = self.draw.choice(samples) if samples else None
        after = sample.ms if sample is not None else assumptions.machine_ms(self.draw, executor)
        value = self._given(node)
        if value is not None:
            self.sources[node.id] = "given"
            return EffectAnswer(after, Done(value))
        if is_computed(node) and (outcome := compute(run, node, firing)) is not None:
            if isinstance(outcome, Done) or not self._is_assumed_before(firing):
                self.sources[node.id] = "computed"
                return EffectAnswer(after, outcome)
            if isinstance(outcome, Failed):  # of values that nobody has made: that says nothing about the document
                self.unresolved[node.id] = outcome.failure
        if sample is not None:
            self.sources[node.id] = "history"
            failed = sample.failure is not None
            return EffectAnswer(after, Failed(sample.failure) if failed else Done(sample.body))  # type: ignore[arg-type]
        if node.calls and isinstance(args, dict):
            return self._call(run, node, firing, args)
        self.sources.setdefault(node.id, "assumed")
        if executor == "rollout":
            after, body = self.rollouts.answer(args, run.now)
            return EffectAnswer(after, Done(body))
        body = assumptions.assumed_body(self.draw, executor, args, self.compared.get(node.id, {}))
        return EffectAnswer(after, Done(self._form(node, body)))

    def _call(self, run: Run, node: CNode, firing: Firing, args: dict[str, Any]) -> EffectAnswer:
        """A virtual run of the called document takes its time and ends as it ends."""
        document = self.called.get(str(args.get("net")))
        if args.get("detached"):
            return EffectAnswer(0, Done({"run_id": "simulated", "input": args.get("input")}))
        if document is None or self.depth >= DEEPEST:
            self.sources.setdefault(node.id, "assumed")
            return EffectAnswer(assumptions.machine_ms(self.draw, "call"), Done({}))
        self.sources[node.id] = "computed"
        answers = RecordedAnswers(
            document.net, self.draw, document.history, None, document.compared, self.keep_args, self.called,
            self.depth + 1,
        )  # fmt: skip
        virtual = VirtualRun(document.net, answers, run.now)
        given = args.get("input")
        virtual.start(given if given is not None else request_of(run, node, firing).named())
        self.calls += [virtual, *answers.calls]
        for record in answers.effects.values():
            id = f"{node.id}/{record.node}"
            known = self.effects.setdefault(id, EffectRecord(id, record.executor, record.kind, record.args))
            known.count += record.count
        st = virtual.run.st
        if st.status != COMPLETED:
            why = st.failure.message if st.failure is not None else virtual.status
            failure = Failure("CHILD_FAILED", "permanent", f"the run it called ended {virtual.status}: {why}", node.id)
            return EffectAnswer(virtual.elapsed_ms, Failed(failure))
        return EffectAnswer(virtual.elapsed_ms, Done(called_result(args, st)))

    def _is_assumed_before(self, firing: Firing) -> bool:
        """Does what it took come from a node whose answer was assumed?"""
        sources = [self.net.edges[taken.edge].src.id for taken in firing.takes]
        return any(self.sources.get(id, "assumed") == "assumed" for id in sources)

    def _record(self, node: CNode, executor: str, args: Any) -> None:
        record = self.effects.get(node.id)
        if record is None:
            shown = args if self.keep_args else None
            record = self.effects[node.id] = EffectRecord(node.id, executor, kind_of(executor, args), shown)
        record.count += 1

    def _given(self, node: CNode) -> Any:
        if node.id in self.given:
            return self.given[node.id]
        origin = node.spec.origin
        return self.given.get(origin) if origin and node.id == f"{origin}.do" else None

    def _form(self, node: CNode, body: Any) -> Any:
        """What the node's form asks for, with the values that are compared."""
        work = node.spec.work
        prompt = work.prompt if work is not None else None
        form = prompt.get("form") if isinstance(prompt, dict) else None
        example = assumptions.example_of(form, self.draw) if form else None
        return {**example, **body} if isinstance(example, dict) and isinstance(body, dict) else body

    # -- people --------------------------------------------------------------------------------------------------------

    def person(self, run: Run, node: CNode, firing: Firing, submitted: bool) -> PersonAnswer | None:
        work = node.spec.work
        votes = work is not None and bool(work.quorum or work.all_of)
        samples = (self.history.approvals if submitted else self.history.people).get(node.id)
        sample = self.draw.choice(samples) if samples else None
        after = sample.ms if sample is not None else assumptions.person_ms(self.draw)
        value = self._given(node)
        if value is not None:
            self.sources[node.id] = "given"
            return _given_decision(value, after, votes, submitted)
        if sample is not None:
            self.sources[node.id] = "history"
            return PersonAnswer(after, sample.verb, sample.data) if sample.verb else None
        self.sources.setdefault(node.id, "assumed")
        approved = self.draw.random() < assumptions.APPROVED_SHARE or self.approves
        if votes:
            return PersonAnswer(after, "vote", "approved" if approved else "rejected")
        if submitted:
            return PersonAnswer(after, "approve" if approved else "reject")
        body = assumptions.assumed_body(self.draw, "", None, self.compared.get(node.id, {}))
        return PersonAnswer(after, "submit", self._form(node, body))

    # -- news ----------------------------------------------------------------------------------------------------------

    def news(self, run: Run, node: CNode, firing: Firing, wait: Wait) -> NewsAnswer | None:
        if node.kind != WAIT:
            return None  # news that interrupt what is under way come only if somebody gives them
        samples = self.history.news.get(node.id)
        sample = self.draw.choice(samples) if samples else None
        after = sample.ms if sample is not None else assumptions.news_ms(self.draw)
        value = self._given(node)
        if value is not None:
            self.sources[node.id] = "given"
            return NewsAnswer(after, value)
        if sample is not None:
            self.sources[node.id] = "history"
            return NewsAnswer(after, sample.payload) if sample.came else None
        self.sources.setdefault(node.id, "assumed")
        payload: Any = dict(wait.filter) if isinstance(wait.filter, dict) else {}
        for keys, values in event_values(node, wait.trigger).items():
            if values:
                payload = with_value(payload, keys, self.draw.choice(values))
        return NewsAnswer(after, payload)


def called_result(args: Mapping[str, Any], st: State) -> Any:
    """What a caller gets of a run that it has called: some variables, a named result, some results, or all."""
    if "variables" in args:
        return {name: st.vars.get(its) for name, its in args["variables"].items()}
    if "output" in args:
        return st.results.get(args["output"])
    if "outputs" in args:
        return {name: st.results.get(its) for its, name in args["outputs"].items()}
    return st.results or st.scopes[0].last


def _given_decision(value: Any, after: int, votes: bool, submitted: bool) -> PersonAnswer:
    if votes:
        answer = value.get("decision", value.get("status")) if isinstance(value, dict) else value
        return PersonAnswer(after, "vote", "rejected" if answer in ("rejected", False) else "approved")
    if submitted:
        return PersonAnswer(after, "reject" if value == "rejected" else "approve")
    return PersonAnswer(after, "submit", value)
