"""The form of a scenario file: every field is declared here once, for the reader, the editors' schema and the docs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from penstock.errors import Finding
from penstock.lang.document import Document
from penstock.lang.fields import Fields
from penstock.testing.behaviours import CATEGORIES, Behaviour

Kind = Literal["read", "send", "write", "ask", "run", "deploy", "compute", "call"]
Category = Literal[
    "transient", "permanent", "timeout", "validation", "authorization", "business", "external", "resource", "system",
    "refused",
]  # fmt: skip
assert set(Category.__args__) == set(CATEGORIES), "both lists are the kernel's"  # type: ignore[attr-defined]


class FailsFields(Fields):
    """How a stub fails."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("code",)
    code: Annotated[str, Meta(description="The code of the failure, as the document's rules about errors name it.")] = (
        ""
    )
    category: Annotated[
        Category, Meta(description="Decides about retries: transient, timeout, external and resource are tried again.")
    ] = "external"
    message: Annotated[str, Meta(description="What it says.")] = ""


class StubFields(Fields):
    """What stands in for a node, an executor or a kind of effect; one of answer, fails, never, real and in_turn."""

    answer: Annotated[Any, Meta(description="The value that it answers with.")] = None
    fails: Annotated[
        str | dict[str, Any] | None, Meta(description="The code that it fails with, or {code, category, message}.")
    ] = None
    never: Annotated[bool, Meta(description="It never answers: only a timeout or the end of the run ends it.")] = False
    real: Annotated[
        bool, Meta(description="The real executor does it, and reaches the world; `--real` allows it.")
    ] = False  # fmt: skip
    takes: Annotated[str, Meta(description="Virtual time that passes before it ends so: 5s, 10m.")] = ""
    in_turn: Annotated[
        list[dict[str, Any]], Meta(description="Stubs one after the other; the last one stays.")
    ] = []  # fmt: skip
    undo: Annotated[dict[str, Any] | None, Meta(description="The stub of the node's way back.")] = None


class StubsFields(Fields):
    """What stands in for the world: by node first, then by executor, then by kind of effect."""

    nodes: Annotated[dict[str, Any], Meta(description="Stubs by the id of a node.")] = {}
    executors: Annotated[dict[str, Any], Meta(description="Stubs by the name of an executor: http, sql, llm …")] = {}
    effects: Annotated[
        dict[str, Any], Meta(description="Stubs by what an effect does: read, send, write, ask, run, deploy.")
    ] = {}  # fmt: skip


class GivenFields(Fields):
    """How the world is when it begins. What a scenario gives lies over what its file gives."""

    now: Annotated[str, Meta(description="When it begins, ISO 8601; 2026-01-05T09:00:00Z if nothing is said.")] = ""
    tenant: Annotated[str, Meta(description="Whose it is; the sample tenant if nothing is said.")] = ""
    registered: Annotated[
        dict[str, Any], Meta(description="What the tenant has registered besides: type, id, body.")
    ] = {}  # fmt: skip
    documents: Annotated[
        list[str], Meta(description="Files of other documents in force, which it may call or start.")
    ] = []  # fmt: skip
    in_force: Annotated[
        bool, Meta(description="The document is in force: events, webhooks and its schedule start it.")
    ] = False  # fmt: skip
    people: Annotated[dict[str, str], Meta(description="Short names of people: name, user id.")] = {}
    stubs: Annotated[StubsFields, Meta(description="What stands in for the world.")] = msgspec.field(
        default_factory=StubsFields
    )
    real: Annotated[list[str], Meta(description="Executors that may reach the world; `--real` allows it.")] = []
    settings: Annotated[
        dict[str, Any], Meta(description="Settings of the engine by their dotted names: limits, shares, environment.")
    ] = {}  # fmt: skip


