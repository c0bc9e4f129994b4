"""The category of every rule; rules that are not listed are about syntax."""

from __future__ import annotations

import msgspec

from penstock.errors import Finding

CATEGORY: dict[str, str] = dict.fromkeys(
    (
        "no_start", "several_starts", "several_timers", "activation_not_understood", "join_without_count",
        "start_by_hand", "start_correlation", "weekday_number",
        "flow_to_nowhere",
        "flow_crosses_border", "unknown_parent", "condition_conflict", "unknown_condition", "unknown_default",
        "gateway_without_conditions", "condition_missing", "condition_ignored", "cycle_without_choice",
        "unknown_role", "bad_assignment_rule", "compensation_target", "boundary_target", "boundary_without_flow",
        "bpmn_not_supported", "start_with_incoming", "link_without_end",
        "end_with_outgoing", "event_gateway_target", "sub_process_missing",
        "sub_process_unknown", "container_with_activities", "origin_unknown", "missing_dependency",
        "name_of_element", "name_of_constant", "idle_field", "event_sub_process_start", "event_sub_process_flow",
        "handler_with_flow", "expression_language", "form_unknown",
        "unreachable_node", "join_never_satisfied", "UNBOUNDED_LOOP", "RACE", "recursive_process",
        "loop_by_count", "left_out", "escalation_of_call", "service_by_person", "assignment_not_understood",
        "starters_not_understood", "cancel_without_boundary", "cancel_without_end", "cancel_outside_transaction",
        "ad_hoc_element", "job_unserved",
    ),
    "semantic",
)  # fmt: skip


def with_category(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, category=CATEGORY.get(finding.rule, "syntax"))
