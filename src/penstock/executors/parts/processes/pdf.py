"""The text of a PDF (P-1.2.6), read in a process of its own that is killed when it takes too long or too much."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from penstock.errors import BadInput, ExtraMissing

SECONDS = 30
MEMORY_BYTES = 768 * 1024 * 1024
_CHILD = Path(__file__).with_name("pdf_child.py")


async def text_of(source: bytes, most: int) -> str:
    """Page by page, at most so many characters. Raises ExtraMissing, and BadInput for what holds no text to read."""
    package = find_spec("pypdf")
    if package is None or package.origin is None:
        raise ExtraMissing(extra="extract")
    where = str(Path(package.origin).parents[1])
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(_CHILD), where, str(MEMORY_BYTES), str(SECONDS), str(most), env={}, cwd="/",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(child.communicate(source), SECONDS + 5)
    except TimeoutError:
        raise BadInput(what="the PDF", why="it takes too long to read") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    answer = msgspec.json.decode(output) if child.returncode == 0 else {"error": "it takes too much to read"}
    if "error" in answer:
        raise BadInput(what="the PDF", why=str(answer["error"]), hint="Give its text instead.")
    return str(answer["text"])
