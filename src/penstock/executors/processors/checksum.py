"""Checksum: digests of the file, read piece by piece."""

from __future__ import annotations

import hashlib
from typing import Any

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError

ALGORITHMS = ("sha256", "sha512", "sha1", "md5", "blake2b")
_CHUNK = 1024 * 1024


def run(context: ProcessorContext) -> Output:
    """config: algorithms (list, or one as `algorithm`), expected (a hexadecimal digest of the first one)."""
    wanted = context.config.get("algorithms") or [context.config.get("algorithm") or "sha256"]
    if not isinstance(wanted, list) or any(name not in ALGORITHMS for name in wanted):
        raise ProcessorError("CONFIG_INVALID", f"«algorithms» must be a list of {', '.join(ALGORITHMS)}")
    digests = {name: hashlib.new(name, usedforsecurity=False) for name in wanted}
    size = 0
    with context.file.open("rb") as file:
        while data := file.read(_CHUNK):
            size += len(data)
            for digest in digests.values():
                digest.update(data)
    made: dict[str, Any] = {name: digest.hexdigest() for name, digest in digests.items()}
    expected = context.config.get("expected")
    if expected is not None and str(expected).lower() != made[wanted[0]]:
        raise ProcessorError("CHECKSUM_MISMATCH", f"the file's {wanted[0]} is not the one that was expected")
    return Output(output={**made, "size": size})
