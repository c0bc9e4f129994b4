"""What lowering has kept of a definition in its net."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.net.model import Net


def definition_snapshot(net: Net) -> Mapping[str, Any]:
    kept = net.declares.policies.get("pipeline")
    return kept if isinstance(kept, Mapping) else {}
