"""What cannot be deployed or rolled back. A node fails with the same code, in the category that the class names."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors.base import PenstockError


class DeploymentError(PenstockError, code="PS-422-DEPLOYMENT"):
    """The deployment cannot be made: {why}."""

    hint = "Nothing was changed. Say it as the reference of DEPLOY does."
    category: ClassVar[str] = "validation"


class DeploymentNotFound(DeploymentError, code="PS-404-DEPLOYMENT"):
    """There is no deployment «{id}»."""

    hint = "`penstock deployments` lists them."
    category = "permanent"


class ArtifactMissing(DeploymentError, code="ARTIFACT_NOT_FOUND"):
    """There is no {type} «{id}» that is approved."""

    http = 404
    hint = "`penstock registry ls` lists what is registered; what is a draft is approved before it is deployed."


class VersionMissing(DeploymentError, code="VERSION_NOT_FOUND"):
    """There is no version {version} of the {type} «{id}» that is approved."""

    http = 404
    hint = "`penstock registry ls` lists versions and their statuses."


class LineUnknown(DeploymentError, code="LINE_UNKNOWN"):
    """The AAS registry has no line «{line}»; it has {known}."""

    http = 422
    hint = "Register the line, or leave it out of `scope.line_ids`."


class ScopeEmpty(DeploymentError, code="INPUT_INVALID"):
    """`line_ids` is empty: the deployment would be for no line."""

    http = 422
    hint = "Name the lines, or leave `line_ids` out: then it is for all of them."


class ForeignTenant(DeploymentError, code="TENANT_DENIED"):
    """A deployment of «{tenant}» cannot reach the tenant «{other}»."""

    http = 403
    hint = "Leave `scope.tenant_ids` out, or name the own tenant alone; others deploy for themselves."
    category = "authorization"


class NoPreviousVersion(DeploymentError, code="NO_PREVIOUS_VERSION"):
    """No version of the {type} «{id}» was in force before {version} in this scope."""

    http = 409
    hint = "Name the version: `to_version: specific` with `specific_version`."
    category = "permanent"


class NotInForceBefore(DeploymentError, code="ROLLBACK_TARGET"):
    """Version {version} of the {type} «{id}» was not in force in this scope before the deployment of {own}."""

    http = 409
    hint = "A rollback leads to what was there before. For another version begin a deployment instead."
    category = "permanent"


class RolloutLive(DeploymentError, code="PS-409-ROLLOUT"):
    """The run {run} moves the deployment «{id}» on, which has not ended."""

    hint = "Pause the deployment or roll it back: `penstock deploy pause ID`, `penstock deploy rollback ID`."
    category = "permanent"


class NoStableVersion(DeploymentError, code="NO_STABLE_VERSION"):
    """No earlier version of the {type} «{id}» was in force for {hours} h with an error rate of at most {rate}."""

    http = 409
    hint = "Lower `last_stable_criteria`, or name a version: `strategy: specific`."
    category = "permanent"
