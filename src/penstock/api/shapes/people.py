"""People and sessions at the edge."""

from __future__ import annotations

from pydantic import Field, model_validator

from penstock.api.replies import Asked, Shape


class Me(Shape):
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


class SessionAsked(Asked):
    """One of the two: an API key, or a token of the company's own sign-in."""

    key: str | None = Field(None, max_length=200, examples=["ps_0123456789abcdef_…"])
    token: str | None = Field(None, max_length=20_000, description="A JWT; the session ends with it.")

    @model_validator(mode="after")
    def _one(self) -> SessionAsked:
        if (self.key is None) == (self.token is None):
            raise ValueError("give either «key» or «token»")
        return self


class DevSessionAsked(Asked):
    user: str


class UserOut(Shape):
    id: str
    name: str
    roles: list[str]
    groups: list[str]


class Users(Shape):
    items: list[UserOut]
