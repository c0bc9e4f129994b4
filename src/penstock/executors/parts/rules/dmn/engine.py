"""A DMN model that decides: the graph of a file and its imports; a decision is compiled when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.errors import DecisionUnknown, DocumentInvalid, Finding, Place
from penstock.executors.parts.rules.dmn.boxed import function
from penstock.executors.parts.rules.dmn.boxed.contract import Coerce, Spot, Value
from penstock.executors.parts.rules.dmn.boxed.table import TableBox
from penstock.executors.parts.rules.dmn.compiler import FileCompiler, coercion, input_coercion, is_closed
from penstock.executors.parts.rules.dmn.graph import Graph, Key, Need, link, resolve
from penstock.executors.parts.rules.dmn.model import (
    Decision,
    DecisionService,
    Definitions,
    DrgElement,
    InputData,
    KnowledgeModel,
    Requirement,
)
from penstock.executors.parts.rules.dmn.read import read_definitions
from penstock.executors.parts.rules.dmn.run import Hit, ModelRun, ModelWarning
from penstock.feel.evaluation import STANDARD, Exceeded, Limits
from penstock.feel.types import ANY, FunctionType, Type
from penstock.feel.values import DateTime
from penstock.feel.values.python import from_python

Values = dict[Key, Any]
_ABSENT: Any = object()


class Answer(NamedTuple):
    """A decision's value as FEEL has it, why parts of it are null, and the rules of tables that hit, in their order."""

    value: Any
    warnings: list[ModelWarning]
    hits: list[Hit]


class _Logic(NamedTuple):
    """A compiled decision or business knowledge model."""

    value: Value | None
    coerce: Coerce | None
    spot: Spot


class _Service(NamedTuple):
    inputs: list[Need]
    outputs: list[Need]
    parameters: list[tuple[str, Any]]
    result: Any
    stop: frozenset[Key]


