"""Which file a stage works on, and under which keys what it makes is kept (F-X.16)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.executors.parts.objects import ARTIFACTS, Buckets
from penstock.executors.processors.contract import ProcessorError

KEY_MAX = 512


class StageFile(msgspec.Struct, frozen=True):
    bucket: str
    key: str
    mime: str = ""
    size: int = 0
    etag: str = ""  # of the execution's own file, as its event said
    version_id: str = ""

    @property
    def ref(self) -> str:
        """As a log shows it: the key of an artifact, else bucket and key."""
        return (self.key if self.bucket == ARTIFACTS else f"{self.bucket}/{self.key}")[:KEY_MAX]


def input_file(args: Mapping[str, Any], tenant: str, buckets: Buckets) -> StageFile | None:
    """What the stage before handed on, else the execution's own file. After a group the first of its members that made
    one counts, or the one that `processor_config.input_stage` names. Raises ProcessorError."""
    before = args.get("input")
    config = args.get("config")
    wanted = config.get("input_stage") if isinstance(config, Mapping) else None
    files = [_handed_on(body) for body in answers(before, wanted)]
    own = _file(args.get("file"), own=True)
    made = [file for file in files if file is not None and not (own and file.ref == own.ref)]
    file = next(iter(made), None) or own
    if file is not None:
        check_tenant(file, tenant, buckets)
    return file


def answers(before: Any, wanted: Any = None) -> Iterator[Mapping[str, Any]]:
    """The answers of the stages before, in their order: one, a list of them, or one per stage's code. A member of a
    group that was skipped only passes on what an earlier stage has answered: it counts where nobody else did more."""
    if isinstance(before, Mapping):
        if "output" in before and "usage" in before or "output_ref" in before:
            yield before
            return
        given = [(code, answer) for code, body in before.items() if wanted in (None, code) for answer in answers(body)]
        own = [answer for code, answer in given if answer.get("stage") == code]
        yield from own or [answer for _, answer in given]
    elif isinstance(before, list | tuple):
        for body in before:
            if wanted is None or isinstance(body, Mapping) and body.get("stage") == wanted:
                yield from answers(body)


def outputs(before: Any, wanted: Any = None) -> Any:
    """What a processor sees of the stages before: the output of the one, or of each by its stage's code."""
    given = list(answers(before, wanted))
    if not given:
        return None
    if len(given) == 1:
        return given[0].get("output")
    return {str(body.get("stage") or number): body.get("output") for number, body in enumerate(given)}


def _handed_on(body: Mapping[str, Any]) -> StageFile | None:
    handed = _file(body.get("file"))
    if handed is not None:
        return handed
    ref = body.get("output_ref")
    if not isinstance(ref, str):
        return None
    return StageFile(ARTIFACTS, ref, str(body.get("mime") or ""), _size(body.get("size")))


def _file(value: Any, own: bool = False) -> StageFile | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("bucket"), str) or not value.get("key"):
        return None
    which = (str(value.get("etag") or ""), str(value.get("version_id") or "")) if own else ("", "")
    return StageFile(value["bucket"], str(value["key"]), str(value.get("mime") or ""), _size(value.get("size")), *which)


def _size(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def check_tenant(file: StageFile, tenant: str, buckets: Buckets) -> None:
    """What lies under a tenant's own part of a bucket, or in a bucket of its own, is for that tenant, whoever names
    it."""
    parts = file.key.split("/", 2)
    own = parts[0] == "tenants" and len(parts) > 1 and parts[1] in (tenant, key_name(tenant))
    if own or parts[0] != "tenants" and file.bucket != ARTIFACTS and buckets.owner(file.bucket) in (None, tenant):
        return
    raise ProcessorError("PP-403-SCOPE", "the file belongs to another tenant", "authorization")


def key_name(text: str) -> str:
    """A text as one name of a key."""
    quoted = quote(text, safe="")
    if quoted.strip(".") == "":
        quoted = quoted.replace(".", "%2E") or "_"
    return quoted if len(quoted) <= 150 else f"sha256-{hashlib.sha256(text.encode()).hexdigest()}"


def stage_prefix(tenant: str, execution: str, seq: int, stage: str, attempt: str) -> str:
    """`tenants/<tenant>/executions/<execution>/<seq>-<stage>/<attempt>/`, at most 480 characters."""
    names = (key_name(tenant), "executions", key_name(execution), key_name(f"{seq}-{stage}"), attempt)
    return f"tenants/{'/'.join(names)}/"
