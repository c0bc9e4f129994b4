"""code_job (D-X.15): runs a piece of Python in a sandbox; inputs are variables, `result` or `return` is the output."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node
from penstock.lang.python_scripts import check_script
from penstock.lang.report import PlaceReport

_PATH = re.compile(r"[\w./-]+\.py")


class CodeJobFields(WorkFields):
    language: Annotated[Literal["python"], Meta(description="The language of the code.")] = "python"
    code: Annotated[str, Meta(description="The code, or the path of a .py file.")] = ""
    file_path: Annotated[str, Meta(description="A file with the code, read when the diagram is released.")] = ""
    function_name: Annotated[str, Meta(description="The function of the file to call with the inputs.")] = ""

    ALIASES: ClassVar[dict[str, str]] = {
        "code_type": "language", "filePath": "file_path", "functionName": "function_name",
    }  # fmt: skip


def lower(f: CodeJobFields, context: LoweringContext) -> Fragment:
    path = f.file_path or (f.code.strip() if _PATH.fullmatch(f.code.strip()) else "")
    code = context.file(path, "file_path" if f.file_path else "code") if path else f.code
    if not path and not code.strip():
        context.error("missing_field", "«code» is missing.", hint="Write `code: result = default`.")
    if f.retry is not None and f.retry.max:
        message = "«retry» tries a script again that ran out of time or memory, but not one that raises an exception."
        hint = (
            "The sandbox has no clock, no chance and no network, so the same inputs raise again. "
            "Go on with `on_error: continue`, or do what may fail in an api_job or a handler."
        )
        context.warning("retry_cannot_help", message, "retry", hint=hint)
    if not any(finding.where.pointer == context.at("language") for finding in context.report.findings):
        report = PlaceReport(context.report, context.at("file_path" if f.file_path else "code"), context.label)
        check_script(code, {*context.names, "default"}, report, f.function_name)
    args: dict[str, Any] = {"language": f.language, "code": code}
    if f.function_name:
        args["function"] = f.function_name
    return single_node(task_node(f, context, "code", args))


CODE_JOB = NodeType("code_job", CodeJobFields, lower, "Runs Python in a sandbox.")
