"""What becomes of an activity's result (P-X.8, P-X.39): its members are variables, or what `outputs` says."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process import feel_text
from penstock.lang.process.expression_names import instance_variables, quoted, replaced_names
from penstock.lang.process.fields import ActivityFields
from penstock.lang.process.flow_conditions import unwrapped
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import KEEP_OUTPUT
from penstock.net.model import SPREAD, Set

#: The name that means the whole result in an expression of `outputs`.
_RESULT = "output"


def result_sets(f: ActivityFields, context: LoweringContext) -> tuple[Set, ...]:
    """Names mean members of the result, and where it has none of that name, variables; `output` is all of it, and the
    variable `*` stands for all of its members."""
    if f.outputs is None:
        return KEEP_OUTPUT
    sets: list[Set] = []
    for name, value in f.outputs.items():
        path = f"outputs/{name}"
        if isinstance(value, str) and value.strip().startswith(("${", "=")):
            text = context.expression(value, path, *_names(value))  # they need not be variables of the instance
            sets.append(Set(name=name, expr=_over_result(text) if text else "null"))
        elif name != SPREAD:
            sets.append(Set(name=name, value=context.value(value, path)))
        else:
            hint = "Write `${output}`, or name the variables."
            context.error("wrong_type", "«*» is for all members of a result.", path, hint=hint)
    return tuple(sets)


def _names(value: str) -> set[str]:
    """Of an expression as the author wrote it; none where it cannot be read, which is said elsewhere."""
    text = unwrapped(value)
    try:
        text = feel_text.as_expression(text) if text.startswith("=") else text
        return {_RESULT, *instance_variables(compile_expression(text, words=True).roots)}
    except PenstockError:
        return set()


def _over_result(text: str) -> str:
    names = instance_variables(compile_expression(text, words=True).roots) - {_RESULT}
    instead = {name: f"fn.coalesce(output[{quoted(name)}], context.variables[{quoted(name)}])" for name in names}
    return replaced_names(text, instead) if instead else text
