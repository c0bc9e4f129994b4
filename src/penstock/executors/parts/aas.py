"""Asset administration shells as plain objects: JSON and AASX files, and what a repository answers, read with basyx.

An author asks for «line.L01». A shell is found by the kind and the name of its asset, wherever the shell says them:
`idShort` line_L01; `idShort` L01 with the asset type line; a specific asset id line = L01; an id ending in /line/L01.
Without a shell a submodel is found the same way, or a collection L01 in a submodel called line. What is given out are
the submodels' elements by `idShort`, and every submodel under its own name.
"""

from __future__ import annotations

import base64
import datetime
import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib import import_module
from typing import Any

Assets = dict[tuple[str, str], dict[str, Any]]

MAX_UNPACKED = 64 * 1024 * 1024
_RELATIONS = ("http://admin-shell.io/aasx/relationships/", "http://www.admin-shell.io/aasx/relationships/")
_MARKS = re.compile(r"[/:#?=]+")
_WORD_64 = 1 << 63


class AasMissing(Exception):
    """basyx is not installed."""


class BadSource(ValueError):
    """What was read is not an environment of shells; the text says why."""


def read_json(data: bytes) -> Assets:
    """The things of an environment in JSON: `{assetAdministrationShells, submodels}`."""
    sdk = _sdk("basyx.aas.adapter.json")
    try:
        environment = sdk.read_aas_json_file(io.StringIO(data.decode("utf-8-sig")), failsafe=True)
    except UnicodeDecodeError:
        raise BadSource("it is not UTF-8 text") from None
    except RecursionError:
        raise BadSource("it is nested too deeply") from None
    except Exception as error:  # the SDK lets whatever happens inside its decoder out
        raise BadSource(f"it is not an AAS environment in JSON ({_error_text(error)})") from None
    return _assets(environment)


def read_aasx(data: bytes) -> Assets:
    """The things of an AASX package. Its other files are not unpacked."""
    opc = _sdk("pyecma376_2")
    environment: list[Any] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            size = sum(part.file_size for part in package.infolist())
        if size > MAX_UNPACKED:
            raise BadSource(f"unpacked it has more than {MAX_UNPACKED} bytes")
        reader = opc.ZipPackageReader(io.BytesIO(data))
        for part in _spec_parts(reader):
            environment += _read_part(reader, part)
    except BadSource:
        raise
    except RecursionError:
        raise BadSource("it is nested too deeply") from None
    except Exception as error:  # as above: zip, OPC, XML and the SDK each have errors of their own
        raise BadSource(f"it is not an AASX package ({_error_text(error)})") from None
    return _assets(environment)


def _spec_parts(reader: Any) -> Iterator[str]:
    """Package → origin → specification → its further parts, each named by a relation; older files say «www.»."""

    def related(part: str, kind: str) -> list[str]:
        relations = reader.get_related_parts_by_type(part) if part else reader.get_related_parts_by_type()
        return [name for base in _RELATIONS for name in relations.get(base + kind) or ()]

    for origin in related("", "aasx-origin"):
        for part in related(origin, "aas-spec"):
            yield part
            yield from related(part, "aas-spec-split")


def _read_part(reader: Any, name: str) -> Iterable[Any]:
    with reader.open_part(name) as part:
        content = part.read()
    if name.lower().endswith(".json") or "json" in reader.get_content_type(name):
        text = io.StringIO(content.decode("utf-8-sig"))
        return list(_sdk("basyx.aas.adapter.json").read_aas_json_file(text, failsafe=True))
    if b"<!DOCTYPE" in content.replace(b"\0", b""):  # also in UTF-16
        raise BadSource("its XML has a document type, which is not read")
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    return list(_sdk("basyx.aas.adapter.xml").read_aas_xml_file(io.BytesIO(content), failsafe=True, **options))


