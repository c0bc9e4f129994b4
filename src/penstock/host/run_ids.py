"""Ids of runs: they sort by time, and are random enough that the runs of two stores can be put together."""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PLACES = range(14, -1, -1)
RANDOM_BITS = 30


def run_id(now: int, random: int) -> str:
    """`random` is a number of `RANDOM_BITS` bits."""
    number = now << RANDOM_BITS | random
    return "r" + "".join(_ALPHABET[number >> 5 * place & 31] for place in _PLACES)
