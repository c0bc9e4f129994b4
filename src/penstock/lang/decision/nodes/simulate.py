"""SIMULATE (4.13): what a change would have meant, from past judgments, the node's data or random data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.deploy import ArtifactFields, DeployFields
from penstock.lang.decision.nodes.fragments import complete_fragment, task_fragment
from penstock.lang.decision.shapes import Shape, closed, one_of
from penstock.lang.report import did_you_mean

Metric = Literal[
    "accuracy", "precision", "recall", "f1_score", "false_positive_rate", "false_negative_rate",
    "decision_distribution", "processing_time",
]  # fmt: skip
#: What a modification may do to a rule pack.
MODIFICATIONS = (
    "rule_change", "rule_disable", "rule_enable", "rule_add", "rule_remove", "param_change", "default_change",
)  # fmt: skip
#: W-4.13: what the output has.
_RESULT = closed(
    "detailed_comparison", "transitions", "test", "recommendation_text", "sentence", "labelled", "label_source",
    "label_sources", "warnings", "refused", "failed", "changes", "new_misses", "seed", "mode", "subject",
    "simulation_id", "report", "probabilities", "of_labelled",
    summary=closed("total_samples", "baseline_accuracy", "simulated_accuracy", "improvement",
                   "statistical_significance", "label_source", "labelled"),
    risk_assessment=closed("changed_decisions", "changed_share", "new_false_negatives", "new_false_positives",
                           "new_critical_misses", level=one_of("low", "medium", "high")),
    recommendation=one_of("deploy", "review", "reject", "insufficient_data"),
)  # fmt: skip


class SimulateTimeRange(OpenFields):
    start: Annotated[str | int | None, Meta(description="By default seven days before the end.")] = None
    end: Annotated[str | int | None, Meta(description="By default now.")] = None


class ReplayFields(TemplatedFields):
    data_source: Literal["historical"] = "historical"
    time_range: SimulateTimeRange | None = None
    sample_size: Annotated[int, Meta(ge=1, le=20_000, description="1000, when absent.")] | None = None
    sampling: Literal["random", "stratified", "sequential"] = "random"
    seed: Annotated[int, Meta(ge=0, le=2**53, description="The same seed draws the same samples.")] | None = None


class WhatIfFields(OpenFields):
    base_scenario: Annotated[str, Meta(description="What is changed: current_production, or a version.")] = (
        "current_production"
    )
    modifications: Annotated[list[Any], Meta(description="[{type: rule_change, rule_id, new_threshold}, …]")] = []

    REQUIRED: ClassVar[tuple[str, ...]] = ("modifications",)


class MonteCarloFields(OpenFields):
    iterations: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    seed: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    distributions: Annotated[
        dict[str, Any], Meta(description="By field: {dist: normal, mean, sd}, {dist: choice, values, weights} …")
    ] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("distributions",)


class SimulateMode(TemplatedFields):
    type: Literal["dry_run", "replay", "what_if", "monte_carlo"] | None = None
    replay: ReplayFields | None = None
    what_if: WhatIfFields | None = None
    monte_carlo: MonteCarloFields | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class ComparisonFields(OpenFields):
    baseline: Annotated[str, Meta(description="current_production, current_staging, or a version.")] = (
        "current_production"
    )
    metrics: Annotated[list[Metric] | None, Meta(description="All eight, when absent.")] = None


class AnalysisFields(TemplatedFields):
    statistical_test: Literal["chi_square", "t_test", "ks_test"] = "chi_square"
    confidence_level: Annotated[float, Meta(gt=0, le=0.999999)] = 0.95
    effect_size: bool = True
    on: Annotated[Literal["confidence", "processing_time"], Meta(description="What t_test compares.")] = "confidence"


class ReportFields(TemplatedFields):
    generate: bool = True
    format: Literal["html", "pdf", "json"] = "html"
    include_visualizations: bool = True
    language: Literal["ko", "en"] = "ko"


class SimulateInput(OpenFields):
    """Data of the node's own, for dry_run and monte_carlo; else what came along the edge."""

    data: Any = None
    context: dict[str, Any] = {}
    samples: Annotated[Any, Meta(description="Several judgments: [{data, context, label}].")] = None


class SimulateFields(GuardedFields):
    mode: SimulateMode | None = None
    artifact: Annotated[ArtifactFields | None, Meta(description="The candidate; see C-59 for where it is absent.")] = (
        None
    )
    comparison: ComparisonFields | None = None
    analysis: AnalysisFields | None = None
    report: ReportFields | None = None
    input: SimulateInput | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "mode")


def lower(f: SimulateFields, context: LoweringContext) -> Fragment:
    mode = f.mode or SimulateMode()
    _check_mode(mode, context)
    args: dict[str, Any] = {
        "mode": _mode(mode, context), "candidate": _candidate(f, context), "document": context.workflow.top.id,
    }  # fmt: skip
    if f.comparison is not None:
        _check_environment(f.comparison.baseline, "comparison/baseline", context)
        baseline = context.template_tree(f.comparison.baseline, "comparison/baseline")
        args["comparison"] = {"baseline": baseline}
        if f.comparison.metrics is not None:
            args["comparison"]["metrics"] = list(f.comparison.metrics)
    for name in ("analysis", "report"):
        block = getattr(f, name)
        if block is not None:
            args[name] = {
                field: context.template_tree(getattr(block, field), f"{name}/{field}")
                for field in block.__struct_fields__
            }  # fmt: skip
    if f.input is not None:
        given = {"data": f.input.data, "context": f.input.context, "samples": f.input.samples}
        args["input"] = {name: context.template_tree(value, f"input/{name}") for name, value in given.items()}
    return complete_fragment(task_fragment(f, context, "simulate", args), f, context)


