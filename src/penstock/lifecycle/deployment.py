"""The life of a deployment (W-4.11, C-57, C-58)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

DEPLOYMENT = Machine(
    "deployment",
    "in_progress",
    (
        T("in_progress", "advance", "in_progress", "W-4.11.1: the next stage, while the criteria hold"),
        T("in_progress", "pause", "paused", "by hand: no stage follows, the share stays"),
        T("paused", "resume", "in_progress", "by hand: what was left of the stage is waited for"),
        *each(("in_progress", "paused"), "promote", "in_progress", "by hand: the next stage, whatever the criteria"),
        *each(("in_progress", "paused"), "complete", "succeeded", "W-4.11.4: the last stage is over"),
        *each(("in_progress", "paused"), "fail", "failed", "C-57: criteria missed, and nobody wants it rolled back"),
        *each(
            ("in_progress", "paused", "succeeded", "failed"),
            "roll_back",
            "rolled_back",
            "W-4.11.2, W-4.12.1, W-11.3.11: a trigger, a ROLLBACK, a compensation, a person",
        ),
    ),
    terminal=("succeeded", "failed", "rolled_back"),
)
