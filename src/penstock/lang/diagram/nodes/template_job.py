"""template_job (D-X.15): fills a text; {{name}} stands for an input, and {% if %} and {% for %} are Jinja's."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node
from penstock.lang.diagram.statements import check_statements


class TemplateJobFields(WorkFields):
    template: Annotated[str, Meta(description="The text.")] = ""
    template_path: Annotated[str, Meta(description="A file with the text, read when the diagram is released.")] = ""
    variables: Annotated[dict[str, Any], Meta(description="More names for the text, made from the inputs.")] = {}
    strict: Annotated[bool, Meta(description="Fail when a name is not there, instead of leaving it empty.")] = False
    output_path: Annotated[str, Meta(description="Also write the text to this file.")] = ""
    engine: Annotated[
        Literal["", "internal", "jinja2"],
        Meta(description="jinja2: filters and expressions, too; else only names, and statements where there are some."),
    ] = ""

    ALIASES: ClassVar[dict[str, str]] = {"strict_mode": "strict", "template_content": "template"}


def lower(f: TemplateJobFields, context: LoweringContext) -> Fragment:
    text = context.file(f.template_path, "template_path") if f.template_path else f.template
    if not text and not f.template_path:
        context.error("missing_field", "«template» is missing.", hint="Write `template: Hello {{name}}`.")
    check_statements(text, "template_path" if f.template_path else "template", context)
    args: dict[str, Any] = {"template": text}
    if f.variables:
        args["variables"] = context.checked_literal(f.variables)
    if f.strict:
        args["strict"] = True
    if f.engine == "jinja2":
        args["engine"] = f.engine
    if f.output_path:
        context.check_inside(f.output_path, "output_path")
        args["output_path"] = f.output_path
    args |= context.variables(text, f.variables, f.output_path)
    return single_node(task_node(f, context, "template", args))


TEMPLATE_JOB = NodeType("template_job", TemplateJobFields, lower, "Fills a text with its inputs.")
