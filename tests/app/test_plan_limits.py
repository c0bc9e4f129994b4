"""The limit of a plan lies under the limit of all effects at once."""

from __future__ import annotations

from pathlib import Path

from tests.app.plans import a_project, driven, played, settled


@played
async def test_t_x_37_one_limit_holds_for_all(tmp_path: Path) -> None:
    """T-X.37: maxConcurrent is the plan's own limit; `workers.total` bounds what all of them do at once."""
    steps = [{"init": True}, {"sleep": 0.3}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"t1": {}, "t2": {}, "t3": {}}, scenarios={"*": steps}, max_concurrent=3)
    async with driven(tmp_path / "s.db", settings={"workers.total": 1}) as plans:
        project = (await plans.register(folder)).id
        await plans.start(project, by="ann")
        await settled(plans, project)
        spans = sorted((each.started_at, each.completed_at) for each in plans.executions(project))
    assert len(spans) == 3 and all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False)), spans
