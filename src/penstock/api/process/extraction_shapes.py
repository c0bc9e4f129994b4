"""What a manual is sent as, and what is read out of it (P-6.1, P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.app.process.models import Proposed

Base64 = Annotated[str, Field(min_length=1, max_length=70_000_000)]


class ManualDocument(RequestBody):
    """A PDF, DOCX or HTML file, Markdown or plain text. What it is says its content, else its media type or name."""

    content_base64: Base64 = Field(
        examples=["IyDsoJHsiJgg7KCI7LCoCjEuIOuLtOuLueyekDog65Ox66Gd7ISc66W8IOygkeyImO2VnOuLpA=="]
    )
    name: Annotated[str, Field(max_length=255)] = Field("", examples=["manual.md"])
    media_type: Annotated[str, Field(max_length=200)] = Field("", examples=["text/markdown"])


class ExtractAsked(RequestBody):
    """One of `text`, `document` and `pdf`. `dry_run` only shows what would come of it."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["text"]}, {"required": ["pdf"]}, {"required": ["document"]}]}
    )

    text: Annotated[str, Field(min_length=1, max_length=200_000)] | None = Field(
        None, examples=["# 접수 절차\n1. 담당자: 등록서를 접수한다\n2. 검토자: 내용을 검토한다"]
    )
    pdf: Base64 | None = Field(None, description="A PDF in base64, as `document` takes it. Needs the extra `extract`.")
    document: ManualDocument | None = Field(
        None, description="The file of a manual. PDF and DOCX need the extra `extract`."
    )
    id: Annotated[str, Field(max_length=200)] = ""
    dry_run: bool = False


class ManualSentence(ResponseBody):
    """A sentence of the manual: its page, its paragraph, and where it starts and ends in the text."""

    id: str = Field(examples=["s1"])
    page: int
    paragraph: int
    start: int
    end: int
    text: str


class ManualChunk(ResponseBody):
    """What a model reads in one piece (P-X.41); `first` and `last` are ids of sentences."""

    number: int
    tokens: int
    first: str
    last: str


class ExtractedElement(ResponseBody):
    """An element with the sentences that it comes from. `collection` is activities, roles, data, gateways, events,
    transitions or decisions."""

    collection: str = Field(examples=["activities"])
    id: str
    name: str
    confidence: float
    sentences: list[str]


class DroppedClaim(ResponseBody):
    """What a model said and the manual does not."""

    kind: str = Field(examples=["activity"])
    name: str
    quote: str
    why: str


class ExtractionOut(ResponseBody):
    """How a version was read out of a manual. `text` is the manual, in Markdown; `source` is rules or a model's name;
    `edited`: somebody has changed the version since."""

    id: str
    version: int | None
    approval_status: str
    confidence: float
    parts: dict[str, float]
    source: str
    note: str
    edited: bool = False
    definition: dict[str, Any]
    text: str
    bpmn: str
    dmn: str | None
    sentences: list[ManualSentence]
    chunks: list[ManualChunk]
    elements: list[ExtractedElement]
    dropped: list[DroppedClaim]


class ExtractedOut(ResponseBody, of=Proposed, omit=("new", "reading")):
    findings: list[FoundOut] = []
    text: str = ""
    bpmn: str = ""
    dmn: str | None = None
    sentences: list[ManualSentence] = []
    chunks: list[ManualChunk] = []
    elements: list[ExtractedElement] = []
    dropped: list[DroppedClaim] = []
