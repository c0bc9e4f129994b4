"""The answers of a draft, in their order: its present form is the fold of them over the file as it came."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from penstock.errors import BadInput, ProcessInvalid, ProcessNotFound
from penstock.lang.contract import Resolve
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos import Taken, Todo, answered, todos_of

#: one answer may bring another to-do to light; answers that have found none after so many rounds are left out
_ROUNDS = 50


class DraftReply(msgspec.Struct, frozen=True):
    """An answer to one to-do: what its proposal with this number (from 0) says, or one's own."""

    key: str
    proposal: int | None = None
    answer: dict[str, Any] | None = None


class DraftAnswer(msgspec.Struct, frozen=True):
    """`todo` is what was missing, as it was worded then; `by_proposal`: what it proposed was taken as it stood."""

    key: str
    answer: dict[str, Any]
    by_proposal: bool
    by: str | None
    at: int
    todo: Todo


class AnswerLog(msgspec.Struct, frozen=True):
    """`numbers` are those of the to-dos by their keys: given along the flow when they are first seen, and for good."""

    answers: tuple[DraftAnswer, ...] = ()
    numbers: dict[str, int] = {}

    def numbered(self, todos: Iterable[Todo]) -> AnswerLog:
        numbers, last = dict(self.numbers), max(self.numbers.values(), default=0)
        for todo in todos:
            if todo.key not in numbers:
                last += 1
                numbers[todo.key] = last
        return replace(self, numbers=numbers)


def packed(log: AnswerLog) -> bytes:
    return msgspec.msgpack.encode(log)


def unpacked(body: bytes) -> AnswerLog:
    return msgspec.msgpack.decode(body, type=AnswerLog)


# ---- the fold --------------------------------------------------------------------------------------------------------


def folded(drawing: Drawing, answers: Iterable[DraftAnswer]) -> Drawing:
    """The drawing with answers that were taken upon it, in this order. One that this version of the program does not
    take any more is asked for again."""
    for given in answers:
        with contextlib.suppress(ProcessInvalid):
            drawing = answered(drawing, given.key, given.answer)
    return drawing


def refolded(
    drawing: Drawing, answers: Sequence[DraftAnswer], resolve: Resolve
) -> tuple[Drawing, tuple[DraftAnswer, ...]]:
    """Upon another drawing: the answers whose to-dos are there, some of them only after another answer; and those."""
    left, kept = list(answers), list[DraftAnswer]()
    for _ in range(_ROUNDS):
        keys = {todo.key for todo in todos_of(drawing, resolve)} if left else set[str]()
        now = [given for given in left if given.key in keys]
        if not now:
            break
        left = [given for given in left if given.key not in keys]
        for given in now:
            try:
                drawing = answered(drawing, given.key, given.answer)
            except ProcessInvalid:
                continue  # its element looks another way now
            kept.append(given)
    return drawing, tuple(kept)


# ---- new answers -----------------------------------------------------------------------------------------------------


class Answering:
    """A draft that is being answered. `source` gives the drawing as it came, which is needed where an answer takes the
    place of an earlier one. Raises ProcessNotFound for what is no to-do of it, ProcessInvalid for what does not fit."""

    def __init__(
        self, drawing: Drawing, todos: Iterable[Todo], log: AnswerLog, source: Callable[[], Drawing], resolve: Resolve,
        by: str | None, at: int,
    ) -> None:  # fmt: skip
        self.drawing, self.log, self.source, self.resolve, self.by, self.at = drawing, log, source, resolve, by, at
        self.todos = {todo.key: todo for todo in todos}

    def reply(self, replies: Iterable[DraftReply]) -> Answering:
        for reply in replies:
            if reply.key not in self.todos:
                self._look_again()
            if reply.key in self.todos:
                given = self._given(self.todos[reply.key], reply)
                self.drawing = answered(self.drawing, given.key, given.answer)
                self._keep(given)
            else:
                self._answer_again(reply)
        return self

    def take(self, drawing: Drawing, taken: Iterable[Taken]) -> Answering:
        """What was proposed, which has led to this drawing."""
        self.drawing = drawing
        for proposal in taken:
            self._keep(_answer_of(proposal.todo, proposal.answer, True, self.by, self.at))
        return self

    def undo(self, key: str | None) -> Answering:
        """`key` None: the last answer."""
        answers = self.log.answers
        rest = answers[:-1] if key is None else tuple(answer for answer in answers if answer.key != key)
        if len(rest) == len(answers):
            raise ProcessNotFound(what="answer to", name=key or "the last to-do")
        if key is None or answers[-1].key == key and len(rest) == len(answers) - 1:  # nothing was answered upon it
            self.drawing, kept = folded(self.source(), rest), rest
        else:
            self.drawing, kept = refolded(self.source(), rest, self.resolve)
        self.log = replace(self.log, answers=kept)
        return self

    def _look_again(self) -> None:
        self.todos = {todo.key: todo for todo in todos_of(self.drawing, self.resolve)}

    def _keep(self, given: DraftAnswer) -> None:
        log = self.log.numbered([given.todo])
        self.log = replace(log, answers=(*log.answers, given))

    def _answer_again(self, reply: DraftReply) -> None:
        """In the place of the earlier answer: what was answered upon it stays, where it is still asked."""
        answers = self.log.answers
        before = [answer for answer in answers if answer.key != reply.key]
        if len(before) == len(answers):
            raise ProcessNotFound(what="to-do", name=reply.key)
        without, _ = refolded(self.source(), before, self.resolve)
        todo = next((todo for todo in todos_of(without, self.resolve) if todo.key == reply.key), None)
        if todo is None:
            raise ProcessNotFound(what="to-do", name=reply.key)
        given = self._given(todo, reply)
        answered(without, given.key, given.answer)  # raises where it does not fit
        places = [given if answer.key == reply.key else answer for answer in answers]
        self.drawing, kept = refolded(self.source(), list({one.key: one for one in places}.values()), self.resolve)
        self.log = replace(self.log, answers=kept)
        self._look_again()

    def _given(self, todo: Todo, reply: DraftReply) -> DraftAnswer:
        if (reply.proposal is None) == (reply.answer is None):
            why = "it has neither a proposal nor an answer, or both"
            raise BadInput(what=f"the answer to «{todo.key}»", why=why, hint="Give one of the two.")
        if reply.proposal is None:
            assert reply.answer is not None, "one of them is given"
            return _answer_of(todo, reply.answer, False, self.by, self.at)
        if not 0 <= reply.proposal < len(todo.proposals):
            why = f"it has {len(todo.proposals)} proposals, counted from 0, and none with the number {reply.proposal}"
            raise BadInput(what=f"the answer to «{todo.key}»", why=why, hint="Look at the draft again.")
        return _answer_of(todo, todo.proposals[reply.proposal].answer, True, self.by, self.at)


def _answer_of(todo: Todo, answer: dict[str, Any], by_proposal: bool, by: str | None, at: int) -> DraftAnswer:
    """What is kept of the to-do is what people read of it."""
    return DraftAnswer(todo.key, answer, by_proposal, by, at, replace(todo, proposals=[], form={}))
