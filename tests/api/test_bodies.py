"""Response bodies that take their fields from a struct of the app."""

from __future__ import annotations

import msgspec
import pytest

from penstock.api.bodies import ResponseBody


class Inner(msgspec.Struct):
    seq: int
    since: int | None = None


class Outer(msgspec.Struct, rename={"from_": "from"}):
    id: str
    from_: str
    started_at: int
    inners: tuple[Inner, ...]
    names: dict[str, list[str]]
    secret: str = ""
    note: str | None = "none yet"


class InnerBody(ResponseBody, of=Inner, defaults=True):
    pass


class OuterBody(ResponseBody, of=Outer, omit=("secret",), first=("started_at",)):
    id: str | None
    more: int = 0


def test_fields_come_in_the_structs_order_and_the_rest_follows() -> None:
    assert list(OuterBody.model_fields) == ["started_at", "id", "from_", "inners", "names", "note", "more"]
    assert OuterBody.model_fields["note"].is_required()
    assert not InnerBody.model_fields["since"].is_required()


def test_a_struct_becomes_its_body() -> None:
    outer = Outer("a", "b", 1_700_000_000_123, (Inner(1), Inner(2, 0)), {"x": ["y"]}, secret="s")
    body = OuterBody.model_validate(msgspec.to_builtins(outer))
    assert msgspec.json.decode(body.model_dump_json(by_alias=True)) == {
        "started_at": "2023-11-14T22:13:20.123Z",
        "id": "a",
        "from": "b",
        "inners": [{"seq": 1, "since": None}, {"seq": 2, "since": "1970-01-01T00:00:00.000Z"}],
        "names": {"x": ["y"]},
        "note": "none yet",
        "more": 0,
    }


def test_a_struct_within_another_needs_a_body_of_its_own() -> None:
    class Lonely(msgspec.Struct):
        id: str

    held = msgspec.defstruct("Held", [("held", list[Lonely])])
    with pytest.raises(AssertionError, match="the body of Lonely"):
        type(ResponseBody)("HeldBody", (ResponseBody,), {"__module__": __name__}, of=held)


def test_a_struct_has_one_body() -> None:
    with pytest.raises(AssertionError, match="Inner has a body already: InnerBody"):
        type(ResponseBody)("Second", (ResponseBody,), {"__module__": __name__}, of=Inner)
