"""A DMN file as data: its elements as they stand in the file, before anything is compiled."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.executors.parts.rules.dmn.boxed.contract import Box
from penstock.executors.parts.rules.dmn.boxed.function import FunctionBox

INPUT, DECISION, KNOWLEDGE = "input", "decision", "knowledge"


@dataclass(frozen=True, slots=True)
class Item:
    """An item definition or a component of one: a type with a name."""

    name: str
    line: int
    base: str = ""  # typeRef
    collection: bool = False
    allowed: str = ""  # unary tests of the value, or of each of a collection's values
    constraint: str = ""  # unary tests of the collection as a whole (DMN 1.5)
    components: tuple[Item, ...] = ()
    function: FunctionItem | None = None


@dataclass(frozen=True, slots=True)
class FunctionItem:
    parameters: tuple[tuple[str, str], ...]  # (name, typeRef)
    result: str


@dataclass(frozen=True, slots=True)
class Import:
    name: str
    namespace: str
    location: str
    kind: str  # importType
    line: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """An arrow of the diagram: what an element needs, by reference."""

    kind: str  # INPUT, DECISION or KNOWLEDGE
    href: str
    line: int


@dataclass(frozen=True, slots=True)
class DrgElement:
    """What the elements of a decision requirements graph have in common."""

    id: str
    name: str
    variable: str
    type_ref: str
    line: int

    noun = "element"

    @property
    def label(self) -> str:
        return f"{self.noun} «{self.name}»"


@dataclass(frozen=True, slots=True)
class InputData(DrgElement):
    noun = "input"


@dataclass(frozen=True, slots=True)
class Decision(DrgElement):
    requires: tuple[Requirement, ...]
    logic: Box | None

    noun = "decision"


@dataclass(frozen=True, slots=True)
class KnowledgeModel(DrgElement):
    """A business knowledge model: a function with a name."""

    requires: tuple[Requirement, ...]
    logic: FunctionBox | None

    noun = "business knowledge model"


@dataclass(frozen=True, slots=True)
class DecisionService(DrgElement):
    """Decisions that are called together like a function of their inputs."""

    outputs: tuple[Requirement, ...]
    encapsulated: tuple[Requirement, ...]
    input_data: tuple[Requirement, ...]
    input_decisions: tuple[Requirement, ...]

    noun = "decision service"


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """Where a decision's authority comes from; it has no part in the result."""

    id: str
    name: str
    location: str


@dataclass(frozen=True, slots=True)
class Definitions:
    """One file."""

    id: str
    name: str
    namespace: str
    line: int
    language: str  # expressionLanguage; empty for FEEL
    imports: tuple[Import, ...] = ()
    items: tuple[Item, ...] = ()
    inputs: tuple[InputData, ...] = ()
    decisions: tuple[Decision, ...] = ()
    knowledge: tuple[KnowledgeModel, ...] = ()
    services: tuple[DecisionService, ...] = ()
    sources: tuple[KnowledgeSource, ...] = ()
    names: frozenset[str] = field(default_factory=frozenset)  # every name that stands anywhere in the file
    words: frozenset[str] = field(default_factory=frozenset)  # every word in the file's expressions

    @property
    def elements(self) -> tuple[DrgElement, ...]:
        return (*self.inputs, *self.decisions, *self.knowledge, *self.services)
