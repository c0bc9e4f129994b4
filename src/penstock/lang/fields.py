"""Reading a map of the document into a struct, field by field, so that one wrong field hides no other.

The struct is the declaration: names, types, bounds, defaults and descriptions (`msgspec.Meta`) stand there once and
serve the reader, the checks and the editor's schema. A field that is wrong or missing keeps its default, so reading
always ends.
"""

from __future__ import annotations

import re
import types
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

S = TypeVar("S", bound="Fields")
_SPOT = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "nothing",
}
_PLAIN = (str, int, float, bool)
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


class Fields(msgspec.Struct, rename={"from_": "from"}):
    """`ALIASES` are other names under which a field is read, `REQUIRED` those that must be there, and `IDLE` those that
    are read because the public form has them but change nothing here; a value in one of them is worth a warning.
    An `OPEN` map may hold fields that nobody reads; in a `TEMPLATED` one a text with ${…} may stand for any choice."""

    ALIASES: ClassVar[dict[str, str]] = {}
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    IDLE: ClassVar[tuple[str, ...]] = ()
    OPEN: ClassVar[bool] = False
    TEMPLATED: ClassVar[bool] = False


def read_fields(
    kind: type[S], data: dict[str, Any], at: str, report: Report, *, where: dict[str, str] | None = None, node: str = ""
) -> tuple[S, dict[str, Any]]:
    """The struct and the fields it does not know. `where` has the pointers of fields that do not stand under `at`."""
    known = _shape(kind)
    found: dict[str, Any] = {}
    told: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for written, value in data.items():
        name = kind.ALIASES.get(written, written)
        field = known.get(name)
        if field is None:
            rest[written] = value
            continue
        spot = where[written] if where and written in where else child_pointer(at, written)
        if field.name in found:
            message = f"«{written}» and «{told[name]}» are two names of one field."
            report.error("duplicate_field", message, spot, node=node, hint="Keep one of them.", key=True)
            continue
        told[name] = written
        if value is None and not field.required:
            continue
        if name in kind.IDLE and value not in ("", [], {}, False):
            message = f"«{written}» is read but has no effect here."
            report.warning("idle_field", message, spot, node=node, hint="Remove it.", key=True)
        if kind.TEMPLATED and isinstance(value, str) and "${" in value and field.choices:
            found[field.name] = value
            continue
        found[field.name] = _read(field, value, spot, written, report, node)
    for name in kind.REQUIRED:
        if name not in told or data[told[name]] in (None, ""):
            report.error("missing_field", f"«{name}» is missing.", at, node=node, hint=f"Write `{name}: …` here.")
    return kind(**{name: value for name, value in found.items() if value is not None}), rest


def read_top(kind: type[S], data: dict[str, Any], collections: tuple[str, ...], report: Report) -> S:
    """What a document says of itself, beside its collections."""
    top, rest = read_fields(kind, {name: one for name, one in data.items() if name not in collections}, "", report)
    unknown_fields(rest, kind, "", report, also=collections)
    return top


