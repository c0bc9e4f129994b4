"""JWTs of a company's own sign-in: every way in which one can be wrong is refused, and new keys are found."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from penstock.api.jwt import ASK_S, FRESH_S, Claims, Keyring, Settings, Tokens, read_settings
from penstock.errors import BadInput, TokenInvalid

RSA, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
SIGNERS: dict[str, Any] = {"RS256": RSA, "ES256": EC, "EdDSA": ED}


def public(key: Any, kid: str, **more: Any) -> dict[str, Any]:
    kinds = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm, ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }  # fmt: skip
    (algorithm,) = [a for kind, a in kinds.items() if isinstance(key, kind)]
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}  # type: ignore[attr-defined]


SET = {"keys": [public(key, name) for name, key in SIGNERS.items()]}


def token(alg: str = "RS256", key: Any = None, *, kid: str | None = "", drop: str = "", **claims: Any) -> str:
    now = int(time.time())
    body = {
        "iss": "https://login.example.com", "aud": "penstock", "exp": now + 300, "iat": now, "tenant": "t",
        "sub": "kim", "roles": ["operator"], **claims,
    }  # fmt: skip
    body.pop(drop, None)
    headers = None if kid is None else {"kid": kid or alg}
    return jwt.encode(body, key or SIGNERS[alg], algorithm=alg, headers=headers)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(SET))
    return path


def settings(file: Path | str, **more: Any) -> Settings:
    return Settings(issuer="https://login.example.com", audience="penstock", jwks=str(file), **more)


@pytest.mark.parametrize("alg", SIGNERS)
def test_z17_a_good_token(file: Path, alg: str) -> None:
    """Z17: tenant, user and roles are what it says."""
    tokens = Tokens(settings(file))
    end = int(time.time()) + 300
    wanted = Claims("t", "kim", ("operator",), until=end * 1000)
    assert tokens.verified(token(alg, exp=end)) == wanted
    assert asyncio.run(tokens.verified_soon(token(alg, exp=end, aud=["x", "penstock"]))) == wanted


def none_signed() -> str:
    return jwt.encode({"tenant": "t", "sub": "kim"}, None, algorithm="none")  # type: ignore[arg-type]


def confused() -> str:
    """Signed with the public key as if it were a shared secret."""
    head = {"alg": "HS256", "typ": "JWT", "kid": "RS256"}
    parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (head, {"sub": "kim"})]
    import hashlib
    import hmac

    signed = hmac.new(json.dumps(SET["keys"][0]).encode(), b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signed).rstrip(b"=")]).decode()


def tampered() -> str:
    head, body, mark = token().split(".")
    said = json.loads(base64.urlsafe_b64decode(body + "=="))
    changed = base64.urlsafe_b64encode(json.dumps({**said, "tenant": "u"}).encode()).rstrip(b"=").decode()
    return f"{head}.{changed}.{mark}"


def now() -> int:
    """Asked when a test runs: the list below is made long before."""
    return int(time.time())


WRONG: dict[str, Any] = {
    "nothing": lambda: "", "no token": lambda: "abc", "dots": lambda: "a.b.c", "not text": lambda: "é.é.é",
    "too long": lambda: token(x="y" * 20_000), "unsigned": none_signed, "confused": confused, "tampered": tampered,
    "no signature": lambda: token().rpartition(".")[0] + ".", "another's key": lambda: token(key=OTHER),
    "a key that is not there": lambda: token(kid="else"), "no key named among many": lambda: token(kid=None),
    "a key of another kind": lambda: token("ES256", kid="RS256"), "RS512": lambda: token("RS512", RSA, kid="RS256"),
    "PS256": lambda: token("PS256", RSA, kid="RS256"), "HS256": lambda: token("HS256", "x" * 40, kid="RS256"),
    "expired": lambda: token(exp=now() - 60), "not yet": lambda: token(nbf=now() + 600),
    "no end": lambda: token(drop="exp"),
    "another issuer": lambda: token(iss="https://evil.example.com"), "no issuer": lambda: token(drop="iss"),
    "another audience": lambda: token(aud="else"), "no audience": lambda: token(drop="aud"),
    "no tenant": lambda: token(drop="tenant"), "an empty tenant": lambda: token(tenant=" "),
    "two tenants": lambda: token(tenant=["t", "u"]), "nobody": lambda: token(sub=""),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_z17_a_bad_token(file: Path, kind: str) -> None:
    """Z17: refused in the house's words, and nothing of the token is quoted."""
    with pytest.raises(TokenInvalid) as refused:
        Tokens(settings(file)).verified(WRONG[kind]())
    assert (refused.value.code, refused.value.http) == ("PS-401-TOKEN", 401) and len(refused.value.message) < 120


def test_an_algorithm_that_was_not_chosen_is_refused(file: Path) -> None:
    tokens = Tokens(settings(file, algorithms=("ES256",)))
    assert tokens.verified(token("ES256"))
    with pytest.raises(TokenInvalid):
        tokens.verified(token("RS256"))


