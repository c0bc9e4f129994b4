"""The command that says which Penstock this is."""

from __future__ import annotations

import sys

import penstock
from penstock.cli.options import STORE, Json, NoStore
from penstock.cli.output import DONE, print_json, say


def version(json: Json = False, store: NoStore = STORE) -> int:
    """Say which Penstock this is, and which Python it runs on."""
    python = ".".join(map(str, sys.version_info[:3]))
    if json:
        print_json({"penstock": penstock.__version__, "python": python})
    else:
        say(f"penstock {penstock.__version__}", (f"  Python {python}", "bright_black"))
    return DONE
