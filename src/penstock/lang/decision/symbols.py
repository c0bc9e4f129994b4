"""The symbol table of a workflow: the names its expressions may read, and the names of its outputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from penstock.expr import RESERVED_ROOTS
from penstock.lang.decision.workflow import Workflow
from penstock.lang.document import child_pointer
from penstock.lang.report import Report

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Roots that every expression knows beside those of the language.
ROOTS = frozenset(RESERVED_ROOTS)


class SymbolTable:
    """`outputs` has per node the name of its output; `known` is every root an expression may begin with."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.explicit = {id: output_variable(workflow, id) for id in workflow.nodes}
        self.derived = {id: node.type.alias(id) if not self.explicit[id] else "" for id, node in workflow.nodes.items()}
        assigned = {name for node in workflow.nodes.values() for name in _assigned_variables(node.fields)}
        self.variables = {*workflow.context.variables, *assigned}
        declared = {
            *ROOTS,
            *workflow.nodes,
            *workflow.unread,
            *(v for v in self.explicit.values() if v),
            *self.variables,
        }
        # a derived name has the lowest priority: where it means something else, the output has no name
        self.outputs = {
            id: self.explicit[id] or ("" if self.derived[id] in declared else self.derived[id]) for id in workflow.nodes
        }
        self.known = declared | {name for name in self.outputs.values() if name}
        uses = Counter(self.outputs[id] for id in workflow.nodes if self.outputs[id] and not self.explicit[id])
        self.ambiguous = {name for name, n in uses.items() if n > 1}

    def check(self, report: Report) -> None:
        for id, node in self.workflow.nodes.items():
            variable = self.explicit[id]
            for name, at in ((id, "id"), (variable, "output/variable")):
                self._check(name, f"{node.pointer}/{at}", report, id)
            for name in _assigned_variables(node.fields):
                self._check(
                    name, child_pointer(f"{node.pointer}/side_effects/set_variables", name), report, id, key=True
                )
        for name in self.workflow.context.variables:
            self._check(name, child_pointer("/context/variables", name), report, key=True)

    @staticmethod
    def _check(name: str, at: str, report: Report, node: str = "", *, key: bool = False) -> None:
        if name in ROOTS:
            message = f"«{name}» already means something in every expression."
            report.error("reserved_name", message, at, node=node, hint="Choose another name.", key=key)
        elif name and not _NAME.match(name):
            message = f"No expression can read «{name}»."
            hint = "Use letters, digits and _, not beginning with a digit."
            report.warning("unreadable_name", message, at, node=node, hint=hint, key=key)


def output_variable(workflow: Workflow, id: str) -> str:
    output = workflow.nodes[id].fields.output
    return output.variable if output is not None else ""


def _assigned_variables(fields: object) -> Iterable[str]:
    effects = getattr(fields, "side_effects", None)
    return effects.set_variables if effects is not None else ()
