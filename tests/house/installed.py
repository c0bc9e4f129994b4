"""A package as an installer leaves it: its metadata and entry points beside it, on a folder of `sys.path`."""

from __future__ import annotations

import tomllib
from pathlib import Path


def write_dist_info(site: Path, pyproject: str) -> None:
    project = tomllib.loads(pyproject)["project"]
    about = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    entries = [
        f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in points.items())
        for group, points in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(entries), encoding="utf-8")
