"""What FEEL can say and this reader cannot work out: refused by name, never answered with another value."""

from __future__ import annotations


class NotSupported(Exception):
    """The text says what is not worked out here; whoever knows the expression adds it."""
