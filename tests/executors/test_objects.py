"""Buckets: a folder, and S3 by a real server of another process."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from penstock.executors.contract import Services
from penstock.executors.parts.objects import (
    Buckets,
    BucketUnknown,
    FolderStore,
    KeyRefused,
    ObjectError,
    ObjectMissing,
    ObjectStore,
    object_store,
)
from tests.executors.pipeline_bench import PipelineBench, png
from tests.servers.processes import mark

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of a bucket, without its name."""
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("ministack")
    pytest.importorskip("obstore")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {"PATH": os.environ.get("PATH", ""), "GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", **mark()}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([sys.executable, "-m", "ministack"], env=own, stdout=quiet, stderr=quiet)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    url = f"http://127.0.0.1:{port}"
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="KEY", aws_secret_access_key="WORD"
    )
    for name in ("inbox", "made"):
        client.create_bucket(Bucket=name)
    yield f"?endpoint={url}&access_key_id=KEY&secret_access_key=WORD"
    server.terminate()
    server.wait(10)


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return FolderStore(tmp_path / "bucket")
    return object_store(f"s3://made/{tmp_path.name}{request.getfixturevalue('s3')}")


def test_f_x_16_an_object_is_readable_by_its_key(store: ObjectStore, tmp_path: Path) -> None:
    async def main() -> None:
        await store.put("tenants/t/한 글.txt", b"words", "text/plain")
        assert await store.read("tenants/t/한 글.txt", 100) == b"words"
        assert (await store.info("tenants/t/한 글.txt")).size == 5
        assert b"".join([data async for data in store.stream("tenants/t/한 글.txt")]) == b"words"
        folder = store.work_folder()
        assert (await store.local("tenants/t/한 글.txt", folder)).read_bytes() == b"words"
        file = folder / "made"
        file.write_bytes(b"x" * 11 * MIB)
        assert await store.put_file("big", file) == 11 * MIB
        assert (await store.info("big")).size == 11 * MIB
        with pytest.raises(ObjectError, match="at most"):
            await store.read("big", 100)
        await store.delete("big")
        await store.delete("big")
        with pytest.raises(ObjectMissing):
            await store.info("big")
        with pytest.raises(ObjectMissing):
            await store.read("never", 1)

    asyncio.run(main())


@pytest.mark.parametrize("key", ["", "/a", "a//b", "a/", "../a", "a/../../b", "a/./b", "a\\b", "a\nb", "x" * 1025])
def test_keys_cannot_leave_the_bucket(store: ObjectStore, key: str) -> None:
    async def main() -> None:
        for ask in (store.info(key), store.put(key, b"x"), store.read(key, 1), store.delete(key)):
            with pytest.raises(KeyRefused):
                await ask

    asyncio.run(main())


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("hidden")
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    (bucket / "link").symlink_to(outside)
    (bucket / "file").symlink_to(outside / "secret")
    store = FolderStore(bucket)

    async def main() -> None:
        for key in ("link/secret", "file"):
            with pytest.raises(ObjectError):
                await store.read(key, 100)
        with pytest.raises(ObjectError):
            await store.put("link/new", b"x")
        await store.put("file", b"mine")

    asyncio.run(main())
    assert (outside / "secret").read_text() == "hidden"
    assert sorted(file.name for file in outside.iterdir()) == ["secret"]