def _sdk(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise AasMissing from None


def _error_text(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]


# ---- finding ---------------------------------------------------------------------------------------------------------


def _assets(environment: Iterable[Any]) -> Assets:
    """(kind, name) → the object. The kind is compared without regard to capitals; the first one found counts."""
    model = _sdk("basyx.aas.model")
    every = list(environment)
    if not every:
        raise BadSource("it holds no shell and no submodel")
    submodels = {thing.id: thing for thing in every if isinstance(thing, model.Submodel)}
    values = {id: _elements(thing.submodel_element, model) for id, thing in submodels.items()}
    things: Assets = {}
    for shell in every:
        if isinstance(shell, model.AssetAdministrationShell):
            own = [id for id in _referred(shell) if id in submodels]
            body = _merged([(submodels[id].id_short, values[id]) for id in own])
            for kind, name in _names(shell, [submodels[id].id_short for id in own]):
                things.setdefault((kind.lower(), name), body)
    for id, submodel in submodels.items():
        for kind, name in _split(submodel.id_short, id):
            things.setdefault((kind.lower(), name), values[id])
        for element in submodel.submodel_element:
            if isinstance(element, model.SubmodelElementCollection) and submodel.id_short:
                things.setdefault((submodel.id_short.lower(), element.id_short), values[id][element.id_short])
    return things


def _referred(shell: Any) -> list[str]:
    """The ids of the shell's submodels; they come as a set, so they are put in order."""
    return sorted(reference.key[0].value for reference in shell.submodel)


def _merged(submodels: list[tuple[str | None, dict[str, Any]]]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for _, elements in submodels:
        for name, value in elements.items():
            body.setdefault(name, value)
    for own_name, elements in submodels:
        if own_name:
            body.setdefault(own_name, elements)
    return body


def _names(shell: Any, submodels: list[str | None]) -> Iterator[tuple[str, str]]:
    """Every (kind, name) by which a shell may be asked for, the plainest statement first."""
    asset = shell.asset_information
    for given in sorted(asset.specific_asset_id, key=lambda asset_id: (asset_id.name, asset_id.value)):
        yield given.name, given.value
    names = [name for name in (shell.id_short, _last(shell.id), _last(asset.global_asset_id)) if name]
    for name in names:
        if asset.asset_type:
            yield _last(asset.asset_type), name
    for id in (shell.id, asset.global_asset_id):
        yield from _split(shell.id_short, id)
    for name in names:
        for kind in submodels:
            if kind:
                yield kind, name


def _split(id_short: str | None, id: str | None) -> Iterator[tuple[str, str]]:
    kind, _, name = (id_short or "").partition("_")
    if kind and name:
        yield kind, name
    parts = [part for part in _MARKS.split(id or "") if part]
    if len(parts) > 1:
        yield parts[-2], parts[-1]


def _last(text: str | None) -> str:
    parts = [part for part in _MARKS.split(text or "") if part]
    return parts[-1] if parts else ""


# ---- values ----------------------------------------------------------------------------------------------------------


def _elements(elements: Iterable[Any], model: Any) -> dict[str, Any]:
    return {
        element.id_short: _value(element, model)
        for element in elements
        if element.id_short and _has_value(element, model)
    }


def _has_value(element: Any, model: Any) -> bool:
    """Operations, events and capabilities have no value."""
    return not isinstance(element, model.Operation | model.EventElement | model.Capability)


def _value(element: Any, model: Any) -> Any:
    if isinstance(element, model.Property | model.Blob | model.File):
        return plain_value(element.value)
    if isinstance(element, model.SubmodelElementCollection):
        return _elements(element.value, model)
    if isinstance(element, model.SubmodelElementList):
        return [_value(item, model) for item in element.value if _has_value(item, model)]
    if isinstance(element, model.MultiLanguageProperty):
        return {str(language): str(text) for language, text in (element.value or {}).items()}
    if isinstance(element, model.Range):
        return {"min": plain_value(element.min), "max": plain_value(element.max)}
    if isinstance(element, model.Entity):
        return _elements(element.statement, model)
    if isinstance(element, model.ReferenceElement):
        return _reference(element.value)
    if isinstance(element, model.RelationshipElement):
        return {"first": _reference(element.first), "second": _reference(element.second)}
    return None


def _reference(reference: Any) -> str | None:
    """A reference names something and is not followed."""
    return str(reference.key[-1].value) if reference is not None and reference.key else None


def plain_value(value: Any) -> Any:
    """A value of XML Schema as JSON has it: numbers stay numbers, dates are ISO 8601, bytes base64."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return (
            int(value) if -_WORD_64 <= value < _WORD_64 else float(value) if abs(value) < 10**300 else str(int(value))
        )
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() and abs(value) < _WORD_64 else plain_value(float(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(_sdk("basyx.aas.model.datatypes").xsd_repr(value))
