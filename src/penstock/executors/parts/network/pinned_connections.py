"""Makes libraries that open their own connections (botocore, TLS clients) use the addresses that were checked."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from penstock.executors.parts.network.egress_policy import EgressPolicy
from penstock.executors.parts.network.http_client import resolve_blocking


class NamedTlsContext(ssl.SSLContext):
    """TLS to a checked address under the name it was looked up by."""

    host: str

    @classmethod
    def to(cls, host: str, ca_file: str | None) -> NamedTlsContext:
        made = cls(ssl.PROTOCOL_TLS_CLIENT)
        made.load_default_certs()
        if ca_file:
            made.load_verify_locations(ca_file)
        made.host = host
        return made

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        return super().wrap_socket(*args, **{**kwargs, "server_hostname": self.host})


def pin_connections(client: Any, egress: EgressPolicy) -> None:
    """Every connection of a botocore client, to whatever host it is led: resolved once, checked, and opened to that
    very address; Host and TLS keep the name. What is refused comes out as the `error` of a HTTPClientError."""
    from botocore import awsrequest  # type: ignore[import-untyped, unused-ignore]

    class Opened:
        """Instead of urllib3's own way to a socket, which would ask the resolver again."""

        def _new_conn(self: Any) -> socket.socket:
            return _connected(self._dns_host, self.port, egress, self.timeout)

    class Plain(Opened, awsrequest.AWSHTTPConnection):  # type: ignore[misc, unused-ignore]
        pass

    class Sealed(Opened, awsrequest.AWSHTTPSConnection):  # type: ignore[misc, unused-ignore]
        pass

    class PlainPool(awsrequest.AWSHTTPConnectionPool):  # type: ignore[misc, unused-ignore]
        ConnectionCls = Plain

    class SealedPool(awsrequest.AWSHTTPSConnectionPool):  # type: ignore[misc, unused-ignore]
        ConnectionCls = Sealed

    client._endpoint.http_session._manager.pool_classes_by_scheme = {"http": PlainPool, "https": SealedPool}


def _connected(host: str, port: int, egress: EgressPolicy, timeout: Any) -> socket.socket:
    addresses = resolve_blocking(host, port, egress)
    for position, address in enumerate(addresses):
        try:
            return socket.create_connection((address, port), timeout if isinstance(timeout, int | float) else None)
        except OSError:
            if position + 1 == len(addresses):
                raise
    raise ConnectionError(f"{host} has no address")
