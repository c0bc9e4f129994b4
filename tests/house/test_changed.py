"""`--changed` runs what a change can break: found from git and from who imports, starts or reads what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.files import ROOT
from tools.changed import Answer, breakable, changed_files, read_tree

TREE = {
    "src/penstock/__init__.py": "from penstock.lazy import thing\nVERSION = '1'\n",
    "src/penstock/lazy.py": "thing = 1\n",
    "src/penstock/words.py": "from penstock import VERSION\n",
    "src/penstock/kernel/__init__.py": "",
    "src/penstock/kernel/step.py": "def step():\n    from penstock import words\n",
    "src/penstock/table/__init__.py": "from importlib import import_module\nfound = import_module(f'{__name__}.sql')\n",
    "src/penstock/table/sql.py": "",
    "src/penstock/languages.py": "import importlib as i\nPART = i.import_module('penstock.lang.{}.lower'.format(1))\n",
    "src/penstock/lang/__init__.py": "",
    "src/penstock/lang/toy/__init__.py": "",
    "src/penstock/lang/toy/lower.py": "",
    "tests/test_compile.py": "from penstock.languages import PART\n",
    "src/penstock/schema.py": "TEXT = (HERE / 'tables.sql').read_text()\n",
    "src/penstock/tables.sql": "",
    "src/penstock/alone.py": "",
    "tests/conftest.py": "",
    "tests/api/conftest.py": "from tests.api.serving import server\n",
    "tests/api/serving.py": "import sys\nCOMMAND = [sys.executable, '-m', 'penstock']\n",
    "tests/api/test_served.py": "def test(server): ...\n",
    "tests/test_step.py": "def test():\n    import penstock.kernel.step\n",
    "tests/test_lazy.py": "from penstock import thing\n",
    "tests/test_version.py": "from penstock import VERSION\n",
    "tests/test_table.py": "import penstock.table\n",
    "tests/test_code.py": "import sys\nCODE = 'from penstock.words import a'\nRUN = [sys.executable, '-c']\n",
    "tests/test_module.py": "import sys\nRUN = [sys.executable, '-m', 'tests.worker']\n",
    "tests/worker.py": "from penstock.kernel.step import step\n",
    "tests/test_schema.py": "import penstock.schema\n",
    "tests/test_docs.py": "PAGES = ROOT / 'docs'\nEXAMPLE = 'examples/small/loop.yaml'\n",
    "tests/test_golden.py": "GOLDEN = Path(__file__).parent / 'golden'\n",
    "tests/golden/a.trace": "",
    "tests/test_nothing.py": "import json\n",
    "docs/page.md": "",
    "docs/golden/page.md": "",
    "examples/small/loop.yaml": "",
    "unread.txt": "",
    "pyproject.toml": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git(tmp_path, "init", "-q")
    commit(tmp_path, "first")
    return tmp_path


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", message)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def names(answer: Answer) -> set[str]:
    return {Path(file).stem.removeprefix("test_") for file in answer.tests}


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ("src/penstock/words.py", "served step code module"),
        ("src/penstock/kernel/step.py", "served step module"),
        ("src/penstock/alone.py", "served"),  # whoever starts the program starts all of it
        ("src/penstock/lazy.py", "served lazy"),  # and not those who want another name of the package
        ("src/penstock/table/sql.py", "served table"),  # imported by a name that is a text
        ("src/penstock/lang/toy/lower.py", "served compile"),  # and by one that is put together
        ("src/penstock/kernel/__init__.py", "served step module"),  # it runs before what is in it
        ("src/penstock/__init__.py", "served step lazy version table code module schema compile"),
        ("src/penstock/tables.sql", "served schema"),
        ("tests/worker.py", "module"),
        ("tests/api/serving.py", "served"),  # by way of a conftest.py
        ("tests/test_nothing.py", "nothing"),
        ("docs/page.md", "docs"),
        ("docs/golden/page.md", "docs"),
        ("tests/golden/a.trace", "golden"),
        ("examples/small/loop.yaml", "docs"),
        ("unread.txt", ""),
    ],
)
def test_what_a_change_can_break(tree: Path, changed: str, broken: str) -> None:
    answer = breakable([changed], read_tree(tree))
    assert names(answer) == set(broken.split())
    assert answer.unnamed == ([changed] if changed == "unread.txt" else [])


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py"])
def test_what_can_break_everything(tree: Path, changed: str) -> None:
    assert len(breakable([changed], read_tree(tree)).tests) == sum("/test_" in name for name in TREE)


def test_git_says_what_has_changed(tree: Path) -> None:
    """Changed, added to the index, new, moved and deleted; and what was committed since another revision."""
    (tree / "src/penstock/words.py").write_text("VERSION = 2\n")
    (tree / "src/penstock/table/new.py").write_text("")
    git(tree, "mv", "src/penstock/kernel/step.py", "src/penstock/kernel/turn.py")
    (tree / "docs/page.md").unlink()
    changed = ["docs/page.md", "src/penstock/kernel/step.py", "src/penstock/kernel/turn.py"]
    changed += ["src/penstock/table/new.py", "src/penstock/words.py"]
    assert changed_files("HEAD", tree) == changed
    assert names(breakable(changed[1:2], read_tree(tree))) == {"served", "step", "module"}, "they miss it"
    commit(tree, "second")
    assert changed_files("HEAD", tree) == [] and changed_files("HEAD~1", tree) == changed


def test_every_test_of_this_house_depends_on_what_it_imports() -> None:
    """The real tree is read, and a change at the bottom reaches far, one at the top not."""
    sources = read_tree()
    files = ("src/penstock/errors/__init__.py", "src/penstock/api/server.py")
    everywhere, top = (breakable([file], sources).tests for file in files)
    assert len(top) < len(everywhere)
    assert {"tests/api/test_story.py", "tests/house/test_docs.py"} <= set(top)
    assert not [file for file in top if file.startswith(("tests/lifecycle/", "tests/model/"))]


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_pytest_collects_only_these(tree: Path, workers: tuple[str, ...]) -> None:
    """Where nothing has changed, nothing runs, and that is no failure."""
    ours = ("tests/conftest.py", "tests/servers/memory.py", "tests/servers/processes.py", "tools/changed.py")
    for name in ours:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes((ROOT / name).read_bytes())
    for file in [file for file in tree.glob("tests/**/test_*.py") if file.stem not in ("test_lazy", "test_nothing")]:
        file.unlink()
    for name in ("lazy", "nothing"):
        (tree / f"tests/test_{name}.py").write_text(TREE[f"tests/test_{name}.py"] + "def test_it():\n    pass\n")
    (tree / "tests/api/conftest.py").unlink()
    commit(tree, "with tests that run")
    assert (told := pytest_there(tree, *workers)).returncode == 0 and "no tests ran" in told.stdout, told.stdout
    (tree / "src/penstock/lazy.py").write_text("thing = 2\n")
    assert (told := pytest_there(tree, *workers)).returncode == 0 and "1 passed" in told.stdout, told.stdout
    assert "changed since HEAD: 1 test files can break" in told.stdout


def pytest_there(tree: Path, *more: str) -> subprocess.CompletedProcess[str]:
    plugins = ["--disable-plugin-autoload", "-p", "xdist", "-p", "no:cacheprovider", "--import-mode=importlib"]
    asked = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(tree), *plugins, *more, "--changed"]
    env = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'src'}"}
    return subprocess.run([*asked, "--", "tests"], cwd=tree, env=env, capture_output=True, text=True, timeout=120)
