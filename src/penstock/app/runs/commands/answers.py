"""Answers: the command that gives a waiting node its answer, and what is said when nothing waits for one."""

from __future__ import annotations

from typing import Any

from penstock.app.runs.reading import RunReading
from penstock.app.runs.run_view import RunView
from penstock.errors import (
    IllegalTransition,
    ItemAmbiguous,
    KeyConflict,
    NoBranch,
    NodeNotFound,
    NotWaiting,
    PenstockError,
    ProcessChanged,
    Refused,
    ResultInvalid,
    RunNotFound,
    StatusConflict,
)
from penstock.executors.parts.llm.answer_schema import answer_mismatch
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED, STATUS
from penstock.net.author import author
from penstock.net.compiled import Compiled

_KINDS: dict[str, type[PenstockError]] = {
    kind.code: kind
    for kind in (StatusConflict, IllegalTransition, NoBranch, NodeNotFound, RunNotFound, KeyConflict, ProcessChanged)
}


#: that a node is done, in the words of any language
_DONE = ("COMPLETED", "SUCCEEDED", "MAXITER_REACHED")


def firings_of(reading: RunReading, node: str) -> list[int]:
    """Those that wait for an answer, by the node's name in the document; NODE~FIRING is one of them."""
    st, net = reading.state, reading.net
    held = [(no, net.nodes[waiting.node]) for no, waiting in st.firings.items() if no in st.items or waiting.blocked]
    named = [no for no, waiting in held if node in (waiting.id, author(waiting))]
    return named or [no for no, waiting in held if node == f"{author(waiting)}~{no}"]


def answer_to(reading: RunReading, node: str, value: Any, by: str | None) -> C.Command | None:
    """For a node by its name in the document; None when it does not wait for an answer. Raises ItemAmbiguous where
    several of its firings ask somebody: they may have been asked different things."""
    st = reading.state
    waiting = firings_of(reading, node)
    if not waiting:
        return None
    asked = [no for no in waiting if no in st.items]
    if len(asked) > 1:
        known = ", ".join(f"{node}~{no}" for no in asked[:5])
        raise ItemAmbiguous(item=node, known=known, hint="Write which one: NODE~N.")
    return C.work(waiting[0], "submit", by, value) if waiting[0] in st.items else C.resolve(waiting[0], value)


def check_result(prompt: Any, value: Any, item: str, *, whole: bool = True) -> None:
    """P-X.14: what a person hands in has the shape that its form asks for; `whole`: with all that it requires. Raises
    ResultInvalid."""
    form = prompt.get("form") if isinstance(prompt, dict) and prompt.get("kind") == "work" else None
    if not isinstance(form, dict):
        return
    schema = form if whole else {name: part for name, part in form.items() if name != "required"}
    if why := answer_mismatch({} if value is None else value, schema, "the result"):
        raise ResultInvalid(item=item, why=why)


def not_waiting(view: RunView, net: Compiled, node: str) -> PenstockError:
    """Why a node cannot be answered, and which ones can."""
    plain = node.rpartition("~")[0]
    node = plain if node not in view.nodes and plain in view.nodes else node
    names = dict.fromkeys(wait.node for wait in view.waiting if wait.for_ in ("person", "operator"))
    waiting = ", ".join(f"«{name}»" for name in names)
    hint = f"An answer is awaited by {waiting}." if names else "Nothing in this run waits for an answer now."
    if node not in view.nodes:
        return NodeNotFound(node=node, hint=hint)
    if view.internal_status in STATUS[COMPLETED:]:
        why = f"Run {view.run_id} has ended ({view.status}), so nothing in it waits for an answer"
        if view.nodes[node].upper() in _DONE and net.by_id[node].spec.work:
            why = f"«{node}» has been answered already, and run {view.run_id} has ended ({view.status})"
        return NotWaiting(why=why, hint="`penstock show RUN` shows how it ended.")
    why = f"«{node}» does not wait for an answer"
    if view.nodes[node].upper() in _DONE:
        why = f"«{node}» has been answered already" if net.by_id[node].spec.work else f"«{node}» is done already"
    return NotWaiting(why=why, hint=hint)


def refusal_of(reply: dict[str, Any]) -> PenstockError:
    """The refusal of another process, as it would have been raised here."""
    kind = _KINDS.get(reply["code"], Refused)
    error = kind.__new__(kind)
    Exception.__init__(error, reply["message"])
    error.facts = {"hint": reply.get("hint", "")}
    return error
