"""The context in which an element is lowered: the definition around it, its expressions, and its report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ExprSyntaxError, PenstockError
from penstock.expr import compile_expression, foreign_constant
from penstock.lang.contract import Setting
from penstock.lang.process import feel_text, juel_text
from penstock.lang.process.durations import is_rough, milliseconds, seconds_of
from penstock.lang.process.expression_names import beside_elements, instance_variables
from penstock.lang.process.flow_conditions import FlowConditions, read_flow_conditions, unwrapped
from penstock.lang.process.foreign_scripts import foreign_language
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.schema import Definition, Element
from penstock.lang.report import ElementReport, Report
from penstock.net.model import Net

_RESERVED_KEYS = ("$expr", "$template")


@dataclass
class SharedContext:
    """What all elements of one definition share while it is lowered."""

    definition: Definition
    graph: ProcessGraph
    report: Report
    setting: Setting
    variables: set[str] = field(default_factory=set)  # names that expressions read
    carried: set[str] = field(default_factory=set)  # settings of the tenant that a run takes along
    children: dict[str, Net] = field(default_factory=dict)
    read_conditions: dict[str, FlowConditions] = field(default_factory=dict)  # by element
    asked_choices: dict[str, dict[str, str]] = field(default_factory=dict)  # by gateway: flow → word
    dependencies: list[tuple[str, str, str]] = field(default_factory=list)  # type, id, pointer
    jobs: list[tuple[str, str, str]] = field(default_factory=list)  # type of jobs, pointer, element

    def flow_conditions(self, element: Element) -> FlowConditions:
        """The conditions of the transitions that leave an element, read once: what is wrong is reported once."""
        if element.id not in self.read_conditions:
            flows = self.graph.outgoing[element.id]
            self.read_conditions[element.id] = read_flow_conditions(element, flows, self.definition, self.report)
        return self.read_conditions[element.id]

    def scope(self, level: str) -> str:
        """The scope of the net in which the elements of a level lie. In an ad-hoc sub-process there is one for each
        choice."""
        return steps_scope(level) if self.graph.is_ad_hoc(level) else self.frame_scope(level)

    def frame_scope(self, level: str) -> str:
        """The scope in which a level begins and ends. In a level with event sub-processes it is an inner scope, which
        they can interrupt."""
        return main_scope(level) if self.graph.event_sub_processes(level) else self.outer_scope(level)

    def outer_scope(self, level: str) -> str:
        """The scope in which the event sub-processes of a level lie, one for each of its instances; around that of a
        transaction is one that undoes."""
        if self.graph.has_output(level):
            return once_scope(level)
        return transaction_scope(level) if self.graph.is_transaction(level) else level

    def context_of(self, element: Element) -> LoweringContext:
        return LoweringContext(self, element)


def main_scope(level: str) -> str:
    return f"{level}.main"


def once_scope(level: str) -> str:
    return f"{level}.once"


def steps_scope(level: str) -> str:
    return f"{level}.steps"


def transaction_scope(level: str) -> str:
    return f"{level}.transaction"


@dataclass(frozen=True)
class LoweringContext(ElementReport):
    """One element of the definition while it is lowered."""

    shared: SharedContext
    element: Element

    @property
    def id(self) -> str:
        return self.element.id

    @property
    def pointer(self) -> str:
        return self.element.pointer

    @property
    def scope(self) -> str:
        return self.shared.scope(self.element.fields.parent)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, text: str, path: str, *known: str) -> str | None:
        """The text of an expression; None when it cannot be read. Names that are not `known` are instance variables."""
        return check_expression(unwrapped(text), self.shared, self.at(path), self.id, *known)

    def value(self, value: Any, path: str, *known: str) -> Any:
        """The author's value, in which a text that is one ${…} becomes the expression."""
        if isinstance(value, str):
            if _is_one_expression(value.strip()):
                return {"$expr": self.expression(value, path, *known) or "null"}
            return value
        if isinstance(value, list):
            return [self.value(item, f"{path}/{i}", *known) for i, item in enumerate(value)]
        if isinstance(value, dict):
            if len(value) == 1 and next(iter(value)) in _RESERVED_KEYS:
                hint = "Give the map a second key, or the key another name."
                self.error("reserved_key", f"A map cannot have {next(iter(value))} as its only key.", path, hint=hint)
                return None
            return {name: self.value(item, f"{path}/{name}", *known) for name, item in value.items()}
        return value

    def literal(self, value: Any, path: str) -> Any:
        """The author's value unchanged; it must not look like an expression of the net."""
        result = value
        pending = [value]
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                if len(part) == 1 and next(iter(part)) in _RESERVED_KEYS:
                    hint = "Give the map a second key, or the key another name."
                    message = f"A map cannot have {next(iter(part))} as its only key."
                    self.error("reserved_key", message, path, hint=hint)
                    result = None
                pending += part.values()
            elif isinstance(part, list):
                pending += part
        return result

    def duration(self, value: str | float, path: str) -> tuple[int, str | None]:
        """The duration in milliseconds, or an expression of the moment in milliseconds."""
        if isinstance(value, int | float):
            return round(value * 1000), None
        if value.strip().startswith("${"):
            text = self.expression(value, path)
            return 0, f"sys.now + fn.round({seconds_of(text)} * 1000)" if text else None
        duration_ms = milliseconds(value)
        if duration_ms is None:
            hint = "Write an ISO 8601 duration such as PT30M or P1D, or a number of seconds."
            self.error("bad_duration", f"«{value}» is not a duration.", path, hint=hint)
        elif is_rough(value):
            message = f"«{value}» is {duration_ms // 86_400_000} days here: a year counts 365 and a month 30."
            hint = "Write the days, or a date that an expression gives."
            self.warning("rough_duration", message, path, hint=hint)
        return duration_ms or 0, None


