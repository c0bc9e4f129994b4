"""What to draw instead of the elements of BPMN that are not run: one line each."""

from __future__ import annotations

_GENERAL = "Draw it with tasks, gateways, sub-processes and the events of the reference, or remove it."
_CHOREOGRAPHY = "Draw each participant as a pool with a process of its own, and their exchange as message flows."
#: What the element is, as a finding calls it → what to draw.
_INSTEAD = {
    "choreography": _CHOREOGRAPHY,
    "implicit event": "Draw an intermediate throw event.",
    "plain event": "Draw a start, end or intermediate event.",
    "global task": "Call it by a call activity; what a process does is drawn in it.",
    "task that waits for several tokens": "Draw a parallel gateway before the task: it waits for each way.",
    "task that puts several tokens": "Draw each way behind the task by itself, or several instances of what follows.",
    "multi-instance activity that throws events for its instances":
        "Draw a sub-process with these instances: in it the task, and behind the task a throw event.",
    "event whose definition is not in the file": "Draw the event with its timer, message or signal.",
    "second process of the file":
        "Bring the whole file as a drawing, of which each process is a definition: `penstock process import FILE`.",
}  # fmt: skip


def draw_instead(what: str) -> str:
    if what.startswith("script in "):
        return "Write the script in Python, or make it a service task that a worker of that language does."
    return _INSTEAD.get(what, _GENERAL)
