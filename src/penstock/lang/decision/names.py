"""The names of a workflow: what its expressions may read, and the names that outputs get when nobody named them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.expr import RESERVED_ROOTS
from penstock.lang.document import step
from penstock.lang.report import Report

if TYPE_CHECKING:
    from penstock.lang.decision.schema import Workflow

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Roots that every expression knows beside those of the language.
ROOTS = frozenset(RESERVED_ROOTS)


class Names:
    """`out` has per node the name its output goes under; `known` is every root an expression may begin with."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.explicit = {id: variable_of(workflow, id) for id in workflow.nodes}
        self.derived = {id: node.type.alias(id) if not self.explicit[id] else "" for id, node in workflow.nodes.items()}
        written = {name for one in workflow.nodes.values() for name in _set_by(one.fields)}
        self.variables = {*workflow.context.variables, *written}
        strong = {*ROOTS, *workflow.nodes, *workflow.unread, *(v for v in self.explicit.values() if v), *self.variables}
        # an alias has the lowest priority: where its name means something else nobody would ever see it
        self.out = {
            id: self.explicit[id] or ("" if self.derived[id] in strong else self.derived[id]) for id in workflow.nodes
        }
        self.known = strong | {name for name in self.out.values() if name}
        counted = Counter(self.out[id] for id in workflow.nodes if self.out[id] and not self.explicit[id])
        self.ambiguous = {name for name, n in counted.items() if n > 1}

    def check(self, report: Report) -> None:
        for id, node in self.workflow.nodes.items():
            variable = self.explicit[id]
            for name, at in ((id, "id"), (variable, "output/variable")):
                self._check(name, f"{node.pointer}/{at}", report, id)
            for name in _set_by(node.fields):
                self._check(name, step(f"{node.pointer}/side_effects/set_variables", name), report, id, key=True)
        for name in self.workflow.context.variables:
            self._check(name, step("/context/variables", name), report, key=True)

    @staticmethod
    def _check(name: str, at: str, report: Report, node: str = "", *, key: bool = False) -> None:
        if name in ROOTS:
            message = f"«{name}» already means something in every expression."
            report.error("reserved_name", message, at, node=node, hint="Choose another name.", key=key)
        elif name and not _NAME.match(name):
            message = f"No expression can read «{name}»."
            hint = "Use letters, digits and _, not beginning with a digit."
            report.warning("unreadable_name", message, at, node=node, hint=hint, key=key)


def variable_of(workflow: Workflow, id: str) -> str:
    output = workflow.nodes[id].fields.output
    return output.variable if output is not None else ""


def _set_by(fields: object) -> Iterable[str]:
    effects = getattr(fields, "side_effects", None)
    return effects.set_variables if effects is not None else ()
