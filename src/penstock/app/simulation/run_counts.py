"""How many virtual runs a simulation has."""

from __future__ import annotations

RUNS = 1_000  # where nobody says how many
