"""People and sessions at the edge."""

from __future__ import annotations

from pydantic import Field, model_validator

from penstock.api.bodies import RequestBody, ResponseBody


class Me(ResponseBody):
    user: str
    name: str
    tenant: str
    roles: list[str]
    groups: list[str]
    permissions: list[str]
    locale: str
    zone: str
    profile: str
    version: str
    organization_id: int | None = Field(None, description="The only one of the tenant that the caller belongs to.")


class SessionAsked(RequestBody):
    """One of the two: an API key, or a token of the company's own sign-in."""

    key: str | None = Field(None, max_length=200, examples=["ps_0123456789abcdef_…"])
    token: str | None = Field(None, max_length=20_000, description="A JWT; the session ends with it.")

    @model_validator(mode="after")
    def _one(self) -> SessionAsked:
        if (self.key is None) == (self.token is None):
            raise ValueError("give either «key» or «token»")
        return self


class DevSessionAsked(RequestBody):
    user: str


class UserOut(ResponseBody):
    id: str
    name: str
    roles: list[str]
    groups: list[str]


class Users(ResponseBody):
    items: list[UserOut]
