"""Bad input over HTTP on both stores: the right status and code, a dead letter, and the next file goes on.

Messages that are no messages, or somebody else's, are in test_pipeline_messages.py and test_pipelines.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.pipelines import FileSite, file_site
from tests.api.serving import until
from tests.api.sites import STORES
from tests.api.test_pipelines import code_of
from tests.app.pipelines import a_pipeline, a_stage
from tests.app.test_pipeline_bad_files import image_bomb, pdf_stream_bomb, zip_bomb
from tests.executors import processors_of_tests
from tests.executors.pipeline_bench import png, zipped

MODULES = f'[pipelines]\nmax_output_bytes = 4000000\n[python]\nmodules = ["{processors_of_tests.__file__}"]\n'


@pytest.fixture(scope="module", params=STORES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileSite]:
    with file_site(tmp_path_factory.mktemp("bad"), request.param, MODULES) as site:
        sent = site.operator.post("/pipelines/ingest", json=stolen(site), params={"queue": True})
        assert sent.status_code == 202, sent.text
        yield site


def stolen(site: FileSite) -> dict[str, Any]:
    """A message that names its sender's tenant, and a key of another's."""
    return site.message("tenants/someone/stolen.txt", b"secret")


def letters(site: FileSite, code: str) -> list[tuple[str, str, int]]:
    """The dead letters of a pipeline: stage, cause and how many."""
    answer = site.admin.get("/dead-letters")
    assert answer.status_code == 200, answer.text
    return [(item["node"], item["code"], item["count"]) for item in answer.json()["items"] if item["name"] == code]


def fails(site: FileSite, code: str, name: str, data: bytes, status: str, why: str, **message: Any) -> dict[str, Any]:
    """A file ends badly, for people to see: with its code, its stage, words without a trace, and a dead letter."""
    look = site.ended(site.begun(code, name, data, **message))
    assert (look["status"], look["error"]["code"], look["errorStage"]) == (status, why, "work"), look["error"]
    assert "Traceback" not in look["error"]["message"] and str(site.folder) not in look["error"]["message"]
    assert ("work", why, 1) in letters(site, code)
    return look


def goes_on(site: FileSite, code: str, name: str, data: bytes, **message: Any) -> bool:
    return bool(site.ended(site.begun(code, name, data, **message))["status"] == "COMPLETED")


def works(processor: str, config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return a_stage("work", 1, processor_type=processor, processor_config=config or {}, **more)


def bad_for_bad(how: str, **more: Any) -> dict[str, Any]:
    only = {"field": "key", "op": "glob", "value": "*/bad"}
    return works("TestBad", {"how": how, "pids": "/dev/null"}, condition=only, **more)


def test_f_1_1_10_files_that_are_too_large(site: FileSite) -> None:
    """F-1.1.10, F-X.9: one that says so begins nothing and is counted; one whose message says less fails when it is
    read; one of the size that is allowed goes on."""
    code = site.pipeline(works("Checksum"), max_file_size=4)
    before = site.viewer.get("/pipelines/metrics").json()["ingest"]["tooLarge"]
    sent = site.operator.post("/pipelines/ingest", json=site.message(f"{code}/honest", b"12345"))
    assert sent.status_code == 202 and sent.json()["files"][0]["executionIds"] == []
    assert site.viewer.get("/pipelines/metrics").json()["ingest"]["tooLarge"] == before + 1
    look = fails(site, code, "liar", b"12345", "FAILED", "FILE_TOO_LARGE", size=3)
    assert "5 bytes" in look["error"]["message"] and look["stages"][0]["retryCount"] == 0
    assert goes_on(site, code, "small", b"1234")


#: processor, what is wrong, its mime, the code; and a good one
BAD_FILES: dict[str, tuple[str, bytes, str, str, bytes]] = {
    "not what its mime says": ("ImageThumbnail", b"no picture", "image/png", "FILE_INVALID", png()),
    "an image bomb": ("ImageThumbnail", image_bomb(), "image/png", "FILE_LIMIT", png()),
    "a zip bomb": ("Archive", zip_bomb(), "application/zip", "FILE_LIMIT", zipped(a=b"a")),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_f_2_4_files_that_are_bad(site: FileSite, name: str) -> None:
    processor, data, mime, why, good = BAD_FILES[name]
    code = site.pipeline(works(processor, max_retries=2))
    look = fails(site, code, "bad", data, "FAILED", why, mime=mime)
    assert look["stages"][0]["retryCount"] == 0, "it is never tried again in vain"
    assert goes_on(site, code, "good", good, mime=mime)


def test_f_x_33_pdfs_that_unfold(site: FileSite) -> None:
    limits = {"memory_mb": 256, "cpu_seconds": 30}
    code = site.pipeline(works("TextExtractor"), resource_requirements=limits)
    fails(site, code, "bad", pdf_stream_bomb(), "FAILED", "FILE_LIMIT", mime="application/pdf")
    assert goes_on(site, code, "good", b"text")


#: how it misbehaves, its limits, the end and the code
BAD_PROCESSORS = {
    "crash": ({}, "FAILED", "PROCESSOR_CRASHED"),
    "leak": ({"memory_mb": 64}, "FAILED", "RESOURCE_LIMIT"),
    "hang": ({}, "TIMEOUT", "NODE_TIMEOUT"),  # C-80
}


@pytest.mark.parametrize("how", BAD_PROCESSORS)
def test_f_x_33_processors_that_are_bad(site: FileSite, how: str) -> None:
    limits, status, why = BAD_PROCESSORS[how]
    seconds = 1 if how == "hang" else 60
    stages = [bad_for_bad(how, resource_allocation=limits, timeout_seconds=seconds), a_stage("copy", 2)]
    code = site.pipeline(*stages)
    fails(site, code, "bad", b"data", status, why)
    assert goes_on(site, code, "good", b"data")


def test_f_10_6_buckets_that_vanish_and_stores_that_refuse(site: FileSite) -> None:
    """F-10.6, F-A.13: both are mended, and what had failed goes on where it was."""
    code = site.pipeline(works("Copy"))
    assert goes_on(site, code, "before", b"data")
    away = site.bucket.with_name("away")
    body = site.message(f"{code}/gone", b"data")
    site.bucket.rename(away)
    (gone,) = site.operator.post("/pipelines/ingest", json=body).json()["files"][0]["executionIds"]
    look = site.ended(gone)
    assert (look["status"], look["error"]["code"]) == ("FAILED", "PP-500-IO"), look["error"]
    assert str(site.folder) not in look["error"]["message"]
    away.rename(site.bucket)
    tenants = site.folder / "artifacts" / "tenants"
    kept = tenants.rename(tenants.with_name("kept"))
    tenants.write_text("in the way")
    refused = site.ended(site.begun(code, "refused", b"data"))
    assert (refused["status"], refused["error"]["code"]) == ("FAILED", "PP-500-IO"), refused["error"]
    tenants.unlink()
    kept.rename(tenants)
    assert letters(site, code) == [("work", "PP-500-IO", 2)]
    for id in (gone, refused["executionId"]):
        assert site.operator.post(f"/pipelines/executions/{id}:retry").status_code == 202
        assert site.ended(id)["status"] == "COMPLETED"
    assert letters(site, code) == []
    assert goes_on(site, code, "after", b"data")


def test_f_x_18_messages_in_the_wrong_order(site: FileSite) -> None:
    """F-X.18, F-X.19: what was uploaded last is processed, whichever message comes first; the older one says that its
    file was replaced; and either sent again begins nothing."""
    code = site.pipeline(works("Checksum"))
    path, messages = site.bucket / code / "a.txt", []
    for data in (b"first", b"second, and longer"):
        body = site.message(f"{code}/a.txt", data)
        known = path.stat()
        messages.append({**body, "etag": f"{known.st_mtime_ns:x}-{known.st_size:x}"})
    older, newer = messages

    def sent(message: dict[str, Any]) -> dict[str, Any]:
        answer = site.operator.post("/pipelines/ingest", json=message)
        assert answer.status_code == 202, answer.text
        file: dict[str, Any] = answer.json()["files"][0]
        return file

    (newest,) = sent(newer)["executionIds"]
    (late,) = sent(older)["executionIds"]
    assert site.ended(newest)["status"] == "COMPLETED"
    look = site.ended(late)
    assert (look["status"], look["error"]["code"]) == ("FAILED", "FILE_CHANGED")
    assert letters(site, code) == [("work", "FILE_CHANGED", 1)]
    for message, known in ((older, late), (newer, newest)):
        again = sent(message)
        assert (again["executionIds"], again["duplicateIds"]) == ([], [known])


def test_f_9_8_messages_that_point_into_the_part_of_another_tenant(site: FileSite) -> None:
    """F-9.8, F-3.5, F-10.1: who says one tenant and means the file of another is refused; from the queue it is dead
    after five receives, with its cause. It was put there before all others here, and they went on."""
    code = site.defined(a_pipeline("STOLEN", file_type="ANY", stages=[works("Copy")]))
    wrong = stolen(site)
    refused = site.operator.post("/pipelines/ingest", json=wrong)
    assert code_of(refused) == (400, "PP-400-JSON") and "tenantId" in refused.text
    page = until(lambda: site.viewer.get("/pipelines/dlq").json(), lambda page: page["total"] > 0, seconds=90)
    (dead,) = page["items"]
    assert (dead["code"], dead["receives"], json.loads(dead["body"])) == ("PP-400-JSON", 5, wrong)
    assert site.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["total"] == 0
    assert goes_on(site, code, "own.txt", b"own")
