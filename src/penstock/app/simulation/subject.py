"""What is simulated: a document, a release, or a run of the store, with its history and what it starts with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.language import app_languages
from penstock.app.releases.documents import compile_source
from penstock.app.releases.triggers import active_release
from penstock.app.runs.start_input import checked_input, run_options
from penstock.app.simulation.virtual.assumptions import assumed_body, example_of, possible_values, seeded
from penstock.app.simulation.virtual.called_nets import CalledNet, called_by
from penstock.app.simulation.virtual.compared_values import ANY_TEXT, INPUT, Keys, compared_values, with_value
from penstock.app.simulation.virtual.history import History, read_history
from penstock.errors import BadInput, InputInvalid, ReleaseNotFound
from penstock.host.blobs import Blobs
from penstock.host.clock import SystemClock
from penstock.kernel.state import COMPLETED, STATUS, encode_state
from penstock.net.compiled import Compiled
from penstock.net.model import Net

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.app.runs.queries import Queries

MOST_RUNS = 100_000  # virtual runs of a simulation: about a minute of a core
_MOST_INPUTS = 200
_MADE_INPUTS = 20


class MissingReference(msgspec.Struct, frozen=True):
    """Something that a document refers to and its tenant does not have: a run would fail there, or wait for nobody."""

    node: str
    pointer: str
    message: str
    hint: str


class Subject(msgspec.Struct, kw_only=True):
    """`inputs` are what virtual runs start with, one of them each. With a `state` they go on from there instead."""

    net: Net
    compiled: Compiled
    name: str
    version: int | None = None
    run: str | None = None
    inputs: list[Any] = []
    inputs_from: str = "given"  # given, history, schema, expressions, nothing
    options: dict[str, Any] = {}
    history: History = msgspec.field(default_factory=History)
    now: int = 0
    state: bytes | None = None
    status: str | None = None  # of the run, where it has not ended
    elapsed_ms: int = 0
    resolve: Callable[[Any], Any] | None = None
    called: dict[str, CalledNet] = {}
    missing: list[MissingReference] = []


def document_source(path: Path, settings: Mapping[str, Any]) -> Path | bytes:
    """The file itself; of a folder what the language makes of it whose folder it is. Raises BadInput."""
    if not path.is_dir():
        return path
    for language in app_languages():
        source = language.read_folder(path, settings)
        if source is not None:
            return source
    hint = "Give a document's file, or the folder of a plan."
    raise BadInput(what=f"«{path}»", why="it is a folder without a document", where=path, hint=hint)


def of_document(
    path: Path, door: Queries | None, *, input: Any = None, settings: Mapping[str, Any] | None = None
) -> Subject:
    """A document that need not be released. Where there is a store, its history is that of runs of the same name."""
    given = settings or {}
    source = document_source(path, given)
    compiled, _ = compile_source(source, name=path.stem, settings=given)
    subject = of_net(Compiled(compiled.net), door, input=input, children=compiled.children)
    if door is not None:
        subject.missing = _missing(door, compiled.net, source)
    return subject


def of_release(door: Queries, name: str, version: int | None, *, input: Any = None) -> Subject:
    """A version of a definition; else the active one. Raises ReleaseNotFound."""
    row = (
        active_release(door.store, door.tenant, name)
        if version is None
        else door.store.release(door.tenant, name, version)
    )
    if row is None:
        raise ReleaseNotFound(name=name, version=version)
    subject = of_net(door.nets.get(row.net), door, input=input, version=row.version)
    subject.missing = _missing(door, subject.net, row.document)
    return subject


def _missing(door: Queries, net: Net, source: Path | bytes) -> list[MissingReference]:
    from penstock.app.simulation.missing_references import missing_references  # the registry is heavy

    return missing_references(door, net, source)


def of_net(
    net: Compiled, door: Queries | None, *, input: Any = None, version: int | None = None,
    children: Mapping[str, Net] | None = None,
) -> Subject:  # fmt: skip
    """`children` are nets that it calls and that no store need have."""

    def history_of(name: str) -> History:
        return read_history(door, name) if door is not None else History()

    def find(hash_: str) -> Net | None:
        if children and hash_ in children:
            return children[hash_]
        released = door.nets.by_hash(hash_) if door is not None else None
        return None if released is None else released[1].net

    history = history_of(net.net.name)
    inputs, inputs_from = _inputs(net, input, history)
    return Subject(
        net=net.net, compiled=net, name=net.net.name, version=version or net.net.declares.version or None,
        inputs=inputs, inputs_from=inputs_from, history=history, now=_now(door),
        options=run_options(net, door.store, door.tenant) if door is not None else {},
        called=called_by(net.net, find, history_of),
    )  # fmt: skip


def of_run(door: Queries, run: str) -> Subject:
    """A run: one that has ended is simulated from its start with its input, an open one from where it stands. Raises
    RunNotFound."""
    reading = door.reading(run)
    row, net, state = reading.row, reading.net, reading.state
    subject = of_net(net, door, input=reading.resolve(state.input))
    subject.run, subject.resolve = row.id, Blobs(door.store).of(row.tenant)
    subject.options = dict(state.options)
    if state.status < COMPLETED and state.scopes:
        subject.state, subject.status = encode_state(state), STATUS[state.status]
        subject.elapsed_ms = max(subject.now - row.created_at, 0)
    return subject


def _inputs(net: Compiled, input: Any, history: History) -> tuple[list[Any], str]:
    if input is not None:
        return [checked_input(net, input)], "given"
    if history.inputs:
        return history.inputs[:_MOST_INPUTS], "history"
    schema = net.net.declares.input_schema
    read = compared_values(net).get(INPUT)
    if schema is not None:
        return _of_schema(net, schema, read or {}), "schema"
    if read:
        return [assumed_body(seeded(f"input:{i}"), "", None, read) for i in range(_MADE_INPUTS)], "expressions"
    return [{}], "nothing"


def _of_schema(net: Compiled, schema: Any, read: Mapping[Keys, list[Any]]) -> list[Any]:
    """The plainest input first, then others: each value of an enumeration, and what the document compares it with as
    far as the schema allows that."""
    inputs = [example_of(schema) or {}]
    compared = {keys: values for keys, values in read.items() if keys and values != [ANY_TEXT]}
    for i in range(_MADE_INPUTS):
        draw = seeded(f"input:{i}")
        made = example_of(schema, draw) or {}
        for keys, values in compared.items():
            other = with_value(made, keys, draw.choice(possible_values("", keys, values)))
            made = other if _is_allowed(net, other) else made
        if made not in inputs:
            inputs.append(made)
    return inputs


def _is_allowed(net: Compiled, input: Any) -> bool:
    try:
        checked_input(net, input)
    except InputInvalid:
        return False
    return True


def _now(door: Queries | None) -> int:
    return door.now() if door is not None else SystemClock().now()
