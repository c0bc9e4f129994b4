"""The condition of each transition (P-X.9), wherever it is written, and the default transition (P-X.10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.lang.document import child_pointer
from penstock.lang.process.schema import Definition, Element, Flow
from penstock.lang.report import Report, did_you_mean

DEFAULT = "default"


@dataclass
class FlowConditions:
    """The conditions of the transitions that leave an element, and the one that is taken when none holds."""

    conditions: dict[str, tuple[str, str]] = field(default_factory=dict)  # flow → text, pointer
    default: str = ""


def unwrapped(text: str) -> str:
    """The expression inside an optional ${…}."""
    inner = text.strip()
    return inner[2:-1].strip() if inner.startswith("${") and inner.endswith("}") and "${" not in inner[2:] else inner


def read_flow_conditions(element: Element, flows: list[Flow], definition: Definition, report: Report) -> FlowConditions:
    """Of a gateway or an activity: conditions by transition id, else by the branch's label, else on the transition."""
    return _Reader(element, flows, definition, report).read()


class _Reader:
    """Reads the conditions of one element's transitions."""

    def __init__(self, element: Element, flows: list[Flow], definition: Definition, report: Report) -> None:
        self.element, self.flows, self.report = element, flows, report
        self.keys = {flow.id: _keys(flow, definition) for flow in flows}
        gateway = element.gateway
        self.written: dict[str, Any] = dict(gateway.conditions) if gateway is not None else {}
        self.result = FlowConditions()

    def read(self) -> FlowConditions:
        used: set[str] = set()
        for flow in self.flows:
            keys = [key for key in self.keys[flow.id] if key in self.written and key != DEFAULT]
            used |= set(keys)
            texts = [(self.written[key], child_pointer(f"{self.element.pointer}/conditions", key)) for key in keys]
            if flow.fields.condition is not None:
                texts.append((flow.fields.condition, f"{flow.pointer}/condition"))
            self._set_condition(flow, texts)
        self._report_unknown_keys(used)
        self._set_default()
        return self.result

    def _set_condition(self, flow: Flow, texts: list[tuple[Any, str]]) -> None:
        conditions: list[tuple[str, str]] = []
        for text, at in texts:
            if isinstance(text, bool):
                text = "true" if text else "false"
            if isinstance(text, str) and text.strip():
                conditions.append((unwrapped(text), at))
            elif text is not None and not isinstance(text, str):
                hint = 'Write the condition as a text: `"has_issue == true"`.'
                self.error("wrong_type", "A condition is a text.", at, hint=hint)
        if not conditions:
            return
        first = conditions[0][0]
        if any(_without_blanks(text) != _without_blanks(first) for text, _ in conditions[1:]):
            other, at = conditions[1]
            message = f"The transition «{flow.id}» has two conditions that differ: «{first}» and «{other}»."
            hint = "Write it in one place: at the gateway, or at the transition."
            self.error("condition_conflict", message, at, hint=hint)
        self.result.conditions[flow.id] = conditions[0]

    def _report_unknown_keys(self, used: set[str]) -> None:
        known = [key for flow in self.flows for key in self.keys[flow.id]]
        for key in self.written:
            if key not in used and key != DEFAULT:
                hint = did_you_mean(key, [*known, DEFAULT], "Name a transition that leaves the gateway.")
                at = child_pointer(f"{self.element.pointer}/conditions", key)
                message = f"«{key}» is no way out of «{self.element.name}»."
                self.report.error("unknown_condition", message, at, hint=hint, node=self.element.id, key=True)

    def _set_default(self) -> None:
        result, name = self.result, self.element.name
        defaults = [(key, at) for key, at in self._written_defaults() if key]
        flow_of = {key: flow.id for flow in reversed(self.flows) for key in reversed(self.keys[flow.id])}
        for key, at in defaults:
            if key not in flow_of:
                hint = did_you_mean(key, list(flow_of), "Name a transition that leaves it.")
                self.error("unknown_default", f"The default «{key}» is no way out of «{name}».", at, hint=hint)
            elif result.default and result.default != flow_of[key]:
                message = f"«{name}» has two defaults: «{result.default}» and «{flow_of[key]}»."
                self.error("condition_conflict", message, at, hint="Keep one of them.")
            else:
                result.default = flow_of[key]
        unconditional = [flow.id for flow in self.flows if flow.id not in result.conditions]
        if not defaults and len(unconditional) == 1 and len(self.flows) > 1 and self.element.gateway is not None:
            result.default = unconditional[0]
        if result.default in result.conditions:
            message = f"The condition of the default «{result.default}» is never asked."
            at = result.conditions.pop(result.default)[1]
            hint = "Remove the condition."
            self.report.warning("condition_ignored", message, at, hint=hint, node=self.element.id)

    def _written_defaults(self) -> list[tuple[str, str]]:
        pointer = self.element.pointer
        defaults = [(str(getattr(self.element.fields, "default", "")), f"{pointer}/default")]
        if isinstance(self.written.get(DEFAULT), str):
            defaults.append((self.written[DEFAULT], f"{pointer}/conditions/{DEFAULT}"))
        return defaults

    def error(self, rule: str, message: str, at: str, *, hint: str) -> None:
        self.report.error(rule, message, at, hint=hint, node=self.element.id)


def _keys(flow: Flow, definition: Definition) -> list[str]:
    """The names under which a gateway's conditions may name a branch: its id, its label, and its target's."""
    target = definition.elements[flow.fields.target]
    return list(dict.fromkeys(key for key in (flow.id, flow.fields.name, target.id, target.fields.name) if key))


def _without_blanks(text: str) -> str:
    return "".join(text.split())
