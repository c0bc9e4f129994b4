"""Writes the types of the console's client from the server's description of itself: `python -m tools.client`.

What is written, console/src/api/schema.d.ts, is committed, so that a build needs no Python and a change of the API
shows in a diff. It begins with the hash of the description that it was made from; `--check` compares that one, without
Node, and says whether it is up to date.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatch_build import ROOT, NotBuilt, node_and_npm

SCHEMA = ROOT / "console/src/api/schema.d.ts"
TOOL = ROOT / "console/node_modules/openapi-typescript/bin/cli.js"
_MADE_FROM = re.compile(r"^ \* Made from ([0-9a-f]{64})\.$", re.MULTILINE)
_HEAD = """/**
 * The shapes of the HTTP API, as the server describes them: written by `python -m tools.client`, not by hand.
 * Made from {made_from}.
 */
"""


def described() -> dict[str, Any]:
    """The shapes alone. What they are called by people, their examples and the release are no types."""
    from penstock.api.server import openapi
    from penstock.app.penstock import Penstock

    whole = openapi(Penstock(":memory:", drive=False))
    schemas = {name: _bare(one) for name, one in sorted(whole["components"]["schemas"].items())}
    return {
        "openapi": whole["openapi"], "info": {"title": "Penstock", "version": "1"}, "paths": {},
        "components": {"schemas": schemas},
    }  # fmt: skip


def _bare(schema: Any) -> Any:
    """Without titles and examples; a property may be called so."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: one for name, one in schema.items() if name not in ("title", "example", "examples", "description")}
    named = {name: {key: _bare(one) for key, one in kept.pop(name).items()} for name in ("properties",) if name in kept}
    return {name: _bare(one) for name, one in kept.items()} | named


def made_from(description: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def written_from() -> str | None:
    """The hash of the description that the committed file was made from."""
    found = _MADE_FROM.search(SCHEMA.read_text(encoding="utf-8")) if SCHEMA.is_file() else None
    return found.group(1) if found else None


def write(description: dict[str, Any], to: Path = SCHEMA) -> None:
    """Raises NotBuilt where Node or what npm fetches is not there."""
    if not TOOL.is_file():
        raise NotBuilt("openapi-typescript is not there: npm install --no-package-lock in console/")
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place, "openapi.json"), Path(place, "schema.d.ts")
        source.write_text(json.dumps(description), encoding="utf-8")
        command = [*node_and_npm()[0], str(TOOL), str(source), "-o", str(out), "--alphabetize"]
        done = subprocess.run(command, cwd=ROOT / "console", capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise NotBuilt((done.stderr or done.stdout).strip()[-600:])
        body = out.read_text(encoding="utf-8").split("*/\n", 1)[1].lstrip()  # their own head
    to.write_text(_HEAD.format(made_from=made_from(description)) + body, encoding="utf-8")


def main() -> int:
    description = described()
    if "--check" in sys.argv[1:]:
        good = written_from() == made_from(description)
        print("the client's types are up to date" if good else "the client's types are old: python -m tools.client")
        return 0 if good else 1
    try:
        write(description)
    except NotBuilt as why:
        print(f"The client's types were not written: {why}", file=sys.stderr)
        return 1
    print(f"{SCHEMA.relative_to(ROOT)} was written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
