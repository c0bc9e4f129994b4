"""The process in which a document is read: it is started as a script, knows nothing of the engine, and may be killed.

The document comes in whole. The answer is one JSON object: `parts` {blocks, pages, pictures}, or `error`.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

#: characters of a cell in Markdown, also of an empty one
_EMPTY = 3
_READERS = {"pdf": "pdf_pages", "docx": "word_document", "html": "web_page"}


class Refused(Exception):
    """The document is not read; the text says why."""


def main(kind: str, where: str, memory: int, seconds: int, most: int) -> None:
    sys.path += [str(Path(__file__).parent), *([where] if where else [])]
    os.environ.clear()
    reader = importlib.import_module(_READERS[kind])  # before the limits: libraries map more than they use
    limits = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CPU, seconds))
    for what, limit in limits:
        resource.setrlimit(what, (limit, limit))
    source = sys.stdin.buffer.read()
    try:
        answer: dict[str, Any] = {"parts": _checked(reader.read(source), most)}
    except Exception as error:  # whatever a broken file brings about
        answer = {"error": _reason(error)}
    sys.stdout.write(json.dumps(answer).encode(errors="replace").decode())


def _checked(parts: dict[str, Any], most: int) -> dict[str, Any]:
    size = sum(_length(block) for block in parts["blocks"])
    if size > most:
        raise Refused(f"its text has {size} characters, and {most} are read")
    if not size:
        raise Refused("there is no text in it")
    if size + _EMPTY * sum(len(row) for block in parts["blocks"] for row in block.get("rows", ())) > most:
        raise Refused("its tables have too many cells")
    return parts


def _length(block: dict[str, Any]) -> int:
    return len(block.get("text", "")) + sum(len(cell) for row in block.get("rows", ()) for cell in row)


def _reason(error: Exception) -> str:
    if type(error).__name__ == "Refused":  # a reader has its own class of this name: it is another module's
        return str(error)
    if isinstance(error, MemoryError):
        return "it takes too much to read"
    return f"it is broken ({type(error).__name__})"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))
