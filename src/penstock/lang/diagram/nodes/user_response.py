"""user_response (D-X.18): the run waits for a person's answer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import (
    Fragment,
    NodeType,
    Seconds,
    WorkFields,
    milliseconds,
    net_node,
    single_node,
    work_parts,
)  # fmt: skip
from penstock.lang.diagram.placeholders import prompt_value
from penstock.net.model import Trigger, Work


class UserResponseFields(WorkFields):
    prompt: Annotated[str, Meta(description="What the person is asked; {{name}} stands for an input.")] = ""
    timeout: Annotated[Seconds | None, Meta(description="Seconds; then `default` is taken, or the node fails.")] = None
    default: Annotated[Any, Meta(description="The answer when nobody answers in time.")] = None
    validation_type: Any = None

    IDLE: ClassVar[tuple[str, ...]] = ("validation_type",)


def lower(f: UserResponseFields, context: LoweringContext) -> Fragment:
    triggers: tuple[Trigger, ...] = ()
    if f.timeout is not None:
        after = milliseconds(f.timeout)
        if f.default is None:
            triggers = (Trigger(kind="timer", after_ms=after, action="fail", code="RESPONSE_TIMEOUT"),)
        else:
            triggers = (
                Trigger(kind="timer", after_ms=after, action="value", value=context.checked_literal(f.default)),
            )
    elif f.default is not None:
        context.warning(
            "idle_field", "«default» is taken only after a «timeout».", "default", hint="Add `timeout: 60`."
        )
    if f.retry is not None:
        hint = "Remove it; with `timeout` and `default` the run goes on without an answer."
        context.warning("idle_field", "«retry» has no effect: a person is asked once.", "retry", hint=hint)
    parts = work_parts(f)
    parts.pop("timeout_ms", None)
    parts.pop("retry", None)
    prompt = prompt_value(f.prompt, context.names | {"default"})
    return single_node(net_node(f, context, kind="work", work=Work(prompt=prompt), triggers=triggers, **parts))


USER_RESPONSE = NodeType("user_response", UserResponseFields, lower, "Waits for a person's answer.")
