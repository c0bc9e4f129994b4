"""Lowers a pipeline to a net: a task for each stage, a scope for each group, a way round for each condition."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.document import child_pointer
from penstock.lang.pipeline.checks import check_definition
from penstock.lang.pipeline.conditions import Conditions
from penstock.lang.pipeline.definition import Definition, Stage
from penstock.lang.pipeline.fields import PipelineFields, Resources, StageFields
from penstock.lang.pipeline.processors import PROCESSORS, ProcessorType
from penstock.lang.report import Report
from penstock.net.model import MERGE, Body, Branch, Declares, Edge, Effect, Net, Node, OnError, Retry, RunRetry

#: F-X.6a: no stage waits longer for its next try
LONGEST_DELAY_MS = 3_600_000
#: in the limits of a net: how many stages of a group run at once
PARALLELISM = "parallelism"
#: and how many of its runs are under way at once
EXECUTIONS = "executions"
EXECUTOR = "processor"
_KINDS: dict[str, Any] = {"IMMEDIATE": "fixed", "LINEAR": "linear", "EXPONENTIAL": "exponential"}
_SKIP = (OnError(match="*", action="skip"),)
_CONTINUE = (OnError(match="*", action="continue"),)
_AFTER_FAILURE: dict[str, dict[str, Any]] = {
    "FAIL": {"on_final": "restart"},
    "RETRY": {"on_final": "here"},
    "SKIP": {"on_error": _SKIP},
    "CONTINUE": {"on_error": _CONTINUE},
}
#: nothing has been made yet: what came is the run's own input
_INPUT = {"$expr": "fn.if(default == input, null, default)"}


def lower(definition: Definition, report: Report, setting: Setting) -> Lowered | None:
    processors: dict[str, ProcessorType] = {
        **PROCESSORS,
        **{name: made for name, made in setting.extra.items() if isinstance(made, ProcessorType)},
    }
    check_definition(definition, processors, report, setting)
    triggers = None
    if definition.top.trigger_conditions is not None:
        triggers = Conditions(report).expression(definition.top.trigger_conditions, "/trigger_conditions")
    lowering = _Lowering(definition, processors, report)
    lowering.build()
    if not definition.complete:
        return None
    top = definition.top
    net = Net(
        name=top.pipeline_code, language="pipeline", nodes=tuple(lowering.nodes + lowering.hooks),
        edges=tuple(lowering.edges), limits=_net_limits(top), undo_policy="continue",
        run_retry=RunRetry(max=top.max_retries, delay_ms=top.retry_delay_seconds * 1000),
        active_timeout_ms=top.timeout_seconds * 1000,
        declares=Declares(version=top.version, policies={"pipeline": _about(definition, triggers)}),
        source_map=lowering.places, queued=True,
    )  # fmt: skip
    return Lowered(net)


def _net_limits(top: PipelineFields) -> dict[str, int]:
    most = top.configuration.max_executions
    return {PARALLELISM: top.parallelism, **({EXECUTIONS: most} if most is not None else {})}


def _about(definition: Definition, triggers: str | None) -> dict[str, Any]:
    """What the host, the ingest and people read of a definition, without reading its document again."""
    top = definition.top
    kept = (
        "pipeline_code", "pipeline_name", "description", "file_type", "pipeline_type", "max_file_size",
        "timeout_seconds", "max_retries", "retry_delay_seconds", "priority", "parallelism", "version",
    )  # fmt: skip
    written = (
        "configuration", "default_params", "resource_requirements", "dependencies", "success_actions",
        "failure_actions", "notification_config",
    )  # fmt: skip
    return {
        **{name: getattr(top, name) for name in kept},
        **{name: definition.raw[name] for name in written if definition.raw.get(name)},
        **({"trigger": triggers} if triggers is not None else {}),
        "is_active": bool(top.is_active),
        "stages": [
            {
                "code": stage.code,
                "name": stage.fields.stage_name,
                "seq": stage.order,
                "group": number,
                "processor": stage.fields.processor_type,
                **({"metrics": _values(stage.fields.metrics_config)} if stage.fields.metrics_config else {}),
            }
            for number, group in enumerate(definition.groups)
            for stage in group
        ],
    }


def _values(part: Any) -> Any:
    return msgspec.to_builtins(part)


class _Lowering:
    """The nodes and edges of one definition, in the order in which tokens pass them."""

    def __init__(self, definition: Definition, processors: dict[str, ProcessorType], report: Report) -> None:
        self.definition, self.processors, self.report = definition, processors, report
        self.codes = {stage.code for stage in definition.stages}
        self.nodes: list[Node] = []
        self.hooks: list[Node] = []
        self.edges: list[Edge] = []
        self.places: dict[str, Place] = {}
        self.before: list[str] = []  # stages of earlier groups

    def build(self) -> None:
        last = self._free("start")
        self._add(Node(id=last, kind="start", type="start"), "")
        for number, group in enumerate(self.definition.groups):
            if len(group) == 1:
                last = self._stage(group[0], last, first=number == 0)
            else:
                last = self._group(group, last, first=number == 0)
            self.before += [stage.code for stage in group]
        end = self._free("end")
        self._add(Node(id=end, kind="end", type="end"), "")
        self._link(last, end, "")

    def _group(self, group: list[Stage], last: str, *, first: bool) -> str:
        groups = sum(node.kind == "scope" for node in self.nodes)
        id = self._free("group") + (f".{groups + 1}" if groups else "")
        branches = tuple(Branch(key=stage.code, entry=f"{stage.code}.in") for stage in group)
        pointer = group[0].pointer
        body = Body(mode="branches", branches=branches)
        self._add(Node(id=id, kind="scope", type="group", body=body, on_final="member"), pointer)
        self._link(last, id, pointer)
        for stage in group:
            entry = Node(id=f"{stage.code}.in", kind="start", type="start", origin=stage.code, scope=id)
            self._add(entry, stage.pointer)
        for stage in group:
            self._stage(stage, f"{stage.code}.in", first=first, scope=id)
        return id

    def _stage(self, stage: Stage, last: str, *, first: bool, scope: str = "") -> str:
        """The nodes of a stage after `last`; the last one of them."""
        code, at = stage.code, stage.pointer
        node = self._task(stage, first=first, scope=scope)
        condition = stage.fields.condition
        if condition is None:
            self._add(node, at)
            self._link(last, code, at)
            return code
        conditions = Conditions(self.report, stages=self.before, node=code)
        text = conditions.expression(condition, child_pointer(at, "condition")) or "true"
        port = f"fn.if({text}, 'run', 'skip')"
        gate, out = f"{code}.if", f"{code}.out"
        self._add(Node(id=gate, type="condition", origin=code, scope=scope, port=port), child_pointer(at, "condition"))
        self._add(node, at)
        self._add(Node(id=out, type="merge", origin=code, scope=scope, join=MERGE), at)
        self._link(last, gate, at)
        self._link(gate, code, at, port="run")
        self._link(code, out, at)
        self._link(gate, out, at, port="skip")
        return out

    def _task(self, stage: Stage, *, first: bool, scope: str) -> Node:
        fields, code = stage.fields, stage.code
        options: dict[str, Any] = {"scope": scope, "group": PARALLELISM} if scope else {}
        processor = self.processors.get(fields.processor_type)
        if processor is not None and processor.rollback:
            undo = {"stage": code, "seq": stage.order, "processor": processor.name, "config": fields.processor_config}
            args = {**undo, "file": {"$expr": "input.file"}, "undo": {"$expr": "undone"}}
            hook = Node(
                id=f"{code}.undo", kind="task", type="rollback", origin=code, off_path=True,
                effect=Effect(executor=EXECUTOR, args=args), timeout_ms=fields.timeout_seconds * 1000,
            )  # fmt: skip
            self.hooks.append(hook)
            self.places[hook.id] = self.report.document.place(stage.pointer)
            options |= {"undo": (hook.id,), "undo_on": ("cancel",)}
        return Node(
            id=code, kind="task", type=fields.processor_type, label=fields.stage_name,
            effect=Effect(executor=EXECUTOR, args=self._args(stage, first)), retry=self._retry(fields),
            timeout_ms=fields.timeout_seconds * 1000, **_after_failure(fields), **options,
        )  # fmt: skip

    def _args(self, stage: Stage, first: bool) -> dict[str, Any]:
        fields = stage.fields
        return {
            "stage": stage.code,
            "seq": stage.order,
            "processor": fields.processor_type,
            "config": fields.processor_config,
            "params": {"$expr": "input.params"},
            "file": {"$expr": "input.file"},
            "input": None if first else _INPUT,
            "input_validation": fields.input_validation,
            "output_validation": fields.output_validation,
            "limits": _limits(self.definition.top.resource_requirements, fields.resource_allocation),
            "timeout_s": fields.timeout_seconds,
            **({"metrics": _values(fields.metrics_config)} if fields.metrics_config else {}),
            **({"max_file_size": most} if (most := self.definition.top.max_file_size) else {}),
        }

    def _retry(self, fields: StageFields) -> Retry:
        """F-X.6a: the base is the stage's own or the definition's; the cap is one hour."""
        own = fields.processor_config.get("retry_delay_seconds")
        seconds = own if isinstance(own, int | float) else self.definition.top.retry_delay_seconds
        base = 0 if fields.retry_strategy == "IMMEDIATE" else min(round(seconds * 1000), LONGEST_DELAY_MS)
        kind = _KINDS[fields.retry_strategy]
        return Retry(max=fields.max_retries, base_ms=base, kind=kind, cap_ms=LONGEST_DELAY_MS)

    def _free(self, name: str) -> str:
        """An id that no stage has."""
        return name if name not in self.codes else f".{name}"

    def _add(self, node: Node, at: str) -> None:
        self.nodes.append(node)
        self.places[node.id] = self.report.document.place(at)

    def _link(self, src: str, dst: str, at: str, *, port: str = "done") -> None:
        edge = Edge(id=f"{src}{'' if port == 'done' else ':' + port}>{dst}", src=src, dst=dst, port=port)
        self.edges.append(edge)
        self.places[edge.id] = self.report.document.place(at)


def _after_failure(fields: StageFields) -> dict[str, Any]:
    """F-X.6b: an optional stage goes on where another would fail the attempt."""
    what = fields.on_failure
    if fields.is_optional and what in ("FAIL", "RETRY"):
        what = "CONTINUE"
    return _AFTER_FAILURE[what]


def _limits(whole: Resources | None, own: Resources | None) -> dict[str, Any]:
    """F-X.33: what a stage says replaces what its definition says, member by member."""
    limits: dict[str, Any] = {}
    for part in (whole, own):
        if part is not None:
            limits |= {name: value for name, value in _values(part).items() if value not in (None, [])}
    return limits
