"""K18: the kernel reads no clock, chance, environment, file or network: by its imports, and while it runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "penstock"
#: All that the kernel may import from outside the house. hashlib is its only source of numbers that look like chance.
OUTSIDE = {"__future__", "collections.abc", "hashlib", "heapq", "msgspec", "typing"}
HOUSE = ("penstock.errors", "penstock.expr", "penstock.kernel", "penstock.lifecycle", "penstock.net")
BUILTINS = {"open", "input", "eval", "exec", "compile", "__import__", "print", "id", "hash", "globals", "breakpoint"}
KERNEL = sorted((SOURCE / "kernel").rglob("*.py"))


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
    return found


def impure(text: str) -> set[str]:
    """What a module of the kernel uses and may not."""
    tree = ast.parse(text)
    found = {m for m in imports(tree) if m not in OUTSIDE and m != "penstock" and not m.startswith(HOUSE)}
    called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return found | (BUILTINS & set(called))


def test_k18_the_kernel_imports_only_what_is_listed():
    """K18: the import guard. A new import is a decision, made here."""
    assert len(KERNEL) > 20
    assert {str(file.relative_to(SOURCE)): found for file in KERNEL if (found := impure(file.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from random import random",
        "import os.path",
        "from penstock.host import clock",
        "open('x')",
        "id(x)",
    ],
)
def test_the_guard_sees_what_is_planted(text):
    """A guard that cannot fail is no guard."""
    assert impure(text)


RUN = """
import builtins, datetime, os, random, socket, sys, time, uuid
from penstock.kernel import command as C, flow
from penstock.kernel.failure import Failure
from penstock.kernel.run import Run
from penstock.kernel.step import advance
from penstock.kernel.fact import encode_facts
from penstock.kernel.state import decode_state, encode_state
from penstock.net.compiled import Compiled
from tests.model import random_nets as R
from tests.model.bridge import to_product

if os.environ.get("PLANTED") == "clock":
    right = flow.set_timer
    flow.set_timer = lambda *a, **k: (time.time(), right(*a, **k))[1]
    for module in list(sys.modules.values()):
        if getattr(module, "set_timer", None) is right:
            module.set_timer = flow.set_timer
elif os.environ.get("PLANTED") == "file":
    record = Run.record
    Run.record = lambda self, fact: (open(os.devnull).close(), record(self, fact))[1]

nets = [(Compiled(to_product(R.spice(s))), R.bits(s * 37 % 256)) for s in range(40)]
watching = False

def watch(event, args):
    if watching:
        os_ = event.startswith(("os.", "socket.", "subprocess.", "shutil.", "ctypes.", "sqlite3.", "urllib."))
        if os_ or event in ("open", "exec", "compile", "import", "builtins.input", "time.sleep"):
            raise RuntimeError(f"the kernel did {event} {args!r}")

def forbidden(name):
    def refuse(*args, **more):
        raise RuntimeError(f"the kernel called {name}")
    return refuse

for module, names in {
    time: ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"),
    random: ("random", "randint", "choice", "randrange", "getrandbits", "Random", "SystemRandom"),
    os: ("getenv", "urandom", "getpid", "stat", "listdir", "open", "getcwd"),
    uuid: ("uuid1", "uuid4"), socket: ("socket", "create_connection", "getaddrinfo"), builtins: ("open", "input"),
}.items():
    for name in names:
        setattr(module, name, forbidden(f"{module.__name__}.{name}"))
datetime.datetime = datetime.date = forbidden("datetime")
sys.addaudithook(watch)

def play(net, given):
    run, now, turns = Run.fresh(net), 0, 0
    reload = lambda: Run.load(net, decode_state(kept))
    kept = encode_state(run.st)
    commands = [C.start("r1", given)]
    while commands and turns < 150:
        run, facts = advance(run, commands, now, reload)
        encode_facts(facts)
        kept = encode_state(run.st)
        turns, now, st = turns + 1, now + 7, run.st
        asked = [f for f in st.firings.values() if f.phase == 1]
        if st.status >= 5:
            commands = []
        elif asked and turns % 9 == 4:
            commands = [C.failed(asked[0].no, asked[0].attempt, Failure("X", "transient"), asked[0].probe)]
        elif asked and turns % 3:
            commands = [C.done(asked[-1].no, asked[-1].attempt, asked[-1].probe, {"b": turns})]
        else:
            commands = [C.tick(), C.signal(str(turns), "SIG", 1)]
    return turns

watching = True
turns = sum(play(*one) for one in nets)
watching = False
print(turns)
"""


def run(planted: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    environment = {**os.environ, "PYTHONPATH": path, "PLANTED": planted}
    return subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, env=environment, cwd=ROOT)


def test_k18_a_run_reads_nothing_of_the_world():
    """K18: everything is patched to raise, and an audit hook watches what cannot be patched."""
    found = run()
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 300


@pytest.mark.parametrize(("planted", "told"), [("clock", "time.time"), ("file", "open")])
def test_a_planted_look_at_the_world_is_found(planted, told):
    """K18: the same run with a fault."""
    found = run(planted)
    assert found.returncode == 1 and told in found.stderr and "the kernel" in found.stderr