def test_an_object_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is stopped before the last step leaves the old object and no half one."""
    store = FolderStore(tmp_path / "bucket")
    asyncio.run(store.put("a/b", b"old"))

    def stopped(*names: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", stopped)
    with pytest.raises(ObjectError, match="No space"):
        asyncio.run(store.put("a/b", b"new"))
    assert asyncio.run(store.read("a/b", 10)) == b"old"
    files = [file for file in (tmp_path / "bucket").rglob("*") if file.is_file()]
    assert files == [tmp_path / "bucket/a/b"]


def test_what_a_killed_process_has_left_is_swept(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left = tmp_path / f"bucket/.penstock-work/{ended.stdout.strip()}-abc"
    left.mkdir(parents=True)
    (left / "half").write_text("x")
    folder = FolderStore(tmp_path / "bucket").work_folder()
    assert not left.exists() and folder.exists()


def test_buckets_are_what_the_settings_say(tmp_path: Path) -> None:
    settings = {
        "pipelines.buckets.in": "file:///somewhere/a%20b", "pipelines.buckets.bad": "ftp://x",
        "pipelines.buckets.keyed": "s3://b?secret_access_key=${secrets.NONE}",
    }  # fmt: skip
    buckets = Buckets(Services(output_dir=tmp_path / "out", input_dir=tmp_path, settings=settings))
    known = buckets["in"]
    assert isinstance(known, FolderStore) and known.root == Path("/somewhere/a b")
    own = buckets.artifacts
    assert isinstance(own, FolderStore) and own.root == tmp_path / "out.artifacts"
    for name in ("bad", "none", "keyed"):
        with pytest.raises(BucketUnknown):
            buckets[name]


def test_f_4_3_from_s3_through_a_stage_to_s3(pipeline: PipelineBench, s3: str) -> None:
    pipeline.bench.settings |= {
        "pipelines.buckets.inbox": f"s3://inbox{s3}", "pipelines.buckets.ff-artifacts": f"s3://made/art{s3}",
    }  # fmt: skip
    source, target = object_store(f"s3://inbox{s3}"), object_store(f"s3://made/art{s3}")
    asyncio.run(source.put("tenants/t/a.png", png(40, 20), "image/png"))
    file = {"bucket": "inbox", "key": "tenants/t/a.png", "mime": "image/png", "size": 1}
    body = pipeline.done("ImageThumbnail", file, {"size": 10})
    assert asyncio.run(target.info(body["output_ref"])).size == body["size"]
    assert body["output_ref"].startswith("tenants/t/executions/r/1-s1/1/output.png")
    second = pipeline.done("Checksum", file, input=body, stage="s2", seq=2)
    made = asyncio.run(target.read(body["output_ref"], MIB))
    assert second["output"]["sha256"] == hashlib.sha256(made).hexdigest()


def test_f_10_6_that_a_bucket_of_s3_that_is_not_there(pipeline: PipelineBench, s3: str) -> None:
    file = {"bucket": "inbox", "key": "a.png", "mime": "image/png", "size": 1}
    pipeline.bench.settings["pipelines.buckets.inbox"] = f"s3://vanished{s3}"
    failure = pipeline.failed("Copy", file)
    assert (failure.code, failure.category) == ("PP-500-IO", "external")
    nobody = "endpoint=http://127.0.0.1:1&access_key_id=KEY&secret_access_key=WORD"
    pipeline.bench.settings["pipelines.buckets.inbox"] = f"s3://inbox?{nobody}"
    failure = pipeline.failed("Copy", file)
    assert (failure.code, failure.category) == ("PP-500-IO", "transient")
    here = pipeline.put("a.txt", b"a", "text/plain")
    pipeline.bench.settings |= {
        "pipelines.buckets.inbox": f"file://{pipeline.inbox}",
        "pipelines.buckets.ff-artifacts": f"s3://vanished{s3}",
    }
    assert pipeline.failed("Copy", here).code == "PP-500-IO", "a store that refuses the output"


@pytest.mark.slow
def test_a_large_file_passes_with_flat_memory(pipeline: PipelineBench) -> None:
    """Nobody holds the file: neither the engine's process nor the worker's grows by a part of it."""
    size = 1024 * MIB
    with (pipeline.inbox / "big.bin").open("wb") as big:
        big.truncate(size)
    file = {"bucket": "inbox", "key": "big.bin", "mime": "application/octet-stream", "size": size}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    copied = pipeline.done("Copy", file)
    counted = pipeline.done("Checksum", file, {"algorithm": "md5"}, input=copied)
    assert counted["output"]["md5"] == "cd573cfaace07e7949bc0c46028904ff"
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert after - before < 64 * MIB
    assert max(copied["usage"]["peak_rss"], counted["usage"]["peak_rss"]) < 200 * MIB
    assert copied["size"] == size


def test_what_is_handed_over_is_the_file_that_was_checked_and_no_link_put_in_its_place(tmp_path: Path) -> None:
    secret, root, work = tmp_path / "secret", tmp_path / "root", tmp_path / "work"
    secret.write_bytes(b"of the server")
    root.mkdir()
    work.mkdir()
    (root / "a.txt").write_bytes(b"mine")
    local = asyncio.run(FolderStore(root).local("a.txt", work))
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(secret)
    assert local.read_bytes() == b"mine"
    assert local.parent == work and not local.is_symlink()


def test_f_x_18_the_version_of_a_bucket_that_came_is_the_one_that_is_read(pipeline: PipelineBench, s3: str) -> None:
    boto3 = pytest.importorskip("boto3")
    url = parse_qs(s3.lstrip("?"))["endpoint"][0]
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="KEY", aws_secret_access_key="WORD"
    )
    client.create_bucket(Bucket="versions")
    client.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    first, second = (client.put_object(Bucket="versions", Key="a.txt", Body=data) for data in (b"first", b"second!"))
    if not first.get("VersionId") or first["VersionId"] == second.get("VersionId"):
        pytest.skip("this server of S3 keeps no versions")
    pipeline.bench.settings["pipelines.buckets.inbox"] = f"s3://versions{s3}"
    file = {"bucket": "inbox", "key": "a.txt", "mime": "text/plain", "size": 5, "etag": first["ETag"].strip('"')}
    body = pipeline.done("Checksum", {**file, "version_id": first["VersionId"]})
    assert body["output"]["sha256"] == hashlib.sha256(b"first").hexdigest()
    assert pipeline.failed("Checksum", file).code == "FILE_CHANGED"  # without its version the newest is read
    assert pipeline.done("Checksum", {**file, "etag": second["ETag"].strip('"')})["usage"]["bytes_in"] == 7
