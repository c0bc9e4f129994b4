"""The category of every rule (W-9.2.1); rules that are not listed are about syntax."""

from __future__ import annotations

from penstock.errors import Finding

CATEGORY: dict[str, str] = {
    "no_orphan_nodes": "semantic",
    "no_cycles": "semantic",
    "goto_targets_exist": "semantic",
    "branch_members_exist": "semantic",
    "node_in_multiple_branches": "semantic",
    "branch_escape": "semantic",
    "branch_order_conflict": "semantic",
    "compensation_target_exists": "semantic",
    "fallback_node_exists": "semantic",
    "empty_workflow": "semantic",
    "no_start_node": "semantic",
    "unreachable_node": "semantic",
    "unresolved_reference": "semantic",
    "unknown_member": "semantic",
    "unknown_value": "semantic",
    "n_of_range": "semantic",
    "unique_branch_ids": "semantic",
    "switch_setting": "semantic",
    "filter_scale": "semantic",
    "schedule_policy": "semantic",
    "schedule_input": "semantic",
    "webhook_path": "semantic",
    "webhook_method": "semantic",
    "webhook_rate": "semantic",
    "literal_variable": "semantic",
    "judgment_settings": "semantic",
    "bi_required_settings": "semantic",
    "switch_edge_mismatch": "semantic",
    "ambiguous_default_output": "semantic",
    "missing_dependency": "semantic",
    "timeout_inconsistent": "semantic",
    "wait_is_durable": "semantic",
    "idle_setting": "semantic",
    "compensation_edge": "semantic",
    "outside_not_here": "semantic",
    "output_unresolved": "semantic",
    "filter_operator": "semantic",
    "address_outside": "security",
    "too_many_cases": "performance",
    "wait_output_from": "semantic",
    "webhook_auth": "security",
    "no_hardcoded_secrets": "security",
    "secret_not_allowed": "security",
    "secret_reference": "security",
    "sql_interpolation": "security",
    "sql_not_readonly": "security",
    "path_outside": "security",
    "max_parallel_branches": "performance",
}


def with_category(finding: Finding) -> Finding:
    category = CATEGORY.get(finding.rule, "syntax")
    return Finding(finding.rule, finding.severity, finding.message, finding.where, finding.hint, finding.node, category)
