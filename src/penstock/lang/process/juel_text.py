"""JUEL of process files: `${amount gt 1000}` becomes an expression of ours that means the same.

What Expression Language 2.2 says of null is kept: it is 0 to arithmetic and false to a condition, less and greater than
nothing, and empty. A text is never the same as a number here, where JUEL would make one of the other; where that could
pass in silence it is written out, else the run says so. What Java would raise for a method of null is 0, false or "".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.lang.process import juel_grammar as G
from penstock.lang.process.expression_names import quoted, variable_text

HINT = "JUEL has its operators, members, and the methods of texts, lists and maps here; name variables, no beans."
#: How tightly our operators bind; a whole is what needs no brackets anywhere.
_POWER = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_SIGN, _WHOLE = 7, 8
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*\Z")
_MEMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Beans that an engine lends to expressions, of which nothing is known here, and roots that only our expressions have.
_FOREIGN = frozenset({
    "task", "caseExecution", "externalTask", "externalTaskService", "delegateExecution", "authenticatedUserId",
    "taskService", "runtimeService", "historyService", "identityService", "repositoryService", "managementService",
    "formService", "variableContainer", "fn", "context", "sys", "secrets", "aas", "rag",
})  # fmt: skip
_KEY = "businessKey"  # where the key of an instance is kept: a variable like every other


@dataclass(frozen=True)
class _Text:
    """Our text of a part; `kind`: number, text, boolean or null where it is certain, else nothing."""

    text: str
    power: int = _WHOLE
    kind: str = ""
    constant: Any = None

    def within(self, power: int) -> str:
        return self.text if self.power >= power else f"({self.text})"


def is_juel(text: str) -> bool:
    """Whether some of it is `${…}` or `#{…}`."""
    return "${" in text or "#{" in text


def as_expression(text: str) -> str:
    """The expression for a text that is one `${…}` or `#{…}`; ExprSyntaxError says what cannot be read."""
    parts = _parts(text.strip())
    texts = [part.text if isinstance(part, _Text) else quoted(part) for part in parts]
    return texts[0] if len(texts) == 1 else f"fn.concat({', '.join(texts)})"


def as_value(text: str) -> str:
    """A text in which `${…}` may stand: plain as it is, else one `${expression of ours}`."""
    return f"${{{as_expression(text)}}}" if is_juel(text) else text


def _parts(text: str) -> list[str | _Text]:
    """Texts and expressions in turn; `\\${` is a text."""
    parts: list[str | _Text] = []
    plain, at = "", 0
    while at < len(text):
        if text.startswith(("\\${", "\\#{"), at):
            plain, at = plain + text[at + 1 : at + 3], at + 3
        elif text.startswith(("${", "#{"), at):
            node, end = G.parse(text, at + 2)
            if not text.startswith("}", end):
                raise G.refused("The expression has no closing }", text, end)
            parts += [plain, _Writer(text).write(node)] if plain else [_Writer(text).write(node)]
            plain, at = "", end + 1
        else:
            plain, at = plain + text[at], at + 1
    return [*parts, plain] if plain or not parts else parts


class _Writer:
    """Writes one tree as our text."""

    def __init__(self, source: str) -> None:
        self.source = source

    def write(self, node: G.Node) -> _Text:
        written = self._written(node)
        if len(written.text) > G.MAX_LENGTH:
            raise G.refused(f"An expression has at most {G.MAX_LENGTH} characters", self.source[:80], 0)
        return written

    def _written(self, node: G.Node) -> _Text:
        match node:
            case G.Constant():
                return _constant(node.value)
            case G.Name():
                return self._name(node)
            case G.Member():
                return self._member(node)
            case G.Method():
                return self._method(node)
            case G.Unary():
                return self._unary(node)
            case G.Choice():
                parts = (self.write(part).text for part in (node.condition, node.then, node.otherwise))
                return _Text(f"fn.if({', '.join(parts)})")
            case G.Binary():
                return self._binary(node)

    def _name(self, node: G.Name) -> _Text:
        if node.name in _FOREIGN or node.name == "execution":
            raise G.refused(f"«{node.name}» is an object of the modeler's own engine", self.source, node.start)
        return _Text(variable_text(node.name))

    def _member(self, node: G.Member) -> _Text:
        if isinstance(node.of, G.Name) and node.of.name == "execution":
            if node.key in (G.Constant("processBusinessKey"), G.Constant("businessKey")):
                return _Text(_KEY)
            shown = node.key.value if isinstance(node.key, G.Constant) else "[…]"
            raise G.refused(f"«execution.{shown}» is not known here", self.source, node.of.start)
        of = _owner(self.write(node.of))
        key = self.write(node.key)
        plain = isinstance(key.constant, str) and _MEMBER.match(key.constant)
        return _Text(f"{of}.{key.constant}" if plain else f"{of}[{key.text}]")

    # -- operators -----------------------------------------------------------------------------------------------------

    def _unary(self, node: G.Unary) -> _Text:
        operand = self.write(node.operand)
        if node.operator == "empty":
            return _Text(f"fn.is_empty({operand.text})", kind="boolean")
        if node.operator == "!":
            return _Text(f"!{operand.within(_SIGN)}", _SIGN, "boolean")
        return _Text(f"-{self._number(operand).within(_SIGN)}", _SIGN, "number")

    def _binary(self, node: G.Binary) -> _Text:
        operands = [self.write(operand) for operand in node.operands]
        if set(node.operators) <= {"&&", "||"}:
            power = _POWER[node.operators[0]]
            parts = [operand.within(power + 1) for operand in operands]
            return _Text(f" {node.operators[0]} ".join(parts), power, "boolean")
        if node.operators[0] in ("+", "-", "*", "/", "%"):
            return self._arithmetic(node.operators, operands)
        left = operands[0]
        for operator, right in zip(node.operators, operands[1:], strict=True):
            left = _compared(operator, left, right)
        return left

    def _arithmetic(self, operators: tuple[str, ...], operands: list[_Text]) -> _Text:
        """EL 2.2, 1.7: null is 0. Sums are those of numbers: our own + would put texts together."""
        numbers = [self._number(operand) for operand in operands]
        if set(operators) == {"+"} and any(operand.kind != "number" for operand in operands):
            return _Text(f"fn.sum([{', '.join(self._term(operand).text for operand in operands)}])", kind="number")
        left = numbers[0]
        for operator, right in zip(operators, numbers[1:], strict=True):
            if operator == "+" and "fn.coalesce" in left.text + right.text:
                left = _Text(f"fn.sum([{left.text}, {right.text}])", kind="number")
                continue
            power = _POWER[operator]
            left = _Text(f"{left.within(power)} {operator} {right.within(power + 1)}", power, "number")
        return left

    def _term(self, operand: _Text) -> _Text:
        """A part of a sum, in which nulls are left out."""
        return self._number(operand) if operand.kind else operand

    def _number(self, operand: _Text) -> _Text:
        if operand.kind == "number":
            return operand
        if operand.kind == "null":
            return _Text("0", kind="number", constant=0)
        if operand.kind == "text" and isinstance(operand.constant, str) and _NUMBER.match(operand.constant):
            text = operand.constant.strip()
            return _constant(float(text) if any(mark in text for mark in ".eE") else int(text[:400]))
        if operand.kind in ("text", "boolean"):
            why = f"«{operand.text}» is no number, and JUEL's operators calculate with numbers"
            raise G.refused(why, self.source, 0)
        return _Text(f"fn.coalesce({operand.text}, 0)", kind="number")

    # -- methods -------------------------------------------------------------------------------------------------------

    def _method(self, node: G.Method) -> _Text:
        if isinstance(node.of, G.Name) and node.of.name == "execution":
            return self._of_execution(node)
        arity, emit = _METHODS.get(node.name, ((), None))
        if emit is None:
            shown = f"«{node.of.name}.{node.name}(…)»" if isinstance(node.of, G.Name) else f"«.{node.name}(…)»"
            raise G.refused(f"{shown} is a method that is not known here", self.source, node.start)
        of = self.write(node.of)
        arguments = [self.write(argument) for argument in node.arguments]
        if len(arguments) not in arity:
            wanted = " or ".join(map(str, arity))
            raise G.refused(f"«{node.name}» has {wanted} arguments here", self.source, node.start)
        return emit(of, arguments)

    def _of_execution(self, node: G.Method) -> _Text:
        arguments = [self.write(argument) for argument in node.arguments]
        if node.name in ("getProcessBusinessKey", "getBusinessKey") and not arguments:
            return _Text(_KEY)
        if node.name in ("getVariable", "getVariableLocal", "hasVariable") and len(arguments) == 1:
            name = arguments[0].constant
            variable = variable_text(name) if isinstance(name, str) else f"context.variables[{arguments[0].text}]"
            return _Text(f"{variable} != null", 3, "boolean") if node.name == "hasVariable" else _Text(variable)
        raise G.refused(f"«execution.{node.name}(…)» is not known here", self.source, node.start)


def _constant(value: str | int | float | bool | None) -> _Text:
    if value is None:
        return _Text("null", kind="null")
    if isinstance(value, bool):
        return _Text("true" if value else "false", kind="boolean", constant=value)
    if isinstance(value, str):
        return _Text(quoted(value), kind="text", constant=value)
    return _Text(repr(value) if value == value else "null", _WHOLE if value >= 0 else _SIGN, "number", value)


def _owner(part: _Text) -> str:
    """A part whose member is asked for; our numbers and constants have none without brackets."""
    return part.within(_WHOLE) if part.kind in ("", "text") else f"({part.text})"


def _compared(operator: str, left: _Text, right: _Text) -> _Text:
    power = _POWER[operator] + 1
    if operator in ("==", "!="):
        left, right = _alike(left, right), _alike(right, left)
    text = f"{left.within(power)} {operator} {right.within(power)}"
    if operator in ("<=", ">=") and not {left.kind, right.kind} & {"number", "text", "boolean"}:
        same = f"{left.within(4)} == {right.within(4)}"  # EL 2.2, 1.8.1: null is at most and at least null
        return _Text(f"{text} || {same}", 1, "boolean")
    return _Text(text, _POWER[operator], "boolean")


def _alike(part: _Text, other: _Text) -> _Text:
    """EL 2.2, 1.8.2: what is compared with a text is one; it matters where the text could be that of something else."""
    looks = isinstance(other.constant, str) and (other.constant in ("true", "false") or _NUMBER.match(other.constant))
    return _Text(f"fn.concat({part.text})", kind="text") if looks and part.kind not in ("text", "null") else part


# ---- methods of java.lang.String, java.util.List and java.util.Map ---------------------------------------------------


def _string(part: _Text) -> str:
    return part.text if part.kind == "text" else f"fn.concat({part.text})"


def _call(function: str, kind: str = "") -> Callable[[_Text, list[_Text]], _Text]:
    def emit(of: _Text, arguments: list[_Text]) -> _Text:
        return _Text(f"fn.{function}({', '.join(part.text for part in (of, *arguments))})", kind=kind)

    return emit


def _string_call(function: str) -> Callable[[_Text, list[_Text]], _Text]:
    def emit(of: _Text, arguments: list[_Text]) -> _Text:
        return _Text(f"fn.{function}({', '.join(map(_string, (of, *arguments)))})", kind="text")

    return emit


def _equals(of: _Text, arguments: list[_Text]) -> _Text:
    return _Text(f"{of.within(4)} == {arguments[0].within(4)}", 3, "boolean")


def _equals_ignoring_case(of: _Text, arguments: list[_Text]) -> _Text:
    return _Text(f"fn.lower({_string(of)}) == fn.lower({_string(arguments[0])})", 3, "boolean")


def _starts_with(of: _Text, arguments: list[_Text]) -> _Text:
    part = _string(arguments[0])
    return _Text(f"fn.substring({_string(of)}, 0, fn.length({part})) == {part}", 3, "boolean")


def _ends_with(of: _Text, arguments: list[_Text]) -> _Text:
    text, part = _string(of), _string(arguments[0])
    longer = f"fn.length({text}) >= fn.length({part})"
    return _Text(f"{longer} && fn.substring({text}, fn.length({text}) - fn.length({part})) == {part}", 2, "boolean")


def _substring(of: _Text, arguments: list[_Text]) -> _Text:
    start = arguments[0]
    length = f", {arguments[1].within(5)} - {start.within(6)}" if len(arguments) > 1 else ""
    return _Text(f"fn.substring({_string(of)}, {start.text}{length})", kind="text")


def _get(of: _Text, arguments: list[_Text]) -> _Text:
    text = f"{_owner(of)}[{arguments[0].text}]"
    return _Text(text if len(arguments) == 1 else f"fn.coalesce({text}, {arguments[1].text})")


def _contains_key(of: _Text, arguments: list[_Text]) -> _Text:
    return _Text(f"{_owner(of)}[{arguments[0].text}] != null", 3, "boolean")


def _itself(of: _Text, arguments: list[_Text]) -> _Text:
    return of


def _is_blank(of: _Text, arguments: list[_Text]) -> _Text:
    return _Text(f"fn.is_empty(fn.trim({_string(of)}))", kind="boolean")


#: method → how many arguments it may have, and what it becomes
_METHODS: dict[str, tuple[tuple[int, ...], Callable[[_Text, list[_Text]], _Text]]] = {
    "size": ((0,), _call("length", "number")), "length": ((0,), _call("length", "number")),
    "isEmpty": ((0,), _call("is_empty", "boolean")), "isBlank": ((0,), _is_blank),
    "contains": ((1,), _call("contains", "boolean")), "containsKey": ((1,), _contains_key),
    "get": ((1,), _get), "getOrDefault": ((2,), _get),
    "equals": ((1,), _equals), "equalsIgnoreCase": ((1,), _equals_ignoring_case),
    "startsWith": ((1,), _starts_with), "endsWith": ((1,), _ends_with), "substring": ((1, 2), _substring),
    "toLowerCase": ((0,), _string_call("lower")), "toUpperCase": ((0,), _string_call("upper")),
    "trim": ((0,), _string_call("trim")), "toString": ((0,), _call("concat", "text")),
    "concat": ((1,), _call("concat", "text")), "replace": ((2,), _string_call("replace")),
    "booleanValue": ((0,), _itself), "doubleValue": ((0,), _itself), "longValue": ((0,), _itself),
    "intValue": ((0,), _itself),
}  # fmt: skip
