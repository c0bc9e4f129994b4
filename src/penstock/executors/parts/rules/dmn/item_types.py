"""Item definitions: what the names in `typeRef` stand for, as FEEL types (DMN 1.5, 7.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.executors.parts.rules.dmn.model import Definitions, Item
from penstock.feel.types import ANY, BUILT_IN, Constrained, ContextType, FunctionType, ListType, Type
from penstock.lang.report import did_you_mean

_DEEPEST = 50
#: names that files have for the kinds of FEEL, beside those of the standard
_ALIASES = {
    "integer": "number", "int": "number", "long": "number", "double": "number", "float": "number", "decimal": "number",
    "datetime": "date and time", "daytimeduration": "days and time duration", "any": "Any",
    "yearmonthduration": "years and months duration", "days and time duration": "days and time duration",
}  # fmt: skip
_BY_LOWER = {name.lower(): type for name, type in BUILT_IN.items()}
Report = Callable[[str, str, int], None]  # (message, hint, line)
MakeTest = Callable[[str, int], Callable[[Any], bool] | None]


@dataclass(frozen=True, slots=True)
class NamedContext(ContextType):
    """A structure that an item definition gives a name: messages say the name, whatever is inside."""

    label: str = ""

    def read(self, value: Any) -> Any:
        """Data of JSON: a field that it leaves out is null."""
        read = ContextType.read(self, value)
        return {**dict.fromkeys(self.fields), **read} if type(read) is dict else read

    def accepts(self, other: Type) -> bool:
        return self is other or ContextType.accepts(self, other)

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class NamedList(ListType):
    label: str = ""

    def __str__(self) -> str:
        return self.label


class ItemTypes:
    """The types of one file. Made when first asked for; a name that stands for nothing is reported."""

    def __init__(self, definitions: Definitions, make_test: MakeTest, report: Report) -> None:
        self.items = {item.name: item for item in definitions.items}
        self.imported: dict[str, ItemTypes] = {}  # by the name of the import
        self._make_test, self._report = make_test, report
        self._made: dict[str, Type] = {}
        self._making: list[str] = []

    def named(self, name: str, line: int = 0) -> Type | None:
        """The type of that name; None where none is named or it stands for nothing."""
        name = name.strip()
        if not name:
            return None
        if name in self._made:
            return self._made[name]
        if name in self.items:
            return self._of_item(name, line)
        if (kind := kind_named(name)) is not None:
            return kind
        prefix, _, rest = name.partition(".")
        if prefix in self.imported:
            return self.imported[prefix].named(rest, line)
        local = name.rpartition(":")[2]  # DMN 1.1 writes qualified names
        if local != name:
            return self.named(local, line)
        hint = did_you_mean(name, self.items, "Define it, or take one of FEEL: number, string, boolean, date, …")
        self._report(f"The type «{name}» is not defined in this file.", hint, line)
        self._made[name] = ANY
        return ANY

    def all(self) -> dict[str, Type]:
        """Every type by its name, for `instance of` in expressions."""
        types = {name: self.named(name) or ANY for name in self.items}
        for prefix, other in self.imported.items():
            if other is not self:
                types |= {f"{prefix}.{name}": other.named(name) or ANY for name in other.items}
        return types

    def _of_item(self, name: str, line: int) -> Type:
        if name in self._making or len(self._making) > _DEEPEST:
            hint = "A type may not have itself as a part; leave the type of that part away."
            self._report(f"The type «{name}» is made of itself.", hint, self.items[name].line)
            return ANY
        self._making.append(name)
        type = self._item(self.items[name])
        self._making.pop()
        return self._made.setdefault(name, type)

    def _item(self, item: Item) -> Type:
        type = self._content(item)
        if item.collection:
            type = NamedList(self._tested(type, item.allowed, item.line), item.name or "list")
            return self._tested(type, item.constraint, item.line)
        return self._tested(self._tested(type, item.allowed, item.line), item.constraint, item.line)

    def _content(self, item: Item) -> Type:
        if item.components:
            return NamedContext({part.name: self._item(part) for part in item.components}, item.name)
        if item.function is not None:
            parameters = tuple(self.named(ref, item.line) or ANY for _, ref in item.function.parameters)
            return FunctionType(parameters, self.named(item.function.result, item.line) or ANY)
        return self.named(item.base, item.line) or ANY

    def _tested(self, type: Type, text: str, line: int) -> Type:
        test = self._make_test(text, line) if text else None
        return type if test is None else Constrained(type, test, text[:60])


def kind_named(name: str) -> Type | None:
    """The kind of FEEL that a name means."""
    name = name.strip()
    if name in BUILT_IN:
        return BUILT_IN[name]
    low = name.rpartition(":")[2].strip().lower()
    return _BY_LOWER.get(_ALIASES.get(low, low).lower())
