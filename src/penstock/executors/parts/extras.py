"""What is said when a node needs an optional extra of the package that is not installed."""

from __future__ import annotations

from penstock.executors.contract import Failed, failed


def extra_message(who_needs: str, extra: str) -> str:
    """`who_needs` begins the sentence: «A script needs»."""
    return f"{who_needs} the extra «{extra}»: pip install 'penstock[{extra}]'."


def extra_missing(who_needs: str, extra: str) -> Failed:
    return failed("EXTRA_MISSING", "permanent", extra_message(who_needs, extra), {"extra": extra})