class WhenFields(Fields):
    """What happens: one of start, event, signal, webhook, cancel, or a person who approves, rejects, judges, answers or
    claims."""

    start: Annotated[Any, Meta(description="Start a run of the document with this input.")] = None
    document: Annotated[str, Meta(description="start: of another file than the scenario's document.")] = ""
    by: Annotated[str, Meta(description="start: who starts it.")] = ""
    event: Annotated[str, Meta(description="Send an event of this source.")] = ""
    signal: Annotated[str, Meta(description="Send the run news of this name.")] = ""
    webhook: Annotated[str, Meta(description="Call this path of a document in force.")] = ""
    method: Annotated[str, Meta(description="webhook: POST if nothing is said.")] = "POST"
    payload: Annotated[Any, Meta(description="What the event, the news or the call carries.")] = None
    cancel: Annotated[bool, Meta(description="End the run.")] = False
    person: Annotated[str, Meta(description="Who acts: a short name of given.people, or a user id.")] = ""
    approves: Annotated[str, Meta(description="The node whose approval they give.")] = ""
    rejects: Annotated[str, Meta(description="The node whose approval they refuse.")] = ""
    judges: Annotated[str, Meta(description="The review that they give a verdict.")] = ""
    answers: Annotated[str, Meta(description="The node that they answer, or whose work they hand in.")] = ""
    claims: Annotated[str, Meta(description="The work that they take.")] = ""
    value: Annotated[Any, Meta(description="What they answer or hand in.")] = None
    verdict: Annotated[str, Meta(description="judges: normal, warning, critical or unknown.")] = ""
    comment: Annotated[str, Meta(description="What they say about it.")] = ""
    within: Annotated[str, Meta(description="Time passes until it waits for them, at most so long: 1d.")] = ""
    run: Annotated[int, Meta(description="Which run, counted from 1; the last one if nothing is said.")] = 0


class WaitFields(Fields):
    """What a run waits for at a node."""

    for_: Annotated[
        Literal["person", "event", "time", "retry", "run", "room", "operator", "breaker", "worker"] | None,
        Meta(description="person, event, time, retry, run, room, operator, breaker or worker."),
    ] = msgspec.field(name="for", default=None)
    until: Annotated[str, Meta(description="2h from now on, +2h since the beginning, or a moment.")] = ""
    who: Annotated[str | list[str], Meta(description="Roles or people that it waits for.")] = []
    what: Annotated[str, Meta(description="The title, the event, the run.")] = ""
    then: Annotated[str, Meta(description="What happens at that moment: escalate, fail, continue, retry, path.")] = ""


class MessageFields(Fields):
    """A message that was sent."""

    channel: Annotated[str, Meta(description="slack, email, sms, webhook, database …")] = ""
    to: Annotated[str | list[str], Meta(description="Its receivers, or some of them.")] = []
    text: Annotated[str, Meta(description="A part of its text.")] = ""
    subject: Annotated[str, Meta(description="A part of its subject.")] = ""
    node: Annotated[str, Meta(description="The node that has sent it.")] = ""


class ThenFields(Fields):
    """What is expected of the run now."""

    status: Annotated[str, Meta(description="In the words of the document's language: waiting, completed …")] = ""
    path: Annotated[list[str], Meta(description="All nodes that have begun, in order.")] = []
    passes: Annotated[list[str], Meta(description="Nodes that have begun in this order; others may be between.")] = []
    not_reached: Annotated[list[str], Meta(description="Nodes that have not begun.")] = []
    visits: Annotated[dict[str, int], Meta(description="How often nodes have begun.")] = {}
    waits: Annotated[
        dict[str, Any] | None, Meta(description="By node: what it waits for. {}: it waits for nothing.")
    ] = None  # fmt: skip
    messages: Annotated[
        list[MessageFields], Meta(description="Sent since messages were last looked at, in order. []: none.")
    ] = []  # fmt: skip
    compensated: Annotated[list[str], Meta(description="Nodes whose work was undone, in order.")] = []
    variables: Annotated[dict[str, Any], Meta(description="Values of variables, or parts of them.")] = {}
    output: Annotated[Any, Meta(description="What the run has come to, or a part of it.")] = None
    nodes: Annotated[dict[str, str], Meta(description="How nodes stand, in the language's words.")] = {}
    failure: Annotated[
        str | dict[str, Any] | None, Meta(description="The code of the failure, or {code, node, category, message}.")
    ] = None  # fmt: skip
    holds: Annotated[
        str | list[str], Meta(description="Expressions over status, output, variables, failure, path, messages.")
    ] = []  # fmt: skip
    took: Annotated[str, Meta(description="How long the run has taken, in virtual time.")] = ""
    runs: Annotated[int, Meta(description="How many runs have started.")] = 0
    timeline: Annotated[
        str, Meta(description="A file beside this one, NAME.timeline.txt, that has the timeline; --update writes it.")
    ] = ""  # fmt: skip
    run: Annotated[int, Meta(description="Which run, counted from 1; the last one if nothing is said.")] = 0