def check_expression(
    text: str, shared: SharedContext, at: str, node: str, *known: str, condition: bool = False
) -> str | None:
    """The text of the expression that the net has; what begins with `=` is FEEL, `#{…}` is JUEL, and a `condition` asks
    for true."""
    if foreign := foreign_language(text):
        message = f"«{foreign[1]}» is written in {foreign[0]}, which is not run here."
        hint = "Write it as FEEL (=amount > 1000), as JUEL (${amount gt 1000}), or as amount > 1000."
        shared.report.error("expression_language", message, at, hint=hint, node=node)
        return None
    dialect = "FEEL" if text.startswith("=") else "JUEL" if text.startswith("#{") else ""
    try:
        with beside_elements(shared.definition.elements.keys() - set(known)):
            if dialect == "FEEL":
                text = feel_text.as_expression(text, condition=condition)
            elif dialect:
                text = juel_text.as_expression(text)
    except ExprSyntaxError as refused:
        message = f"This {dialect} cannot be read: {refused}"
        hint = juel_text.HINT if dialect == "JUEL" else refused.hint
        shared.report.error("expression_syntax", message, at, hint=hint, node=node)
        return None
    try:
        compiled = compile_expression(text, words=True)
    except PenstockError as error:
        message = f"The expression cannot be read: {error}"
        shared.report.error("expression_syntax", message, at, hint=error.hint, node=node)
        return None
    if "secrets" in compiled.roots:
        message = "An expression of a process reads no secrets: what it gives is kept, shown, and told to agents."
        hint = "Register the tool, the agent or the connection with its secret, and name that here."
        shared.report.error("secret_in_expression", message, at, hint=hint, node=node)
        return None
    names = instance_variables(compiled.roots) - set(known)
    for name in sorted(names & shared.definition.elements.keys()):
        if re.search(rf"\b{re.escape(name)}\s*[.\[]", text):
            continue  # a member of the element: its output, its status
        message = f"«{name}» means the element of that id here, not a variable."
        hint = f"Write context['{name}'] for the variable, or give the element another id."
        shared.report.warning("name_of_element", message, at, hint=hint, node=node)
    for name in sorted(names - shared.definition.elements.keys()):
        if hint := foreign_constant(name):
            message = f"«{name}» is the name of a variable here, and no constant."
            shared.report.warning("name_of_constant", message, at, hint=hint, node=node)
    shared.variables |= names - shared.definition.elements.keys()
    return text


def _is_one_expression(text: str) -> bool:
    """Whether all of it is one ${…}, in which there may be braces and texts of its own."""
    depth, quote = 0, ""
    for at, letter in enumerate(text[1:] if text.startswith("${") else "", 1):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in ("'", '"'):
            quote = letter
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if not depth:
                return at == len(text) - 1
    return False
