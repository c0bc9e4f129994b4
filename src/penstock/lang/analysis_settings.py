"""The words of an analysis of metrics, for whoever checks a document and for whoever runs it (C-50)."""

from __future__ import annotations

TYPES = ("trend", "comparison", "distribution", "correlation", "anomaly")
FORMATS = ("chart_data", "table", "summary")
CHARTS = ("line", "bar", "pie", "heatmap", "scatter")
GRAINS = ("minute", "hour", "shift", "day", "week", "month")
AGGREGATIONS = ("avg", "sum", "min", "max", "count", "median", "stddev", "p50", "p90", "p95", "p99")
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "between", "like")
BUCKETS = ("equal_width", "quantile")
COEFFICIENTS = ("pearson", "spearman")
ALGORITHMS = ("zscore", "iqr", "mad", "ewma")
MOST_BUCKETS, LARGEST_EDGE = 200, 1e15
#: What each type cannot do without; of the names in a row one is enough.
REQUIRED: dict[str, tuple[tuple[str, ...], ...]] = {
    "trend": (("metrics",), ("time_grain",), ("time_range",)),
    "comparison": (("metrics",), ("compare_periods", "compare_groups")),
    "distribution": (("bucket_config",),),
    "correlation": (("correlation_pairs",),),
    "anomaly": (("metrics",), ("anomaly_config",)),
}
