"""The plan language: tasks in Markdown that agents do, with dependencies and success criteria (seed 002)."""

from __future__ import annotations

from penstock.lang.contract import Language
from penstock.lang.plan.definition import read, recognise
from penstock.lang.plan.lower import lower

LANGUAGE = Language("plan", recognise, read, lower)

__all__ = ["LANGUAGE"]
