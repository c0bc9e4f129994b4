"""Compiles the texts and boxes of one file into closures; what cannot be read becomes a finding and the value null."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from penstock import feel
from penstock.errors import FeelSyntaxError, Finding, Place
from penstock.executors.parts.rules.dmn.boxed import COMPILERS
from penstock.executors.parts.rules.dmn.boxed.contract import Box, Coerce, Names, Scope, Spot, Test, Value
from penstock.executors.parts.rules.dmn.item_types import ItemTypes
from penstock.executors.parts.rules.dmn.model import Definitions, DrgElement
from penstock.executors.parts.rules.dmn.moments import with_moments
from penstock.executors.parts.rules.dmn.run import ModelRun, shown_value
from penstock.feel.evaluation import Exceeded, Fault, syntax_error
from penstock.feel.names import KnownNames
from penstock.feel.nodes import Call, ListLiteral, Literal, Name, Node, RangeLiteral, Tests
from penstock.feel.types import (
    ANY,
    BUILT_IN,
    DATE,
    DAYS_TIME,
    MOMENT,
    TIME,
    YEARS_MONTHS,
    AnyFunction,
    Constrained,
    ContextType,
    FunctionType,
    ListType,
    Type,
    coerced,
)
from penstock.feel.values import kind_of
from penstock.lang.report import did_you_mean

_MOMENTS = (DATE, TIME, MOMENT, DAYS_TIME, YEARS_MONTHS, BUILT_IN["duration"])
FEEL_HINT = "docs/reference/feel.md says how FEEL is written."
CELL_HINT = 'A cell holds unary tests: <5, [1..3), "a","b", not(…) or -.'


class FileCompiler:
    """Compiles the expressions of one file, each when it is first asked for."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.findings: list[Finding] = []
        self.members = KnownNames(definitions.names)
        self.labels = definitions.names | {"?", "item"}
        self.types = ItemTypes(definitions, self._item_test, self._type_error)
        #: the same without allowed values, which `instance of` does not ask about
        self.kinds = ItemTypes(definitions, lambda text, line: None, lambda message, hint, line: None)
        self.unknown: dict[str, tuple[Names, Spot]] = {}
        self._types: dict[str, Type] | None = None
        self._declared_names: frozenset[str] | None = None

    # ---- what boxes ask for ------------------------------------------------------------------------------------------

    def box(self, box: Box, names: Names, spot: Spot) -> Value:
        value = COMPILERS[type(box)](box, self, names, spot)
        coerce = self.coerce(box.type_ref, spot)
        if coerce is None or isinstance(self.type(box.type_ref, spot), FunctionType | AnyFunction):
            return value
        return lambda scope, run: coerce(value(scope, run), run)

    def text(self, text: str, names: Names, spot: Spot) -> Value:
        try:
            expression = feel.compile(text, names, members=self.members, types=self.feel_types())
        except FeelSyntaxError as wrong:
            message = str(wrong)
            self.error("expression", message, spot, FEEL_HINT)
            return lambda scope, run: run.note(spot, "expression", message, text)
        self._look_for(expression, names, spot)
        body = expression.value

        def evaluate(scope: Scope, run: ModelRun) -> Any:
            outer, run.spot = run.spot, spot
            if run.known:
                value = with_moments(body, scope, run)
            else:
                value = body(scope, run)
            run.spot = outer
            return value

        return evaluate

    def tests(self, text: str, names: Names, spot: Spot, type: Type | None = None) -> Test | None:
        try:
            tests = feel.compile_unary_tests(text, names, members=self.members, types=self.feel_types())
        except FeelSyntaxError as wrong:
            message = str(wrong)
            self.error("expression", message, spot, CELL_HINT)
            return lambda value, scope, run: bool(run.note(spot, "expression", message, text))
        self._look_for(tests, names, spot)
        try:
            text_among_moments(tests, type)
        except FeelSyntaxError as wrong:
            self.error("expression", str(wrong), spot, CELL_HINT)
        if tests.node.any:
            return None
        return noting_test(tests)

    def declares(self, text: str) -> bool:
        """Whether an expression is an element whose type is declared, or a part of one."""
        name = " ".join(text.split())
        return name in self._declared() or name.partition(".")[0].rstrip() in self._declared()

    def _declared(self) -> frozenset[str]:
        if self._declared_names is None:
            self._declared_names = frozenset(
                element.variable
                for element in self.definitions.elements
                if is_closed(self.types.named(element.type_ref, element.line))
            )
        return self._declared_names

    def type(self, type_ref: str, spot: Spot) -> Type | None:
        return self.types.named(type_ref, spot.line)

    def coerce(self, type_ref: str, spot: Spot) -> Coerce | None:
        type = self.types.named(type_ref, spot.line)
        if type is None or type == ANY:
            return None
        return coercion(type, spot)

    def error(self, rule: str, message: str, spot: Spot, hint: str) -> None:
        self.findings.append(Finding(rule, "error", message, Place(spot.pointer, spot.line), hint, spot.id))

    def _look_for(self, text: feel.Expression | feel.Tests, names: Names, spot: Spot) -> None:
        """Remembers names that nothing here has: fields of the data, or slips of the pen."""
        for name in unknown_functions(text.node, text.names, names):
            hint = did_you_mean(name, [*names, *feel.FUNCTIONS], FEEL_HINT)
            self.error("expression", f"There is no function «{name}», in «{text.source[:200]}».", spot, hint)
        for name in text.names:
            if name not in names and name not in feel.FUNCTIONS and name not in self.labels:
                self.unknown.setdefault(name, (names, spot))

    def unknown_names(self) -> list[Finding]:
        """Names that are no input and no decision, and nearly are one: null, unless the data has such a field."""
        findings = []
        for name, (names, spot) in self.unknown.items() if self.definitions.inputs else ():
            known = {*names, *(element.variable for element in self.definitions.elements)}
            if hint := did_you_mean(name, known, ""):
                message = f"«{name}» is no input and no decision here: it is null unless the data has such a field."
                where = Place(spot.pointer, spot.line)
                findings.append(Finding("unknown_name", "warning", message, where, hint, spot.id))
        return findings

    # ---- types -------------------------------------------------------------------------------------------------------

    def feel_types(self) -> dict[str, Type]:
        """The file's types by name; those that it imports have the import's name before theirs."""
        if self._types is None:
            self._types = self.kinds.all()
        return self._types

    def _item_test(self, text: str, line: int) -> Any:
        spot = Spot("item definitions", "", "/items", line)
        test = self.tests(text, frozenset(), spot)
        if test is None:
            return None

        def holds(value: Any) -> bool:
            try:
                return test(value, {}, ModelRun()) is True
            except Exceeded:
                return False

        return holds

    def _type_error(self, message: str, hint: str, line: int) -> None:
        self.findings.append(Finding("dmn_type", "error", message, Place("/items", line), hint))


