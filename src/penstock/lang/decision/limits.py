"""The largest numbers that a workflow may hold; beyond them neither clocks nor people can use them."""

from __future__ import annotations

#: Ten years, in every unit in which a duration is written.
DAYS = 10 * 366
HOURS = DAYS * 24
MINUTES = HOURS * 60
SECONDS = MINUTES * 60
MS = SECONDS * 1000
#: How often, how many, how urgent.
COUNT = 1_000_000
#: A backoff that grows faster than this has no second step.
FACTOR = 1000
#: Versions are counted by the author, or made of a date.
VERSION = 2_147_483_647
