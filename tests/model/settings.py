"""How many examples the laws try: HN in the environment, 50 by default."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# No shrinking: a seed of a net does not shrink to anything simpler.
TRY = settings(
    phases=[Phase.explicit, Phase.generate],
    max_examples=int(os.environ.get("HN", "50")),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