def is_closed(type: Type | None) -> bool:
    """Whether a type says of all parts of a value what they are."""
    if isinstance(type, Constrained):
        return is_closed(type.base)
    if isinstance(type, ListType):
        return is_closed(type.item)
    if isinstance(type, ContextType):
        return bool(type.fields) and all(map(is_closed, type.fields.values()))
    return type is not None and type != ANY


def noting_test(tests: feel.Tests) -> Test:
    """The closure of unary tests, which also says why it is null where a text is asked about a range; in a lenient run
    about a list of moments too, which holds no text."""
    test: Test = tests.test
    if not _asks_range(tests.node):
        return test
    lists_moments = all(_is_list_of_moments(part.operand) for part in tests.node.tests)

    def noted(value: Any, scope: Scope, run: ModelRun) -> bool | None:
        if lists_moments and run.lenient and type(value) is str:
            run.note(run.spot, "feel", "A string and a list of moments cannot be compared.", tests.source)
            return None
        before = run.noted
        truth = test(value, scope, run)
        if truth is None and type(value) is str and run.noted == before:
            run.note(run.spot, "feel", "A string and a range cannot be compared.", tests.source)
        return truth

    return noted


def _is_list_of_moments(node: Node) -> bool:
    return isinstance(node, ListLiteral) and bool(node.items) and all(map(_is_moment, node.items))


