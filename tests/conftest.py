"""What every test shares: hypothesis profiles, golden files, soaks only when asked for, who goes to which worker."""

from __future__ import annotations

import difflib
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import processes
from tests.servers.memory import keep_files_in_memory
from tools import changed

# Many containers forbid Python to keep what it has compiled, so as not to litter. The tests start hundreds of
# processes and are rewritten for their asserts: that is kept, inside the environment.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(sys.prefix) / "pycache"))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

keep_files_in_memory()

# A shared machine is slow at random moments; a deadline would test the machine.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


RUN = pytest.StashKey[processes.Run]()
CHANGED = pytest.StashKey[changed.Answer]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", choices=("check", "write"), default="check", help="write: what is, is what should be")
    parser.addoption(
        "--changed", nargs="?", const="HEAD", metavar="REV",
        help="only the test files that a change since this revision can break (--changed alone: since HEAD)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    since = config.getoption("--changed")
    if since is None:
        return
    if hasattr(config, "workerinput"):
        config.stash[CHANGED] = changed.Answer(config.workerinput["changed"], [])
    else:
        config.stash[CHANGED] = changed.breakable(changed.changed_files(since), changed.read_tree())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of xdist is told, instead of finding out again."""
    if CHANGED in node.config.stash:
        node.workerinput["changed"] = node.config.stash[CHANGED].tests


def pytest_report_header(config: pytest.Config) -> list[str]:
    if CHANGED not in config.stash:
        return []
    found = config.stash[CHANGED]
    lines = [f"changed since {config.getoption('--changed')}: {len(found.tests)} test files can break"]
    return lines + [f"no test reads {file}" for file in found.unnamed]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if CHANGED not in config.stash or not collection_path.is_file():
        return None
    file = collection_path.relative_to(changed.ROOT).as_posix()
    return True if changed.is_test(file) and file not in config.stash[CHANGED].tests else None


@pytest.hookimpl(tryfirst=True)  # before xdist starts its workers, which inherit the mark
def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.stash[RUN] = processes.Run()


@pytest.hookimpl(wrapper=True, trylast=True)  # when xdist has ended its workers, and before the summary
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if CHANGED in session.config.stash and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # the change can break nothing
        processes.end_shared()
        if RUN in session.stash:
            interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
            _tell_left(session, session.stash[RUN].close(0 if interrupted else processes.PATIENCE))


def _tell_left(session: pytest.Session, left: list[processes.Left]) -> None:
    """A run that leaves processes has failed; one that was interrupted has ended them, and says so."""
    if not left:
        return
    text = "\n".join(["processes outlived the tests, and were ended now:", *map(str, left)])
    report = pytest.TestReport("tests: processes left behind", ("tests", None, ""), {}, "failed", text, "teardown")
    session.config.hook.pytest_runtest_logreport(report=report)
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is collected is garbage, so nobody looks for it: not now, and of these objects not later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


#: Folders of so many quick tests that to deal them out one by one costs more than they do.
QUICK = re.compile(r"tests/(expr|lifecycle|net)/")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of the same name
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    soaking = "soak" in (config.getoption("-m") or "")
    for item in items:
        if item.get_closest_marker("soak") and not soaking:
            item.add_marker(pytest.mark.skip(reason="runs for minutes: ask for it with -m soak"))
        if item.get_closest_marker("xdist_group") is None and (group := _group(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        if config.getoption("loadgroup", False):
            _tell_group(item)


def _group(item: pytest.Item) -> str | None:
    """Tests that share what one of them has made (a server, a database) go to the same worker, so that it is made once;
    with a parameter, once for each. Groups are dealt out before single tests, which then even out what is left."""
    module = item.nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")
    if QUICK.match(item.nodeid):
        return module
    known: Any = getattr(item, "_fixtureinfo", None)
    made = {} if known is None else {name: found[-1] for name, found in known.name2fixturedefs.items() if found}
    shared = sorted(name for name, found in made.items() if found.scope in ("module", "class", "package"))
    if not shared:
        return None
    given = getattr(item, "callspec", None)
    params = [] if given is None else [str(given.params[name]) for name in shared if name in given.params]
    return " ".join([module, *params])


def _tell_group(item: Any) -> None:
    """A worker tells xdist the group as the end of a test's id; since pytest 9.2, which holds ids in another attribute,
    xdist 3.8 writes it where nobody reads, and every test is a group of its own."""
    mark = item.get_closest_marker("xdist_group")
    if mark is not None and hasattr(item, "_id"):
        item._id = type(item._id).parse(f"{item.nodeid}@{mark.args[0]}")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a committed file, and shows the difference; `--golden=write` writes it instead."""

    def compare(file: Path, text: str) -> None:
        known = file.read_text(encoding="utf-8") if file.is_file() else ""
        if known == text:
            return
        shown = "".join(
            difflib.unified_diff(known.splitlines(True), text.splitlines(True), f"{file.name} (committed)", "now")
        )
        if request.config.getoption("--golden") == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(shown)
            return
        pytest.fail(f"{file} differs; if that is meant: pytest --golden=write\n{shown}", pytrace=False)

    return compare