class Model:
    """May be used by many threads at once: it keeps nothing of an evaluation."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._compilers: dict[str, FileCompiler] = {}
        self._logic: dict[Key, _Logic] = {}
        self._services: dict[Key, _Service] = {}
        self._orders: dict[tuple[Key, frozenset[Key]], list[Key]] = {}
        self._words: frozenset[str] | None = None
        self._texts: frozenset[str] | None = None
        self._readers: dict[Key, tuple[Type | None, Coerce | None]] = {}

    @property
    def definitions(self) -> Definitions:
        return self.graph.main

    # ---- evaluating --------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        name: str,
        data: Mapping[str, Any],
        *,
        now: DateTime | None = None,
        limits: Limits = STANDARD,
        strict: bool = False,
    ) -> Answer:
        """The value of a decision, a decision service or a business knowledge model of the main file, by name or id.

        `data` has the inputs by name, as Python, JSON or FEEL has them. Raises DecisionUnknown, FeelLimit, and in
        strict mode DecisionNull."""
        run = ModelRun(now, limits, strict)
        try:
            value = self.decide(self.key(name), data, run)
        except (Exceeded, RecursionError) as error:
            raise run.limit(error) from None
        return Answer(value, run.notes, run.hits)

    def key(self, name: str) -> Key:
        key = self.graph.find(name)
        if key is None:
            raise DecisionUnknown(name=name, model=self.graph.main.name or self.graph.main.id)
        return key

    def outputs(self, name: str) -> list[str]:
        """The outputs of a decision service; the name itself for everything else."""
        key = self.graph.find(name)
        element = self.graph.elements[key] if key is not None else None
        if key is None or not isinstance(element, DecisionService):
            return [name]
        return [need.name for need in self._service(key, element).outputs]

    def decide(self, key: Key, data: Mapping[str, Any], run: ModelRun) -> Any:
        """The element's value. In a lenient run all that the data has is known to all expressions, required or not."""
        element = self.graph.elements[key]
        if run.lenient:
            words = self._undeclared_words()
            run.known = {name: from_python(data[name]) for name in words if name in data}
            run.texts = self._declared_inputs()
            for each in self.graph.main.inputs:
                if each.name in data:
                    given = self._given((self.graph.main.namespace, each.id), each.name, data, run)
                    run.known[each.variable] = given
        if isinstance(element, Decision):
            return self._value(key, {}, data, run)
        if isinstance(element, DecisionService):
            service = self._service(key, element)
            given = {need.key: self._given(need.key, need.name, data, run) for need in service.inputs}
            value = self._serve(service, given, data, run)
            return value if service.result is None else coercion(service.result, self._spot(key, element))(value, run)
        called = self._value(key, {}, data, run)
        parameters = [parameter.name for parameter in called.parameters]
        arguments = {name: from_python(data.get(name)) for name in parameters}
        return run.call(called, arguments, self._spot(key, element))

    def _value(
        self, key: Key, values: Values, data: Mapping[str, Any], run: ModelRun, stop: frozenset[Key] = frozenset()
    ) -> Any:
        """The value of an element, after those that it needs; `values` has what is known already."""
        order = self._orders.get((key, stop))
        if order is None:
            order = self._orders[key, stop] = self.graph.order(key, stop)
        for each in order:
            if each not in values:
                values[each] = self._made(each, values, data, run)
        return values[key]

    def _made(self, key: Key, values: Values, data: Mapping[str, Any], run: ModelRun) -> Any:
        element = self.graph.elements[key]
        if isinstance(element, InputData):
            return self._given(key, element.name, data, run)
        if isinstance(element, DecisionService):
            return self._callable(key, element, data, run)
        logic = self._compiled(key, element)
        if logic.value is None:
            return run.note(logic.spot, "dmn_logic", f"The {element.label} has no logic.")
        run.spend()
        value = logic.value(self._scope(key, values, run), run)
        return value if logic.coerce is None else logic.coerce(value, run)

    def _scope(self, key: Key, values: Values, run: ModelRun) -> dict[str, Any]:
        scope: dict[str, Any] = dict(run.known)
        for need in self.graph.needs[key]:
            if need.key == key:
                continue  # a function that calls itself: it brings its own name
            if need.prefix:
                scope.setdefault(need.prefix, {})[need.name] = values[need.key]
            else:
                scope[need.name] = values[need.key]
        return scope

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def _given(self, key: Key, name: str, data: Mapping[str, Any], run: ModelRun) -> Any:
        """An input as its type has it: JSON has no dates, so that a text is read as what is declared."""
        element = self.graph.elements[key]
        reader = self._readers.get(key)
        if reader is None:
            compiler = self._compiler(key[0])
            type = compiler.type(element.type_ref, self._spot(key, element))
            coerce = input_coercion(element, type, self._spot(key, element)) if type not in (None, ANY) else None
            reader = self._readers[key] = (type, coerce)
        value = self._found(key, element, name, data)
        if value is _ABSENT:
            return run.note(self._spot(key, element), "input_missing", f"The {element.label} is not given.")
        value = from_python(value)
        type, coerce = reader
        if coerce is not None and type is not None:
            return coerce(type.read(value), run)
        return value

    def _found(self, key: Key, element: DrgElement, name: str, data: Mapping[str, Any]) -> Any:
        if key[0] != self.graph.main.namespace:
            for entry in self.graph.main.imports:
                inner = data.get(entry.name) if entry.namespace == key[0] else None
                if isinstance(inner, Mapping) and element.name in inner:
                    return inner[element.name]
        for word in (name, element.name, element.variable):
            if word in data:
                return data[word]
        return _ABSENT

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _callable(self, key: Key, element: DecisionService, data: Mapping[str, Any], run: ModelRun) -> Any:
        service = self._service(key, element)

        def call(arguments: list[Any]) -> Any:
            given = {need.key: value for need, value in zip(service.inputs, arguments, strict=True)}
            return self._serve(service, given, {}, run)

        return run.function(element.name, service.parameters, call, service.result)

    def _serve(self, service: _Service, given: Values, data: Mapping[str, Any], run: ModelRun) -> Any:
        values = dict(given)
        results = {need.name: self._value(need.key, values, data, run, service.stop) for need in service.outputs}
        return next(iter(results.values())) if len(results) == 1 else results

    def _service(self, key: Key, element: DecisionService) -> _Service:
        made = self._services.get(key)
        if made is None:
            inputs = self._needs(key, element, (*element.input_data, *element.input_decisions))
            outputs = self._needs(key, element, element.outputs)
            parameters = [(need.name, self._type_of(need.key)) for need in inputs]
            stop = frozenset(need.key for need in inputs)
            made = self._services[key] = _Service(inputs, outputs, parameters, self._result(key, element), stop)
        return made

    def _needs(self, key: Key, element: DrgElement, references: Iterable[Requirement]) -> list[Need]:
        file = self.graph.files[key[0]]
        needs = (resolve(file, element, reference, self.graph) for reference in references)
        return [need for need in needs if need is not None]

    def _type_of(self, key: Key) -> Type | None:
        element = self.graph.elements[key]
        return self._compiler(key[0]).type(element.type_ref, self._spot(key, element))

    def _result(self, key: Key, element: DrgElement) -> Type | None:
        """The type of a function's result: the variable has that of the function, or in older files of its result."""
        type = self._type_of(key)
        return type.result if isinstance(type, FunctionType) else type

    # ---- compiling ---------------------------------------------------------------------------------------------------

    def _compiler(self, namespace: str) -> FileCompiler:
        made = self._compilers.get(namespace)
        if made is None:
            file = self.graph.files[namespace]
            made = self._compilers[namespace] = FileCompiler(file)
            for entry in file.imports:
                if entry.namespace in self.graph.files:
                    other = self._compiler(entry.namespace)
                    made.types.imported[entry.name], made.kinds.imported[entry.name] = other.types, other.kinds
        return made

    def _spot(self, key: Key, element: DrgElement) -> Spot:
        return Spot(element.label, element.id, self.graph.pointers[key], element.line)

    def _compiled(self, key: Key, element: DrgElement) -> _Logic:
        made = self._logic.get(key)
        if made is None:
            made = self._logic[key] = self._compile(key, element)
        return made

    def _compile(self, key: Key, element: DrgElement) -> _Logic:
        compiler, spot = self._compiler(key[0]), self._spot(key, element)
        names = frozenset(need.prefix or need.name for need in self.graph.needs[key])
        names |= {given.variable for given in self.graph.files[key[0]].inputs}  # read as names, required or not
        if isinstance(element, KnowledgeModel):
            if element.logic is None:
                return _Logic(None, None, spot)
            result = self._result(key, element)
            own = next((need.name for need in self.graph.needs[key] if need.key == key), "")
            made = function.compile(
                element.logic, compiler, names, spot, name=element.name, result_type=result, own_name=own
            )
            return _Logic(made, None, spot)
        logic = element.logic if isinstance(element, Decision) else None
        if logic is None:
            return _Logic(None, None, spot)
        return _Logic(compiler.box(logic, names, spot), compiler.coerce(element.type_ref, spot), spot)

    def _undeclared_words(self) -> frozenset[str]:
        """The words in the texts of the main file that are no element of it: fields that data may have."""
        if self._words is None:
            declared = {name for element in self.graph.main.elements for name in (element.name, element.variable)}
            self._words = frozenset(self.graph.main.words - declared)
        return self._words

    def _declared_inputs(self) -> frozenset[str]:
        """The inputs of the main file whose type says what everything in them is."""
        if self._texts is None:
            namespace = self.graph.main.namespace
            self._texts = frozenset(
                each.variable for each in self.graph.main.inputs if is_closed(self._type_of((namespace, each.id)))
            )
        return self._texts

    def size(self, key: Key) -> int:
        """How many conditions a decision may cost: the tests of its table, or one."""
        element = self.graph.elements[key]
        logic = element.logic if isinstance(element, Decision) else None
        return sum(len(rule.when) for rule in logic.rules) if isinstance(logic, TableBox) else 1

    def check(self) -> list[Finding]:
        """Compiles everything, and says what is wrong with it."""
        for key, element in self.graph.elements.items():
            if isinstance(element, DecisionService):
                self._service(key, element)
            elif isinstance(element, InputData):
                self._type_of(key)
            else:
                logic = self._compiled(key, element)
                if logic.value is None and isinstance(element, Decision):
                    message = f"The {element.label} has no logic: it is always null."
                    where = Place(self.graph.pointers[key], element.line)
                    self._compiler(key[0]).findings.append(
                        Finding("dmn_logic", "warning", message, where, "Give it an expression.", element.id)
                    )
            self._compiler(key[0]).types.all()
        findings = [*self.graph.findings]
        for compiler in self._compilers.values():
            findings += [*compiler.findings, *compiler.unknown_names()]
        return list(dict.fromkeys(findings))


def read_model(content: bytes, imports: Iterable[bytes] = ()) -> Model:
    """The model of a file and of those that it imports. Raises DocumentInvalid where the graph is wrong (cycles,
    missing imports, references to nothing, two elements of one name); a wrong expression is null when it is asked."""
    graph = link(read_definitions(content), [read_definitions(other) for other in imports])
    if any(finding.severity == "error" for finding in graph.findings):
        raise DocumentInvalid(graph.findings)
    return Model(graph)
