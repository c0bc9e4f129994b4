"""person_job (seed 6.1): asks a person, at most `max_iteration` times per epoch."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import (
    Fragment,
    NodeType,
    Remembered,
    WorkFields,
    single_node,
    task_node,
    without_defaults,
)
from penstock.lang.diagram.persons import CLAUDE_CODE
from penstock.lang.diagram.statements import check_statements


class PersonJobFields(WorkFields):
    person: Annotated[str, Meta(description="Who answers: a name under `persons`, or the person itself.")] = ""
    default_prompt: Annotated[str, Meta(description="The prompt; {{name}} stands for an input.")] = ""
    first_only_prompt: Annotated[str, Meta(description="The prompt of the first iteration, if it differs.")] = ""
    prompt_file: Annotated[str, Meta(description="A file with the prompt, read when the diagram is released.")] = ""
    first_prompt_file: Annotated[str, Meta(description="A file with the first prompt.")] = ""
    memorize_to: Annotated[str, Meta(description="GOLDFISH: forget everything between iterations.")] = ""
    at_most: Annotated[Remembered | None, Meta(description="Remember at most this many messages.")] = None
    max_turns: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None, Meta(description="claude-code: the rounds it may take; else one.")
    ] = None
    batch: Annotated[bool, Meta(description="Not here: call a diagram per item instead.")] = False
    batch_input_key: Any = None
    batch_parallel: Any = None
    max_concurrent: Any = None
    subagents: Any = None
    ignore_person: Any = None
    tools: Any = None
    text_format: Any = None
    text_format_file: Any = None
    memory_settings: Any = None
    memory_config: Any = None

    ALIASES: ClassVar[dict[str, str]] = {"memory_profile": "memorize_to"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("person",)
    IDLE: ClassVar[tuple[str, ...]] = (
        "ignore_person", "tools", "text_format", "text_format_file", "memory_settings", "memory_config", "subagents",
        "batch_input_key", "batch_parallel", "max_concurrent",
    )  # fmt: skip


def lower(f: PersonJobFields, context: LoweringContext) -> Fragment:
    args: dict[str, Any] = {"person": context.person(f.person)}
    args["default_prompt"] = context.prompt(f.prompt_file, "prompt_file") if f.prompt_file else f.default_prompt
    first = context.prompt(f.first_prompt_file, "first_prompt_file") if f.first_prompt_file else f.first_only_prompt
    if first:
        args["first_only_prompt"] = first
    check_statements(args["default_prompt"], "prompt_file" if f.prompt_file else "default_prompt", context)
    check_statements(first, "first_prompt_file" if f.first_prompt_file else "first_only_prompt", context)
    if f.batch:
        hint = "Put it into a diagram of its own, and call that with a sub_diagram that has `batch: true`."
        context.error(
            "batch_person", "A person_job asks once for each of its iterations, not per item.", "batch", hint=hint
        )
    if f.max_turns is not None and args["person"].get("service") != CLAUDE_CODE:
        hint = "Remove it, or let the person be of `service: claude-code`."
        context.warning("idle_field", "«max_turns» counts only for a person of claude-code.", "max_turns", hint=hint)
    args |= without_defaults(f, "memorize_to", "at_most", "max_turns") | context.variables(
        args["default_prompt"], first
    )
    if context.conversation:
        args["conversation"] = True
    return single_node(task_node(f, context, "person", args))


PERSON_JOB = NodeType("person_job", PersonJobFields, lower, "Asks a person and gives out the answer.")
