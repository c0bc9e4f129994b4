"""The process in which a PDF is read: it is started as a script, knows nothing of the engine, and may be killed.

The PDF comes in whole. The answer is one JSON object: `text`, or `error`.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from typing import Any


def main(where: str, memory: int, seconds: int, most: int) -> None:
    sys.path.append(where)
    os.environ.clear()
    import pypdf

    limits = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CPU, seconds))
    for what, limit in limits:
        resource.setrlimit(what, (limit, limit))
    try:
        answer = _read(pypdf, most)
    except (Exception, RecursionError) as error:  # whatever a broken file brings about
        answer = {"error": f"it is broken ({type(error).__name__})"}
    sys.stdout.write(json.dumps(answer))


def _read(pypdf: Any, most: int) -> dict[str, str]:
    reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "it is encrypted"}
    parts: list[str] = []
    size = 0
    for page in reader.pages:
        parts.append(page.extract_text().encode(errors="replace").decode())
        size += len(parts[-1]) + 1
        if size > most:
            break
    text = "\n".join(parts)[:most]
    return {"text": text} if text.strip() else {"error": "there is no text in it; it may hold pictures of pages"}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
