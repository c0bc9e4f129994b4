"""Drafts of drawings as they are sent: what is missing, with proposals, and what was answered."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.paging import LARGEST
from penstock.api.process.definition_shapes import DefinitionSaved, Text
from penstock.app.process.drafts import views
from penstock.app.process.drafts.present import DraftCounts, DraftSoundness
from penstock.lang.process.todos import Proposal

_DRAWING = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:example">'
    '<process id="order"><startEvent id="s"/><userTask id="look" name="Look at the order"/>'
    '<exclusiveGateway id="stock" name="In stock?"/><userTask id="ship" name="Ship"/><userTask id="buy" name="Buy"/>'
    '<sequenceFlow id="f1" sourceRef="s" targetRef="look"/><sequenceFlow id="f2" sourceRef="look" targetRef="stock"/>'
    '<sequenceFlow id="f3" name="yes" sourceRef="stock" targetRef="ship"/>'
    '<sequenceFlow id="f4" name="no" sourceRef="stock" targetRef="buy"/></process></definitions>'
)
_ANSWERS: dict[str, Any] = {"number": 1, "answers": [{"key": "gateway_conditions:order:stock", "proposal": 0}]}
Number = Annotated[int, Field(ge=1, le=LARGEST, description="The draft's number that was seen.")]
Key = Annotated[str, Field(min_length=1, max_length=1000)]
FileName = Annotated[str, Field(max_length=200, description="The name of the file, for people.")]


class DraftBrought(RequestBody):
    """A file: BPMN XML, or a definition in JSON. `accept`: with all proposals taken."""

    name: FileName = ""
    text: Text = Field(examples=[_DRAWING])
    accept: bool = False


class DraftReplaced(RequestBody):
    """Another text in the place of the draft's; answers whose to-dos are still there stay."""

    number: Number
    name: FileName = ""
    text: Text = Field(examples=[_DRAWING])


class ReplyAsked(RequestBody):
    """One of `proposal` (its place in `proposals`, from 0) and `answer` (as the to-do's `form` says)."""

    key: Key
    proposal: Annotated[int, Field(ge=0, le=1000)] | None = None
    answer: dict[str, Any] | None = None


class AnswersAsked(RequestBody):
    """All of them, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ANSWERS]})

    number: Number
    answers: Annotated[list[ReplyAsked], Field(min_length=1, max_length=2000)]


class AcceptAsked(RequestBody):
    """`dry_run` only shows what would come of it."""

    number: Number
    dry_run: bool = False


class UndoAsked(RequestBody):
    """The last answer, or those to the to-do with this key."""

    number: Number
    key: Key | None = None


class ReleaseAsked(RequestBody):
    """`unsound`: although not every instance of it can end."""

    number: Number
    pending: bool = Field(False, description="It waits for an approval, although nobody asks for one.")
    unsound: bool = False


class DraftDefinitionOut(ResponseBody, of=views.DraftDefinition):
    """How much one process of the drawing has of what."""


class ReleasedVersionOut(ResponseBody, of=views.ReleasedVersion):
    """What has become of it."""


class DraftLineOut(ResponseBody, of=views.DraftLine):
    """`open` are the to-dos that keep it from running."""

    status: str = Field(examples=["open", "finished", "released"])


class DraftPage(ResponseBody):
    items: list[DraftLineOut]
    next: str | None


class DraftTodoOut(ResponseBody, of=views.DraftTodo, parts={Proposal: "DraftProposalOut"}):
    """`kind` and `facts` are for those who word it themselves."""

    state: str = Field(examples=["open", "done"])


class ProcessDraftOut(
    ResponseBody, of=views.Draft, parts={DraftCounts: "DraftCountsOut", DraftSoundness: "DraftSoundnessOut"}
):  # fmt: skip
    status: str = Field(examples=["open", "finished", "released"])


class DraftDocuments(ResponseBody):
    """ProcessDefinitions, in the order of the draft's definitions."""

    definitions: list[dict[str, Any]]


class DraftReleased(ResponseBody):
    draft: ProcessDraftOut
    definitions: list[DefinitionSaved]