def _check_mode(mode: SimulateMode, context: LoweringContext) -> None:
    """W-4.13.1: each mode with what it needs."""
    needs = {"what_if": "modifications", "monte_carlo": "distributions"}
    if mode.type in needs and getattr(mode, mode.type) is None:
        hint = f'Write `"{mode.type}": {{"{needs[mode.type]}": …}}` beside it.'
        context.error("missing_field", f"«{mode.type}» is missing.", "mode", hint=hint)
    for index, change in enumerate(mode.what_if.modifications if mode.what_if is not None else ()):
        at = f"mode/what_if/modifications/{index}"
        if not isinstance(change, dict):
            context.error("wrong_type", "A modification is a map.", at, hint='Write {"type": "rule_change", …}.')
        elif not isinstance(change.get("type"), str):
            context.error("missing_field", "«type» is missing.", at, hint=f"Types are {', '.join(MODIFICATIONS)}.")
        elif change["type"] not in MODIFICATIONS and "${" not in change["type"]:
            hint = did_you_mean(change["type"], MODIFICATIONS, f"Types are {', '.join(MODIFICATIONS)}.")
            context.error("wrong_type", f"There is no modification «{change['type']}».", f"{at}/type", hint=hint)


def _check_environment(scenario: str, path: str, context: LoweringContext) -> None:
    """C-59: what is current is so in an environment that a DEPLOY knows."""
    known = [f"current_{name}" for name in ("production", "staging")]
    if scenario.startswith("current_") and "${" not in scenario and scenario not in known:
        hint = did_you_mean(scenario, known, f"Write {', '.join(known)}, or a version.")
        message = f"There is no environment «{scenario.removeprefix('current_')[:60]}»."
        context.warning("simulate_baseline", message, path, hint=hint)


def _mode(mode: SimulateMode, context: LoweringContext) -> dict[str, Any]:
    lowered: dict[str, Any] = {"type": context.template_tree(mode.type, "mode/type")}
    for name in ("replay", "what_if", "monte_carlo"):
        block = getattr(mode, name)
        if block is None:
            continue
        fields = {field: getattr(block, field) for field in block.__struct_fields__}
        window = fields.pop("time_range", None)
        lowered[name] = {
            field: context.template_tree(value, f"mode/{name}/{field}")
            for field, value in fields.items()
            if value is not None
        }
        if window is not None:
            lowered[name]["time_range"] = {
                "start": context.template_tree(window.start, "mode/replay/time_range/start"),
                "end": context.template_tree(window.end, "mode/replay/time_range/end"),
            }
    return lowered


# ---- the candidate ---------------------------------------------------------------------------------------------------


def _candidate(f: SimulateFields, context: LoweringContext) -> dict[str, Any]:
    """C-59: the first of these that the workflow has. What-if modifications are applied to the baseline of it."""
    if f.artifact is not None:
        context.depend(f.artifact.type or "rule_pack", f.artifact.id, "artifact/id")
        return {"artifact": _artifact(f.artifact, context, "artifact")}
    deploy = nearest_deploy(context)
    if deploy is not None:
        return {"deploy": _artifact(deploy, context, "")}
    if "rule_pack" in context.shared.symbols.known:
        return {"rule_pack": {"$expr": "rule_pack"}}
    schema = context.workflow.top.input_schema
    if isinstance(schema, dict) and "rule_pack_id" in (schema.get("properties") or {}):
        return {"rule_pack_id": {"$expr": "input.rule_pack_id"}}
    hint = 'Write `"artifact": {"type": "rule_pack", "id": "…"}`, or let a DEPLOY follow.'
    context.error("simulate_candidate", "It is not said what is simulated: no «artifact» is named.", "", hint=hint)
    return {}


def _artifact(artifact: ArtifactFields, context: LoweringContext, path: str) -> dict[str, Any]:
    """The fields of an artifact; those of a DEPLOY are checked there."""
    fields = {"type": artifact.type, "id": artifact.id}
    if artifact.version is not None:
        fields["version"] = str(artifact.version)
    return {name: context.template_tree(value, f"{path}/{name}".strip("/")) for name, value in fields.items()}


def nearest_deploy(context: LoweringContext) -> ArtifactFields | None:
    """What the DEPLOY puts into force that comes soonest after this node; of several as near, the first written."""
    following = context.shared.following
    order = {id: index for index, id in enumerate(context.workflow.nodes)}
    near, reached = [context.node.id], {context.node.id}
    while near:
        near = sorted({target for id in near for target in following.get(id, ())} - reached, key=order.__getitem__)
        reached.update(near)
        for id in near:
            fields = context.workflow.nodes[id].fields
            if isinstance(fields, DeployFields) and fields.artifact is not None:
                return fields.artifact
    return None


def _output_shape(f: SimulateFields) -> Shape | None:
    return _RESULT


SIMULATE = NodeType(
    "SIMULATE", SimulateFields, "Estimates what a change would mean.", lower=lower,
    alias=lambda node: "simulation_result", timeout_ms=300_000, shapes_output=lambda f: True,
    output_shape=_output_shape,
)  # fmt: skip
