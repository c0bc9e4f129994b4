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
#: what the id of a tenant may be
TENANT = re.compile(r"[A-Za-z0-9_-]{1,50}\Z")
_ERROR_PATH = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
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
    """The struct, and the fields it does not know. `where` has the pointers of fields that are not below `at`."""
    known = _fields_of(kind)
    values: dict[str, Any] = {}
    written_as: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for written, value in data.items():
        name = kind.ALIASES.get(written, written)
        field = known.get(name)
        if field is None:
            rest[written] = value
            continue
        pointer = where[written] if where and written in where else child_pointer(at, written)
        if field.name in values:
            message = f"«{written}» and «{written_as[name]}» are two names of one field."
            report.error("duplicate_field", message, pointer, node=node, hint="Keep one of them.", key=True)
            continue
        written_as[name] = written
        if value is None and not field.required:
            continue
        if name in kind.IDLE and value not in ("", [], {}, False):
            message = f"«{written}» is read but has no effect here."
            report.warning("idle_field", message, pointer, node=node, hint="Remove it.", key=True)
        if kind.TEMPLATED and isinstance(value, str) and "${" in value and field.choices:
            values[field.name] = value
            continue
        values[field.name] = _read_value(field, value, pointer, written, report, node)
    for name in kind.REQUIRED:
        if name not in written_as or data[written_as[name]] in (None, ""):
            report.error("missing_field", f"«{name}» is missing.", at, node=node, hint=f"Write `{name}: …` here.")
    return kind(**{name: value for name, value in values.items() if value is not None}), rest


def takes_null(kind: type[Fields], name: str) -> bool:
    """May this field hold null? One that nobody reads may: it is told as unknown."""
    field = _fields_of(kind).get(kind.ALIASES.get(name, name))
    return field is None or _may_be_null(field.type_hint)


def _may_be_null(hint: Any) -> bool:
    if hint in (Any, None, type(None)):
        return True
    return get_origin(hint) in (Union, types.UnionType, Annotated) and any(map(_may_be_null, get_args(hint)))


def read_top(kind: type[S], data: dict[str, Any], collections: tuple[str, ...], report: Report) -> S:
    """The fields of the document itself, without its collections."""
    top, rest = read_fields(kind, {name: value for name, value in data.items() if name not in collections}, "", report)
    unknown_fields(rest, kind, "", report, also=collections)
    return top


def unknown_fields(
    rest: dict[str, Any], kind: type[Fields], at: str, report: Report, *, where: dict[str, str] | None = None,
    node: str = "", also: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Reports every field that nobody reads: as an error, or in an open map as information."""
    for written in rest:
        names = [*_fields_of(kind), *kind.ALIASES, *also]
        pointer = (where or {}).get(written, child_pointer(at, written))
        hint = did_you_mean(written, names, "Correct its name, or remove it.")
        add = report.info if kind.OPEN else report.error
        add("unknown_field", f"Nobody reads the field «{written}».", pointer, node=node, hint=hint, key=True)


class _Field:
    """The declaration of one field: its type, and what follows from it for the reader."""

    __slots__ = ("accepted_types", "choices", "default", "is_list", "name", "part", "required", "type_hint")

    def __init__(self, name: str, hint: Any, default: Any = None, required: bool = False) -> None:
        self.name, self.type_hint, self.default, self.required = name, hint, default, required
        self.part, self.is_list, self.choices = _struct_in(hint), _takes_list(hint), _choices(hint)
        self.accepted_types = _accepted_types(hint)

    def accepts(self, value: Any) -> bool:
        """Is a value certainly right without converting it? Most are."""
        return type(value) in self.accepted_types or type(value) is str and value in self.choices


@lru_cache(100)
def _fields_of(kind: type[Fields]) -> dict[str, _Field]:
    """The declared fields by the name that a document uses."""
    hints = get_type_hints(kind, include_extras=True)
    fields = msgspec.structs.fields(kind)
    return {field.encode_name: _Field(field.name, hints[field.name], field.default, field.required) for field in fields}


def _read_value(field: _Field, value: Any, at: str, name: str, report: Report, node: str) -> Any:
    if field.accepts(value):
        return value
    part = field.part
    if part is not None and isinstance(value, dict) and not field.is_list:
        inner, rest = read_fields(part, value, at, report, node=node)
        if rest:
            unknown_fields(rest, part, at, report, node=node)
        return inner
    if part is not None and isinstance(value, list) and field.is_list:
        item_field = _Field("", part)
        read = [
            _read_value(item_field, item, child_pointer(at, i), f"{name}[{i}]", report, node)
            for i, item in enumerate(value)
        ]
        return [item for item in read if item is not None]  # an item that cannot be read is reported and left out
    try:
        return msgspec.convert(value, field.type_hint)
    except msgspec.ValidationError as error:
        path = _ERROR_PATH.search(str(error))
        pointer = at + "".join(f"/{i}" for i in re.findall(r"\[(\d+)\]", path[1])) if path else at
        kind, part_value = _wrong_part(field.type_hint, value, path[1]) if path else (field.type_hint, value)
        message, hint = _explain(kind, part_value, str(error), name)
        report.error("wrong_type", message, pointer, node=node, hint=hint)
        return field.default if not isinstance(field.default, msgspec.UnsetType | type(msgspec.NODEFAULT)) else None


def _wrong_part(hint: Any, value: Any, path: str) -> tuple[Any, Any]:
    """The type and the value of the list entry that an error's path names."""
    for i in re.findall(r"\[(\d+)\]", path):
        entry = _entry_type(hint)
        if entry is None or not isinstance(value, list) or int(i) >= len(value):
            return hint, value
        hint, value = entry, value[int(i)]
    return hint, value


def _entry_type(hint: Any) -> Any:
    if get_origin(hint) is list:
        return get_args(hint)[0]
    return next((entry for part in get_args(hint) if (entry := _entry_type(part)) is not None), None)


def _accepted_types(hint: Any) -> frozenset[type]:
    """The plain types whose every value is accepted."""
    if hint in _PLAIN:
        return frozenset((hint,))
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return frozenset[type]().union(*map(_accepted_types, parts))
    if origin is Annotated and all(meta == msgspec.Meta(description=meta.description) for meta in parts[1:]):
        return _accepted_types(parts[0])
    return frozenset()


def _struct_in(hint: Any) -> type[Fields] | None:
    if isinstance(hint, type) and issubclass(hint, Fields):
        return hint
    return next((struct for part in get_args(hint) if (struct := _struct_in(part)) is not None), None)


def _takes_list(hint: Any) -> bool:
    return get_origin(hint) is list or any(_takes_list(part) for part in get_args(hint))


def _explain(type_hint: Any, value: Any, why: str, name: str) -> tuple[str, str]:
    choices = _choices(type_hint)
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
    return f"«{name}» cannot be read: {_ERROR_PATH.sub('', why)}.", "The reference says what each field may hold."


@lru_cache(2000)
def _choices(hint: Any) -> tuple[str, ...]:
    """The texts a field may hold, when they are listed."""
    origin = get_origin(hint)
    if origin is Literal:
        return tuple(str(choice) for choice in get_args(hint) if isinstance(choice, str))
    if origin in (Union, types.UnionType, Annotated):
        return tuple(choice for part in get_args(hint) for choice in _choices(part))
    return ()
