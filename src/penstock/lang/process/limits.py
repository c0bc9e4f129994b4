"""The largest names, numbers and counts that a definition may hold."""

from __future__ import annotations

NAME = 255
ID = 200
SECONDS = 366 * 24 * 3600
COUNT = 1_000_000
ELEMENTS = 20_000
DEEPEST = 30
RETRIES = 100
#: How often a job is tried where its definition does not say.
JOB_RETRIES = 3
