"""Texts of notices that need no template of the tenant's: one that is registered under the same id comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: W-4.11.3, W-4.12.4: a deployment has begun, ended or was taken back. Reads `event`, `reason` and the node's `output`.
DEPLOYMENT_NOTICE = "deployment_notice_v1"

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    DEPLOYMENT_NOTICE: {
        "subject": "${output.artifact_type} ${output.artifact_id}: ${event}",
        "body": (
            "${output.artifact_type} ${output.artifact_id}: ${event}\n"
            "환경 / environment: ${output.environment}\n"
            "버전 / version: ${fn.coalesce(output.deployed_version, output.from_version)}"
            "${fn.if(output.to_version == null, '', fn.concat(' → ', output.to_version))}"
            "${fn.if(fn.is_empty(reason), '', fn.concat('\\n사유 / reason: ', reason))}"
        ),
    },
}
