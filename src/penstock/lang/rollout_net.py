"""The net of a rollout: one fixed net that moves a deployment on, whatever its strategy and whoever has begun it.

It looks at the deployment when something is due, or when somebody has moved it by hand, and at each look the `rollout`
executor decides. So what lasts is a timer and a row: a crash loses nothing, and nobody works while nothing is due.
"""

from __future__ import annotations

from penstock.net.codec import content_hash
from penstock.net.model import MERGE, Declares, Edge, Effect, Net, Node, OnError, Retry, Trigger

#: Tells a rollout that its deployment was moved by hand; the payload may name it: {deployment_id}.
CHANGED = "deployment.changed"
#: What a rollout tells everybody when its deployment has ended; the payload is the deployment's output.
ENDED = "deployment.ended"
#: A look may find the store or a channel unreachable; it is worth waiting for them as long as it takes.
_PATIENT = Retry(max=1000, base_ms=1000, kind="exponential", cap_ms=60_000)
_TIMEOUT_MS = 120_000
#: Rounds of a rollout that is looked at every ten seconds for half a year.
_MOST_VISITS = 2_000_000


def _step(op: str, result: str | None = None) -> Node:
    """A look at the deployment; the node is called as what it asks of the executor."""
    args = {"op": op, "deployment_id": {"$expr": "input.deployment_id"}}
    if op == "attach":
        args["again"] = {"$expr": "fn.coalesce(input.again, false)"}
    return Node(
        id=op, kind="task", type="ROLLOUT", join=MERGE, effect=Effect(executor="rollout", args=args), retry=_PATIENT,
        timeout_ms=_TIMEOUT_MS, result=result, split="all" if op == "attach" else "first",
    )  # fmt: skip


def _notice(id: str) -> Node:
    """Sends the notice that came with the token. A channel that fails keeps no rollout from going on."""
    notice = {name: {"$expr": f"default.notice.{name}"} for name in ("channels", "template")}
    return Node(
        id=id, kind="task", type="NOTICE", join=MERGE, effect=Effect(executor="notify", args=notice, sees_run=True),
        retry=Retry(max=8, base_ms=1000, kind="exponential", cap_ms=300_000), timeout_ms=60_000,
        on_error=(OnError(match="*", action="skip"),),
    )  # fmt: skip


def _edge(src: str, dst: str, guard: str | None = None, port: str = "done", default: bool = False) -> Edge:
    id = f"{src}{'' if port == 'done' else ':' + port}>{dst}"
    return Edge(id=id, src=src, dst=dst, guard=guard, port=port, default=default)


_WATCH = Node(
    id="watch", kind="wait", type="WAIT", join=MERGE,
    triggers=(
        Trigger(at="default.next_at"),
        Trigger(
            kind="signal", name=CHANGED,
            match="fn.type_of(event) != 'object' || fn.coalesce(event.deployment_id, input.deployment_id) == "
            "input.deployment_id",
        ),
    ),
)  # fmt: skip

ROLLOUT = Net(
    name="rollout",
    nodes=(
        Node(id="start", kind="start"),
        _step("attach"),
        _notice("notify_start"),
        Node(id="attached", join=MERGE, split="first"),
        _WATCH,
        _step("advance"),
        _step("give_up"),
        _step("finish", result="deployment"),
        _notice("notify_end"),
        Node(id="notified", kind="end"),
        Node(id="end", kind="end", join=MERGE),
    ),
    edges=(
        _edge("start", "attach"),
        _edge("attach", "notify_start", "output.notice != null"),
        _edge("attach", "attached"),
        _edge("attach", "give_up", port="failed"),
        _edge("attached", "watch", "output.ended == false"),
        _edge("attached", "finish", "output.attached == true"),
        _edge("attached", "end", default=True),
        _edge("watch", "advance"),
        _edge("advance", "watch", "output.ended == false"),
        _edge("advance", "finish", default=True),
        _edge("advance", "give_up", port="failed"),
        _edge("give_up", "finish"),
        _edge("finish", "notify_end", "output.notice != null"),
        _edge("finish", "end", default=True),
        _edge("notify_start", "notified"),
        _edge("notify_end", "end"),
    ),
    max_visits=_MOST_VISITS,
    declares=Declares(
        input_schema={
            "type": "object", "required": ["deployment_id"],
            "properties": {"deployment_id": {"type": "string"}, "again": {"type": "boolean"}},
        },
    ),
)  # fmt: skip
ROLLOUT_HASH = content_hash(ROLLOUT)