def _is_moment(node: Node) -> bool:
    """Whether it is written as a moment or a duration: `date("…")`, `@"…"`."""
    if isinstance(node, Call):
        return isinstance(node.function, Name) and BUILT_IN.get(node.function.name) in _MOMENTS
    return isinstance(node, Literal) and any(type.conforms(node.value) for type in _MOMENTS)


def _asks_range(tests: Tests) -> bool:
    """Whether a value is looked for in a range: one that is written here, or one that a name may stand for."""
    if any(not (test.operator or test.asks or isinstance(test.operand, Literal)) for test in tests.tests):
        return True
    pending: list[Any] = [tests]
    while pending:
        part = pending.pop()
        if isinstance(part, RangeLiteral):
            return True
        if isinstance(part, Node):
            pending += [getattr(part, name) for name in part.__dataclass_fields__]
        elif isinstance(part, tuple):
            pending += part
    return False


def unknown_functions(node: Node, free: Iterable[str], known: Container[str]) -> list[str]:
    """Names that are called and that neither FEEL nor the scope has; data brings no functions."""
    wanted = {name for name in free if name not in known and name not in feel.FUNCTIONS}
    called: dict[str, None] = {}
    pending: list[Any] = [node] if wanted else []
    while pending:
        part = pending.pop()
        if isinstance(part, Call) and isinstance(part.function, Name) and part.function.name in wanted:
            called[part.function.name] = None
        if isinstance(part, Node):
            pending += [getattr(part, name) for name in part.__dataclass_fields__]
        elif isinstance(part, tuple):
            pending += part
    return list(called)


def input_coercion(element: DrgElement, type: Type, spot: Spot) -> Coerce:
    """The same for an input, whose data are a stranger's: the message says what they are and what they should be."""

    def coerce(value: Any, run: ModelRun) -> Any:
        try:
            return coerced(value, type)
        except Fault:
            return run.note(spot, "input_type", f"«{element.name}»: {misfit(value, type)}.")

    return coerce


def misfit(value: Any, type: Type) -> str:
    """What a value is that is not of a type."""
    shown = f"{value!r:.60}" if isinstance(value, str) else shown_value(value)
    if isinstance(type, Constrained) and type.base.conforms(value):
        return f"{shown} is not among {type.text}"
    return f"{shown} is a {kind_of(value)}, not a {type.base if isinstance(type, Constrained) else type}"


def text_among_moments(tests: feel.Tests, type: Type | None) -> None:
    """Refuses a text that is written where the column is a date: it would hit nothing, without a word."""
    base = type.base if isinstance(type, Constrained) else type
    if base not in _MOMENTS:
        return
    for test in tests.node.tests:
        operand = test.operand
        ends = (operand.low, operand.high) if isinstance(operand, RangeLiteral) else (operand,)
        if any(isinstance(end, Literal) and isinstance(end.value, str) for end in ends):
            name = "duration" if str(base).endswith("duration") else base
            why = f'The column is a {base}, and this is a text: write {name}("…")'
            raise syntax_error(tests.source, operand.at, why)


def coercion(type: Type, spot: Spot) -> Coerce:
    """Makes a value one of the type, or null with a warning (DMN 1.5, 10.3.2.9.4)."""

    def coerce(value: Any, run: ModelRun) -> Any:
        if value is None:
            return None
        try:
            return coerced(value, type)
        except Fault as wrong:
            return run.note(spot, "type", f"{run.shown(value)} does not fit: {wrong}.")

    return coerce
