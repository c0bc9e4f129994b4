"""code_job (D-X.15): runs a piece of Python in a sandbox; inputs are variables, `result` or `return` is the output."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.file_names import code_names
from penstock.lang.diagram.lowering_context import LoweringContext, quoted
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node
from penstock.lang.python_scripts import calls_main, check_script, function_arguments, script_names
from penstock.lang.report import PlaceReport
from penstock.net.model import MERGE, Edge, Node, Set

_PATH = re.compile(r"[\w./-]+\.py")


class CodeJobFields(WorkFields):
    language: Annotated[Literal["python"], Meta(description="The language of the code.")] = "python"
    code: Annotated[str, Meta(description="The code, or the path of a .py file.")] = ""
    file_path: Annotated[str, Meta(description="A file with the code, read when the diagram is released.")] = ""
    function_name: Annotated[str, Meta(description="The function of the file to call with the inputs.")] = ""

    ALIASES: ClassVar[dict[str, str]] = {
        "code_type": "language", "filePath": "file_path", "functionName": "function_name",
    }  # fmt: skip


#: How a script looks for a name before it reads it; the sandbox has `locals` only.
_LOOKS_AROUND = re.compile(r"\b(dir|globals)\(\)")
_AROUND = {"dir": "sorted(locals())", "globals": "locals()"}
#: What a script of the public form may read without being given it.
_USUAL = ("default", "inputs", "input_data", "node_id")


def lower(f: CodeJobFields, context: LoweringContext) -> Fragment:
    path = f.file_path or (f.code.strip() if _PATH.fullmatch(f.code.strip()) else "")
    code = context.file(path, "file_path" if f.file_path else "code", code_names) if path else f.code
    code = _LOOKS_AROUND.sub(lambda call: _AROUND[call[1]], code)
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
        check_script(code, {*context.names, *context.shared, *context.members, *_USUAL}, report, f.function_name)
    args: dict[str, Any] = {"language": f.language, "code": code}
    if function := f.function_name or ("main" if calls_main(code) else ""):
        if "result" not in script_names(code)[1]:  # else the script calls it itself
            args["function"] = function
    reads = _arguments(code, args["function"]) if "function" in args else script_names(code)[0]
    args |= context.variables_named(reads - context.names - {*_USUAL})
    return _keeping(f, context, args) if context.taken else single_node(task_node(f, context, "code", args))


def _arguments(code: str, function: str) -> set[str]:
    """The names that a function asks for, besides what the script around it reads."""
    return function_arguments(code, function) | script_names(code)[0]


def _keeping(f: CodeJobFields, context: LoweringContext, args: dict[str, Any]) -> Fragment:
    """A script some of whose variables others read: a task gives them back beside its result, and the node sets them
    as variables of the run and passes the result on."""
    if f.on_error == "continue":
        message = f"Variables of «{context.label}» are not shared: an error may go on instead of its result."
        context.warning("not_shared", message, "on_error", hint="Give others what they need in `result`.")
        return single_node(task_node(f, context, "code", args))
    kept = sorted(context.taken)
    run = task_node(f, context, "code", {**args, "keep": kept}, id=f"{context.label}.script", origin=context.label)
    sets = tuple(
        Set(name=name, expr=f"fn.coalesce(answer.variables[{quoted(name)}], context[{quoted(name)}])") for name in kept
    )
    give = Node(
        id=context.label, kind="route", type=context.type, join=MERGE, sets=sets, value={"$expr": "answer.result"}
    )
    edge = Edge(id=f"{run.id}>{give.id}", src=run.id, dst=give.id, var="answer")
    return Fragment((run, give), run.id, give.id, (edge,))


CODE_JOB = NodeType("code_job", CodeJobFields, lower, "Runs Python in a sandbox.")
