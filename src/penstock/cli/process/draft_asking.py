"""Asking the to-dos of a draft one by one: the proposal first, else what people type as the to-do's form says."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from penstock.app.process.drafts.answers import DraftReply
from penstock.app.process.drafts.views import Draft, DraftTodo
from penstock.cli.output import TONES, console, say
from penstock.errors import BadInput, PenstockError, ProcessInvalid

#: gives the draft with an answer in it
Answer = Callable[[Draft, DraftReply], Awaitable[Draft]]
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


async def asked(draft: Draft, answer: Answer) -> Draft:
    """Until nothing is asked any more that was not skipped; the end of the input skips the rest. An answer that does
    not fit is said to be none, and asked for again."""
    skipped: set[str] = set()
    while (todo := _next(draft, skipped)) is not None:
        print_todo(todo)
        try:
            text = console().input(_question(todo)).strip()
        except EOFError:
            say("")
            return draft
        try:
            reply = reply_of(todo, text)
            if reply is None:
                skipped.add(todo.key)
                continue
            draft = await answer(draft, reply)
        except (BadInput, ProcessInvalid) as wrong:
            _say_wrong(wrong)
    return draft


def _next(draft: Draft, skipped: set[str]) -> DraftTodo | None:
    """What can only be changed in the file is not asked."""
    asked = (todo for todo in draft.todos if todo.state == "open" and (todo.proposals or todo.form))
    return next((todo for todo in asked if todo.key not in skipped), None)


def _question(todo: DraftTodo) -> str:
    if not todo.proposals:
        return "  a value, or s to skip: "
    others = "" if len(todo.proposals) == 1 else f", 2{f' to {len(todo.proposals)}' if len(todo.proposals) > 2 else ''}"
    own = ", or a value" if todo.form else ""
    return f"  Enter takes the proposal{others and f' 1{others} another'}, s skips{own}: "


def reply_of(todo: DraftTodo, text: str) -> DraftReply | None:
    """None where it is skipped. Raises BadInput."""
    if text.lower() in ("s", "skip") or not text and not todo.proposals:
        return None
    if not text:
        return DraftReply(todo.key, proposal=0)
    if text.isdecimal() and 1 <= int(text) <= len(todo.proposals):
        return DraftReply(todo.key, proposal=int(text) - 1)
    return DraftReply(todo.key, answer=typed_answer(todo, text))


def typed_answer(todo: DraftTodo, text: str) -> dict[str, Any]:
    """JSON as the form says; a plain text where the form asks for one. Raises BadInput."""
    if text.startswith("{"):
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadInput(what=f"the answer to «{todo.key}»", why=f"it is not JSON: {error}") from error
    properties, required = todo.form.get("properties") or {}, todo.form.get("required") or []
    if required == ["kind", "value"]:
        return {"kind": _kind_of_time(text), "value": text}
    if len(required) == 1:
        form = properties.get(required[0]) or {}
        if form.get("type") == "array":
            return {required[0]: [part.strip() for part in text.split(",") if part.strip()]}
        if form.get("type") == "string":
            return {required[0]: text}
    hint = f"It has the members {', '.join(properties)}." if properties else "Change the file, and import it again."
    raise BadInput(what=f"the answer to «{todo.key}»", why="it takes more than a text; write JSON", hint=hint)


def _kind_of_time(text: str) -> str:
    """R/PT1H and cron come again and again, P3D comes once, and so does a date."""
    if _DATE.match(text):
        return "date"
    return "duration" if text[:1].upper() == "P" else "cycle"


# ---- printing --------------------------------------------------------------------------------------------------------


def print_todo(todo: DraftTodo) -> None:
    kind = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", todo.element_type)).lower()
    name = f" ‘{todo.name}’" if todo.name else ""
    if todo.state == "done":
        how = "proposal taken" if todo.by_proposal else "answered by hand"
        by = f" by {todo.answered_by}" if todo.answered_by else ""
        say((f"{todo.no:3} ", "bold"), ("done ", TONES["done"]), f"{kind}{name}: {how}{by}")
        return
    state, tone = ("open ", TONES["held"]) if todo.required else ("optional ", "bright_black")
    say((f"{todo.no:3} ", "bold"), (state, tone), (f"{kind}{name}", "bold"), (f"  {todo.key}", "bright_black"))
    say(f"      {todo.message}")
    for number, proposal in enumerate(todo.proposals, 1):
        say((f"      proposal {number}: " if len(todo.proposals) > 1 else "      proposal: ", "cyan"), proposal.message)
    if not todo.proposals and todo.hint:
        say(("      hint: ", "bright_black"), todo.hint)


def _say_wrong(wrong: PenstockError) -> None:
    text = wrong.findings[0].message if isinstance(wrong, ProcessInvalid) else str(wrong)
    hint = wrong.findings[0].hint if isinstance(wrong, ProcessInvalid) else str(wrong.facts.get("hint") or "")
    say(("  no: ", TONES["failed"]), text, f" {hint}" if hint else "")
