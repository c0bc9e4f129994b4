"""Conditions over a file, its parameters and what stages have made (F-X.9), as one expression each.

`trigger_conditions` of a definition, `condition` of a stage and `target_filter` of a schedule are written alike. A leaf
never fails at run time: what is missing or of another kind does not compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.expr.functions.string import compiled_pattern
from penstock.expr.iso_repeats import iso_duration
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

FILE_FIELDS = ("mime", "size", "key", "bucket", "tenantId")
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "glob", "regex", "exists")
_FORMS = ("all", "any", "not", "expr", "field")
_COMPARED = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_PLAIN = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
#: how deep conditions may nest, and how many leaves one may have
DEEPEST, MOST_LEAVES = 20, 200


class Conditions:
    """Reads conditions of one document. `stages` are those that have run before; None: no stage can be asked. `window`:
    {"last": "PT1H"} asks how old a file is, which is `age_ms` of what is asked about."""

    def __init__(
        self, report: Report, *, stages: Collection[str] | None = None, window: bool = False, node: str = ""
    ) -> None:
        self.report, self.stages, self.window, self.node = report, stages, window, node
        self.leaves = 0

    def expression(self, condition: Any, at: str) -> str | None:
        """The expression of a condition; None where it cannot be read, which is reported."""
        text = self._read(condition, at, 0)
        if text is not None and self.leaves > MOST_LEAVES:
            message = f"A condition has at most {MOST_LEAVES} comparisons."
            return self.error("condition_too_large", message, at, hint="Use `in` or `regex` for many values.")
        return text

    def _read(self, condition: Any, at: str, depth: int) -> str | None:
        if not isinstance(condition, dict):
            return self._form(at)
        if depth > DEEPEST:
            message = f"A condition nests at most {DEEPEST} deep."
            return self.error("condition_too_large", message, at, hint="Put the comparisons beside each other.")
        if self.window and "last" in condition:
            return self._last(condition, at, depth)
        form = next((name for name in _FORMS if name in condition), None)
        if form is None:
            return self._form(at)
        known = ("field", "op", "value") if form == "field" else (form,)
        for name in condition.keys() - set(known):
            hint = did_you_mean(str(name), known, "Remove it.")
            self.error("unknown_field", f"Nobody reads the field «{name}».", child_pointer(at, name), hint=hint)
        if form == "field":
            return self._leaf(condition, at)
        below, value = child_pointer(at, form), condition[form]
        if form == "expr":
            return self._expr(value, below)
        if form == "not":
            inner = self._read(value, below, depth + 1)
            return None if inner is None else f"!({inner})"
        if not isinstance(value, list) or not value:
            message = f"«{form}» must be a list of conditions."
            return self.error("condition_form", message, below, hint="Write at least one condition in [ ].")
        parts = [self._read(part, child_pointer(below, i), depth + 1) for i, part in enumerate(value)]
        if any(part is None for part in parts):
            return None
        return (" && " if form == "all" else " || ").join(f"({part})" for part in parts)

    def _last(self, condition: Mapping[str, Any], at: str, depth: int) -> str | None:
        """F-X.11: alone, or beside another condition that must hold, too."""
        self.leaves += 1
        text = condition["last"]
        span = iso_duration(text) if isinstance(text, str) else None
        rest = {name: value for name, value in condition.items() if name != "last"}
        other = self._read(rest, at, depth + 1) if rest else "true"
        if span is None:
            message = f"«{text}» is not a duration."
            return self.error("bad_duration", message, child_pointer(at, "last"), hint="Write PT1H or P1D.")
        return None if other is None else f"input.age_ms <= {span.most_ms} && ({other})"

    def _form(self, at: str) -> str | None:
        hint = 'Write {"field": "size", "op": "lte", "value": 1000}, {"all": […]}, {"any": […]}, {"not": …} or '
        return self.error("condition_form", "This is no condition.", at, hint=hint + '{"expr": "…"}.')

    def _expr(self, text: Any, at: str) -> str | None:
        if not isinstance(text, str):
            return self.error("condition_form", "«expr» must be a text.", at, hint="Write an expression in quotes.")
        try:
            compiled = compile_expression(text, words=True)
        except PenstockError as error:
            hint = error.hint or "Correct the text at the character named."
            return self.error("expression_syntax", f"The expression cannot be read: {error}", at, hint=hint)
        known = {"input", "sys"} if self.stages is None else {"input", "sys", "nodes", *self.stages}
        for name in sorted(compiled.roots - known):
            hint = did_you_mean(name, known, "Write input.size, input.mime, input.key, input.bucket or input.params.x.")
            self.error("unknown_name", f"«{name}» is not known here.", at, hint=hint)
        return text if compiled.roots <= known else None

    def _leaf(self, leaf: Mapping[str, Any], at: str) -> str | None:
        self.leaves += 1
        field = self._field(leaf["field"], child_pointer(at, "field"))
        op = leaf.get("op")
        if op not in OPERATORS:
            if op is None:
                return self.error(
                    "missing_field", "«op» is missing.", at, hint=f"Choose one of {', '.join(OPERATORS)}."
                )
            hint = did_you_mean(str(op), OPERATORS, "Choose one that is known.")
            return self.error("condition_operator", f"There is no «{op}».", child_pointer(at, "op"), hint=hint)
        if op != "exists" and "value" not in leaf:
            return self.error("missing_field", "«value» is missing.", at, hint="Write what the field is compared with.")
        if field is None:
            return None
        return self._compared(field, op, leaf.get("value"), child_pointer(at, "value"))

    def _field(self, field: Any, at: str) -> str | None:
        if not isinstance(field, str):
            return self.error("condition_field", "«field» must be a text.", at, hint="Write the name of a field.")
        first, *rest = field.split(".")
        if field in FILE_FIELDS:
            return f"input.{field}"
        if first == "params" and rest and all(rest):
            return "input.params" + "".join(_member(part) for part in rest)
        if first == "stages" and len(rest) >= 2 and rest[1] == "output" and all(rest):
            if self.stages is None:
                message = f"«{field}» cannot be read before an execution begins."
                return self.error("condition_stage", message, at, hint="Put it into the condition of a stage.")
            if rest[0] not in self.stages:
                hint = did_you_mean(rest[0], self.stages, "Name a stage of an earlier group.")
                return self.error("condition_stage", f"No earlier stage is called «{rest[0]}».", at, hint=hint)
            return f"nodes{_member(rest[0])}.output.output" + "".join(_member(part) for part in rest[2:])
        known = (*FILE_FIELDS, "params.x", "stages.code.output.x")
        hint = did_you_mean(field, known, f"Known are: {', '.join(known)}.")
        return self.error("condition_field", f"There is no field «{field}».", at, hint=hint)

    def _compared(self, field: str, op: str, value: Any, at: str) -> str | None:
        if op == "exists":
            if value not in (None, True, False):
                return self.error("condition_value", "«exists» takes true or false.", at, hint="Write true or false.")
            return f"{field} {'==' if value is False else '!='} null"
        if op in ("eq", "ne"):
            return f"{field} {'==' if op == 'eq' else '!='} {literal(value)}"
        if op == "in":
            if not isinstance(value, list):
                return self.error("condition_value", "«in» takes a list.", at, hint="Write the values in [ ].")
            return f"fn.contains({literal(value)}, {field})"
        if op in _COMPARED:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                hint = "Write a number, or a text in quotes."
                return self.error("condition_value", f"«{op}» takes a number or a text.", at, hint=hint)
            kinds = "['string']" if isinstance(value, str) else "['integer', 'float']"
            return f"fn.contains({kinds}, fn.type_of({field})) && {field} {_COMPARED[op]} {literal(value)}"
        if not isinstance(value, str):
            return self.error("condition_value", f"«{op}» takes a text.", at, hint="Write it in quotes.")
        pattern = glob_pattern(value) if op == "glob" else value
        try:
            compiled_pattern("regex_match", pattern)
        except PenstockError as error:
            return self.error(
                "condition_value", f"The pattern cannot be used: {error}", at, hint=error.hint or "Mend it."
            )
        return f"fn.type_of({field}) == 'string' && fn.regex_match({field}, {literal(pattern)})"

    def error(self, rule: str, message: str, at: str, *, hint: str) -> str | None:
        """Reports it; there is no expression then."""
        self.report.error(rule, message, at, hint=hint, node=self.node)
        return None


def _member(name: str) -> str:
    return f".{name}" if _PLAIN.match(name) else f"[{literal(name)}]"


def literal(value: Any) -> str:
    """A JSON value as the expression that gives it. A text with both quotes is put together: there are no escapes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(str(name))}: {literal(item)}" for name, item in value.items()) + "}"
    text = str(value)
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return "fn.concat(" + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ")"


def glob_pattern(glob: str) -> str:
    """A glob over the whole text: * any characters, ? one, [abc] or [!abc] one of these."""
    out, i = ["(?s)\\A"], 0
    while i < len(glob):
        char = glob[i]
        close = glob.find("]", i + 2) if char == "[" else -1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif close > 0:
            inside = glob[i + 1 : close]
            negated, inside = ("^", inside[1:]) if inside[0] in "!^" else ("", inside)
            out.append(f"[{negated}{''.join(c if c == '-' else _escaped(c) for c in inside)}]")
            i = close
        else:
            out.append(_escaped(char))
        i += 1
    return "".join(out) + "\\z"


def _escaped(char: str) -> str:
    return char if char.isalnum() else f"\\x{{{ord(char):x}}}"


def compiled_condition(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """Asks a condition of a document about a file: what a run's input would be. What cannot be compared fails."""
    expression = compile_expression(text, words=True)
    return lambda run_input: expression({"input": run_input, "sys": {}}) is True
