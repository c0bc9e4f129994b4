"""The limits of an expression, and the meter that holds an evaluation to its steps.

Without a loop an expression cannot do more work than it has operators, so nothing is counted. Loops (lambdas), and an
expression with many operations whose work grows with their data, run inside a `Frame` that carries one `Meter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import ExprLimit, ExprTypeError

MAX_SOURCE = 4_096  # characters of one expression
MAX_TEMPLATE = 1 << 20  # characters of a text that holds expressions
MAX_REFERENCES = 10_000  # `${…}` in one text
MAX_DEPTH = 64  # of the tree, and of brackets while reading it
MAX_STEPS = 100_000
MAX_ARRAY = 100_000
MAX_TEXT = 1 << 20  # bytes of a text that an expression makes
MAX_INTEGER = (1 << 63) - 1  # and its negative: what a journal, a table and other languages can hold
MAX_NESTING = 200  # of the data: deeper cannot be compared, written as text or returned
MAX_RESULT = 1 << 24  # members and characters of a result, shared parts counted every time they occur

STEP_TEXT = 6  # one step pays for 2**6 characters
STEP_MEMBERS = 3  # one step pays for comparing 2**3 members
LINEAR_FREE = 8  # so many operations that grow with their data run without a common meter; each has its own

_WIDEST = 4  # bytes of a character in UTF-8

View = Mapping[str, Any]
CONTAINERS = (dict, list, tuple)


class Meter:
    """The steps that are left of one evaluation."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise ExprLimit(why=f"more than {MAX_STEPS:,} evaluation steps")


class Frame(dict[str, Any]):
    """Local names over an outer view; a name that is not local is asked of the outer view."""

    __slots__ = ("meter", "outer")

    def __init__(self, outer: View, meter: Meter) -> None:
        self.outer = outer
        self.meter = meter

    def __missing__(self, name: str) -> Any:
        return self.outer[name]


class ItemFrame(Frame):
    """The locals of an expression string: `item`, `index`, `acc`, then the item's own fields."""

    __slots__ = ()

    def __missing__(self, name: str) -> Any:
        item = self["item"]
        if not isinstance(item, dict):
            return self.outer[name]
        try:
            return item[name]
        except KeyError:
            pass
        try:
            return self.outer[name]
        except KeyError:
            return None  # a row without this field, in an array whose other rows may have it


def meter_of(view: View) -> Meter:
    """The evaluation's meter; an operation outside a metered expression gets one of its own."""
    return view.meter if isinstance(view, Frame) else Meter()


def spend(view: View, steps: int) -> None:
    meter_of(view).spend(steps)


def host_value(view: View, name: str) -> Any:
    """A root that the host put into the view; a row's field of the same name does not hide it. KeyError when absent."""
    while isinstance(view, Frame):
        view = view.outer
    return view[name]


def bounded_text(view: View, text: str) -> str:
    """The text, paid for and within the size that an expression may make."""
    size = len(text)
    if size >> STEP_TEXT:
        check_text_size(size)
        if size * _WIDEST > MAX_TEXT and not text.isascii():
            check_text_size(len(text.encode("utf-8", "surrogatepass")))
        spend(view, size >> STEP_TEXT)
    return text


def check_text_size(size: int) -> None:
    if size > MAX_TEXT:
        raise ExprLimit(why=f"a text of more than {MAX_TEXT:,} bytes")


def check_array_size(size: int) -> None:
    if size > MAX_ARRAY:
        raise ExprLimit(why=f"an array of more than {MAX_ARRAY:,} items")


def bounded_integer(number: int) -> int:
    """The integer, when it can be stored: refused here, by whoever makes it, and not by the journal later."""
    if -MAX_INTEGER <= number <= MAX_INTEGER:
        return number
    raise too_large()


def too_large() -> ExprLimit:
    return ExprLimit(why="an integer of more than 64 bits")


def finite(number: float) -> float:
    if number - number != 0.0:  # only infinity and NaN differ from themselves
        raise ExprTypeError(why="the result is not a finite number")
    return number


def bounded_result(value: Any) -> Any:
    """The value, when it can be stored: an expression may share one part many times, its written form cannot."""
    if isinstance(value, CONTAINERS):
        _weigh(value, 1, {})
    return value


def _weigh(value: Any, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Members and characters below a container, and its height; `known` lets a shared part be walked once."""
    if (measured := known.get(id(value))) is not None:
        _check_nesting(depth + measured[1] - 1)
        return measured
    _check_nesting(depth)
    weight, height = 1, 0
    if isinstance(value, dict):
        weight += sum(len(key) for key in value if isinstance(key, str))
        value_items: Iterable[Any] = value.values()
    else:
        value_items = value
    for item in value_items:
        if isinstance(item, str):
            weight += 1 + len(item)
        elif isinstance(item, CONTAINERS):
            part, below = _weigh(item, depth + 1, known)
            weight += part
            height = max(height, below)
        else:
            weight += 1
    if weight > MAX_RESULT:
        raise ExprLimit(why=f"a result of more than {MAX_RESULT:,} members and characters")
    known[id(value)] = (weight, height + 1)
    return weight, height + 1


def _check_nesting(depth: int) -> None:
    if depth > MAX_NESTING:
        raise ExprLimit(why=f"a result nested more than {MAX_NESTING} deep")
