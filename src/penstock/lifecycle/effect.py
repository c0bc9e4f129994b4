"""The life of an effect. Only effects that must not run twice are marked `started` before the call."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

EFFECT = Machine(
    "effect",
    "asked",
    (
        T("asked", "start", "started", "RELIABILITY g.5: at_most_once is marked in a commit before the call"),
        T("asked", "succeed", "done", "KERNEL 2 effect.answered"),
        T("asked", "fail", "failed", "KERNEL 2 effect.answered"),
        T("asked", "skip", "skipped", "KERNEL 1 rate, dedupe"),
        T("asked", "drop", "dropped", "KERNEL 5 swept"),
        T("asked", "give_up", "dead", "ARCHITECTURE 4 dead letter"),
        T("started", "succeed", "done", "KERNEL 2 effect.answered"),
        T("started", "fail", "failed", "KERNEL 2 effect.answered"),
        T("started", "drop", "dropped", "KERNEL 5 swept"),
        T("started", "lose", "in_doubt", "RELIABILITY g.5: the host died between the mark and the answer"),
        T("in_doubt", "succeed", "done", "a late answer, or a person who looked"),
        T("in_doubt", "fail", "failed", "a late answer, or a person who looked"),
        T("in_doubt", "ask_again", "asked", "a person who looked and found nothing"),
        T("in_doubt", "drop", "dropped", "KERNEL 5 swept"),
        T("dead", "replay", "asked", "ARCHITECTURE 4: nobody retries it unasked"),
    ),
    terminal=("done", "failed", "skipped", "dropped", "dead"),
)
