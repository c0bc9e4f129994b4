"""Runs tests on a broken file, in a process that has everything imported but the code itself, and forks for each run.

python -m tools.mutate.server    one request per line on stdin, one answer per line on stdout, both JSON
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: what the tests import that is not ours: seconds for each run that does not fork
PRELOADED = """
pytest _pytest.assertion.rewrite hypothesis hypothesis.strategies xdist pytest_timeout _hypothesis_pytestplugin msgspec
yaml jsonschema_rs httpx2 asyncio sqlite3 re2 cronsim rich rich.console typer lxml.etree jq holidays cryptography
unittest.mock email.mime.text http.server zoneinfo decimal fastapi starlette.testclient uvicorn pypdf
""".split()
MEMORY = 8 << 30


class Watcher:
    """A plugin of pytest: which test failed first, and how many ran. Of the files it runs the tests that are asked for,
    in their order; one that has another name now is left out."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = tests
        self.failed, self.ran, self.told = "", 0, ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        known = {item.nodeid: item for item in items}
        items[:] = [known[test] for test in self.tests if test in known]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.failed:
            self.failed, self.told = report.nodeid, str(report.longrepr)[-400:]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed, self.told = f"{report.nodeid or 'collection'} (import)", str(report.longrepr)[-400:]


def _run(tests: list[str], answer: Path) -> None:
    """In the forked process."""
    import pytest

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watcher = Watcher(tests)
    files = [file for file in dict.fromkeys(test.partition("::")[0] for test in tests) if Path(file).is_file()]
    arguments = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "--hypothesis-seed=1", *files]
    code = pytest.main(arguments, plugins=[watcher]) if files else pytest.ExitCode.NO_TESTS_COLLECTED
    told = {"code": int(code), "failed": watcher.failed, "ran": watcher.ran, "told": watcher.told}
    answer.write_text(json.dumps(told), encoding="utf-8")


def _fork(tests: list[str], seconds: float) -> dict[str, Any]:
    folder = tempfile.mkdtemp(prefix="mutate-")
    answer = Path(folder) / "answer.json"
    child = os.fork()
    if child == 0:
        code = 70
        with contextlib.suppress(BaseException):
            os.setsid()
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with its parent
            null = os.open(os.devnull, os.O_RDWR)
            log = os.open(Path(folder) / "log", os.O_CREAT | os.O_WRONLY, 0o600)
            os.dup2(null, 0), os.dup2(log, 1), os.dup2(log, 2)
            _run(tests, answer)
            code = 0
        os._exit(code)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"code": -9, "failed": "", "ran": 0, "told": "took too long"}
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have started and not ended
    try:
        told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    except (OSError, ValueError):
        told = {"code": 70, "failed": "", "ran": 0, "told": "the process died"}
    for file in Path(folder).iterdir():
        file.unlink()
    Path(folder).rmdir()
    return told


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for name in PRELOADED:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    assert not any(name.partition(".")[0] == "penstock" for name in sys.modules), "the code is imported after the fork"
    for line in sys.stdin:
        asked = json.loads(line)
        out.write(json.dumps(_fork(asked["tests"], asked["seconds"])) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
