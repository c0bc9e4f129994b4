"""What is asked for by hand is checked as a DEPLOY node is: where it goes, and who is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import DeploymentError
from penstock.executors.parts.rollout.model import DeploymentRequest

_ENVIRONMENTS = ("staging", "production")
_SWITCHES = ("on_start", "on_complete", "on_rollback")


def check_asked(asked: DeploymentRequest, own: str) -> None:
    """Raises DeploymentError. `own`: the environment of the tenant, whatever it is called."""
    known = dict.fromkeys((*_ENVIRONMENTS, own))
    where = asked.target.environment
    if where and where not in known:
        raise DeploymentError(why=f"«environment» is «{where[:40]}»; it can be {', '.join(known)}")
    _check_notification(asked.notification)


def _check_notification(block: Mapping[str, Any]) -> None:
    for name in _SWITCHES:
        if not isinstance(block.get(name, False), bool):
            raise DeploymentError(why=f"«notification.{name}» must be true or false")
    channels = block.get("channels")
    if channels is not None and not (isinstance(channels, list) and all(isinstance(name, str) for name in channels)):
        raise DeploymentError(why="«notification.channels» must be a list of channels")
    template = block.get("template")
    id = template.get("id") if isinstance(template, Mapping) else template
    if id is not None and not isinstance(id, str):
        raise DeploymentError(why="«notification.template» must be the id of a template, or an object with it")