class StepFields(Fields):
    """A step of the story: time passes (after, at), then something happens (when), then it is looked at (then)."""

    after: Annotated[str, Meta(description="So much time passes: 90s, 30m, 2h, 1d.")] = ""
    at: Annotated[str, Meta(description="Time passes until then: +2h since the beginning, or a moment.")] = ""
    when: Annotated[WhenFields, Meta(description="What happens.")] = msgspec.field(default_factory=WhenFields)
    then: Annotated[ThenFields, Meta(description="What is expected.")] = msgspec.field(default_factory=ThenFields)


class ScenarioFields(Fields):
    """One story."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("scenario", "steps")
    scenario: Annotated[str, Meta(description="What it is about, in one line.")] = ""
    given: Annotated[GivenFields, Meta(description="How the world is when it begins.")] = msgspec.field(
        default_factory=GivenFields
    )
    steps: Annotated[list[StepFields], Meta(description="What happens, one after the other.")] = []


class FileFields(Fields):
    """A scenario file: one document, and one story or several."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("document",)
    document: Annotated[str, Meta(description="The file of the document, or a plan's folder, beside this file.")] = ""
    given: Annotated[GivenFields, Meta(description="How the world is when each of them begins.")] = msgspec.field(
        default_factory=GivenFields
    )
    scenarios: Annotated[list[ScenarioFields], Meta(description="The stories.")] = []
    scenario: Annotated[str, Meta(description="The only story: what it is about.")] = ""
    steps: Annotated[list[StepFields], Meta(description="The only story: what happens.")] = []


#: the parts of a file, by what they are called for people
FORMS: dict[str, type[Fields]] = {
    "The file": FileFields, "A scenario": ScenarioFields, "given": GivenFields, "given.stubs": StubsFields,
    "A stub": StubFields, "fails": FailsFields, "A step": StepFields, "when": WhenFields, "then": ThenFields,
    "A wait": WaitFields, "A message": MessageFields,
}  # fmt: skip


class Given(msgspec.Struct, kw_only=True):
    """How the world is, read and put together."""

    now: int
    tenant: str
    registered: dict[str, dict[str, Any]]
    documents: list[str]
    in_force: bool
    people: dict[str, str]
    stubs: dict[str, dict[str, tuple[tuple[Behaviour, ...], tuple[Behaviour, ...]]]]
    real: list[str]
    settings: dict[str, Any]


class Step(msgspec.Struct, kw_only=True):
    """`pointer` is where it stands; the maps hold what was written, without what was not."""

    pointer: str
    after_ms: int | None = None
    at: str = ""
    when: dict[str, Any] | None = None
    then: dict[str, Any] | None = None


class Scenario(msgspec.Struct, kw_only=True):
    """`own_stubs` are the names of stubs that are for this story alone."""

    name: str
    pointer: str
    given: Given
    steps: list[Step]
    own_stubs: set[str] = set()


class ScenarioFile(msgspec.Struct, kw_only=True):
    """A file that was read; `source` knows the lines of its pointers, `warnings` does not keep it from being played."""

    path: Path
    document: str
    scenarios: list[Scenario]
    source: Document
    warnings: list[Finding] = []
