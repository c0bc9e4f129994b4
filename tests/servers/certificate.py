"""A certificate for this machine, made for one test."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


class Certificate:
    """For 127.0.0.1 and the names given; it is its own authority."""

    def __init__(self, folder: Path, *names: str) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            pytest.skip("no openssl to make a certificate with")
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        known = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
        command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=penstock-test"]
        files = ["-addext", f"subjectAltName={known}", "-keyout", str(self.key), "-out", str(self.certificate)]
        subprocess.run([*command, *files], check=True, capture_output=True)

    def context(self) -> ssl.SSLContext:
        """What a server uses."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.certificate, self.key)
        return made
