"""What is shipped: wheel and sdist build, and the wheel runs an example in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.house.files import ROOT

EXAMPLE = ROOT / "examples/diagram/loop.yaml"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def run(*command: str | Path, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env.update({"UV_SYSTEM_CERTS": "1", **more})
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=env)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    result = run(sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module")
def installed(shipped: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an empty environment into which the wheel was installed, with what it says it needs."""
    home = tmp_path_factory.mktemp("empty") / "env"
    assert run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, home).returncode == 0
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", str(python), "-c", "constraints.txt"]
    wheel = f"{shipped['wheel']}[script]"
    result = run(*install, "--offline", wheel)
    if result.returncode:
        result = run(*install, wheel)
    if result.returncode and run(*install, "--dry-run", "--no-cache", "msgspec").returncode:
        pytest.skip(f"no packages can be had here: {result.stderr.strip().splitlines()[-1][:200]}")
    assert result.returncode == 0, result.stderr
    return python.parent


def test_the_wheel_has_the_package_and_nothing_else(shipped: dict[str, Path]) -> None:
    names = zipfile.ZipFile(shipped["wheel"]).namelist()
    metadata = shipped["wheel"].name.rsplit("-py3", 1)[0] + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"penstock", metadata}
    assert "penstock/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_has_what_the_tests_need(shipped: dict[str, Path]) -> None:
    with tarfile.open(shipped["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "bootstrap.py", "constraints.txt", "src/penstock/py.typed", "tests/conftest.py"}
    assert wanted <= names
    assert not [name for name in names if name.startswith((".venv", ".penstock", "site/"))]


def test_the_installed_program_says_what_it_can(installed: Path, tmp_path: Path) -> None:
    result = run(installed / "penstock", "--help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "run" in result.stdout


def test_the_installed_program_runs_an_example(installed: Path, tmp_path: Path) -> None:
    result = run(installed / "penstock", "run", EXAMPLE, "--json", "--store", tmp_path / "store.db", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert '"COMPLETED"' in result.stdout


def test_the_installed_package_is_typed_and_light(installed: Path, tmp_path: Path) -> None:
    """Nothing of the tools that built it is needed to use it."""
    program = "import penstock, importlib.metadata as m; print(m.version('penstock'), penstock.__file__)"
    result = run(installed / "python", "-c", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert str(installed.parent) in result.stdout
    listed = run(sys.executable, "-m", "uv", "pip", "list", "--python", installed / "python").stdout.lower()
    assert not [tool for tool in ("pytest", "mypy", "ruff", "hypothesis", "properdocs") if f"\n{tool} " in listed]
