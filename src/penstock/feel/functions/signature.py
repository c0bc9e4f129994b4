"""How functions are declared, and how a call finds the declaration that fits.

A declaration is text: `substring(string: string, start position: number, length?: number)`. A parameter with a question
mark may be left out; one with `...` stands for any number of arguments; a type may be several with `|`; a type with a
question mark lets null in. Arguments are converted as the standard allows: a list of one and its member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.values.functions import Function, Parameter
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths

_KINDS: dict[str, frozenset[type]] = {
    "number": frozenset({int, Decimal}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "list": frozenset({list}),
    "context": frozenset({dict}),
    "range": frozenset({Range}),
    "function": frozenset({Function}),
    "date": frozenset({Date}),
    "time": frozenset({Time}),
    "date and time": frozenset({DateTime}),
    "days and time duration": frozenset({DaysTime}),
    "years and months duration": frozenset({YearsMonths}),
}


class Slot(NamedTuple):
    """A declared parameter."""

    name: str
    kinds: frozenset[type]  # empty: anything
    words: str
    optional: bool = False
    nullable: bool = False
    many: bool = False


class Signature(NamedTuple):
    slots: tuple[Slot, ...]
    call: Callable[..., Any]
    evaluates: bool
    text: str

    def positions(self, names: Sequence[str]) -> list[int] | None:
        """Where named arguments go; None where a name is unknown or a needed one is missing. What stands for any number
        of arguments is then one of them."""
        index = {slot.name: place for place, slot in enumerate(self.slots)}
        if any(name not in index for name in names) or len(set(names)) != len(names):
            return None
        given = {index[name] for name in names}
        if any(not slot.optional and place not in given for place, slot in enumerate(self.slots)):
            return None
        return [index[name] for name in names]

    def fits_count(self, count: int) -> bool:
        least = sum(not slot.optional for slot in self.slots)
        return count >= least and (count <= len(self.slots) or bool(self.slots and self.slots[-1].many))


class BuiltIn(Function):
    """A function of the standard: one or more signatures, the first that fits the arguments is called."""

    __slots__ = ("family", "signatures")

    def __init__(self, name: str, family: str, signatures: Sequence[Signature]) -> None:
        names = [Parameter(slot.name) for slot in signatures[0].slots]
        super().__init__(names, self.invoke, name=name, evaluates=True, variadic=True)
        self.signatures = tuple(signatures)
        self.family = family

    def invoke(self, evaluation: Evaluation, *arguments: Any) -> Any:
        why = ""
        _pay(evaluation, arguments)
        for signature in self.signatures:
            if not signature.fits_count(len(arguments)):
                continue
            try:
                converted = _converted(signature.slots, arguments)
            except Fault as fault:
                why = why or str(fault)
                continue
            return signature.call(evaluation, *converted) if signature.evaluates else signature.call(*converted)
        raise Fault(f"{self.name}: {why}" if why else self._wrong_count(len(arguments)))

    def invoke_named(self, evaluation: Evaluation, names: Sequence[str], arguments: Sequence[Any]) -> Any:
        why = ""
        _pay(evaluation, arguments)
        for signature in self.signatures:
            positions = signature.positions(names)
            if positions is None:
                continue
            placed: list[Any] = [MISSING] * (max(positions, default=-1) + 1)
            for place, argument in zip(positions, arguments, strict=True):
                placed[place] = argument
            try:
                converted = _converted(signature.slots, placed)
            except Fault as fault:
                why = why or str(fault)
                continue
            return signature.call(evaluation, *converted) if signature.evaluates else signature.call(*converted)
        shown = "; ".join(signature.text for signature in self.signatures)
        raise Fault(f"{self.name}: {why}" if why else f"{self.name}: no such parameters, it is {shown}")

    def _wrong_count(self, count: int) -> str:
        shown = "; ".join(signature.text for signature in self.signatures)
        return f"{self.name}: {count} arguments do not fit, it is {shown}"


def _pay(evaluation: Evaluation, arguments: Sequence[Any]) -> None:
    """What a function costs grows with its lists and texts."""
    for argument in arguments:
        if type(argument) is list:
            evaluation.spend(len(argument) >> 2)
        elif type(argument) is str:
            evaluation.spend(len(argument) >> 8)


class _Missing:
    """An optional argument that was not given."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()
_LIST = frozenset({list})


def _converted(slots: tuple[Slot, ...], arguments: Sequence[Any]) -> list[Any]:
    converted = []
    last = len(slots) - 1
    for place, value in enumerate(arguments):
        slot = slots[place if place < last else last]
        if value is MISSING:
            converted.append(MISSING)
            continue
        if not slot.kinds or type(value) in slot.kinds or (value is None and slot.nullable):
            converted.append(value)
        else:
            converted.append(_convert(slot, value))
    return converted


def _convert(slot: Slot, value: Any) -> Any:
    if isinstance(value, Function) and Function in slot.kinds:
        return value
    if type(value) is list and len(value) == 1 and type(value[0]) in slot.kinds:
        return value[0]
    if slot.kinds == _LIST and value is not None:
        return [value]
    if type(value) is Date and DateTime in slot.kinds:
        return DateTime(value, 0, 0)
    raise Fault(f"{slot.name} is a {kind_of(value)}, not a {slot.words}")


class Declared(NamedTuple):
    name: str
    signature: Signature


def declare(text: str, call: Callable[..., Any], *, evaluates: bool = False) -> Declared:
    """One signature of a function; what is left out arrives as the default of the Python function."""
    name, _, inner = text.partition("(")
    inner = inner.rpartition(")")[0]
    slots = tuple(_slot(part.strip()) for part in inner.split(",")) if inner.strip() else ()
    return Declared(name.strip(), Signature(slots, _without_missing(call), evaluates, text))


def _without_missing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Missing arguments are at the end, or between named ones: then they are null."""

    def shortened(*arguments: Any) -> Any:
        if MISSING in arguments:
            arguments = tuple(None if argument is MISSING else argument for argument in arguments)
        return call(*arguments)

    return shortened


def _slot(text: str) -> Slot:
    name, _, words = (part.strip() for part in text.partition(":"))
    many = name.startswith("...")
    optional = name.endswith("?")
    nullable = words.endswith("?") or words in ("Any", "")
    words = words.rstrip("?") or "Any"
    kinds: frozenset[type] = frozenset()
    if words != "Any":
        kinds = frozenset().union(*(_KINDS[word.strip()] for word in words.split("|")))
    shown = " or ".join(word.strip() for word in words.split("|"))
    return Slot(name.strip(".?"), kinds, shown, optional, nullable, many)


def family(name: str, *declared: Declared) -> dict[str, BuiltIn]:
    """The functions of one family; several signatures of a name are one function."""
    signatures: dict[str, list[Signature]] = {}
    for declaration in declared:
        signatures.setdefault(declaration.name, []).append(declaration.signature)
    return {function: BuiltIn(function, name, each) for function, each in signatures.items()}


def merged(*families: dict[str, BuiltIn]) -> dict[str, BuiltIn]:
    table: dict[str, BuiltIn] = {}
    for members in families:
        assert not table.keys() & members.keys(), "a function is declared in two families"
        table.update(members)
    return table
