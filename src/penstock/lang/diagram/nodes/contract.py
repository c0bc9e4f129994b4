"""What a node type of a diagram is: the fields an author may write, and how they become a fragment of the net."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.fields import Fields
from penstock.net.model import DIAGRAM, Edge, Effect, Join, Net, Node, OnError, Retry

Positive = Annotated[int, Meta(ge=1)]
Remembered = Annotated[int, Meta(ge=1, le=500)]
Seconds = Annotated[float, Meta(gt=0, le=31_536_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=31_536_000_000)]

#: The group whose nodes count for the limit of concurrent work (D-7.2.2). Waiting for a person is no work.
GROUP = "diagram"


class RetryFields(Fields):
    """How often and when a failed attempt is repeated (D-X.10), if its failure may pass: C-15's categories transient,
    timeout, external and resource. What is permanent, invalid or forbidden would only fail again."""

    max: Annotated[int, Meta(ge=0, le=1000, description="Retries after the first attempt.")] = 0
    backoff_ms: Annotated[int, Meta(ge=0, le=86_400_000, description="Wait before a retry.")] = 1000
    backoff_type: Annotated[
        Literal["fixed", "linear", "exponential"], Meta(description="How the wait grows from retry to retry.")
    ] = "fixed"
    max_backoff_ms: Annotated[int, Meta(ge=0, le=86_400_000, description="The longest wait.")] = 30_000
    jitter: Annotated[bool, Meta(description="Shorten waits at random, so that many do not come back at once.")] = False


class NodeFields(Fields):
    """What every node has. `position` and a list in `flipped` belong to the drawing."""

    label: Annotated[str, Meta(max_length=200, description="The node's name; unique in the diagram.")] = ""
    type: Annotated[str, Meta(description="What the node does.")] = ""
    position: Annotated[Any, Meta(description="Where the node is drawn.")] = None
    metadata: Annotated[Any, Meta(description="Read and ignored.")] = None
    flipped: Annotated[bool | list[bool] | None, Meta(description="How the node is drawn.")] = None
    priority: Annotated[int | None, Meta(description="Of several ready nodes the smaller number goes first.")] = None
    join_policy: Annotated[
        Literal["all", "any", "k_of_n"] | None,
        Meta(description="How many inputs must have a token: all, at least one, or at least join_k."),
    ] = None
    join_k: Annotated[Positive | None, Meta(description="For k_of_n: how many.")] = None
    join_timeout_ms: Annotated[
        Milliseconds | None, Meta(description="Fail JOIN_TIMEOUT when inputs are not complete after this time.")
    ] = None


class WorkFields(NodeFields):
    """What every node has that does work."""

    max_iteration: Annotated[Positive | None, Meta(description="Runs of this node per epoch; then it stops.")] = None
    on_error: Annotated[
        Literal["fail", "continue"],
        Meta(description="fail: the run fails. continue: an error envelope goes on instead of a result."),
    ] = "fail"
    retry: Annotated[
        RetryFields | None,
        Meta(description="Repeat an attempt whose failure may pass: transient, timeout, external or resource."),
    ] = None
    timeout: Annotated[Seconds | None, Meta(description="Seconds one attempt may take.")] = None


@dataclass(frozen=True)
class Fragment:
    """The part of the net that one node becomes: edges lead to `entry` and leave from `exit`."""

    nodes: tuple[Node, ...]
    entry: str
    exit: str
    edges: tuple[Edge, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)
    children: dict[str, Net] = field(default_factory=dict)


Lower = Callable[[Any, LoweringContext], Fragment]


@dataclass(frozen=True)
class NodeType:
    """`lower` is given the fields that were read and the context. An `open` type passes on fields it does not know."""

    name: str
    fields: type[NodeFields]
    lower: Lower
    doc: str
    open: bool = False


def single_node(node: Node) -> Fragment:
    """A fragment of one node."""
    return Fragment((node,), node.id, node.id)


def net_node(f: NodeFields, context: LoweringContext, **parts: Any) -> Node:
    """The author's node as a net node; `parts` override what every node has."""
    base: dict[str, Any] = {"id": context.label, "type": context.type}
    if "join" not in parts:
        base["join"] = join_of(f, context)
    if f.priority is not None:
        base["priority"] = f.priority
    if f.join_timeout_ms is not None:
        base["join_timeout_ms"] = f.join_timeout_ms
    if not context.inputs:
        base["off_path"] = True  # no token can ever come here, and only a start fires without one (D-X.2 rule 6)
    return Node(**{**base, **parts})


def task_node(f: WorkFields, context: LoweringContext, executor: str, args: dict[str, Any], **parts: Any) -> Node:
    """A net node with an effect."""
    parts = {"kind": "task", **work_parts(f), **parts}
    return net_node(f, context, effect=Effect(executor=executor, args=args), group=GROUP, **parts)


def work_parts(f: WorkFields) -> dict[str, Any]:
    """The iteration limit, the retries, the timeout, and what happens on failure."""
    parts: dict[str, Any] = {}
    if f.max_iteration is not None:
        parts["max_iter"] = f.max_iteration
    if f.on_error == "continue":
        parts["on_error"] = (OnError(match="*", action="error_env"),)
    if f.retry is not None:
        parts["retry"] = retry_of(f.retry)
    if f.timeout is not None:
        parts["timeout_ms"] = milliseconds(f.timeout)
    return parts


def retry_of(f: RetryFields) -> Retry:
    return Retry(
        max=f.max,
        base_ms=f.backoff_ms,
        kind=f.backoff_type,
        cap_ms=max(f.max_backoff_ms, f.backoff_ms),
        jitter=f.jitter,
    )


ANY = Join(mode="k", k=1, take="all", late="fire")


def join_of(f: NodeFields, context: LoweringContext, default: Join = DIAGRAM) -> Join:
    """The join that `join_policy` asks for (D-X.12). Edges from a start count among the inputs."""
    if f.join_policy != "k_of_n" and f.join_k is not None:
        hint = "Add `join_policy: k_of_n`, or remove it."
        context.warning("join_k_unused", "«join_k» is used only with `join_policy: k_of_n`.", "join_k", hint=hint)
    if f.join_policy == "any":
        return ANY
    if f.join_policy == "all":
        return DIAGRAM
    if f.join_policy != "k_of_n":
        return default
    count = len(context.inputs)
    if f.join_k is None:
        context.error(
            "missing_field", "`join_policy: k_of_n` needs «join_k».", "join_policy", hint="Write `join_k: 2`."
        )
    elif f.join_k > count:
        message = f"«join_k» is {f.join_k}, but {count} connection(s) lead here."
        context.error("join_k_range", message, "join_k", hint=f"It can be 1 to {count}.")
    return Join(mode="k", k=f.join_k or 1, take="all", late="absorb")


def milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def without_defaults(f: Fields, *names: str) -> dict[str, Any]:
    """Those of the named fields that differ from their default."""
    defaults = type(f)()
    return {name: getattr(f, name) for name in names if getattr(f, name) != getattr(defaults, name)}
