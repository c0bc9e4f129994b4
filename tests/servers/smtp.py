"""A real SMTP server: it keeps every mail it takes, and refuses what it is told to refuse."""

from __future__ import annotations

import email
import socket
import ssl
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


class Mail:
    def __init__(self, sender: str, to: list[str], raw: bytes, user: str | None) -> None:
        self.sender, self.to, self.raw, self.user = sender, to, raw, user

    @property
    def message(self) -> EmailMessage:
        parsed = email.message_from_bytes(self.raw, policy=default)
        assert isinstance(parsed, EmailMessage)
        return parsed


class _AnyPort(Controller):
    """The controller knocks at its own port for a sign of life; with port 0 it must ask which one it was given."""

    @property
    def given(self) -> int:
        assert self.server is not None
        return int(self.server.sockets[0].getsockname()[1])

    def _trigger_server(self) -> None:
        with socket.create_connection(("127.0.0.1", self.given), 5) as knock:
            if self.ssl_context is None:
                knock.recv(1024)
                return
            anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
            with anybody.wrap_socket(knock) as inside:
                inside.recv(1024)


class SmtpServer:
    """`refuse(stage, value)` gives an answer such as "550 no" for a stage (RCPT, DATA), or None."""

    def __init__(
        self,
        refuse: Callable[[str, str], str | None] | None = None,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        starttls: bool = True,
    ) -> None:
        self.mails: list[Mail] = []
        self.connections = 0
        server = self

        class Handler:
            async def handle_EHLO(
                self, smtp: Any, session: Any, envelope: Any, hostname: str, answers: list[str]
            ) -> Any:
                server.connections += 1
                session.host_name = hostname
                return answers

            async def handle_RCPT(self, smtp: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
                said = refuse("RCPT", address) if refuse else None
                if said is None:
                    envelope.rcpt_tos.append(address)
                return said or "250 OK"

            async def handle_DATA(self, smtp: Any, session: Any, envelope: Any) -> str:
                said = refuse("DATA", envelope.mail_from) if refuse else None
                if said is None:
                    user = session.auth_data.login.decode() if session.auth_data else None
                    server.mails.append(Mail(envelope.mail_from, list(envelope.rcpt_tos), envelope.content, user))
                return said or "250 OK: taken"

        def authenticate(smtp: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
            assert login is not None and isinstance(data, LoginPassword)
            right = (data.login.decode(), data.password.decode()) == login
            return AuthResult(success=right, handled=False, auth_data=data)  # not handled: the server answers

        extra: dict[str, Any] = {}
        if login:
            extra = {
                "authenticator": authenticate,
                "auth_required": True,
                "auth_require_tls": tls is not None and starttls,
            }
        extra |= {"tls_context": tls} if starttls else {"ssl_context": tls}
        self._controller = _AnyPort(Handler(), hostname="127.0.0.1", port=0, **extra)
        self._controller.start()
        self.port = self._controller.given
        self.url = f"{'smtp' if starttls else 'smtps'}://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._controller.stop()
