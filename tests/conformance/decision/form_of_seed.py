"""The form of a workflow as the seed and its catalogue say it, written out: nothing here is read from the code.

Paths stand below the node (`/nodes/0`), in TOP below the document. What every node may have (W-4.0.1, W-4.0.3, section
7 and 8) is written once and holds for all types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES = (
    "DATA", "JUDGMENT", "MCP", "ACTION", "APPROVAL", "WAIT", "SWITCH", "PARALLEL", "COMPENSATION", "DEPLOY", "ROLLBACK",
    "SIMULATE", "BI",
)  # fmt: skip

#: W-4.0.1, W-12.1.2, W-12.1.3, C-01, C-69; what stands inside a part is required where the part is written
REQUIRED = {
    "EVERY": "id type output/transform/expression",
    "DATA": "source source/type",
    "JUDGMENT": "policy policy/type input",
    "MCP": "server server/id operation operation/type operation/name",
    "ACTION": "channel channel/type template/id",
    "APPROVAL": "request request/approvers request/approvers/type request/approvers/targets",
    "WAIT": "condition condition/type condition/event/source condition/polling/endpoint "
    "condition/polling/success_condition",
    "SWITCH": "cases cases/0/goto default/goto",
    "PARALLEL": "branches branches/0/id branches/0/nodes join join/strategy",
    "COMPENSATION": "for_node actions actions/0/type",
    "DEPLOY": "artifact artifact/type artifact/id target target/environment strategy strategy/type",
    "ROLLBACK": "artifact artifact/type artifact/id",
    "SIMULATE": "mode mode/type mode/what_if/modifications mode/monte_carlo/distributions artifact/type artifact/id",
    "BI": "analysis analysis/type analysis/time_range/start analysis/time_range/end analysis/filters/0/field "
    "analysis/filters/0/op analysis/compare_periods/0/start analysis/compare_periods/0/end "
    "analysis/compare_groups/dimension analysis/anomaly_config/algorithm analysis/anomaly_config/threshold",
    "TOP": "id version trigger/type edges/0/from edges/0/to",
}

#: the seed's own «a | b» (C-05), §12's enums, and the words that its samples give alone
CHOICES: dict[str, dict[str, str]] = {
    "EVERY": {
        "retry/backoff_type": "fixed | linear | exponential",  # W-12.1.4
        "retry/backoff/type": "exponential | linear | fixed",  # §7.2
        "retry/on_failure": "alert_and_manual",  # §4.10
        "output/transform/type": "jq",  # §4.4
        "idempotency/key_generation": "node_id + input_hash | custom_expression",  # §8.4
        "idempotency/on_duplicate": "skip | return_cached | fail",
        "circuit_breaker/on_open/action": "skip | fail | fallback",  # §7.3
        "checkpoint/strategy": "node_boundary | time_interval | explicit",  # §8.1
        "checkpoint/storage/type": "database | s3 | redis",
    },
    "DATA": {"source/type": "sql | api | file | stream | expression"},  # §12; §4.1 has the first four
    "JUDGMENT": {
        "policy/type": "RULE_ONLY | LLM_ONLY | HYBRID | ESCALATE",
        "policy/routing/conflict_resolution": "rule_priority | llm_priority | human_escalate",
        "policy/routing/fallback": "ESCALATE",
    },
    "MCP": {
        "operation/type": "tool | resource | prompt",
        "fallback/on_error": "skip | fail | default_value | alternative_server",
    },
    "ACTION": {"channel/type": "slack | email | sms | webhook | robot | database"},
    "APPROVAL": {
        "request/priority": "high | normal | low",
        "request/approvers/type": "user | role | group | any_of | all_of",
        "timeout/on_timeout": "reject | escalate | auto_approve",
        "on_reject": "cancel | continue",  # C-40
    },
    "WAIT": {
        "condition/type": "event | time | polling | manual",
        "timeout/on_timeout": "fail | skip | default_value | alternative_path",
    },
    "SWITCH": {"mode": "value | condition", "multi_match/mode": "first | all | priority"},
    "PARALLEL": {
        "join/strategy": "all | any | n_of",
        "join/on_partial_failure": "continue | fail | compensate",
        "output/merge_strategy": "array | object | first_success",
    },
    "COMPENSATION": {"actions/0/type": "api | notification"},  # §4.10
    "DEPLOY": {
        "artifact/type": "rule_pack | model | prompt | config",
        "target/environment": "staging | production",
        "strategy/type": "immediate | canary | blue_green | rolling",
        "rollback/to_version": "previous | specific",
        "on_rollback": "fail | continue",  # C-57
    },
    "ROLLBACK": {
        "artifact/type": "rule_pack | model | prompt | config",
        "target_version/strategy": "previous | specific | last_stable",
        "scope/override/environment": "staging | production",  # W-4.12.2
    },
    "SIMULATE": {
        "mode/type": "dry_run | replay | what_if | monte_carlo",
        "mode/replay/data_source": "historical",  # §4.13
        "mode/replay/sampling": "random | stratified | sequential",
        "artifact/type": "rule_pack | model | prompt | config",  # C-59
        "analysis/statistical_test": "chi_square | t_test | ks_test",
        "analysis/on": "confidence | processing_time",  # C-59
        "report/format": "html | pdf | json",
        "report/language": "ko | en",
    },
    "BI": {
        "analysis/type": "trend | comparison | distribution | correlation | anomaly",
        "analysis/time_grain": "minute | hour | shift | day | week | month",  # C-50, from here on
        "analysis/filters/0/op": "eq | ne | gt | gte | lt | lte | in | not_in | between | like",
        "analysis/bucket_config/method": "equal_width | quantile",
        "analysis/method": "pearson | spearman",
        "analysis/anomaly_config/algorithm": "zscore | iqr | mad | ewma",
        "output/format": "chart_data | table | summary",  # §4.2
        "visualization/chart_type": "line | bar | pie | heatmap | scatter",
    },
    "TOP": {
        "trigger/type": "manual | schedule | event | webhook",
        "metadata/approval_status": "draft | pending | pending_approval | approved | active | deprecated",  # C-17
        "policies/compensation/order": "reverse",  # C-16
        "policies/retry/backoff_type": "fixed | linear | exponential",
        "policies/retry/backoff/type": "exponential | linear | fixed",
        "policies/retry/on_failure": "alert_and_manual",
        "policies/circuit_breaker/on_open/action": "skip | fail | fallback",
        "policies/checkpoint/strategy": "node_boundary | time_interval | explicit",
        "policies/checkpoint/storage/type": "database | s3 | redis",
        "policies/idempotency/key_generation": "node_id + input_hash | custom_expression",
        "policies/idempotency/on_duplicate": "skip | return_cached | fail",
    },
}

#: C-69: a template may stand for these, and the run checks what it has become
AT_RUN_TIME = {
    ("JUDGMENT", "policy/type"), ("JUDGMENT", "policy/routing/conflict_resolution"),
    ("JUDGMENT", "policy/routing/fallback"), ("MCP", "operation/type"), ("ACTION", "channel/type"),
    ("APPROVAL", "request/priority"), ("DEPLOY", "artifact/type"), ("DEPLOY", "target/environment"),
    ("DEPLOY", "strategy/type"), ("DEPLOY", "rollback/to_version"), ("ROLLBACK", "artifact/type"),
    ("ROLLBACK", "target_version/strategy"), ("ROLLBACK", "scope/override/environment"),
    ("SIMULATE", "mode/type"), ("SIMULATE", "mode/replay/data_source"), ("SIMULATE", "mode/replay/sampling"),
    ("SIMULATE", "artifact/type"), ("SIMULATE", "analysis/statistical_test"), ("SIMULATE", "analysis/on"),
    ("SIMULATE", "report/format"), ("SIMULATE", "report/language"),
    ("BI", "analysis/type"), ("BI", "analysis/time_grain"), ("BI", "analysis/filters/0/op"),
    ("BI", "analysis/bucket_config/method"), ("BI", "analysis/method"), ("BI", "analysis/anomaly_config/algorithm"),
    ("BI", "output/format"), ("BI", "visualization/chart_type"),
}  # fmt: skip

_RETRY = {
    dict: "backoff", int: "max backoff_ms max_attempts backoff/initial_ms backoff/max_ms", bool: "backoff/jitter",
    float: "backoff/multiplier", list: "retryable_errors non_retryable_errors",
}  # fmt: skip
_BREAKER = {
    dict: "on_open metrics", str: "on_open/fallback_node", bool: "enabled metrics/track_latency",
    int: "failure_threshold window_size half_open_requests cooldown_ms window cooldown_s metrics/latency_threshold_ms",
    float: "failure_rate_threshold fail_rate",
}  # fmt: skip
_CHECKPOINT = {
    dict: "include storage retention",
    int: "time_interval_ms retention/completed_hours retention/failed_days retention/running_days",
    bool: "save_context resume_on_restart include/context_variables include/node_outputs include/execution_position "
    "include/pending_events storage/compression storage/encryption",
}
_IDEMPOTENCY = {str: "custom_expression", bool: "enabled", float: "ttl_hours"}
_DLQ = {
    dict: "include alerts replay", str: "queue_name", list: "alerts/channels",
    int: "retention_days alerts/threshold alerts/window_minutes replay/max_replay_attempts",
    bool: "enabled include/error include/input include/context_snapshot include/execution_history replay/enabled "
    "replay/auto_replay_on_fix",
}  # fmt: skip
_PARTS = {
    "retry": _RETRY, "circuit_breaker": _BREAKER, "checkpoint": _CHECKPOINT, "idempotency": _IDEMPOTENCY, "dlq": _DLQ,
}  # fmt: skip

#: W-3.1.1, W-4.0.1, W-4.0.3, the tables of section 4, W-12.1.3, W-12.1.4
KINDS: dict[str, dict[type, str]] = {
    "EVERY": {
        str: "id name description output/variable output/expression output/transform/expression",
        dict: "output output/transform side_effects side_effects/set_variables notification "
        "retry circuit_breaker idempotency",
        int: "timeout_ms",
        bool: "skip_on_error",
    },
    "DATA": {
        str: "condition source/connection source/query source/method cache/key",
        dict: "source params cache source/params source/headers",
        bool: "cache/enabled",
        int: "cache/ttl_sec",
    },
    "JUDGMENT": {
        str: "condition audit/human_review_if policy/rule_pack_id policy/prompt_id policy/llm_config/model "
        "policy/routing/reviewer_role input/line_id",  # C-82: by which line a version is chosen
        dict: "audit policy input policy/llm_config policy/routing input/context",
        bool: "audit/log_input audit/log_reasoning",
        float: "policy/llm_config/temperature policy/routing/confidence_threshold",
        int: "policy/llm_config/max_tokens",
    },
    "MCP": {
        str: "condition server/id server/version operation/name fallback/alternative_server",
        dict: "server operation fallback operation/arguments",
    },
    "ACTION": {
        str: "condition message template/id conditions/execute_if conditions/skip_if rate_limit/dedupe_key",
        dict: "channel template conditions rate_limit channel/config template/params",
        int: "rate_limit/max_per_hour rate_limit/dedupe_window_sec",
    },
    "APPROVAL": {
        str: "condition request/title request/description",
        dict: "request timeout request/approvers",
        list: "request/approvers/targets timeout/reminder_intervals timeout/escalate_to",
        int: "request/approvers/min_approvals",
        bool: "request/approvers/allow_self_approval",
    },
    "WAIT": {
        str: "condition/until condition/event/source condition/polling/endpoint condition/polling/connection "
        "condition/polling/method condition/polling/success_condition condition/polling/failure_condition timeout/goto "
        "output/from",
        dict: "condition timeout condition/event condition/polling condition/event/filter",
        float: "condition/polling/interval_sec",
    },
    "SWITCH": {
        str: "expression condition cases/0/condition cases/0/label cases/0/goto default/label default/goto",
        list: "cases",
        dict: "default multi_match",
        int: "cases/0/priority",
        bool: "multi_match/enabled",
    },
    "PARALLEL": {
        str: "condition branches/0/id branches/0/condition",
        list: "branches branches/0/nodes",
        dict: "join",
        bool: "branches/0/required",
        int: "join/n join/timeout_ms",
    },
    "COMPENSATION": {
        str: "for_node trigger/conditions actions/0/endpoint actions/0/method actions/0/connection actions/0/channel "
        "actions/0/message",
        dict: "audit trigger actions/0/headers",
        list: "actions trigger/on",
        bool: "audit/log_reason audit/log_result",
    },
    "DEPLOY": {
        str: "condition artifact/id reason",
        dict: "artifact target strategy rollback target/scope strategy/canary strategy/canary/success_criteria "
        "strategy/rolling strategy/rolling/success_criteria strategy/blue_green strategy/blue_green/success_criteria "
        "rollback/trigger",
        list: "target/scope/tenant_ids target/scope/line_ids",
        int: "strategy/canary/initial_percent strategy/canary/increment_percent strategy/rolling/batch_size",
        float: "strategy/canary/interval_minutes strategy/canary/success_criteria/error_rate_max "
        "strategy/canary/success_criteria/latency_p99_max_ms strategy/rolling/interval_minutes "
        "strategy/rolling/success_criteria/error_rate_max strategy/rolling/success_criteria/latency_p99_max_ms "
        "strategy/blue_green/warm_up_minutes strategy/blue_green/success_criteria/error_rate_max "
        "strategy/blue_green/success_criteria/latency_p99_max_ms strategy/observe_minutes rollback/trigger/error_rate "
        "rollback/trigger/latency_p99_ms rollback/trigger/anomaly_score",
        bool: "strategy/wait rollback/auto_rollback",
    },
    "ROLLBACK": {
        str: "condition artifact/id reason",
        dict: "artifact target_version target_version/last_stable_criteria scope scope/override verification",
        list: "scope/override/tenant_ids scope/override/line_ids",
        int: "verification/timeout_ms",
        float: "target_version/last_stable_criteria/min_uptime_hours "
        "target_version/last_stable_criteria/max_error_rate",
        bool: "scope/match_deploy verification/health_check verification/smoke_test",
    },
    "SIMULATE": {
        str: "condition artifact/id comparison/baseline mode/what_if/base_scenario",
        dict: "mode mode/replay mode/replay/time_range mode/what_if mode/monte_carlo mode/monte_carlo/distributions "
        "artifact comparison analysis report input input/context",
        list: "mode/what_if/modifications comparison/metrics",
        int: "mode/replay/sample_size mode/replay/seed mode/monte_carlo/iterations mode/monte_carlo/seed",
        float: "analysis/confidence_level",
        bool: "analysis/effect_size report/generate report/include_visualizations",
    },
    "BI": {
        str: "condition visualization/title visualization/x_axis visualization/series_by analysis/filters/0/field "
        "analysis/compare_periods/0/label analysis/compare_groups/dimension analysis/bucket_config/field "
        "analysis/time_range/start analysis/time_range/end analysis/compare_periods/0/start "
        "analysis/compare_periods/0/end",
        dict: "analysis analysis/time_range analysis/aggregation analysis/compare_groups analysis/bucket_config "
        "analysis/anomaly_config visualization",
        list: "analysis/metrics analysis/dimensions analysis/filters analysis/compare_periods "
        "analysis/correlation_pairs analysis/bucket_config/edges",
        int: "analysis/bucket_config/count",
        float: "analysis/anomaly_config/threshold analysis/anomaly_config/alpha",
    },
    "TOP": {
        str: "id name description tenant_id metadata/created_at metadata/updated_at metadata/created_by "
        "metadata/approved_by edges/0/from edges/0/to edges/0/when",
        int: "version policies/timeout_ms edges/0/priority",
        list: "tags context/rag_context context/aas_context",
        dict: "trigger trigger/config context context/variables context/secrets metadata policies "
        "policies/compensation policies/retry policies/circuit_breaker policies/checkpoint policies/idempotency "
        "policies/dlq",
        bool: "policies/compensation/enabled policies/compensation/on_cancel policies/compensation/continue_on_error",
    },
}


def required() -> list[tuple[str, str]]:
    """(who, pointer) of every field that must be there."""
    return [(who, _pointer(who, path)) for who, own in _of_all(REQUIRED) for path in own.split()]


def choices() -> list[tuple[str, str, list[str]]]:
    """(who, pointer, the words) of every field that has some."""
    return [
        (who, _pointer(who, path), words.split(" | "))
        for who, own in _of_all(CHOICES)
        for path, words in own.items()
    ]  # fmt: skip


def kinds() -> list[tuple[str, str, type]]:
    """(who, pointer, kind) of every field that holds one plain kind of value."""
    made = [
        (who, _pointer(who, path), kind)
        for who, own in _of_all(KINDS)
        for kind, paths in own.items()
        for path in paths.split()
    ]
    for who in (*TYPES, "TOP"):
        for name, part in _PARTS.items():
            if name != "dlq" or who == "TOP":
                at = f"policies/{name}" if who == "TOP" else name
                made += [
                    (who, _pointer(who, f"{at}/{path}"), kind) for kind, paths in part.items() for path in paths.split()
                ]
    return made


def may_be_template(who: str, pointer: str) -> bool:
    return (who, pointer.removeprefix("/nodes/0/")) in AT_RUN_TIME


def _pointer(who: str, path: str) -> str:
    return f"/{path}" if who == "TOP" else f"/nodes/0/{path}"


def _of_all(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for who in (*TYPES, "TOP"):
        if who != "TOP":
            yield who, table["EVERY"]
        yield who, table[who]
