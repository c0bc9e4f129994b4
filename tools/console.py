"""Builds the web console by hand: `python -m tools.console`, with --force even when nothing has changed."""

from __future__ import annotations

import sys

from hatch_build import main

if __name__ == "__main__":
    sys.exit(main())
