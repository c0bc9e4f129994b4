"""The container files cannot be run here; what they name must at least be there."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.house.files import ROOT

DOCKERFILE = ROOT / "deploy/Dockerfile"
COMPOSE = ROOT / "deploy/compose.yaml"
IGNORED = ROOT / "deploy/Dockerfile.dockerignore"


def instructions() -> list[tuple[str, str]]:
    """(COPY, its rest), with lines that go on put together."""
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def copied() -> list[str]:
    """What comes from the checkout."""
    own = [rest for name, rest in instructions() if name == "COPY" and "--from=" not in rest]
    return [source for rest in own for source in rest.split()[:-1]]


def composed() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8")))


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in IGNORED.read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    assert copied() and [one for one in copied() if not (ROOT / one).exists()] == []
    assert set(copied()) == kept


def test_the_image_has_what_the_wheel_is_built_from() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {project["project"]["readme"], *project["project"]["license-files"], "hatch_build.py", "console", "src"}
    assert needed <= set(copied())
    extras = dict(instructions())["ARG"].removeprefix("EXTRAS=").split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])


def test_compose_builds_with_that_file_and_keeps_what_it_writes() -> None:
    build = composed()["services"]["penstock"]["build"]
    root = (COMPOSE.parent / build["context"]).resolve()
    assert root == ROOT and (root / build["dockerfile"]).samefile(DOCKERFILE)
    mounted = [one.split(":") for each in composed()["services"].values() for one in each["volumes"]]
    assert {name for name, _ in mounted} == set(composed()["volumes"])
    assert dict(instructions())["WORKDIR"] in [place for _, place in mounted]


def test_the_container_starts_what_there_is_as_nobody_special() -> None:
    """The command has these options, and the health check asks a route that there is."""
    pytest.importorskip("fastapi")
    from typer.testing import CliRunner

    from penstock.api.routes import health
    from penstock.cli.main import app

    last = dict(instructions())
    verb, *options = json.loads(last["CMD"])
    told = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    assert [one for one in options if one.startswith("--") and one not in told] == []
    assert last["USER"] not in ("", "root")
    asked = re.search(r"/api/v1(/\w+)", last["HEALTHCHECK"])
    assert asked and asked[1] in [route.path for route in health.router.routes]  # type: ignore[attr-defined]
    assert "ntested" in DOCKERFILE.read_text(encoding="utf-8") and "ntested" in COMPOSE.read_text(encoding="utf-8")
