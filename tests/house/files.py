"""Which files make up the house."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/penstock"
NOT_OURS = {"site", "dist", "build", "node_modules", "__pycache__"}
HIDDEN = {".ci", ".github"}  # every other folder with a dot is a cache, an environment or a store
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".txt", ".trace", ".sql", ".sh", ".cfg", ".ts", ".tsx", ".css"}


def files(*suffixes: str, below: Path = ROOT) -> list[Path]:
    """The files below a folder, sorted; caches and environments left out."""
    found = []
    for folder, inner, names in os.walk(below):
        inner[:] = sorted(name for name in inner if name not in NOT_OURS and (name[0] != "." or name in HIDDEN))
        found += [Path(folder) / name for name in sorted(names)]
    return [file for file in found if not suffixes or file.suffix in suffixes]


def texts() -> list[Path]:
    """Every file a person may read: known endings, and files without one."""
    return [file for file in files() if file.suffix in TEXT or not file.suffix]


def shown(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
