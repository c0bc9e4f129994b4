"""context: shells of assets out of real AASX and JSON files and over HTTP, and searches among Korean texts."""

from __future__ import annotations

import asyncio
import datetime
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from basyx.aas import model
from basyx.aas.adapter.aasx import AASXWriter, DictSupplementaryFileContainer
from basyx.aas.adapter.json import AASToJsonEncoder, write_aas_json_file

from penstock.errors import ExprTypeError
from penstock.executors.context import ContextExecutor
from penstock.executors.contract import Done, Failed, Services
from penstock.executors.parts import aas
from penstock.executors.parts.similarity_search import SimilarityIndex
from penstock.expr import compile_expression
from tests.executors.bench import Bench, Seen, Server, as_json
from tests.executors.tenant import KeptTenant

types = model.datatypes
Serve = Callable[[Callable[[Seen], Any]], Server]


# ---- shells made with basyx ------------------------------------------------------------------------------------------


def technical_data(capacity: int = 120) -> model.Submodel:
    return model.Submodel(
        "https://example.com/sm/technical/L01",
        id_short="TechnicalData",
        submodel_element=[
            model.Property("capacity", types.Int, types.Int(capacity)),
            model.Property("rate", types.Double, 0.25),
            model.Property("weight", types.Decimal, Decimal("12.5")),
            model.Property("serial", types.Integer, 10**30),
            model.Property("name", types.String, "1번 라인"),
            model.Property("running", types.Boolean, True),
            model.Property("since", types.Date, types.Date(2024, 1, 2)),
            model.Property("checked", types.DateTime, datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
            model.Property("cycle", types.Duration, types.Duration(hours=3)),
            model.Property("unset", types.String, None),
            model.SubmodelElementCollection(
                "limits",
                value=[
                    model.Property("max", types.Double, 4.5),
                    model.SubmodelElementCollection("deep", value=[model.Property("er", types.Int, types.Int(1))]),
                ],
            ),
            model.SubmodelElementList(
                "temps",
                model.Property,
                value_type_list_element=types.Int,
                value=[model.Property(None, types.Int, types.Int(n)) for n in (1, 2)],
            ),
            model.MultiLanguageProperty("label", model.MultiLanguageTextType({"ko": "라인", "en": "line"})),
            model.Range("window", types.Int, types.Int(1), types.Int(5)),
            model.File("manual", "application/pdf", "/a/file/that/is/not/there.pdf"),
            model.Blob("icon", "image/png", b"\x00\x01"),
            model.Capability("drilling"),
            model.ReferenceElement(
                "docs", model.ExternalReference((model.Key(model.KeyTypes.GLOBAL_REFERENCE, "urn:doc:1"),))
            ),
            model.Entity(
                "motor",
                model.EntityType.CO_MANAGED_ENTITY,
                statement=[model.Property("rpm", types.Int, types.Int(1500))],
            ),
        ],
    )


def shell(id_short: str, id: str, *submodels: model.Submodel, **asset: Any) -> model.AssetAdministrationShell:
    asset = {"global_asset_id": f"urn:asset:{id_short}", **asset}
    return model.AssetAdministrationShell(
        model.AssetInformation(model.AssetKind.INSTANCE, **asset),
        id,
        id_short=id_short,
        submodel={model.ModelReference.from_referable(one) for one in submodels},
    )


def plant(capacity: int = 120) -> model.DictIdentifiableStore[Any]:
    data = technical_data(capacity)
    status = model.Submodel(
        "https://example.com/sm/status/EQ001",
        id_short="Operational",
        submodel_element=[model.Property("status", types.String, "RUNNING")],
    )
    cells = model.Submodel(
        "https://example.com/sm/cells",
        id_short="cell",
        submodel_element=[
            model.SubmodelElementCollection("C1", value=[model.Property("robots", types.Int, types.Int(4))])
        ],
    )
    tank = model.Submodel(
        "urn:plant:tank_T7",
        id_short="tank_T7",
        submodel_element=[model.Property("level", types.Double, 0.5)],
    )
    return model.DictIdentifiableStore(
        [
            data,
            status,
            cells,
            tank,
            shell("L01", "https://example.com/aas/1", data, asset_type="https://example.com/types/Line"),
            shell("equipment_EQ001", "https://example.com/aas/2", status),
            shell(
                "Pump", "https://example.com/aas/3", status, specific_asset_id={model.SpecificAssetId("pump", "P-9")}
            ),
            shell("Press", "https://example.com/aas/press/77", status),
        ]
    )


def as_aasx(store: model.DictIdentifiableStore[Any]) -> bytes:
    file = io.BytesIO()
    with AASXWriter(file, failsafe=True) as writer:
        ids = [one.id for one in store if isinstance(one, model.AssetAdministrationShell)]
        writer.write_aas(ids, store, DictSupplementaryFileContainer())
        loose = [one.id for one in store if isinstance(one, model.Submodel) and one.id_short in ("cell", "tank_T7")]
        writer.write_aas_objects("/aasx/loose.xml", loose, store, DictSupplementaryFileContainer())
    return file.getvalue()


def as_aas_json(store: model.DictIdentifiableStore[Any]) -> bytes:
    text = io.StringIO()
    write_aas_json_file(text, store)
    return text.getvalue().encode()


class Room:
    """The executor with one tenant."""

    def __init__(self, bench: Bench, things: dict[str, Any] | None = None, secrets: dict[str, str] | None = None):
        self.bench, self.executor = bench, ContextExecutor()
        self.tenant = KeptTenant("t", {"aas": things or {}}, secrets or {})

    def run(self, args: Any, **fields: Any) -> Any:
        services = Services(
            output_dir=self.bench.output_dir,
            input_dir=self.bench.input_dir,
            settings=self.bench.settings,
            tenant=lambda _: self.tenant,
        )
        return asyncio.run(self.executor.run(self.bench.request(args, **fields), services))

    def found(self, *wanted: Any) -> Any:
        outcome = self.run({"aas": list(wanted)})
        assert isinstance(outcome, Done), outcome
        return outcome.body["aas"]

    def failure(self, args: Any, **fields: Any) -> Any:
        outcome = self.run(args, **fields)
        assert isinstance(outcome, Failed), outcome
        return outcome.failure


LINE = {
    "capacity": 120,
    "rate": 0.25,
    "weight": 12.5,
    "serial": 1e30,
    "name": "1번 라인",
    "running": True,
    "since": "2024-01-02",
    "checked": "2024-01-02T03:04:05+00:00",
    "cycle": "PT3H",
    "unset": None,
    "limits": {"max": 4.5, "deep": {"er": 1}},
    "temps": [1, 2],
    "label": {"ko": "라인", "en": "line"},
    "window": {"min": 1, "max": 5},
    "manual": "/a/file/that/is/not/there.pdf",
    "icon": "AAE=",
    "docs": "urn:doc:1",
    "motor": {"rpm": 1500},
}


@pytest.mark.parametrize(("file", "made"), [("plant.aasx", as_aasx), ("plant.json", as_aas_json)])
def test_shells_out_of_a_file(bench: Bench, file: str, made: Callable[[Any], bytes]) -> None:
    """C-64, W-5.2.1: «type.id» is the object of the shell's properties, collections are objects; unknown is null."""
    (bench.input_dir / file).write_bytes(made(plant()))
    room = Room(bench, {"source.plant": {"file": file}})
    wanted = (
        "line.L01",
        {"type": "equipment", "id": "EQ001"},
        "pump.P-9",
        "press.77",
        "cell.C1",
        "tank.T7",
        "line.L99",
    )
    found = room.found(*wanted)
    assert found["line"]["L01"] == {**LINE, "TechnicalData": LINE}
    assert found["line"]["L99"] is None
    assert found["equipment"] == {"EQ001": {"status": "RUNNING", "Operational": {"status": "RUNNING"}}}
    assert found["pump"]["P-9"]["status"] == found["press"]["77"]["status"] == "RUNNING"
    assert found["cell"] == {"C1": {"robots": 4}}
    assert found["tank"]["T7"] == {"level": 0.5}
    view = {"aas": found}
    assert compile_expression("aas.line.L01.capacity")(view) == 120
    assert compile_expression("aas.equipment.EQ001.status")(view) == "RUNNING"
    assert compile_expression("aas.line.L99.capacity")(view) is None


def test_registered_objects_come_first_and_sources_in_order(bench: Bench) -> None:
    """C-64: a registered object is used as it is; the first source that knows a thing is believed."""
    (bench.input_dir / "a.json").write_bytes(as_aas_json(plant(1)))
    (bench.input_dir / "b.json").write_bytes(as_aas_json(plant(2)))
    things = {
        "source.b": {"file": "b.json"},
        "source.a": {"file": "a.json"},
        "equipment.EQ001": {"status": "IDLE"},
    }
    room = Room(bench, things)
    found = room.found("line.L01", "equipment.EQ001", "source.a")
    assert found["line"]["L01"]["capacity"] == 1
    assert found["equipment"]["EQ001"] == {"status": "IDLE"}
    assert room.found("line.") == {}  # a name that was null when it was asked for
    assert found["source"] == {"a": None}  # how a source is reached is nobody's context
    things["line.L01"] = {"capacity": 3}
    (bench.input_dir / "a.json").unlink()
    assert room.found("line.L01") == {"line": {"L01": {"capacity": 3}}}  # no source is asked at all


def test_a_file_is_read_again_when_it_has_changed(bench: Bench) -> None:
    """C-64: what a file says is kept as long as its time stays the same."""
    file = bench.input_dir / "plant.json"
    file.write_bytes(as_aas_json(plant(1)))
    os.utime(file, ns=(1, 1))
    room = Room(bench, {"source.x": {"file": "plant.json"}})
    assert room.found("line.L01")["line"]["L01"]["capacity"] == 1
    file.write_bytes(as_aas_json(plant(2)))
    os.utime(file, ns=(1, 1))
    assert room.found("line.L01")["line"]["L01"]["capacity"] == 1
    os.utime(file, ns=(2, 2))
    assert room.found("line.L01")["line"]["L01"]["capacity"] == 2


# ---- a repository over HTTP ------------------------------------------------------------------------------------------


def repository(store: model.DictIdentifiableStore[Any], page: int = 2) -> Callable[[Seen], Any]:
    """The AAS repository API of part 2: shells and submodels, page by page."""
    shells = [one for one in store if isinstance(one, model.AssetAdministrationShell)]
    submodels = [one for one in store if isinstance(one, model.Submodel)]
    lists = {"/api/shells": shells, "/api/submodels": submodels}

    def answer(seen: Seen) -> Any:
        url = urlsplit(seen.path)
        if url.path not in lists:
            return 404, {}, b""
        things = json.loads(json.dumps(lists[url.path], cls=AASToJsonEncoder))
        begin = int(parse_qs(url.query).get("cursor", ["0"])[0])
        following = {"cursor": str(begin + page)} if begin + page < len(things) else {}
        return as_json({"paging_metadata": following, "result": things[begin : begin + page]})

    return answer


def test_shells_of_a_repository(bench: Bench, serve: Serve) -> None:
    """C-64, W-4.5.8: a repository is read page by page, with the tenant's secret and the attempt's key."""
    server = serve(repository(plant()))
    bench.settings["http.allow"] = [f"127.0.0.1:{server.port}"]
    things = {"source.http": {"url": f"{server.url}/api/", "secret": "aas_token"}}
    room = Room(bench, things, {"aas_token": "s3cret-token"})
    found = room.found("line.L01", "tank.T7", "line.L99")
    assert found["line"]["L01"]["limits"] == {"max": 4.5, "deep": {"er": 1}}
    assert found["tank"]["T7"] == {"level": 0.5}
    assert found["line"]["L99"] is None
    assert [seen.path for seen in server.seen][:2] == ["/api/shells?limit=100", "/api/shells?limit=100&cursor=2"]
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer s3cret-token"}
    assert {seen.headers["idempotency-key"] for seen in server.seen} == {"t/r/n/0/1"}


BAD_ANSWERS: dict[str, tuple[Any, str, str]] = {
    "no JSON": ((200, {}, b"<html>"), "AAS_SOURCE", "does not answer JSON"),
    "another JSON": (as_json({"ok": True}), "AAS_SOURCE", "does not answer as an AAS repository does"),
    "down": ((503, {}, b""), "HTTP_5XX", "503"),
    "a circle": (as_json({"result": [], "paging_metadata": {"cursor": "x"}}), "AAS_SOURCE", "round in a circle"),
    "no shells": (as_json({"result": [{"modelType": "Nothing"}]}), "AAS_SOURCE", "no shell and no submodel"),
}


@pytest.mark.parametrize("what", BAD_ANSWERS)
def test_a_repository_that_answers_badly(what: str, bench: Bench, serve: Serve) -> None:
    """C-64, C-80: what a repository does wrong is a failure with a code and a sentence."""
    said, code, why = BAD_ANSWERS[what]
    server = serve(lambda seen: said)
    bench.settings["http.allow"] = [f"127.0.0.1:{server.port}"]
    failure = Room(bench, {"source.http": {"url": server.url}}).failure({"aas": ["line.L01"]})
    assert failure.code == code
    assert why in failure.message


def test_a_repository_that_may_not_be_reached(bench: Bench, serve: Serve) -> None:
    """C-64: the guard of outgoing calls holds here too; an empty repository knows nothing; a secret must be there."""
    server = serve(lambda seen: as_json({"result": []}))
    room = Room(bench, {"source.http": {"url": server.url}})
    assert room.failure({"aas": ["line.L01"]}).code == "HTTP_BLOCKED"
    bench.settings["http.allow"] = ["127.0.0.1"]
    assert room.found("line.L01") == {"line": {"L01": None}}
    room = Room(bench, {"source.http": {"url": server.url, "secret": "absent"}})
    failure = room.failure({"aas": ["line.L01"]})
    assert (failure.code, failure.category) == ("SECRET_NOT_FOUND", "authorization")
    room = Room(bench, {"source.http": {"url": server.url, "headers": {"X-Key": "${secrets.k}"}}}, {"k": "value"})
    room.found("line.L01")
    assert server.seen[-1].headers["x-key"] == "value"


# ---- bad input -------------------------------------------------------------------------------------------------------


def _zip(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in files.items():
            package.writestr(name, data)
    return made.getvalue()


def _with_doctype(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name.endswith("data.xml"):
                part = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + part[38:]
            new.writestr(name, part)
    return made.getvalue()


BAD_FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "is not an AAS environment in JSON"),
    "cut short": (lambda: as_aas_json(plant())[:-100], "is not an AAS environment in JSON"),
    "another JSON": (lambda: b'{"a": 1}', "holds no shell and no submodel"),
    "a number": (lambda: b"5", "holds no shell and no submodel"),
    "not text": (lambda: b"\xff\xfe\xff", "is not UTF-8"),
    "deep": (lambda: b'{"submodels":' + b"[" * 100_000, "nested too deeply"),
    "half an object": (lambda: b'{"submodels": [{"modelType": "Submodel"}]}', "holds no shell and no submodel"),
    "half a zip": (lambda: as_aasx(plant())[:500], "is not an AASX package"),
    "another zip": (lambda: _zip(a=b"b"), "AASX package"),
    "a bomb": (lambda: _zip(a=b"\0" * (aas.MAX_UNPACKED + 1)), "unpacked it has more than"),
    "a document type": (lambda: _with_doctype(as_aasx(plant())), "has a document type"),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_files_that_are_no_environment(what: str, bench: Bench) -> None:
    """C-64: a file that cannot be used is a failure that names the source and says why."""
    made, why = BAD_FILES[what]
    (bench.input_dir / "bad").write_bytes(made())
    failure = Room(bench, {"source.bad": {"file": "bad"}}).failure({"aas": ["line.L01"]})
    assert (failure.code, failure.category) == ("AAS_SOURCE", "permanent")
    assert failure.message.startswith("The source «source.bad» cannot be used: ")
    assert why in failure.message, failure.message


REFUSED: list[tuple[Any, str]] = [
    ({"aas": "line.L01"}, "«aas» must be a list"),
    ({"aas": ["line"]}, "«type.id»"),
    ({"aas": [".L01"]}, "«type.id»"),
    ({"aas": [5]}, "«type.id»"),
    ({"aas": [{"type": "line"}]}, "«type.id»"),
    ([], "must be an object"),
    ({"rag": [{"query": "x"}]}, "needs a «name»"),
    ({"rag": [{"name": "c", "top_k": 0}]}, "from 1 to 100"),
    ({"rag": [{"name": "c", "top_k": True}]}, "from 1 to 100"),
    ({"rag": [5]}, "must be an object"),
    ({"calls": [{"name": "c", "args": []}]}, "rag.c(…) takes"),
    ({"calls": [{"name": "c", "args": ["x", "many"]}]}, "from 1 to 100"),
]


@pytest.mark.parametrize(("args", "why"), REFUSED)
def test_arguments_that_cannot_be_used(args: Any, why: str, bench: Bench) -> None:
    """C-64, C-80: INPUT_INVALID with a sentence."""
    failure = Room(bench).failure(args)
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert why in failure.message


def test_sources_that_cannot_be_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-64: a path outside, a file that is not there, a source that is nothing, a missing package, no register."""
    args = {"aas": ["line.L01"]}
    assert Room(bench, {"source.a": {"file": "../a.json"}}).failure(args).code == "PATH_REFUSED"
    assert Room(bench, {"source.a": {"file": "a.json"}}).failure(args).code == "FILE_NOT_FOUND"
    assert "neither a «file» nor a «url»" in Room(bench, {"source.a": {}}).failure(args).message
    (bench.input_dir / "a.json").write_bytes(b"{}")
    monkeypatch.setitem(sys.modules, "basyx.aas.adapter.json", None)
    failure = Room(bench, {"source.a": {"file": "a.json"}}).failure(args)
    assert (failure.code, failure.detail) == ("EXTRA_MISSING", {"extra": "aas"})
    assert bench.failed(ContextExecutor(), args).code == "CONTEXT_MISSING"
    assert Room(bench).run(None).body == {"aas": {}, "rag": {}}


# ---- searches --------------------------------------------------------------------------------------------------------

CASES = {
    "bearing": "3번 라인 베어링 마모로 불량률이 급증했다. 베어링 교체 후 정상.",
    "paint": "도장 공정 온도 편차로 색상 불량 발생",
    "belt": "컨베이어 벨트 장력 부족, 생산량 감소",
    "metal": "금속 검출기 오작동으로 라인 정지",
}


def filled() -> SimilarityIndex:
    cases = SimilarityIndex()
    for id, text in CASES.items():
        cases.add(id, text, {"solution": f"{id} solved"})
    return cases


class SearchingTenant(KeptTenant):
    """A tenant whose collections are searched by the real engine."""

    def __init__(self, **collections: SimilarityIndex) -> None:
        super().__init__()
        self.collections = collections

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        return list(self.collections[collection].search(query, top_k))


def test_searches(bench: Bench) -> None:
    """C-64, W-5.2.1, C-06: rag.name is the declared search, else one for the run's input; rag.name(q, k) is direct."""
    room = Room(bench)
    room.tenant = SearchingTenant(similar_cases=filled(), judgments=filled())
    args = {
        "rag": [{"name": "similar_cases", "query": "온도 편차", "top_k": 1}, "judgments"],
        "calls": [{"name": "similar_cases", "args": ["베어링", 2]}, {"name": "similar_cases", "args": ["금속 검출"]}],
    }
    outcome = room.run(args, names={"input": {"symptom": "벨트 장력"}})
    assert isinstance(outcome, Done)
    rag = outcome.body["rag"]
    assert [hit["id"] for hit in rag["similar_cases"]] == ["paint"]
    assert [hit["id"] for hit in rag["judgments"]] == ["belt"]
    view = {"rag": rag}
    assert compile_expression("rag.similar_cases[0].solution")(view) == "paint solved"
    assert compile_expression("rag.similar_cases('베어링', 2)[0].id")(view) == "bearing"
    assert compile_expression("rag.similar_cases('금속 검출')[0].id")(view) == "metal"
    with pytest.raises(ExprTypeError, match="cannot be called here"):
        compile_expression("rag.similar_cases('다른 것', 2)")(view)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("불량", ["paint", "bearing"]),  # two letters, found inside 불량률이
        ("온도", ["paint"]),
        ("검출", ["metal"]),
        ("베어링 교체", ["bearing"]),
        ("베어닝", ["bearing"]),  # nearly the same word
        ("온도편차", ["paint"]),  # written without the space
        ("라인", ["metal", "bearing"]),
        ("도", ["paint"]),  # one letter: it begins 도장 and ends 온도
        ("정", ["paint", "bearing", "metal"]),
        ("전혀 없는 말", []),
        ("", []),
        ('"* OR NEAR(', []),
        ({"symptom": "벨트", "rate": None}, ["belt"]),
        (["색상", "불량"], ["paint", "bearing"]),
    ],
)
def test_korean_words_are_found(query: Any, ids: list[str]) -> None:
    """C-64: words of two letters are found inside longer ones, misspelt ones too; nothing similar is an empty list."""
    assert sorted(hit["id"] for hit in filled().search(query)) == sorted(ids)
    if ids and query != "정":
        assert filled().search(query, 1)[0]["id"] == ids[0]


