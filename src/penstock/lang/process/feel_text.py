"""FEEL of process files: `=amount > 1000` becomes a call of fn.feel that names the variables it reads.

The kernel evaluates it with every other expression: it is pure, and what FEEL says about decimals, null and lists holds
as it stands. A condition that is null is not met. A name of a function that is not called is a variable. A function
that is not known is refused: FEEL itself would make null of its call, and nobody would hear of it.
"""

from __future__ import annotations

import re
from typing import Any

from penstock import feel
from penstock.feel import nodes as N
from penstock.feel.evaluation import syntax_error
from penstock.lang.process.expression_names import variable_text

_CLOCK = frozenset({"now", "today"})


def as_expression(text: str, *, condition: bool = False) -> str:
    """The expression for a text that begins with `=`; ExprSyntaxError says what cannot be read."""
    source = text.strip()[1:].strip()
    compiled = feel.compile(source)
    _check_calls(compiled)
    if isinstance(compiled.node, N.Name):
        name = variable_text(compiled.node.name)  # it means the same in both languages
        return f"{name} == true" if condition else name
    variables = ", ".join(f"{_quoted(name)}: {variable_text(name)}" for name in compiled.names)
    clock = ", sys.now" if _reads_clock(compiled.node) else ""
    call = f"fn.feel({_text(source)}, {{{variables}}}{clock})"
    return f"{call} == true" if condition else call


def _check_calls(compiled: feel.Expression) -> None:
    """Variables hold no functions: what is called and comes from outside has to be in the table."""
    unknown = set(compiled.names) - feel.FUNCTIONS.keys()
    pending = [compiled.node] if unknown else []
    while pending:
        node = pending.pop()
        if isinstance(node, N.Call) and isinstance(node.function, N.Name) and node.function.name in unknown:
            raise syntax_error(compiled.source, node.function.at, f"There is no function «{node.function.name}»")
        pending += N.parts(node)


def _text(source: str) -> str:
    """A string of expressions, which have no escapes: parts of it where both quotes are used."""
    if "'" not in source:
        return f"'{source}'"
    if '"' not in source:
        return f'"{source}"'
    parts = re.split("(')", source)
    quoted = [f'"{part}"' if part == "'" else f"'{part}'" for part in parts if part]
    return f"[{', '.join(quoted)}]"


def _quoted(name: str) -> str:
    return f'"{name}"' if '"' not in name else f"'{name}'"


def _reads_clock(node: Any) -> bool:
    if isinstance(node, N.Name) and node.name in _CLOCK:
        return True
    if isinstance(node, tuple | list):
        return any(_reads_clock(part) for part in node)
    if not isinstance(node, N.Node):
        return False
    return any(_reads_clock(getattr(node, field)) for field in type(node).__dataclass_fields__)
