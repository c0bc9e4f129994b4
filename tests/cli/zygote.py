"""A process that has the program loaded and forks for every call: real processes, without the imports each time.

Requests and answers are lines of JSON on stdin and stdout: arguments, folder and three files in, the exit code out.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys

from penstock import languages
from penstock.cli.main import Commands, main

with contextlib.suppress(ImportError):  # the extra «postgresql»
    import penstock.store.postgres  # noqa: F401
with contextlib.suppress(ImportError):  # typer takes it where it is installed, and only when it reads the command line
    import pydantic.json_schema
    import pydantic.type_adapter  # noqa: F401
    import typer._adapters  # noqa: F401


def load() -> None:
    assert dict(Commands().items()), "every command is imported"
    for name in languages.HOUSE:
        for group in (languages.LANGUAGES, languages.DIALECTS, languages.APPS):
            languages.part_of(name, group)
    gc.freeze()  # what is loaded stays: no forked process looks through it for garbage, or copies it for that


def serve() -> None:
    load()
    requests, answers = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in requests:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _become(request: dict[str, str]) -> None:
    code = 70
    try:
        os.chdir(request["folder"])
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(request[name], flags, 0o600), number)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (it lives as long as the process)
        main(list(request["arguments"]))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
