"""How often a JSON Schema looks at one and the same value, counted before it is asked.

References make a short schema a large one: thirty definitions that each name the next one twice are a thousand million
schemas. A validator goes through them all, and nobody can interrupt it. So the schemas that look at a value are counted
first: those of one place as a multiset, and from it the multiset of each place below. What refers to itself further
down only, as a tree does, comes back to the same multiset; the count is the same for any value. Only where it grows
with the depth a value is walked through, once, whatever the schema unfolds to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

import msgspec

#: schemas that may look at one place
UNFOLDED = 10_000
#: looks at a whole value, some 50 ms, and how many more for each place in it
STEPS, STEPS_EACH = 1_000_000, 100
_STATES, _ENTRIES = 1_000, 300_000
_META = ("http://json-schema.org/", "https://json-schema.org/")
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_BY_NAME = frozenset({"patternProperties", "dependentSchemas", "dependencies"})
_BELOW_OBJECTS = frozenset({"patternProperties", "propertyNames"})
_OTHER_PROPERTIES = frozenset({"additionalProperties", "unevaluatedProperties"})
_OTHER_ITEMS = frozenset({"additionalItems", "items", "unevaluatedItems"})
_SAME_PLACE = frozenset({"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"})
_KEYWORDS = _REFERENCES | _BELOW_OBJECTS | _OTHER_PROPERTIES | _OTHER_ITEMS | _SAME_PLACE | {
    "properties", "prefixItems", "contains",
}  # fmt: skip
_Looks = tuple[tuple[int, int], ...]


class SchemaUnfolds(ValueError):
    """A schema that cannot be asked: too much comes of it, or it has no end."""

    def __init__(self, pointer: str, why: str) -> None:
        self.pointer = pointer
        super().__init__(why)


class _Schema(msgspec.Struct):
    """One schema of the document, and the numbers of those that it names."""

    pointer: str
    here: list[int] = []
    properties: dict[str, int] = {}
    patterns: list[int] = []
    other_properties: list[int] = []
    items: list[int] = []
    other_items: list[int] = []
    each_item: list[int] = []
    times: int = 1

    def named(self) -> list[int]:
        below = [*self.properties.values(), *self.patterns, *self.other_properties]
        return [*self.here, *below, *self.items, *self.other_items, *self.each_item]


class _Place(msgspec.Struct):
    """What looks at one place of a value, and so at those below it."""

    count: int
    schemas: Counter[int]
    properties: dict[str | None, _Place] = {}
    items: dict[int, _Place] = {}


class SchemaSteps:
    """Raises SchemaUnfolds."""

    def __init__(self, schema: Any) -> None:
        self._references = _References(schema)
        self._numbers: dict[int, int] = {}
        self._schemas: list[_Schema] = []
        self._unread: list[tuple[int, Any]] = []
        self._unfolded: dict[int, Counter[int]] = {}
        self._entries = 0
        self._places: dict[_Looks, _Place] = {}
        root = self._number(schema, "")
        while self._unread:
            number, part = self._unread.pop()
            self._schemas[number] = self._read(part, self._schemas[number].pointer)
        try:
            self._root = self._place(Counter({root: 1}))
        except RecursionError:
            raise SchemaUnfolds("", "it is nested too deeply") from None
        self._recurs = self._has_circle()
        self._most = self._most_at_a_place()
        if self._most is not None and self._most > UNFOLDED:
            raise SchemaUnfolds("", _too_many())

    def too_many(self, value: Any) -> bool:
        """Whether the schema would look at this value too often."""
        if self._most is not None and self._most <= STEPS_EACH:
            return False
        looks = places = 0
        left: list[tuple[Any, _Place]] = [(value, self._root)]
        while left:
            value, place = left.pop()
            if not place.count:
                continue
            looks, places = looks + place.count, places + 1
            if looks > STEPS + STEPS_EACH * places:
                return True
            if isinstance(value, Mapping):
                left.extend((each, self._property(place, name)) for name, each in value.items())
            elif isinstance(value, list | tuple):
                left.extend((each, self._item(place, index)) for index, each in enumerate(value))
        return False

    def _most_at_a_place(self) -> int | None:
        """Of any value; None where it grows with the value's depth, or nobody can tell."""
        most, seen, left = 0, {id(self._root)}, [self._root]
        while left:
            place = left.pop()
            most = max(most, place.count)
            if most > UNFOLDED:
                return None if self._recurs else most
            if len(seen) > _STATES:
                return None
            for below in self._below(place):
                if id(below) not in seen:
                    seen.add(id(below))
                    left.append(below)
        return most

    def _below(self, place: _Place) -> Iterator[_Place]:
        schemas = [self._schemas[number] for number in place.schemas]
        names: set[str | None] = {name for schema in schemas for name in schema.properties}
        for name in (*sorted(map(str, names)), None):
            yield self._property(place, name)
        for index in range(max((len(schema.items) for schema in schemas), default=0) + 1):
            yield self._item(place, index)

    def _property(self, place: _Place, name: str | None) -> _Place:
        known = place.properties.get(name)
        if known is None:
            looks: Counter[int] = Counter()
            for number, times in place.schemas.items():
                schema = self._schemas[number]
                own = schema.properties.get(name) if name is not None else None
                for below in (*([own] if own is not None else schema.other_properties), *schema.patterns):
                    looks[below] += times
            known = self._place(looks)
            if len(place.properties) < _STATES:
                place.properties[name] = known
        return known

    def _item(self, place: _Place, index: int) -> _Place:
        index = min(index, max((len(self._schemas[number].items) for number in place.schemas), default=0))
        known = place.items.get(index)
        if known is None:
            looks: Counter[int] = Counter()
            for number, times in place.schemas.items():
                schema = self._schemas[number]
                own = schema.items[index : index + 1] or schema.other_items
                for below in (*own, *schema.each_item):
                    looks[below] += times
            known = place.items[index] = self._place(looks)
        return known

    def _place(self, looks: Counter[int]) -> _Place:
        key = tuple(sorted(looks.items()))
        known = self._places.get(key)
        if known is None:
            schemas: Counter[int] = Counter()
            for number, times in looks.items():
                for each, count in self._unfold(number).items():
                    schemas[each] += count * times
            known = _Place(schemas.total(), schemas)
            if len(self._places) <= _STATES:
                self._places[key] = known
        return known

    def _unfold(self, number: int) -> Counter[int]:
        """The schema and all that look at the same place because of it."""
        known = self._unfolded.get(number)
        if known is not None:
            if not known:
                raise SchemaUnfolds(self._schemas[number].pointer, "it refers to itself at the same place of a value")
            return known
        self._unfolded[number] = Counter()
        schema, unfolded = self._schemas[number], Counter({number: 1})
        for each in schema.here:
            for other, count in self._unfold(each).items():
                unfolded[other] += count * schema.times
        self._entries += len(unfolded)
        if unfolded.total() > UNFOLDED or self._entries > _ENTRIES:
            raise SchemaUnfolds(schema.pointer, _too_many())
        self._unfolded[number] = unfolded
        return unfolded

    def _has_circle(self) -> bool:
        done: set[int] = set()
        path: set[int] = set()
        left: list[tuple[int, bool]] = [(0, False)]
        while left:
            number, leaving = left.pop()
            if leaving:
                path.discard(number)
                done.add(number)
            elif number in path:
                return True
            elif number not in done:
                path.add(number)
                left.append((number, True))
                left.extend((each, False) for each in self._schemas[number].named())
        return False

    # ---- the document ------------------------------------------------------------------------------------------------

    def _number(self, schema: Any, pointer: str) -> int:
        known = self._numbers.get(id(schema))
        if known is not None:
            return known
        number = self._numbers[id(schema)] = len(self._schemas)
        self._schemas.append(_Schema(pointer))
        if isinstance(schema, dict) and not _KEYWORDS.isdisjoint(schema):
            self._unread.append((number, schema))
        return number

    def _read(self, schema: dict[str, Any], pointer: str) -> _Schema:
        made = _Schema(pointer, [], {}, [], [], [], [], [])
        listed = isinstance(schema.get("items"), list)
        for name in _KEYWORDS.intersection(schema):
            part, at = schema[name], f"{pointer}/{name}"
            if name == "properties":
                if isinstance(part, dict):
                    made.properties = {each: self._number(below, _below(at, each)) for each, below in part.items()}
                continue
            if name in _REFERENCES:
                parts = self._references.targets(schema, name, pointer) if isinstance(part, str) else []
            else:
                parts = list(_parts(part, at, name in _BY_NAME))
            self._put(made, name, [self._number(*each) for each in parts], listed)
        return made

    @staticmethod
    def _put(made: _Schema, name: str, numbers: list[int], listed: bool) -> None:
        if name in ("unevaluatedProperties", "unevaluatedItems"):
            made.times = 2  # what has been evaluated is asked for once more
        if name in _BELOW_OBJECTS:
            made.patterns += numbers
        elif name in _OTHER_PROPERTIES:
            made.other_properties += numbers
        elif name == "contains":
            made.each_item += numbers
        elif name == "prefixItems" or name == "items" and listed:
            made.items += numbers
        elif name in _OTHER_ITEMS:
            made.other_items += numbers
        else:
            made.here += numbers


