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


class PersonJobFields(WorkFields):
    person: Annotated[str, Meta(description="Who answers; stands under `persons`.")] = ""
    default_prompt: Annotated[str, Meta(description="The prompt; {{name}} stands for an input.")] = ""
    first_only_prompt: Annotated[str, Meta(description="The prompt of the first iteration, if it differs.")] = ""
    prompt_file: Annotated[str, Meta(description="A file with the prompt, read when the diagram is released.")] = ""
    first_prompt_file: Annotated[str, Meta(description="A file with the first prompt.")] = ""
    memorize_to: Annotated[str, Meta(description="GOLDFISH: forget everything between iterations.")] = ""
    at_most: Annotated[Remembered | None, Meta(description="Remember at most this many messages.")] = None
    ignore_person: Any = None
    tools: Any = None
    text_format: Any = None
    text_format_file: Any = None
    memory_settings: Any = None
    memory_config: Any = None

    ALIASES: ClassVar[dict[str, str]] = {"memory_profile": "memorize_to"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("person",)
    IDLE: ClassVar[tuple[str, ...]] = (
        "ignore_person", "tools", "text_format", "text_format_file", "memory_settings", "memory_config",
    )  # fmt: skip


def lower(f: PersonJobFields, context: LoweringContext) -> Fragment:
    args: dict[str, Any] = {"person": context.person(f.person)}
    args["default_prompt"] = context.file(f.prompt_file, "prompt_file") if f.prompt_file else f.default_prompt
    first = context.file(f.first_prompt_file, "first_prompt_file") if f.first_prompt_file else f.first_only_prompt
    if first:
        args["first_only_prompt"] = first
    args |= without_defaults(f, "memorize_to", "at_most")
    if context.conversation:
        args["conversation"] = True
    return single_node(task_node(f, context, "person", args))


PERSON_JOB = NodeType("person_job", PersonJobFields, lower, "Asks a person and gives out the answer.")
