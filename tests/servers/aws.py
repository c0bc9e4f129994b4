"""S3 and SQS on a real socket: ministack in a process of its own, one for all tests of a process."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.servers import processes

KEYS = {"aws_access_key_id": "KEY", "aws_secret_access_key": "WORD", "region_name": "us-east-1"}


@functools.cache
def ministack() -> str:
    """Its URL. Skips where it is not installed."""
    pytest.importorskip("boto3", reason="boto3 is not installed")
    pytest.importorskip("ministack", reason="ministack is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {
        "PATH": os.environ.get("PATH", ""), "GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", **processes.mark(),
    }  # fmt: skip
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([sys.executable, "-m", "ministack"], env=own, stdout=quiet, stderr=quiet)
    processes.at_end(lambda: (server.kill(), server.wait(10)))
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert server.poll() is None
            time.sleep(0.05)
    return f"http://127.0.0.1:{port}"


def aws(service: str) -> Any:
    import boto3

    return boto3.client(service, endpoint_url=ministack(), **KEYS)
