"""adHocSubProcess: somebody chooses which of its steps come next, as often as they like (BPMN 10.3.5, 13.3.5).

What is chosen at once runs in one scope, in which the flows between the steps hold. With parallel ordering the question
lies in a scope of its own and is asked again at once: each answer reaches the steps as an escalation that interrupts
nothing. With sequential ordering it is asked again when what was chosen is done. The completion condition is asked
after every activity; where it holds, a second escalation says so.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.process.choices import different
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.lowering_context import LoweringContext, SharedContext, check_expression, steps_scope
from penstock.lang.process.nodes.asking import PREVIOUS
from penstock.lang.process.nodes.candidates import candidates_of_item, role_of
from penstock.lang.process.nodes.contract import ElementType, Fragment, activity_fields, link
from penstock.lang.process.nodes.level_entries import ad_hoc_of, frame_entry, level_entry
from penstock.lang.process.nodes.multi_instance import scope_node
from penstock.lang.process.nodes.sub_process import level_body
from penstock.net.model import MERGE, Body, Edge, Node, Trigger, Work

#: The escalations by which an answer reaches the steps, and a step says that it is enough.
_CHOSEN, _ENOUGH = "AD_HOC_CHOSEN", "AD_HOC_ENOUGH"
#: The name under which the steps see what was chosen.
_NAME = "adHocChoice"
_ANSWER, _FINISHED = "choice", "finished"


def lower_ad_hoc(context: LoweringContext) -> Fragment:
    """The scope of the sub-process, and in it how its steps are chosen; the steps are lowered by themselves."""
    frame = _Frame(context)
    nodes, edges = frame.parts()
    level, id = level_body(context, context.id), context.id
    outer = scope_node(context, level.body, level.sets)
    return Fragment((outer, *nodes, *level.nodes), id, id, id, id, (*edges, *level.edges))


class _Frame:
    """The nodes around the steps of one ad-hoc sub-process."""

    def __init__(self, context: LoweringContext) -> None:
        self.context, self.id, self.ad_hoc = context, context.id, ad_hoc_of(context.element)
        self.scope, self.steps = context.shared.frame_scope(context.id), steps_scope(context.id)

    def parts(self) -> tuple[list[Node], list[Edge]]:
        asking: list[Node] = []
        edges: list[Edge] = []
        if self.ad_hoc.steps is not None:
            chosen = self.context.expression(self.ad_hoc.steps, "ad_hoc/steps") or "[]"
        elif self.ad_hoc.ordering == "sequential":
            asking, edges = self._sequential()
            chosen = f"[default.{_ANSWER}]"
        else:
            asking, edges = self._parallel()
            chosen = f"default.output.{_ANSWER}"
        enough: tuple[Trigger, ...] = ()
        end = self._node("done", kind="end")
        if self.ad_hoc.ordering == "parallel" or self.ad_hoc.steps is not None:
            asking.append(end)
            edges.append(link(self.steps, end.id))
        if self.ad_hoc.until is not None:
            enough = (Trigger(port="enough", kind="escalation", name=_ENOUGH, interrupting=self._cancels()),)
            stop = self._node("stop", kind="end", ends="terminate" if self._cancels() else "")
            asking.append(stop)
            edges.append(link(self.steps, stop.id, port="enough"))
        body = Body(mode="each", entry=level_entry(self.id), items=f"[{chosen}]", names={_NAME: "item"})
        steps = Node(
            id=self.steps, kind="scope", scope=self.scope, origin=self.id, label=self.context.element.name, join=MERGE,
            body=body, triggers=enough,
        )  # fmt: skip
        return [*asking, steps], edges

    def _cancels(self) -> bool:
        return self.ad_hoc.cancel_remaining or self.ad_hoc.ordering == "sequential"

    def _sequential(self) -> tuple[list[Node], list[Edge]]:
        ask, gate, left = self._ask(self.scope), self._node("gate", split="first"), self._node("left", kind="end")
        return [ask, gate, left], [
            link(ask.id, gate.id),
            _guarded(gate.id, left.id, f"default.{_FINISHED} == true"),
            _guarded(gate.id, self.steps, f"!fn.is_null(default.{_ANSWER})"),
            _guarded(gate.id, ask.id, None),
            link(self.steps, ask.id),
        ]

    def _parallel(self) -> tuple[list[Node], list[Edge]]:
        inner = f"{self.id}.choosing"
        ask, gate = self._ask(inner), self._node("gate", scope=inner, split="every")
        put = self._node("put", kind="end", scope=inner, ends=f"escalate:{_CHOSEN}")
        left = self._node("left", kind="end", scope=inner)
        triggers = [Trigger(port="chosen", kind="escalation", name=_CHOSEN, interrupting=False)]
        if self.ad_hoc.until is not None and not self._cancels():
            stopped = f"counters[{quoted(f'{self.id}.stop')}] > 0"
            triggers.append(Trigger(port="done", kind="condition", match=stopped))
        body = Body(mode="one", entry=ask.id, names={})
        choosing = self._node("choosing", kind="scope", body=body, triggers=tuple(triggers))
        return [choosing, ask, gate, put, left], [
            link(ask.id, gate.id),
            _guarded(gate.id, put.id, f"fn.length(fn.coalesce(default.{_ANSWER}, [])) > 0"),
            _guarded(gate.id, ask.id, f"default.{_FINISHED} != true"),
            _guarded(gate.id, left.id, None),
            link(choosing.id, self.steps, port="chosen"),
            link(choosing.id, f"{self.id}.done"),
        ]

    def _node(self, name: str, *, scope: str = "", **parts: Any) -> Node:
        label = self.context.element.name
        return Node(id=f"{self.id}.{name}", scope=scope or self.scope, origin=self.id, label=label, join=MERGE, **parts)

    def _ask(self, scope: str) -> Node:
        """The work item in which somebody chooses, or says that it is finished."""
        context, f = self.context, activity_fields(self.context)
        one: dict[str, Any] = {"type": "string", "enum": list(step_labels(self.id, context.shared).values())}
        several = {"type": "array", "items": one, "uniqueItems": True, "examples": [one["enum"][:1]]}
        choice = one if self.ad_hoc.ordering == "sequential" else several
        form = {"type": "object", "properties": {_ANSWER: choice, _FINISHED: {"type": "boolean"}},
                "additionalProperties": False}  # fmt: skip
        prompt: dict[str, Any] = {
            "kind": "work", "title": context.element.name, "instruction": f.instruction or f.documentation,
            "form": form, "data": {}, "activity_id": context.id, "activity_type": f.type, "agent_mode": "MANUAL",
            "role": f.role, "priority": f.priority,
        }  # fmt: skip
        work = Work(modes=True, candidates=self._candidates(), prompt=prompt)
        return self._node("choice", scope=scope, kind="work", type="adHocSubProcess", work=work)

    def _candidates(self) -> Any:
        """Whoever is named for the sub-process; else whoever did what comes before it, else the initiator."""
        f = activity_fields(self.context)
        candidates = candidates_of_item(f, self.context)
        return {"$expr": PREVIOUS} if candidates is None and role_of(f, self.context) is None else candidates


def _guarded(src: str, dst: str, guard: str | None) -> Edge:
    return Edge(id=f"{src}>{dst}", src=src, dst=dst, guard=guard, default=guard is None)


# ---- the steps -------------------------------------------------------------------------------------------------------


def step_labels(level: str, shared: SharedContext) -> dict[str, str]:
    """Step → the word by which it is chosen: its name. By ids, where an expression names the steps."""
    by_id = ad_hoc_of(shared.definition.elements[level]).steps is not None
    labels: dict[str, str] = {}
    for step in shared.graph.starts(level):
        labels[step.id] = step.id if by_id else different(" ".join(step.name.split()) or step.id, set(labels.values()))
    return labels


def chosen_steps(
    level: str, fragments: dict[str, Fragment], shared: SharedContext
) -> tuple[str, list[Node], list[Edge]]:
    """Where the level begins; and the one node at which the steps of a choice do, with a way to each of them."""
    id, labels = level_entry(level), step_labels(level, shared)
    node = Node(id=id, scope=shared.scope(level), origin=level, join=MERGE, split="every", no_match="end")
    edges = [
        _guarded(id, fragments[step].entry, f"fn.contains({_NAME}, {quoted(label)})")
        for step, label in labels.items() if step in fragments
    ]  # fmt: skip
    return frame_entry(level, shared.graph), [node], edges


def with_completion(fragment: Fragment, context: LoweringContext) -> Fragment:
    """BPMN 13.3.5: «After each completion of an inner Activity, a condition … is evaluated»; if it holds nothing else
    begins."""
    owner = context.shared.definition.elements[context.element.fields.parent]
    until = ad_hoc_of(owner).until
    if until is None:
        return fragment
    at = context.shared.context_of(owner).at("ad_hoc/until")
    guard = check_expression(until, context.shared, at, owner.id, condition=True) or "false"
    base: dict[str, Any] = {"scope": context.scope, "origin": context.id, "label": context.element.name, "join": MERGE}
    check = Node(id=f"{context.id}.check", split="first", **base)
    enough = Node(id=f"{context.id}.enough", kind="end", ends=f"escalate:{_ENOUGH}", **base)
    after = Node(id=f"{context.id}.next", **base)
    edges = (
        link(fragment.exit, check.id), _guarded(check.id, enough.id, guard), _guarded(check.id, after.id, None)
    )  # fmt: skip
    return Fragment(
        (*fragment.nodes, check, enough, after), fragment.entry, after.id, fragment.core, fragment.host,
        (*fragment.edges, *edges),
    )  # fmt: skip


AD_HOC = ElementType("adHocSubProcess", lower_ad_hoc, "Somebody chooses which of its steps come next.")
