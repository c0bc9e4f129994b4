"""Which triggers an event may have where it stands, and what to draw instead of the others (BPMN 10.5)."""

from __future__ import annotations

_CATCH = ("timer", "message", "signal", "conditional")
_BORDER = (*_CATCH, "error", "escalation")
_SENT = ("message", "signal", "escalation", "compensation")
_ENDING = ("error", "terminate")
#: position → triggers; `handler` is the start of an event sub-process
TRIGGERS: dict[str, tuple[str, ...]] = {
    "start": ("none", "timer", "message", "signal", "conditional", "multiple"),
    "handler": (*_BORDER, "multiple"),
    "catch": (*_CATCH, "link", "multiple", "parallelMultiple"),
    "throw": ("none", *_SENT, "link", "multiple"),
    "end": ("none", *_SENT, *_ENDING, "cancel", "multiple"),
    "boundary": (*_BORDER, "compensation", "cancel", "multiple"),
}
#: the same for each of several
AMONG_SEVERAL: dict[str, tuple[str, ...]] = {
    "start": ("timer", "message", "signal", "conditional"), "handler": _BORDER, "catch": _CATCH, "throw": _SENT,
    "end": (*_SENT, *_ENDING), "boundary": _BORDER,
}  # fmt: skip
_WORDS = {"handler": "start event of an event sub-process", "boundary": "boundary event"}
_ONE_OF_EACH = "Draw one event for each, side by side behind a parallel gateway, and join them with a second one."
_INSTEAD = {
    ("start", "error"): "Draw it in an event sub-process; a process itself begins by a timer, a message or a signal.",
    ("start", "escalation"): "Draw it in an event sub-process; a process itself begins by a message or a signal.",
    ("start", "compensation"): "Name what undoes an activity by a compensation event at its border.",
    ("start", "cancel"): "Draw it at the border of a transaction.",
    ("catch", "cancel"): "Attach it to the border of a transaction.",
    ("throw", "cancel"): "Make it an end event in a transaction.",
    ("start", "parallelMultiple"): "Begin with one of them, and let a parallel multiple catch event wait for the rest.",
    ("handler", "none"): "Draw one start event in it, with a timer, message, signal, condition, error or escalation.",
    ("handler", "compensation"): "Name what undoes an activity by a compensation event at its border.",
    ("handler", "parallelMultiple"): _ONE_OF_EACH,
    ("catch", "none"): "Say what it waits for: a timer, a message, a signal or a condition; or make it a throw event.",
    ("catch", "error"): "Attach it to the border of an activity, or begin an event sub-process with it.",
    ("catch", "escalation"): "Attach it to the border of an activity, or begin an event sub-process with it.",
    ("catch", "compensation"): "Attach it to the border of the activity that it undoes.",
    ("throw", "conditional"): "Make it a catch event.", ("throw", "timer"): "Make it a catch event.",
    ("throw", "error"): "Make it an end event: an error ends its path.",
    ("throw", "terminate"): "Make it an end event.",
    ("end", "conditional"): "Let a conditional catch event come before an end event without a trigger.",
    ("end", "timer"): "Let a timer catch event come before an end event without a trigger.",
    ("end", "link"): "Make it a throw event.",
    ("boundary", "none"): "Say what it waits for: a timer, message, signal, condition, error or escalation.",
    ("boundary", "link"): "Draw a transition from a boundary event that says what it waits for.",
    ("boundary", "terminate"): "Let a terminate end event follow the boundary event.",
    ("boundary", "parallelMultiple"): "Put the activity beside a parallel multiple catch event, and end the activity by"
                                      " a terminate event in a sub-process around both.",
}  # fmt: skip


def refusal(position: str, trigger: str, *, among: bool = False) -> tuple[str, str] | None:
    """Why an event with this trigger is not run there, and what to draw instead; None: it is run."""
    known = (AMONG_SEVERAL if among else TRIGGERS)[position]
    if trigger in known:
        return None
    word = _WORDS.get(position, f"{position} event")
    one_of = "one of several of " if among else ""
    hint = _INSTEAD.get((position, trigger), f"Use another trigger: {', '.join(known)}.")
    return f"is {one_of}a {word} with the trigger {trigger}, which is not run here", hint
