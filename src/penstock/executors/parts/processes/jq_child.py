"""The process in which jq programs run: it is started as a script, knows nothing of the engine, and may be killed.

A request is a line of JSON: the program, the value as JSON text, and how many seconds of processor time it may take.
The answer is a line of JSON: `value`, `empty`, or `error` with its `kind`. After the start nothing can be opened any
more: a program that imports a module or data finds no file.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any


def main(where: str, memory: int, most: int) -> None:
    sys.path.append(where)
    os.environ.clear()  # an interpreter sets its own locale even in an empty environment
    import jq  # type: ignore[import-not-found, unused-ignore]

    jq.compile(".").input_text("null").first()
    for what, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 3)):
        resource.setrlimit(what, (limit, limit))
    programs: dict[str, Any] = {}
    for line in sys.stdin.buffer:
        text, value, seconds = json.loads(line)
        _cpu(seconds)
        answer = json.dumps(_answer(jq, programs, text, value), allow_nan=False)
        if len(answer) > most:
            answer = json.dumps({"kind": "limit", "error": f"the result has more than {most} bytes"})
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def _cpu(seconds: int) -> None:
    """So that a program ends even when nobody is left to kill it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _answer(jq: Any, programs: dict[str, Any], text: str, value: str) -> dict[str, Any]:
    program = programs.get(text)
    if program is None:
        try:
            program = jq.compile(text)
        except ValueError as error:
            return {"kind": "syntax", "error": str(error)}
        if len(programs) >= 64:
            programs.clear()
        programs[text] = program
    try:
        results = iter(program.input_text(value))
        result = next(results, results)
        if result is results:
            return {"empty": True}
        if next(results, results) is not results:
            return {"kind": "several", "error": "it yields more than one value"}
        return {"value": result}
    except ValueError as error:
        return {"kind": "run", "error": str(error)}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
