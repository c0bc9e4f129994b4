"""One command from an empty machine: makes .venv, installs what is needed, runs the server, the tests or the docs.

Needs Python 3.11 or newer and nothing else. The first time takes seconds, after that it starts at once: what was
installed is stamped with the hash of pyproject.toml and constraints.txt, and done again only when they change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
CONSTRAINTS = ROOT / "constraints.txt"
PLACE = VENV / ".place"

USAGE = """usage: python3 bootstrap.py COMMAND [-- ARGUMENTS]

  dev     serves the console and the API with a sample tenant on this machine
  demo    shows a diagram running, killed half-way and resumed
  test    ruff, mypy, import-linter and the whole test suite; with ARGUMENTS only pytest, with them
          (--changed: what the change since HEAD can break)
  lint    ruff, mypy and import-linter only
  docs    writes the generated pages again and builds the site; with ARGUMENTS properdocs, with them (serve, …)
  shell   ARGUMENTS run inside the environment (default: a Python with penstock)
"""

# What each command needs. The later one contains the earlier one, so a stamp for `dev` serves the demo too.
EVERYTHING = "all,dev"
EXTRAS = {
    "dev": "bi,decision,documents,images,reports,script,server,statistics", "demo": "script", "shell": "script",
    "test": EVERYTHING, "lint": EVERYTHING, "docs": EVERYTHING,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036  (this file is run by whatever Python there is)
        print(f"Penstock needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in EXTRAS:
        print(USAGE, end="", file=sys.stdout if command in ("-h", "--help") else sys.stderr)
        return 0 if command in ("-h", "--help") else 2
    if rest[:1] == ["--"]:
        rest = rest[1:]
    try:
        install(EXTRAS[command])
    except subprocess.CalledProcessError as failed:
        print(f"Installing failed ({failed.returncode}); the message above says why.", file=sys.stderr)
        return 1
    return {"dev": dev, "demo": demo, "test": test, "lint": lint, "docs": docs, "shell": shell}[command](rest)


def dev(rest: list[str]) -> int:
    run("python", str(ROOT / "hatch_build.py"))  # the console, where its sources have changed since it was installed
    return run("penstock", "dev", *rest)


def demo(rest: list[str]) -> int:
    return run("penstock", "demo", *rest)


def test(rest: list[str]) -> int:
    """The linters speak first, so that the last line is pytest's own verdict."""
    run("python", str(ROOT / "hatch_build.py"))
    linted = 0 if rest else lint([])
    workers = str(min((os.cpu_count() or 1) + 1, 6))  # one more than cores: some tests wait for what they have started
    tested = run("pytest", "-n", workers, "--dist", "loadgroup", *rest)
    return tested or linted


def lint(rest: list[str]) -> int:
    ruff = run("ruff", "check", "--quiet", "--output-format", "concise", *rest)
    return max(ruff, run("mypy"), run("lint-imports", "--no-logo"))


def docs(rest: list[str]) -> int:
    if rest:
        return run("properdocs", *rest, "-f", "mkdocs.yml")
    made = run("python", "-m", "tools.gen_docs") or run("python", "-m", "tools.gen_conformance")
    return made or run("properdocs", "build", "--strict", "--quiet", "-f", "mkdocs.yml")


def shell(rest: list[str]) -> int:
    return run(*(rest or ["python"]))


def install(extras: str) -> None:
    """Brings .venv up to what pyproject.toml and constraints.txt ask for, unless it is there already."""
    wanted = fingerprint()
    if any(stamp(done).is_file() and stamp(done).read_text() == wanted for done in (extras, EVERYTHING)):
        return
    print(f"preparing {VENV.name} …", file=sys.stderr, flush=True)
    if not (PLACE.is_file() and PLACE.read_text() == place() and working(PYTHON)):
        make_environment()
    target = ["-e", f"{ROOT}[{extras}]"]
    constraints = ["-c", str(CONSTRAINTS)] if CONSTRAINTS.is_file() else []
    if uv_installed(constraints):
        install_with_uv = [str(BIN / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON), *constraints, *target]
        if subprocess.run(install_with_uv, env=environment(), cwd=ROOT).returncode == 0:
            stamp(extras).write_text(wanted)
            return
        print("uv could not install it; trying pip …", file=sys.stderr, flush=True)
    subprocess.run([*pip(), "install", "--quiet", *constraints, *target], env=environment(), cwd=ROOT, check=True)
    stamp(extras).write_text(wanted)


def make_environment() -> None:
    """A venv with pip in it; where the system's Python has no ensurepip (some Debians), one without."""
    if VENV.exists():
        shutil.rmtree(VENV)
    try:
        venv.create(VENV, with_pip=True)
    except subprocess.CalledProcessError:
        shutil.rmtree(VENV, ignore_errors=True)
        venv.create(VENV, with_pip=False)
    PLACE.write_text(place())


def place() -> str:
    """An environment belongs to one folder and one Python: its scripts name both, so a copied tree needs a new one."""
    return f"{ROOT}\n{sys.version}"


def pip() -> list[str]:
    """The environment's own pip, else this Python's working on it."""
    own = subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True, env=environment())
    return [str(PYTHON), "-m", "pip"] if own.returncode == 0 else [sys.executable, "-m", "pip", "--python", str(PYTHON)]


def uv_installed(constraints: list[str]) -> bool:
    if (BIN / "uv").exists() or (BIN / "uv.exe").exists():
        return True
    got = subprocess.run([*pip(), "install", "--quiet", *constraints, "uv"], env=environment(), capture_output=True)
    return got.returncode == 0


def working(python: Path) -> bool:
    return python.exists() and subprocess.run([str(python), "-c", ""], capture_output=True).returncode == 0


def fingerprint() -> str:
    files = [ROOT / "pyproject.toml", CONSTRAINTS]
    found = [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"\0".join([*found, place().encode()])).hexdigest()


def stamp(extras: str) -> Path:
    return VENV / f".installed-{extras.replace(',', '-')}"


def environment() -> dict[str, str]:
    """The caller's environment, with .venv first, and with the system's certificates for uv, which has its own list."""
    found = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
    found["VIRTUAL_ENV"] = str(VENV)
    found["PATH"] = os.pathsep.join([str(BIN), found.get("PATH", os.defpath)])
    if found.pop("PYTHONDONTWRITEBYTECODE", None):  # nothing in the tree, but no process compiles it all again
        found.setdefault("PYTHONPYCACHEPREFIX", str(VENV / "pycache"))
    found.setdefault("UV_SYSTEM_CERTS", "1")
    found.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return found


def run(command: str, *arguments: str) -> int:
    env = environment()
    found = shutil.which(command, path=env["PATH"])
    if found is None:
        print(f"there is no {command} in {BIN}", file=sys.stderr)
        return 127
    return subprocess.run([found, *arguments], env=env, cwd=ROOT).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
