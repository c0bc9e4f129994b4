"""The names an expression can read: which come first, what a node looks like, what a document may not call its own.

The order for a bare name: locals, output variables, node ids, reserved roots, context variables, derived aliases. After
that a name that is known but not yet set is null, and any other is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from penstock.expr.compile import Expression
from penstock.expr.root_names import DATA_ROOTS, HOST_ROOTS, RESERVED_ROOTS

NODE_MEMBERS = ("output", "status", "error", "retry_count", "started_at", "completed_at", "duration_ms")
SYSTEM_MEMBERS = (
    "workflow_id",
    "workflow_version",
    "instance_id",
    "tenant_id",
    "execution_start",
    "current_node",
    "retry_count",
    "parent_instance_id",
)

_NOTHING: Mapping[str, Any] = {}


class NodeView(dict[str, Any]):
    """A node as an expression sees it: its record, and behind that whatever its output holds."""

    __slots__ = ()

    def __init__(self, record: Mapping[str, Any] = _NOTHING) -> None:
        super().__init__((name, record.get(name)) for name in NODE_MEMBERS)

    def __missing__(self, key: str | int) -> Any:
        output = self["output"]
        if isinstance(output, dict):
            return output[key]
        if isinstance(output, (list, tuple)) and isinstance(key, int) and -len(output) <= key < len(output):
            return output[key]
        raise KeyError(key)


class ContextView(dict[str, Any]):
    """The context variables; `variables` among them is the same object again."""

    __slots__ = ("_variables",)

    def __init__(self, variables: Mapping[str, Any]) -> None:
        super().__init__(variables)
        self._variables = variables
        self.pop("variables", None)  # a variable of that name is read as context.variables.variables

    def __missing__(self, key: str) -> Any:
        if key == "variables":
            return self._variables
        raise KeyError(key)


def context_view(variables: Mapping[str, Any]) -> ContextView:
    """The root `context`: `context.X` and `context.variables.X` are the same variable."""
    return ContextView(variables)


def system_view(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The root `sys`: every system variable, null where the run does not know it; the first attempt is retry 0."""
    return {"retry_count": 0, **{name: facts[name] for name in SYSTEM_MEMBERS if name in facts}}


class Names(dict[str, Any]):
    """A view over layers of names; a name is looked up when it is first read, and then kept."""

    __slots__ = ("_aliases", "_known", "_nodes", "_outputs", "_roots", "_variables")

    def __init__(
        self,
        *,
        local: Mapping[str, Any] = _NOTHING,
        outputs: Mapping[str, Any] = _NOTHING,
        nodes: Mapping[str, Mapping[str, Any]] = _NOTHING,
        roots: Mapping[str, Any] = _NOTHING,
        variables: Mapping[str, Any] = _NOTHING,
        aliases: Mapping[str, Any] = _NOTHING,
        known: Collection[str] = (),
    ) -> None:
        super().__init__(local)
        self._outputs = outputs
        self._nodes = nodes  # id -> execution record
        self._roots = roots  # input, secrets, aas, rag, sys; `context` is made from the variables
        self._variables = variables
        self._aliases = aliases
        self._known = known

    def __missing__(self, name: str) -> Any:
        value = self._find(name)
        self[name] = value
        return value

    def _find(self, name: str) -> Any:
        if name in self._outputs:
            return self._outputs[name]
        if name in self._nodes:
            return NodeView(self._nodes[name])
        if name in self._roots:
            return self._roots[name]
        if name == "context":
            return context_view(self._variables)
        for layer in (self._variables, self._aliases):
            if name in layer:
                return layer[name]
        if name in self._known or name in DATA_ROOTS:
            return None
        raise KeyError(name)


def check_roots(
    expression: Expression, known: Collection[str], *, reserved: Collection[str] = RESERVED_ROOTS
) -> list[str]:
    """The names that the expression reads and nobody knows, sorted."""
    return sorted(
        name for name in expression.roots if name not in known and name not in reserved and name not in HOST_ROOTS
    )


def evaluate_all(assignments: Mapping[str, Expression], view: Mapping[str, Any]) -> dict[str, Any]:
    """Every value, all of them computed from the same view before any is written."""
    return {name: expression(view) for name, expression in assignments.items()}
