"""The one expression language of all documents: compile once, call with a view of the names it may read."""

from __future__ import annotations

from penstock.expr.compile import Expression, compile_expression, compile_template
from penstock.expr.functions import FUNCTIONS
from penstock.expr.root_names import RESERVED_ROOTS
from penstock.expr.scope import (
    NODE_MEMBERS,
    SYSTEM_MEMBERS,
    Names,
    NodeView,
    check_roots,
    context_view,
    evaluate_all,
    system_view,
)
from penstock.expr.tokenizer import foreign_constant, nearest
from penstock.expr.values import equal, kind_of, text_of

__all__ = [
    "FUNCTIONS",
    "NODE_MEMBERS",
    "RESERVED_ROOTS",
    "SYSTEM_MEMBERS",
    "Expression",
    "Names",
    "NodeView",
    "check_roots",
    "compile_expression",
    "compile_template",
    "context_view",
    "equal",
    "evaluate_all",
    "foreign_constant",
    "kind_of",
    "nearest",
    "system_view",
    "text_of",
]