class _References:
    """Where the references of a document lead, by its ids and anchors."""

    def __init__(self, schema: Any) -> None:
        self._resources: dict[str, tuple[Any, str]] = {"": (schema, "")}
        self._anchors: dict[str, list[tuple[Any, str]]] = {}
        self._bases: dict[int, str] = {}
        left: list[tuple[Any, str, str]] = [(schema, "", "")]
        while left:
            part, pointer, base = left.pop()
            if isinstance(part, dict):
                base = self._entered(part, pointer, base)
                self._bases[id(part)] = base
                left.extend((each, _below(pointer, name), base) for name, each in part.items())
            elif isinstance(part, list):
                left.extend((each, _below(pointer, index), base) for index, each in enumerate(part))

    def _entered(self, part: dict[str, Any], pointer: str, base: str) -> str:
        for name in ("$id", "id"):
            own = part.get(name)
            if isinstance(own, str) and own.startswith("#"):
                self._anchors.setdefault(own[1:], []).append((part, pointer))
            elif isinstance(own, str) and (name == "$id" or "$schema" in part):
                base = urljoin(base, own).removesuffix("#")
                self._resources.setdefault(base, (part, pointer))
        for name in ("$anchor", "$dynamicAnchor"):
            if isinstance(part.get(name), str):
                self._anchors.setdefault(part[name], []).append((part, pointer))
        if part.get("$recursiveAnchor") is True:
            self._anchors.setdefault("$recursiveAnchor", []).append((part, pointer))
        return base

    def targets(self, schema: dict[str, Any], name: str, pointer: str) -> list[tuple[Any, str]]:
        """The schemas that a reference may mean. Of a dynamic one all count that have its name; those that the
        validator brings along itself are none of ours."""
        reference = schema[name]
        where, _, fragment = reference.partition("#")
        base = self._bases[id(schema)]
        uri = urljoin(base, where) if where else base
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment) or self._unknown(reference, uri, f"{pointer}/{name}")
        if name == "$recursiveRef" and "$recursiveAnchor" in self._anchors:
            return self._anchors["$recursiveAnchor"]
        resource = self._resources.get(uri)
        target = _at(*resource, fragment) if resource is not None else None
        return [target] if target is not None else self._unknown(reference, uri, f"{pointer}/{name}")

    @staticmethod
    def _unknown(reference: str, uri: str, pointer: str) -> list[tuple[Any, str]]:
        if uri.startswith(_META):
            return []
        raise SchemaUnfolds(pointer, f"{reference[:100]} is not fetched: put the schema into the document")


def _at(part: Any, pointer: str, fragment: str) -> tuple[Any, str] | None:
    for name in fragment.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and name in part:
            part = part[name]
        elif isinstance(part, list) and name.isdecimal() and int(name) < len(part):
            part = part[int(name)]
        else:
            return None
        pointer = _below(pointer, name)
    return part, pointer


def _parts(value: Any, pointer: str, by_name: bool) -> Iterator[tuple[Any, str]]:
    """The schemas under a keyword that holds one, a list of them, or one per name."""
    if isinstance(value, list):
        yield from ((each, f"{pointer}/{index}") for index, each in enumerate(value))
    elif isinstance(value, dict) and by_name:
        yield from ((each, _below(pointer, name)) for name, each in value.items() if isinstance(each, dict | bool))
    elif isinstance(value, dict | bool):
        yield value, pointer


def _below(pointer: str, name: str | int) -> str:
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _too_many() -> str:
    return f"its references unfold to more than {UNFOLDED} schemas; name each definition once"
