"""A picture of a PDF's first page, made in a process of its own with limits; nothing in the file is run."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
from pathlib import Path

#: of the file, of the process that draws it, and of the picture
MAX_BYTES = 32 * 1024 * 1024
_MEMORY, _CPU_S, _WALL_S = 1024 * 1024 * 1024, 10, 15.0
_EDGE = 640
#: so many are drawn at once
_drawing = asyncio.Semaphore(2)


async def first_page(file: Path, picture: Path) -> bool:
    """Writes a PNG. False where there is none: the file is no PDF, is broken, encrypted or too much, or the extra
    `documents` is not installed."""
    command = (sys.executable, "-I", "-m", __name__, str(file), str(picture))
    async with _drawing:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return await asyncio.wait_for(process.wait(), _WALL_S) == 0
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def draw(file: str, picture: str) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(file)
    page = document[0]
    width, height = page.get_size()
    page.render(scale=_EDGE / max(width, height, 1)).to_pil().convert("RGB").save(picture, "PNG")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_BYTES, MAX_BYTES))
    draw(sys.argv[1], sys.argv[2])
