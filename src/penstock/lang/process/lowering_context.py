"""Where an element stands while it is lowered: what is around it, and a way to say that something is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.contract import Setting
from penstock.lang.process.conditions import Choice, choice_of, unwrapped
from penstock.lang.process.durations import milliseconds
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.names import variables_of
from penstock.lang.process.schema import Definition, Element
from penstock.lang.report import Report
from penstock.net.model import Net

_KEYS = ("$expr", "$template")
_WHOLE = re.compile(r"\$\{[^{}]*\}\Z", re.S)


@dataclass
class Shared:
    """What all elements of one definition share while it is lowered."""

    definition: Definition
    graph: ProcessGraph
    report: Report
    setting: Setting
    variables: set[str] = field(default_factory=set)  # names that expressions read
    carried: set[str] = field(default_factory=set)
    children: dict[str, Net] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    depends: list[tuple[str, str, str]] = field(default_factory=list)  # type, id, pointer

    def choice(self, element: Element) -> Choice:
        if element.id not in self.choices:
            self.choices[element.id] = choice_of(element, self)
        return self.choices[element.id]

    def scope(self, level: str) -> str:
        """The scope of the net in which the elements of a level lie. Where a level listens for events of its own, what
        runs meanwhile is a scope in it that can be interrupted."""
        return main_of(level) if self.graph.event_handlers(level) else level

    def site(self, element: Element) -> LoweringContext:
        return LoweringContext(self, element)


def main_of(level: str) -> str:
    return f"{level}.main"


@dataclass(frozen=True)
class LoweringContext:
    shared: Shared
    element: Element

    @property
    def id(self) -> str:
        return self.element.id

    @property
    def scope(self) -> str:
        return self.shared.scope(self.element.fields.parent)

    # -- saying --------------------------------------------------------------------------------------------------------

    def at(self, path: str = "") -> str:
        return f"{self.element.pointer}/{path}" if path else self.element.pointer

    def error(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.error(rule, message, self.at(path), hint=hint, node=self.id)

    def warning(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.warning(rule, message, self.at(path), hint=hint, node=self.id)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, text: str, path: str, *known: str) -> str | None:
        """The expression, when it can be read; names it uses that are not `known` are variables of the instance."""
        return expression(unwrapped(text), self.shared, self.at(path), self.id, *known)

    def value(self, given: Any, path: str, *known: str) -> Any:
        """A value of the author's in which a text that is one ${…} stands for what the expression gives."""
        if isinstance(given, str):
            if _WHOLE.match(given.strip()):
                return {"$expr": self.expression(given, path, *known) or "null"}
            return given
        if isinstance(given, list):
            return [self.value(one, f"{path}/{i}", *known) for i, one in enumerate(given)]
        if isinstance(given, dict):
            if len(given) == 1 and next(iter(given)) in _KEYS:
                hint = "Give the map a second key, or the key another name."
                self.error("reserved_key", f"A map cannot have {next(iter(given))} as its only key.", path, hint=hint)
                return None
            return {name: self.value(one, f"{path}/{name}", *known) for name, one in given.items()}
        return given

    def literal(self, given: Any, path: str) -> Any:
        """A value of the author's as it is; it must not look like an expression of the net."""
        found = given
        todo = [given]
        while todo:
            one = todo.pop()
            if isinstance(one, dict):
                if len(one) == 1 and next(iter(one)) in _KEYS:
                    hint = "Give the map a second key, or the key another name."
                    message = f"A map cannot have {next(iter(one))} as its only key."
                    self.error("reserved_key", message, path, hint=hint)
                    found = None
                todo += one.values()
            elif isinstance(one, list):
                todo += one
        return found

    def duration(self, given: str | float, path: str) -> tuple[int, str | None]:
        """Milliseconds, or an expression that gives the moment in milliseconds."""
        if isinstance(given, int | float):
            return round(given * 1000), None
        if given.strip().startswith("${"):
            text = self.expression(given, path)
            return 0, f"sys.now + fn.round(({text}) * 1000)" if text else None
        found = milliseconds(given)
        if found is None:
            hint = "Write an ISO 8601 duration such as PT30M or P1D, or a number of seconds."
            self.error("bad_duration", f"«{given}» is not a duration.", path, hint=hint)
        return found or 0, None


def expression(text: str, shared: Shared, at: str, node: str, *known: str) -> str | None:
    try:
        compiled = compile_expression(text, words=True)
    except PenstockError as wrong:
        message = f"The expression cannot be read: {wrong}"
        shared.report.error("expression_syntax", message, at, hint=wrong.hint, node=node)
        return None
    if "secrets" in compiled.roots:
        message = "An expression of a process reads no secrets: what it gives is kept, shown, and told to agents."
        hint = "Register the tool, the agent or the connection with its secret, and name that here."
        shared.report.error("secret_in_expression", message, at, hint=hint, node=node)
        return None
    names = variables_of(compiled.roots) - set(known)
    for name in sorted(names & shared.definition.elements.keys()):
        if re.search(rf"\b{re.escape(name)}\s*[.\[]", text):
            continue  # a member of the element: its output, its status
        message = f"«{name}» means the element of that id here, not a variable."
        hint = f"Write context['{name}'] for the variable, or give the element another id."
        shared.report.warning("name_of_element", message, at, hint=hint, node=node)
    shared.variables |= names - shared.definition.elements.keys()
    return text


def quoted(text: str) -> str:
    """A text literal of the expression language, which has no escapes."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return "fn.concat(" + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ")"
