"""BI (4.2): an analysis of metrics, in a form that can be drawn."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.analysis_settings import AGGREGATIONS, LARGEST_EDGE, MOST_BUCKETS, REQUIRED
from penstock.lang.decision import limits, literal_checks
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, OutputFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType, alias_from
from penstock.lang.decision.nodes.fragments import complete_fragment, task_fragment

Edge = Annotated[float, Meta(ge=-LARGEST_EDGE, le=LARGEST_EDGE)]
Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "between", "like"]
#: How each is written.
_WRITTEN = {
    "metrics": '"metrics": ["defect_rate"]',
    "time_grain": '"time_grain": "day"',
    "time_range": '"time_range": {"start": "…", "end": "…"}',
    "compare_periods": '"compare_periods": [{"label": "…", "start": "…", "end": "…"}]',
    "compare_groups": '"compare_groups": {"dimension": "line_id", "groups": ["L01", "L02"]}',
    "bucket_config": '"bucket_config": {"field": "defect_rate", "count": 10}',
    "correlation_pairs": '"correlation_pairs": [["defect_rate", "temperature"]]',
    "anomaly_config": '"anomaly_config": {"algorithm": "zscore", "threshold": 3}',
}


class TimeRange(OpenFields):
    start: Annotated[str, Meta(description="A date or a moment; rows from it on.")] = ""
    end: Annotated[str, Meta(description="Rows before it; a date without a time is counted whole.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("start", "end")


class ComparePeriod(TimeRange):
    label: Annotated[str, Meta(description="What people call it.")] = ""


class CompareGroups(OpenFields):
    dimension: str = ""
    groups: Annotated[Any, Meta(description="The values that are compared; all of them when absent.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("dimension",)


class AnalysisFilter(TemplatedFields):
    field: Annotated[str, Meta(description="A column of the metrics' table.")] = ""
    op: Operator | None = None
    value: Annotated[Any, Meta(description="A list for in, not_in and between; null and [] let no row through.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("field", "op")


class BucketConfig(TemplatedFields):
    field: Annotated[str, Meta(description="A metric; each of `metrics` when absent.")] = ""
    count: Annotated[int, Meta(ge=1, le=MOST_BUCKETS)] = 10
    edges: Annotated[list[Edge] | None, Meta(description="Numbers that grow, instead of count.")] = None
    method: Literal["equal_width", "quantile"] = "equal_width"


class AnomalyConfig(TemplatedFields):
    algorithm: Literal["zscore", "iqr", "mad", "ewma"] | None = None
    threshold: Annotated[float, Meta(gt=0, le=limits.FACTOR)] | None = None
    alpha: Annotated[float, Meta(gt=0, le=1, description="ewma: the weight of the newest value.")] = 0.3

    REQUIRED: ClassVar[tuple[str, ...]] = ("algorithm", "threshold")


class AnalysisFields(TemplatedFields):
    """What is asked of which metrics, over which rows."""

    type: Literal["trend", "comparison", "distribution", "correlation", "anomaly"] | None = None
    metrics: Annotated[list[str], Meta(description="Names of the tenant's metric catalogue.")] = []
    dimensions: Annotated[list[str], Meta(description="Columns that rows are told apart by.")] = []
    time_grain: Literal["minute", "hour", "shift", "day", "week", "month"] | None = None
    time_range: TimeRange | None = None
    filters: list[AnalysisFilter] = []
    aggregation: Annotated[dict[str, Any], Meta(description="Metric → function; the metric's own when absent.")] = {}
    compare_periods: list[ComparePeriod] | None = None
    compare_groups: CompareGroups | None = None
    bucket_config: BucketConfig | None = None
    correlation_pairs: Annotated[list[Any] | None, Meta(description="Pairs of metrics.")] = None
    method: Annotated[Literal["pearson", "spearman"] | None, Meta(description="Of a correlation.")] = None
    anomaly_config: AnomalyConfig | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class BiOutput(OutputFields):
    format: Annotated[
        Literal["chart_data", "table", "summary"] | None, Meta(description="chart_data unless said otherwise.")
    ] = None

    TEMPLATED: ClassVar[bool] = True


class Visualization(TemplatedFields):
    chart_type: Literal["line", "bar", "pie", "heatmap", "scatter"] | None = None
    title: str = ""
    x_axis: Annotated[str, Meta(description="The title of the axis; a dimension makes that the axis.")] = ""
    y_axis: Annotated[list[str] | str, Meta(description="The metrics that are drawn; all when absent.")] = []
    series_by: Annotated[str, Meta(description="A dimension; one series for each of its values.")] = ""


class BiFields(GuardedFields):
    analysis: AnalysisFields | None = None
    output: BiOutput | None = None
    visualization: Visualization | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "analysis")


def lower(f: BiFields, context: LoweringContext) -> Fragment:
    analysis = f.analysis or AnalysisFields()
    _check_required(analysis, context)
    _check_pairs(analysis, context)
    _check_values(analysis, f.visualization, context)
    for name, path in _metrics(analysis):
        context.depend("metric", name, path)
    raw = context.node.raw
    args: dict[str, Any] = {"analysis": context.template_tree(_map(raw.get("analysis")), "analysis")}
    if f.output is not None and f.output.format is not None:
        args["format"] = context.template_tree(f.output.format, "output/format")
    if f.visualization is not None:
        args["visualization"] = context.template_tree(_map(raw.get("visualization")), "visualization")
    return complete_fragment(task_fragment(f, context, "bi", args), f, context)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _check_required(analysis: AnalysisFields, context: LoweringContext) -> None:
    """W-4.2.2, W-9.2.2."""
    written = _map(context.node.raw.get("analysis"))
    for names in REQUIRED.get(str(analysis.type), ()):
        if not any(written.get(name) for name in names):
            what = " or ".join(f"«{name}»" for name in names)
            hint = f"Write {' or '.join(f'`{_WRITTEN[name]}`' for name in names)}."
            context.error("bi_required_settings", f"{analysis.type} needs {what}.", "analysis", hint=hint)
    buckets = analysis.bucket_config
    if analysis.type == "distribution" and buckets is not None and not buckets.field and not analysis.metrics:
        hint = 'Write `"field": "defect_rate"`.'
        message = "distribution needs «bucket_config.field» or «metrics»."
        context.error("bi_required_settings", message, "analysis/bucket_config", hint=hint)


def _check_pairs(analysis: AnalysisFields, context: LoweringContext) -> None:
    for i, pair in enumerate(analysis.correlation_pairs or ()):
        if isinstance(pair, str) and "${" in pair:
            continue
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) and name for name in pair):
            hint = 'Write `["defect_rate", "temperature"]`.'
            at = f"analysis/correlation_pairs/{i}"
            context.error("wrong_type", "A pair is two names of metrics.", at, hint=hint)


def _check_values(analysis: AnalysisFields, chart: Visualization | None, context: LoweringContext) -> None:
    """What a type alone does not say: functions, edges, dates, and the dimensions of the chart."""
    for name, function in analysis.aggregation.items():
        at, word = f"analysis/aggregation/{name}", function if isinstance(function, str) else repr(function)
        literal_checks.check_choice(word, AGGREGATIONS, "aggregation", at, context)
        if analysis.metrics and name not in analysis.metrics and not _pairs_with(analysis, name):
            message = f"«{name}» is no metric of this analysis, so its aggregation changes nothing."
            context.info("idle_setting", message, at, hint="Write it into «metrics», or leave it out.")
    edges = analysis.bucket_config.edges if analysis.bucket_config is not None else None
    if edges is not None and (len(edges) < 2 or any(b <= a for a, b in zip(edges, edges[1:], strict=False))):
        hint, message = 'Write `"edges": [0, 0.02, 0.05]`.', "«edges» are at least two numbers that grow."
        context.error("wrong_type", message, "analysis/bucket_config/edges", hint=hint)
    ranges = [("time_range", analysis.time_range)]
    ranges += [(f"compare_periods/{i}", period) for i, period in enumerate(analysis.compare_periods or ())]
    for place, period in ranges:
        for name in ("start", "end"):
            value = getattr(period, name, None)
            if isinstance(value, str) and value and "${" not in value:
                literal_checks.check_date(value, f"analysis/{place}/{name}", context)
    series = chart.series_by if chart is not None else ""
    if series and "${" not in series and series not in (*analysis.dimensions, "metric"):
        hint = f'Write `"dimensions": ["{series}"]`.'
        message = f"«series_by» is «{series}», which is no dimension of the analysis."
        context.error("wrong_type", message, "visualization/series_by", hint=hint)


def _pairs_with(analysis: AnalysisFields, name: str) -> bool:
    return any(isinstance(pair, list) and name in pair for pair in analysis.correlation_pairs or ())


def _metrics(analysis: AnalysisFields) -> list[tuple[str, str]]:
    """The names of metrics, and where they stand."""
    named = [(name, f"analysis/metrics/{i}") for i, name in enumerate(analysis.metrics)]
    if analysis.bucket_config is not None and analysis.bucket_config.field:
        named.append((analysis.bucket_config.field, "analysis/bucket_config/field"))
    for i, pair in enumerate(analysis.correlation_pairs or ()):
        if isinstance(pair, list):
            named += [
                (name, f"analysis/correlation_pairs/{i}/{j}") for j, name in enumerate(pair) if isinstance(name, str)
            ]
    return named


BI = NodeType(
    "BI", BiFields, "Analyses metrics in the database, in a form that can be drawn.", lower=lower,
    alias=alias_from("bi_", "_result"), timeout_ms=30_000, shapes_output=lambda f: True,
)  # fmt: skip
