"""Which variables the nodes of a diagram share beyond what connections bring, as the original shares them.

Three things give such a variable: an inline script (every name its outermost lines set), a condition that counts its
loop (`expose_index_as`), and a start (the members of its data). Only what another node reads and no connection brings
is shared: a diagram that names everything has none, and its net is what its connections say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.diagram.graph import DiagramGraph
from penstock.lang.diagram.nodes.code_job import CodeJobFields
from penstock.lang.diagram.nodes.condition import ConditionFields
from penstock.lang.diagram.nodes.start import StartFields
from penstock.lang.diagram.nodes.sub_diagram import SubDiagramFields
from penstock.lang.diagram.python_words import in_our_words
from penstock.lang.diagram.schema import Diagram, DiagramEdge, DiagramNode
from penstock.lang.diagram.template_names import names_in
from penstock.lang.python_scripts import result_names, script_names


@dataclass
class SharedVariables:
    """`given` is what each node could give, `taken` what others take of it."""

    diagram: Diagram
    graph: DiagramGraph
    variable: Any  # the name under which a connection brings what it carries
    given: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.given = {label: given for label, node in self.diagram.nodes.items() if (given := _gives(node))}

    @cached_property
    def names(self) -> set[str]:
        """All that is shared."""
        given = set[str]().union(*self.given.values())
        if not given:
            return set()
        wanted = set[str]().union(*(self._wants(label) for label in self.diagram.nodes))
        counts = (node.fields.expose_index_as for node in self._conditions())
        return given & wanted & self._first_given() | {name for name in counts if name}

    def _first_given(self) -> set[str]:
        """Names that some node gives without reading them: one that every script only changes has no first value."""
        nodes = self.diagram.nodes
        return set[str]().union(*(given - _changes(nodes[label]) for label, given in self.given.items()))

    def taken(self, label: str) -> set[str]:
        """What of a node's variables others read."""
        return self.given.get(label, set()) & self.names

    def unnamed(self, label: str) -> list[DiagramEdge]:
        """The connections that bring what they carry under no name of their own: its members are names."""
        return [edge for edge in self.graph.incoming[label] if edge.fields.label in ("", "default")]

    def members(self, label: str) -> set[str]:
        """The members that unnamed connections are known to bring."""
        return set[str]().union(*(_members(self.diagram.nodes[edge.source]) for edge in self.unnamed(label)))

    def _conditions(self) -> list[Any]:
        return [node for node in self.diagram.nodes.values() if isinstance(node.fields, ConditionFields)]

    def _wants(self, label: str) -> set[str]:
        """The names that a node reads and its connections do not bring."""
        brought = {self.variable(edge) for edge in self.graph.incoming[label]}
        return _reads(self.diagram.nodes[label]) - brought - {"default"}


def _gives(node: DiagramNode) -> set[str]:
    fields = node.fields
    if isinstance(fields, CodeJobFields):
        return script_names(fields.code)[1] if is_inline(fields) else set()
    if isinstance(fields, ConditionFields):
        return {fields.expose_index_as} - {""}
    if isinstance(fields, StartFields) and isinstance(fields.data, dict):
        return {name for name in fields.data if isinstance(name, str) and name.isidentifier()}
    return set()


def _changes(node: DiagramNode) -> set[str]:
    """The names that a script reads before it sets them, as in `total += row`."""
    fields = node.fields
    return script_names(fields.code)[0] if isinstance(fields, CodeJobFields) and is_inline(fields) else set()


def _reads(node: DiagramNode) -> set[str]:
    fields = node.fields
    if isinstance(fields, CodeJobFields):
        return script_names(fields.code)[0] if is_inline(fields) else set()
    texts = {name: getattr(fields, name) for name in fields.__struct_fields__} | node.rest
    names = names_in(texts)
    expressions = [fields.expression] if isinstance(fields, ConditionFields) else []
    if isinstance(fields, SubDiagramFields):
        expressions += fields.input_mapping.values()
    for text in expressions:
        try:
            names |= compile_expression(in_our_words(text), words=True).roots
        except PenstockError:
            continue
    return names


def _members(node: DiagramNode) -> set[str]:
    fields = node.fields
    if isinstance(fields, CodeJobFields):
        return result_names(fields.code) if is_inline(fields) else set()
    if isinstance(fields, StartFields) and isinstance(fields.data, dict):
        return {str(name) for name in fields.data}
    if isinstance(fields, SubDiagramFields):
        return set(fields.output_mapping.values())
    return set()


def is_inline(fields: CodeJobFields) -> bool:
    """A script that stands in the diagram and is run line by line."""
    return bool(fields.code.strip()) and not fields.file_path and not fields.function_name and not is_path(fields.code)


def is_path(code: str) -> bool:
    return "\n" not in code.strip() and code.strip().endswith(".py")