def test_claims_may_have_other_names(file: Path) -> None:
    """F-X.22: tenant and permissions of the token, also in the seeds' words."""
    tokens = Tokens(
        settings(
            file, tenant_claim="https://example.com/tenant", user_claim="email", roles_claim="realm_access.roles",
            permissions_claim="scope",
        )
    )  # fmt: skip
    given = {
        "https://example.com/tenant": "u", "email": "lee@example.com", "realm_access": {"roles": ["viewer", 3]},
        "scope": "pipeline.read run.start else",
    }  # fmt: skip
    told = Claims("u", "lee@example.com", ("viewer",), frozenset({"pipeline.read", "run.start"}))
    assert msgspec.structs.replace(tokens.verified(token(**given)), until=0) == told
    assert Tokens(settings(file, tenant="only")).verified(token(drop="tenant", roles="a b")).roles == ("a", "b")


def test_f_x_22_the_organisation_of_a_token(file: Path) -> None:
    """F-X.22: the token says it; one that does not is not taken for one of the whole tenant."""
    tokens = Tokens(settings(file, organization_claim="org"))
    assert [tokens.verified(token(org=number)).organization for number in (7, "8")] == [7, 8]
    for wrong in ({}, {"org": None}, {"org": "x"}, {"org": -1}, {"org": True}, {"org": 2**64}, {"org": "9" * 30}):
        with pytest.raises(TokenInvalid):
            tokens.verified(token(**wrong))
    assert Tokens(settings(file)).verified(token(org=7)).organization is None


# ---- the issuer's keys -----------------------------------------------------------------------------------------------


class Issuer:
    """A server with keys that change."""

    def __init__(self) -> None:
        self.keys: Any = {"keys": [public(RSA, "one")]}
        self.asked, self.status = 0, 200
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                body = json.dumps(issuer.keys).encode()
                self.send_response(issuer.status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/jwks"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    one = Issuer()
    yield one
    one.server.shutdown()
    one.server.server_close()


def test_keys_are_kept_and_asked_for_anew_when_one_is_missing(issuer: Issuer) -> None:
    """Z17: rotation; at most once a minute, however many strangers name keys that there are not."""
    at = [1000.0]
    tokens = Tokens(settings(issuer.url), Keyring(issuer.url, lambda: at[0]))
    for _ in range(3):
        tokens.verified(token(kid="one"))
    tokens.verified(token(kid=None))
    assert issuer.asked == 1
    issuer.keys = {"keys": [public(RSA, "one"), public(OTHER, "two")]}
    for _ in range(50):
        with pytest.raises(TokenInvalid):
            tokens.verified(token(kid="two", key=OTHER))
    assert issuer.asked == 1
    at[0] += ASK_S
    assert asyncio.run(tokens.verified_soon(token(kid="two", key=OTHER))).user == "kim" and issuer.asked == 2
    issuer.keys = {"keys": [public(OTHER, "two")]}
    at[0] += FRESH_S
    with pytest.raises(TokenInvalid):
        tokens.verified(token(kid="one"))
    assert issuer.asked == 3


@pytest.mark.parametrize("trouble", ["500", "redirect", "no JSON", "no keys", "large"])
def test_when_the_issuer_is_in_trouble_what_is_known_stays(issuer: Issuer, trouble: str) -> None:
    at = [1000.0]
    tokens = Tokens(settings(issuer.url), Keyring(issuer.url, lambda: at[0]))
    tokens.verified(token(kid="one"))
    issuer.status = {"500": 500, "redirect": 302}.get(trouble, 200)
    issuer.keys = {"no JSON": "x", "no keys": {"keys": [3, {"kty": "oct", "k": "AAAA"}, {"kty": "RSA"}]}}.get(
        trouble, {"keys": [public(OTHER, "one")], "x": "y" * 2_000_000 if trouble == "large" else ""}
    )
    at[0] += FRESH_S
    assert tokens.verified(token(kid="one")).user == "kim" and issuer.asked == 2


def test_an_issuer_that_is_not_there(tmp_path: Path) -> None:
    for place in ("http://127.0.0.1:9/jwks", str(tmp_path / "absent.json")):
        with pytest.raises(TokenInvalid):
            Tokens(settings(place)).verified(token())


# ---- settings --------------------------------------------------------------------------------------------------------


def test_settings(tmp_path: Path) -> None:
    """Z24: what is weak or not understood is refused at the start."""
    good = {"jwt.issuer": "i", "jwt.audience": "a", "jwt.jwks": "keys.json", "http.allow": ["x"]}
    found = read_settings(good, tmp_path)
    assert found is not None and (found.issuer, found.jwks) == ("i", str(tmp_path / "keys.json"))
    assert read_settings({"http.allow": []}) is None
    wrong: list[dict[str, Any]] = [
        {"jwt.algorithms": ["HS256"]}, {"jwt.algorithms": ["none"]}, {"jwt.algorithms": []}, {"jwt.audience": ""},
        {"jwt.issuers": "x"}, {"jwt.leeway_s": "x"}, {"jwt.jwks": "http://login.example.com/jwks"},
        {"jwt.jwks": "ftp://login.example.com/jwks"},
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(BadInput):
            read_settings({**good, **one})
    with pytest.raises(BadInput):
        read_settings({"jwt.issuer": "i"})
