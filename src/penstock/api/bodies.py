"""Request and response bodies: the base models, and response models that take their fields from the app's structs."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel, ConfigDict, Field, create_model

from penstock.api.time_fields import Moment

#: the response body of a struct, for structs within others
_BODY_OF: dict[type[msgspec.Struct], type[BaseModel]] = {}


class RequestBody(BaseModel):
    """A request body. Unknown members are refused, so that a typing error is not taken for a default."""

    model_config = ConfigDict(extra="forbid")


class StructBody(BaseModel):
    """A model that takes its fields from a struct of the app.

    `class RunOut(ResponseBody, of=Run)` has the fields of the struct `Run` in its order: those in `first` before
    the others, without those in `omit`, or those in `only`; with their defaults where `defaults` is true. A field that
    the class declares itself replaces the struct's; others that it declares follow. Structs within the struct have
    bodies of their own; `parts` names those that are no more than their fields, the inner ones first."""

    def __init_subclass__(
        cls,
        *,
        of: type[msgspec.Struct] | None = None,
        only: Sequence[str] = (),
        omit: Collection[str] = (),
        first: Sequence[str] = (),
        defaults: bool = False,
        parts: Mapping[type[msgspec.Struct], str] | None = None,
        **config: Any,
    ) -> None:
        """Called before pydantic reads the annotations."""
        super().__init_subclass__(**config)
        for struct, name in (parts or {}).items():
            create_model(name, __base__=ResponseBody, __module__=cls.__module__, __cls_kwargs__={"of": struct})
        if of is not None:
            wanted = only.__contains__ if only else lambda name: name not in omit
            _take_fields(cls, of, wanted, only or first, defaults=defaults)
        if of is not None and not omit and not only:
            assert of not in _BODY_OF, f"{of.__name__} has a body already: {_BODY_OF[of].__name__}"
            _BODY_OF[of] = cls


class ResponseBody(StructBody):
    """A response body, filled from what the app computes by the names of its fields. Each field is always written, also
    one that has a default, and the description of the API says so."""

    model_config = ConfigDict(populate_by_name=True, json_schema_serialization_defaults_required=True)


def _take_fields(
    model: type[BaseModel],
    struct: type[msgspec.Struct],
    wanted: Callable[[str], bool],
    first: Sequence[str],
    *,
    defaults: bool,
) -> None:
    own = dict(inspect.get_annotations(model))
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        if field.name in own:
            fields[field.name] = own.pop(field.name)
        elif wanted(field.name):
            fields[field.name] = _sent_as(field.type, is_time=_is_time(field.name))
            _declare(model, field, default=defaults)
    fields |= own
    model.__annotations__ = {name: fields[name] for name in dict.fromkeys((*first, *fields))}


def _declare(model: type[BaseModel], field: msgspec.structs.FieldInfo, *, default: bool) -> None:
    """Sets the default of the field, and the name under which it is sent."""
    options: dict[str, Any] = {}
    if field.encode_name != field.name:
        options["alias"] = field.encode_name
    if default and field.default is not msgspec.NODEFAULT:
        options["default"] = field.default
    elif default and field.default_factory is not msgspec.NODEFAULT:
        options["default"] = field.default_factory()
    if options:
        setattr(model, field.name, Field(**options))


def _is_time(name: str) -> bool:
    """A field with one of these names counts milliseconds, and is sent as ISO 8601."""
    return name in ("at", "since", "until") or name.endswith("_at")


def _sent_as(declared: Any, *, is_time: bool = False) -> Any:
    """The type of a struct's field in the response: bodies for structs, lists for tuples and sets, text for times."""
    if declared is int and is_time:
        return Moment
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        assert declared in _BODY_OF, f"the body of {declared.__name__} is declared before those that hold it"
        return _BODY_OF[declared]
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _sent_as(parts[0], is_time=is_time)
    if origin in (Union, types.UnionType):
        return Union[tuple(_sent_as(part, is_time=is_time) for part in parts)]  # noqa: UP007 (made at run time)
    if origin in (list, tuple, set, frozenset):
        return list[_sent_as(parts[0], is_time=is_time)]  # type: ignore[misc]
    if origin is dict:
        return dict[parts[0], _sent_as(parts[1], is_time=is_time)]  # type: ignore[misc,valid-type]
    return declared
