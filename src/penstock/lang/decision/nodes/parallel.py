"""PARALLEL (4.9): runs branches at once and joins them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, OutputFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import complete_fragment, net_node, report_unused_fields, single_node
from penstock.lang.decision.shapes import Shape, closed
from penstock.net.model import Body, Branch

_MANY_BRANCHES = 10


class BranchFields(OpenFields):
    id: str = ""
    nodes: list[str] = []
    required: bool | None = None
    condition: str | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "nodes")


class JoinFields(OpenFields):
    strategy: Literal["all", "any", "n_of"] | None = None
    n: Annotated[int, Meta(ge=0, le=limits.COUNT)] | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=limits.MS)] | None = None
    on_partial_failure: Literal["continue", "fail", "compensate"] = "fail"

    REQUIRED: ClassVar[tuple[str, ...]] = ("strategy",)


class ParallelOutput(OutputFields):
    merge_strategy: Literal["array", "object", "first_success"] = "object"


class ParallelFields(GuardedFields):
    branches: list[BranchFields] = []
    join: JoinFields | None = None
    output: ParallelOutput | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "branches", "join")


def lower(f: ParallelFields, context: LoweringContext) -> Fragment:
    join = f.join or JoinFields(strategy="all")
    members = [branch for branch in f.branches if branch is not None and branch.nodes]
    count = len(f.branches)
    need = 0 if join.strategy == "all" else 1 if join.strategy == "any" else join.n or 1
    if join.strategy == "n_of" and not 1 <= (join.n or 0) <= count:
        message = f"«n» is {join.n}, but there are {count} branches."
        context.error("n_of_range", message, "join/n", hint=f"Write a number from 1 to {count}.")
    if count > _MANY_BRANCHES:
        message = f"Too many parallel branches: {count}"
        context.warning(
            "max_parallel_branches", message, "branches", hint=f"More than {_MANY_BRANCHES} strain what they call."
        )
    _check_branches(f, context)
    branches = tuple(
        Branch(
            key=branch.id,
            entry=branch.nodes[0],
            guard=context.expression(branch.condition, f"branches/{i}/condition"),
            required=branch.required,
        )
        for i, branch in enumerate(members)
    )
    merge = f.output.merge_strategy if f.output is not None else "object"
    body = Body(
        mode="branches",
        branches=branches,
        need=need,
        timeout_ms=join.timeout_ms,
        on_fail=join.on_partial_failure,
        collect="first" if merge == "first_success" else merge,
    )
    report_unused_fields(f, context, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    return complete_fragment(single_node(net_node(f, context, kind="scope", body=body)), f, context)


def _check_branches(f: ParallelFields, context: LoweringContext) -> None:
    """C-23: every branch has an id of its own, the key of its record, and at least one node."""
    seen_ids: set[str] = set()
    for i, branch in enumerate(f.branches):
        if branch.id and branch.id in seen_ids:
            hint = "Every branch has an id of its own."
            context.error(
                "unique_branch_ids", f"There is a branch «{branch.id}» already.", f"branches/{i}/id", hint=hint
            )
        seen_ids.add(branch.id)
        if not branch.nodes and _is_empty_list(context.node.raw, i):
            hint = "Write the ids of its nodes, or remove the branch."
            context.error("missing_field", f"The branch «{branch.id}» has no nodes.", f"branches/{i}/nodes", hint=hint)


def _is_empty_list(raw: dict[str, Any], i: int) -> bool:
    branches = raw.get("branches")
    return isinstance(branches, list) and any(isinstance(b, dict) and b.get("nodes") == [] for b in branches[i : i + 1])


def _merged_shape(f: ParallelFields) -> Shape | None:
    """W-4.9: a record for every branch, by its id."""
    if f.output is not None and f.output.merge_strategy != "object":
        return None
    record = closed("branch_id", "status", "output", "error", "duration_ms")
    return closed(**{branch.id: record for branch in f.branches if branch is not None})


PARALLEL = NodeType(
    "PARALLEL", ParallelFields, "Runs branches at once and joins them.", lower=lower,
    alias=lambda node: "parallel_results", effect=False, output_shape=_merged_shape,
)  # fmt: skip