def test_scores() -> None:
    """C-64: the same words score 1, the best comes first, k limits, equal ones keep their order, always alike."""
    cases = filled()
    hits = cases.search(CASES["paint"], 3)
    assert hits[0] == {"id": "paint", "score": 1.0, "solution": "paint solved"}
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert all(0 < hit["score"] < 0.5 for hit in hits[1:])
    assert hits == filled().search(CASES["paint"], 3)
    assert cases.search("불량", 0) == []
    assert len(cases.search("불량", 1)) == 1
    twins = SimilarityIndex()
    for id in ("b", "a", "c"):
        twins.add(id, "같은 내용")
    assert [hit["id"] for hit in twins.search("같은 내용")] == ["b", "a", "c"]
    # NFD, as some systems write Hangul, is the same word.
    assert cases.search("\u1107\u116e\u11af\u1105\u1163\u11bc", 1)[0]["id"] == "paint"


def test_objects_and_what_a_hit_carries() -> None:
    """C-64: objects are searched by their values; a number counts with its name; an id again replaces, and can go."""
    stored = SimilarityIndex()
    stored.add("1", {"line": "L01", "defect_rate": 0.07, "cause": "온도 편차"})
    stored.add("2", {"line": "L02", "defect_rate": 0.01, "cause": ["장력", {"also": "마모"}]})
    stored.add("3", "평문", None)
    assert stored.search({"line": "L01"})[0]["id"] == "1"
    hit = stored.search({"reason": "마모"}, 1)[0]
    assert (hit["id"], hit["line"]) == ("2", "L02")
    assert stored.search("평문")[0]["text"] == "평문"
    stored.add("3", {"id": "mine", "score": 9, "text": "도장"})  # what it is called and how well it fits is not its own
    assert stored.search("평문") == []
    assert stored.search("도장")[0]["id"] == "3"
    assert stored.search("도장")[0]["score"] <= 1
    assert len(stored) == 3 and "3" in stored
    stored.remove("3")
    stored.remove("never there")
    assert stored.search("도장") == [] and len(stored) == 2


def test_things_that_are_hard_to_search_for() -> None:
    """C-64: an object that contains itself is refused; a very long question, odd letters and nothing at all are not."""
    stored = filled()
    ring: dict[str, Any] = {}
    ring["self"] = ring
    for refused in (lambda: stored.add("r", ring), lambda: stored.search(ring)):
        with pytest.raises(ValueError, match="contains itself"):
            refused()
    assert len(stored) == 4
    long = " ".join(f"낱말{chr(0xAC00 + n)}{chr(0xAC01 + 3 * n)}" for n in range(3_000))
    assert stored.search(f"베어링 {long}", 1)[0]["id"] == "bearing"
    for odd in (None, 5, "\ud800", "\0", "a" * 100_000, {"": None}, []):
        stored.search(odd)
        stored.add("odd", odd, {})