def unknown_fields(
    rest: dict[str, Any], kind: type[Fields], at: str, report: Report, *, where: dict[str, str] | None = None,
    node: str = "", also: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """An error for every field that nobody reads; in an open map it is only told."""
    for written in rest:
        names = [*_shape(kind), *kind.ALIASES, *also]
        spot = (where or {}).get(written, child_pointer(at, written))
        hint = did_you_mean(written, names, "Correct its name, or remove it.")
        tell = report.info if kind.OPEN else report.error
        tell("unknown_field", f"Nobody reads the field «{written}».", spot, node=node, hint=hint, key=True)


class _Field:
    """What is asked of one field: its type, and what that holds."""

    __slots__ = ("as_is", "choices", "default", "listed", "name", "part", "required", "wanted")

    def __init__(self, name: str, wanted: Any, default: Any = None, required: bool = False) -> None:
        self.name, self.wanted, self.default, self.required = name, wanted, default, required
        self.part, self.listed, self.choices = _struct_in(wanted), _takes_list(wanted), _choices(wanted)
        self.as_is = _as_is(wanted)

    def takes(self, value: Any) -> bool:
        """Whether a value is certainly right as it stands; most are."""
        return type(value) in self.as_is or type(value) is str and value in self.choices


@lru_cache(100)
def _shape(kind: type[Fields]) -> dict[str, _Field]:
    """The fields by the name they are written with."""
    hints = get_type_hints(kind, include_extras=True)
    fields = msgspec.structs.fields(kind)
    return {one.encode_name: _Field(one.name, hints[one.name], one.default, one.required) for one in fields}


def _read(field: _Field, value: Any, at: str, name: str, report: Report, node: str) -> Any:
    if field.takes(value):
        return value
    part = field.part
    if part is not None and isinstance(value, dict) and not field.listed:
        inner, rest = read_fields(part, value, at, report, node=node)
        if rest:
            unknown_fields(rest, part, at, report, node=node)
        return inner
    if part is not None and isinstance(value, list) and field.listed:
        each = _Field("", part)
        read = [_read(each, item, child_pointer(at, i), f"{name}[{i}]", report, node) for i, item in enumerate(value)]
        return [one for one in read if one is not None]  # what is left out has been told
    try:
        return msgspec.convert(value, field.wanted)
    except msgspec.ValidationError as wrong:
        inside = _SPOT.search(str(wrong))
        spot = at + "".join(f"/{i}" for i in re.findall(r"\[(\d+)\]", inside[1])) if inside else at
        kind, held = _inside(field.wanted, value, inside[1]) if inside else (field.wanted, value)
        message, hint = _explain(kind, held, str(wrong), name)
        report.error("wrong_type", message, spot, node=node, hint=hint)
        return field.default if not isinstance(field.default, msgspec.UnsetType | type(msgspec.NODEFAULT)) else None


def _inside(wanted: Any, value: Any, path: str) -> tuple[Any, Any]:
    """The entry of a list that is wrong, and what is asked of entries."""
    for i in re.findall(r"\[(\d+)\]", path):
        entry = _entry(wanted)
        if entry is None or not isinstance(value, list) or int(i) >= len(value):
            return wanted, value
        wanted, value = entry, value[int(i)]
    return wanted, value


def _entry(wanted: Any) -> Any:
    if get_origin(wanted) is list:
        return get_args(wanted)[0]
    return next((found for part in get_args(wanted) if (found := _entry(part)) is not None), None)


def _as_is(wanted: Any) -> frozenset[type]:
    """The plain types of which every value may stand there."""
    if wanted in _PLAIN:
        return frozenset((wanted,))
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return frozenset[type]().union(*map(_as_is, parts))
    if origin is Annotated and all(one == msgspec.Meta(description=one.description) for one in parts[1:]):
        return _as_is(parts[0])
    return frozenset()


def _struct_in(wanted: Any) -> type[Fields] | None:
    if isinstance(wanted, type) and issubclass(wanted, Fields):
        return wanted
    return next((found for part in get_args(wanted) if (found := _struct_in(part)) is not None), None)


def _takes_list(wanted: Any) -> bool:
    return get_origin(wanted) is list or any(_takes_list(part) for part in get_args(wanted))


def _explain(wanted: Any, value: Any, why: str, name: str) -> tuple[str, str]:
    choices = _choices(wanted)
    if choices and isinstance(value, str):
        return f"«{name}» is «{value}»; it can be {', '.join(choices)}.", did_you_mean(value, choices, "Choose one.")
    bound = re.match(r"Expected `(\w+)` (of length )?(>=|<=|>|<) ([\d.]+)", why)
    if bound:
        what = (
            "at most {} characters or entries long"
            if bound[2]
            else f"{_KINDS.get(bound[1], bound[1])}, {_BOUNDS[bound[3]]} {{}}"
        )
        limit = bound[4].removesuffix(".0")
        hint = "Shorten it." if bound[2] else f"Write a number that is {_BOUNDS[bound[3]]} {limit}."
        return f"«{name}» must be {what.format(limit)}.", hint
    expected = re.match(r"Expected `([^`]*)`, got `([^`]*)`", why)
    if expected:
        want = " or ".join(_KINDS.get(k.strip(), k.strip()) for k in expected[1].split("|") if k.strip() != "null")
        got = f"«{value}»" if isinstance(value, str) else _KINDS.get(expected[2], expected[2])
        hint = f"Write {want} here."
        if want == "a text" and not isinstance(value, dict | list):
            hint = "Put it in quotes to make it a text."
        return f"«{name}» must be {want}; here is {got}.", hint
    return f"«{name}» cannot be read: {_SPOT.sub('', why)}.", "The reference says what each field may hold."


@lru_cache(2000)
def _choices(wanted: Any) -> tuple[str, ...]:
    """The texts a field may hold, when they are listed."""
    origin = get_origin(wanted)
    if origin is Literal:
        return tuple(str(one) for one in get_args(wanted) if isinstance(one, str))
    if origin in (Union, types.UnionType, Annotated):
        return tuple(one for part in get_args(wanted) for one in _choices(part))
    return ()
