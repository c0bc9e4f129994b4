"""sub_diagram (D-X.15): another diagram as one node, by file or written inline; `batch` runs it once per item.

The called net gets the body of the one connection that leads here; with several connections, or `pass_input_data`, a
map of all of them by name; with `input_mapping` what the mapping says.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from penstock.errors import PenstockError, Place
from penstock.lang.diagram.file_names import diagram_names, first_found
from penstock.lang.diagram.lowering_context import LoweringContext, quoted
from penstock.lang.diagram.nodes.contract import GROUP, Fragment, NodeType, WorkFields, net_node, work_parts
from penstock.lang.report import did_you_mean
from penstock.net.codec import content_hash
from penstock.net.model import Body, Effect, Net, Node


class SubDiagramFields(WorkFields):
    diagram_name: Annotated[str, Meta(description="The file of the diagram, read when this one is released.")] = ""
    diagram: Annotated[dict[str, Any] | None, Meta(description="The diagram itself, written inline.")] = None
    pass_input_data: Annotated[bool, Meta(description="Give it all inputs as a map by name.")] = False
    input_mapping: Annotated[dict[str, str], Meta(description="Name there → expression over the inputs here.")] = {}
    output_mapping: Annotated[dict[str, str], Meta(description="Output there → name in this node's result.")] = {}
    batch: Annotated[bool, Meta(description="Run it once for every item of a list.")] = False
    batch_input_key: Annotated[str, Meta(description="batch: the input that is the list.")] = "items"
    batch_parallel: Annotated[bool, Meta(description="batch: items at the same time, not one after another.")] = True
    diagram_format: Annotated[str, Meta(description="Read and ignored: the file says what it is.")] = ""
    ignore_if_sub: Any = None

    ALIASES: ClassVar[dict[str, str]] = {
        "file": "diagram_name", "passInputData": "pass_input_data", "ignoreIfSub": "ignore_if_sub",
    }  # fmt: skip
    IDLE: ClassVar[tuple[str, ...]] = ("ignore_if_sub",)


#: How the output of a diagram is called that has only one endpoint.
_THE_OUTPUT = ("result", "output", "default")


def lower(f: SubDiagramFields, context: LoweringContext) -> Fragment:
    child, children = _child(f, context)
    digest = content_hash(child) if child is not None else ""
    args: dict[str, Any] = {"net": digest, "name": child.name if child is not None else f.diagram_name}
    results = [n.result for n in child.nodes if n.result is not None] if child is not None else []
    if f.output_mapping:
        only = results[0] if len(results) == 1 else ""
        mapping = {only if only and name in _THE_OUTPUT else name: to for name, to in f.output_mapping.items()}
        args["outputs"] = context.checked_literal(mapping)
        for name in mapping:
            if results and name not in results:
                hint = did_you_mean(name, results, "Name an endpoint of the called diagram.")
                context.error(
                    "unknown_node", f"The called diagram has no endpoint «{name}».", "output_mapping", hint=hint
                )
    elif len(results) == 1:
        args["output"] = results[0]
    if f.batch:
        return _batch(f, context, args, children)
    args["input"] = _input(f, context)
    node = net_node(f, context, kind="call", group=GROUP, effect=Effect(executor="call", args=args), **work_parts(f))
    return Fragment((node,), node.id, node.id, children=children)


def _child(f: SubDiagramFields, context: LoweringContext) -> tuple[Net | None, dict[str, Net]]:
    if bool(f.diagram_name) == (f.diagram is not None):
        message = "A sub_diagram has either «diagram_name» or «diagram»."
        context.error("missing_field", message, hint="Write `diagram_name: folder/file.yaml`.")
        return None, {}
    call = context.setting.call
    assert call is not None, "whoever lowers a diagram says how called ones are compiled"
    if f.diagram is not None:
        pointer = context.at("diagram")
        lowered, findings = call(context.report.document.inside(pointer, f.diagram))
        context.report.findings.extend(findings)
    else:
        lowered, findings = call(_file_name(f.diagram_name, context))
        for finding in findings:
            has_place = finding.where != Place()  # a file that is not there has no place inside
            message = f"In «{f.diagram_name}» at {finding.where}: {finding.message}" if has_place else finding.message
            place = context.report.document.place(context.at("diagram_name"))
            context.report.findings.append(
                msgspec.structs.replace(finding, message=message, where=place, node=context.label)
            )
    if lowered is None:
        return None, {}
    return lowered.net, {**lowered.children, content_hash(lowered.net): lowered.net}


def _file_name(name: str, context: LoweringContext) -> str:
    """The file that a name without its ending means; the name itself when there is none."""
    resolve = context.setting.resolve
    if resolve is None:
        return name
    try:
        return first_found(diagram_names(name), resolve)[0]
    except (OSError, PenstockError):
        return name


def _input(f: SubDiagramFields, context: LoweringContext) -> Any:
    if f.input_mapping:
        read = {name: context.expression(text, "input_mapping") for name, text in f.input_mapping.items()}
        context.checked_literal(f.input_mapping)
        return {name: {"$expr": found[0] if found else "null"} for name, found in read.items()}
    if f.pass_input_data or len(context.inputs) > 1:
        return {name: {"$expr": name} for name in sorted(context.names) if name.isascii()}
    return {"$expr": "default"} if context.inputs else None


def _batch(f: SubDiagramFields, context: LoweringContext, args: dict[str, Any], children: dict[str, Net]) -> Fragment:
    """A scope with one call per item; its output is the list of theirs."""
    key = f.batch_input_key
    items = key if key in context.names else f"fn.if(fn.type_of(default) == 'array', default, default[{quoted(key)}])"
    call = Node(
        id=f"{context.label}.item", origin=context.label, type=context.type, kind="call", scope=context.label,
        group=GROUP, effect=Effect(executor="call", args={**args, "input": {"$expr": "item"}}),
    )  # fmt: skip
    parts = {name: part for name, part in work_parts(f).items() if name in ("max_iter", "on_error")}
    call = msgspec.structs.replace(
        call, **{name: part for name, part in work_parts(f).items() if name in ("retry", "timeout_ms")}
    )
    body = Body(mode="each" if f.batch_parallel else "each_seq", items=items, entry=call.id, collect="outputs")
    scope = net_node(f, context, kind="scope", body=body, **parts)
    return Fragment((scope, call), scope.id, scope.id, children=children)


SUB_DIAGRAM = NodeType("sub_diagram", SubDiagramFields, lower, "Runs another diagram as one node.")
