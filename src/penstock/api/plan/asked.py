"""What is asked of projects and tasks: the bodies of requests (T-X.39)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from penstock.api.bodies import RequestBody

_TASK: dict[str, Any] = {
    "id": "write-tests", "title": "Write the tests", "description": "One for every route.",
    "dependsOn": ["api", {"id": "docs", "optional": True}], "successCriteria": ["every route has a test"],
}  # fmt: skip
Text = Annotated[str, Field(max_length=8000)]
#: true or false, and nothing that could be taken for it
Flag = Annotated[bool, Field(strict=True)]


class ProjectAsked(RequestBody):
    """A folder of the server's machine with a plan in it. `trusted`: commands among its success criteria are run."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"path": "/srv/plans/site"}]})

    path: str = Field(min_length=1, max_length=4096)
    name: str | None = Field(None, min_length=1, max_length=200)
    trusted: Flag = False
    enabled: Flag = True


class ProjectChange(RequestBody):
    """`enabled`: false keeps it out of reports and of what starts by itself."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"enabled": True}]})

    enabled: Flag | None = None
    trusted: Flag | None = None


class TaskAsked(BaseModel):
    """A new task: the file `tasks/ID.md` is written from it. What is wrong with it is told as TASK-400-SCHEMA."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_TASK]})


class TaskChange(RequestBody):
    """T-8.3.5: other dependencies, each an id or {id, optional, weight}."""

    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, json_schema_extra={"examples": [{"dependsOn": ["api"]}]}
    )

    depends_on: list[Any] = Field(alias="dependsOn", max_length=1000)


class ExecuteAsked(RequestBody):
    """T-X.10: with `queue` it waits for its agent instead of being refused. `skill` goes before the task's own."""

    queue: Flag = False
    skill: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class CompleteAsked(RequestBody):
    notes: Text = ""


class ApproveAsked(RequestBody):
    comment: Text | None = None


class RejectAsked(RequestBody):
    """T-X.14: the comment is an instruction for the next attempt."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"comment": "The tests are missing."}]})

    comment: str = Field(min_length=1, max_length=8000)


class ForceAsked(RequestBody):
    """T-X.30: why somebody says that it is done."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "Done by hand."}]})

    reason: str = Field(min_length=1, max_length=8000)


class StartAsked(RequestBody):
    """T-X.31: a project whose health is `error` is started with `force` only."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    force: Flag = False
    max_concurrent: int | None = Field(None, alias="maxConcurrent", ge=1, le=1000)


class StopAsked(RequestBody):
    """T-X.32: those at work are waited for; with `now` they are ended, and pending again."""

    now: Flag = False


class WorktreeAsked(RequestBody):
    """What becomes of the changes that an agent has made."""

    action: Literal["merge", "keep", "discard"]
