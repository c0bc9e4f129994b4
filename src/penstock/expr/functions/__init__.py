"""The one table of functions: a new family is one file and one line here."""

from __future__ import annotations

from penstock.expr.functions.address import ADDRESS
from penstock.expr.functions.array import ARRAY
from penstock.expr.functions.context import CONTEXT
from penstock.expr.functions.contract import Function
from penstock.expr.functions.date import DATE
from penstock.expr.functions.event import EVENT
from penstock.expr.functions.feel import FEEL
from penstock.expr.functions.logic import LOGIC
from penstock.expr.functions.number import NUMBER
from penstock.expr.functions.string import STRING

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for functions in (
        LOGIC,
        NUMBER,
        STRING,
        ARRAY,
        DATE,
        CONTEXT,
        EVENT,
        ADDRESS,
        FEEL,
    )
    for function in functions
}
