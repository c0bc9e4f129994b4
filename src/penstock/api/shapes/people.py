"""People and sessions at the edge."""

from __future__ import annotations

from penstock.api.answer import Asked, Shape


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
    key: str


class DevSessionAsked(Asked):
    user: str


class UserOut(Shape):
    id: str
    name: str
    roles: list[str]
    groups: list[str]


class Users(Shape):
    items: list[UserOut]
