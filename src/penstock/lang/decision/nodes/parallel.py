"""PARALLEL (4.9): branches that run at once and are joined."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import bounds
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, GuardedFields, NodeType, OutputFields, Part
from penstock.lang.decision.nodes.parts import completed, idle, node_of, plain
from penstock.net.model import Body, Branch

_MOST = 10


class BranchFields(Part):
    id: str = ""
    nodes: list[str] = []
    required: bool | None = None
    condition: str | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "nodes")


class JoinFields(Part):
    strategy: Literal["all", "any", "n_of"] | None = None
    n: Annotated[int, Meta(ge=0, le=bounds.COUNT)] | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=bounds.MS)] | None = None
    on_partial_failure: Literal["continue", "fail", "compensate"] = "fail"

    REQUIRED: ClassVar[tuple[str, ...]] = ("strategy",)


class ParallelOutput(OutputFields):
    merge_strategy: Literal["array", "object", "first_success"] = "object"


class ParallelFields(GuardedFields):
    branches: list[BranchFields] = []
    join: JoinFields | None = None
    output: ParallelOutput | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "branches", "join")


def lower(f: ParallelFields, site: LoweringContext) -> Fragment:
    join = f.join or JoinFields(strategy="all")
    members = [one for one in f.branches if one is not None and one.nodes]
    count = len(f.branches)
    need = 0 if join.strategy == "all" else 1 if join.strategy == "any" else join.n or 1
    if join.strategy == "n_of" and not 1 <= (join.n or 0) <= count:
        message = f"«n» is {join.n}, but there are {count} branches."
        site.error("n_of_range", message, "join/n", hint=f"Write a number from 1 to {count}.")
    if count > _MOST:
        message = f"Too many parallel branches: {count}"
        site.warning("max_parallel_branches", message, "branches", hint=f"More than {_MOST} strain what they call.")
    _named_once(f, site)
    branches = tuple(
        Branch(
            key=one.id,
            entry=one.nodes[0],
            guard=site.expression(one.condition, f"branches/{i}/condition"),
            required=one.required,
        )
        for i, one in enumerate(members)
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
    idle(f, site, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    return completed(plain(node_of(f, site, kind="scope", body=body)), f, site)


def _named_once(f: ParallelFields, site: LoweringContext) -> None:
    """C-23: a branch's id is the key of its record, and a branch does something."""
    seen: set[str] = set()
    for i, one in enumerate(f.branches):
        if one.id and one.id in seen:
            hint = "Every branch has an id of its own."
            site.error("unique_branch_ids", f"There is a branch «{one.id}» already.", f"branches/{i}/id", hint=hint)
        seen.add(one.id)
        if not one.nodes and _empty(site.step.raw, i):
            hint = "Write the ids of its nodes, or remove the branch."
            site.error("missing_field", f"The branch «{one.id}» has no nodes.", f"branches/{i}/nodes", hint=hint)


def _empty(raw: dict[str, Any], i: int) -> bool:
    branches = raw.get("branches")
    return isinstance(branches, list) and any(isinstance(b, dict) and b.get("nodes") == [] for b in branches[i : i + 1])


PARALLEL = NodeType(
    "PARALLEL", ParallelFields, lower, "Runs branches at once and joins them.", lambda node: "parallel_results",
    effect=False,
)  # fmt: skip
