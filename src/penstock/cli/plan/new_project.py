"""penstock plan init: a small project that runs as it is."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import STORE, Json, NoStore
from penstock.cli.output import DONE, print_json, say
from penstock.cli.plan.project import HERE, Folder
from penstock.errors import BadInput

_PLAN = """\
# How the tasks of this project are done. Every line but the name may be left out.
plan:
  name: {name}
  max_concurrent: 3
  critical_files: []   # files that must be there, else the project is not healthy
"""

#: any program that reads a prompt and writes lines is an agent; `default` is the one that every plan has
_AGENT = """\
---
name: default
preset: shell
command:
  - sh
  - -c
  - |
    # A stand-in for an agent: it reads its prompt and says in lines what it does. A real one has `preset: claude`.
    cat > /dev/null
    case "$PENSTOCK_TASK" in
    greeting) echo "writing greeting.txt"; echo "Hello from a plan." > greeting.txt ;;
    summary) echo "counting words"; wc -w < greeting.txt | tr -d " " > summary.txt ;;
    esac
    echo '{"type": "result", "result": "done"}'
---
You write short texts. Do what the task says, and nothing else.
"""

_GREETING = """\
---
id: greeting
title: Write a greeting
success_criteria:
  - file_exists: greeting.txt
---
Write one friendly sentence into `greeting.txt`.
"""

_SUMMARY = """\
---
id: summary
title: Count its words
depends_on: [greeting]
success_criteria:
  - file_exists: summary.txt
---
Write how many words the greeting has into `summary.txt`.
"""


def init(folder: Folder = HERE, json: Json = False, store: NoStore = STORE) -> int:
    """Write a small project into a folder: two tasks, and an agent that is a shell script.

    Files that are there already are left as they are."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(what=f"«{folder}»", why="it is no folder", hint="Name a folder that is there, or a new one.")
    if (folder / "plan.yaml").exists() or any(folder.glob("tasks/*.md")):
        hint = f"Look at it with `penstock plan check {folder}`."
        raise BadInput(what=f"«{folder}»", why="there is a plan in it already", hint=hint)
    written = _write(folder, _name(folder))
    if json:
        print_json({"folder": str(folder), "files": written})
        return DONE
    for name in written:
        say(("wrote ", "bright_black"), str(folder / name))
    say(("run it with ", "bright_black"), f"penstock plan run {folder}")
    return DONE


def _write(folder: Path, name: str) -> list[str]:
    files = {
        "plan.yaml": _PLAN.format(name=name), "agents/default.md": _AGENT,
        "tasks/greeting.md": _GREETING, "tasks/summary.md": _SUMMARY,
    }  # fmt: skip
    written = []
    for file, text in files.items():
        path = folder / file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadInput(what=f"«{path}»", why=(error.strerror or str(error)).lower(), where=path) from error
        written.append(file)
    return written


def _name(folder: Path) -> str:
    """The folder's name, as far as a plan may have it."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in folder.resolve().name.lower()).strip("-_")
    return name or "plan"
