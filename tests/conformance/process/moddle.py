"""bpmn-moddle as a second reader of BPMN files: what it has to say about each."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

MODDLE = Path(__file__).resolve().parents[3] / "console/node_modules/bpmn-moddle"
SCRIPT = """import {{ BpmnModdle }} from {module};
import fs from 'node:fs';
const found = {{}};
for (const file of process.argv.slice(2)) {{
  const read = await new BpmnModdle().fromXML(fs.readFileSync(file, 'utf8'));
  found[file] = read.warnings.map((one) => one.message);
}}
console.log(JSON.stringify(found));
"""


def moddle_warnings(folder: Path, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The warnings by name; skips where it is not installed."""
    node = shutil.which("node")
    if node is None or not MODDLE.exists():
        pytest.skip("bpmn-moddle is not installed: npm ci in console/")
    files = {name: folder / f"{n}.bpmn" for n, name in enumerate(texts)}
    for name, file in files.items():
        file.write_text(texts[name], encoding="utf-8", newline="")
    script = folder / "open.mjs"
    script.write_text(SCRIPT.format(module=json.dumps((MODDLE / "dist/index.js").as_uri())))
    opened = subprocess.run([node, script, *files.values()], capture_output=True, text=True, timeout=120, check=False)
    assert opened.returncode == 0, opened.stderr
    warnings = json.loads(opened.stdout)
    return {name: warnings[str(file)] for name, file in files.items()}
