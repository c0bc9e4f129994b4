"""What a canary adds to a judgment: finding the version that applies to an instance, beside finding the newest one.

    python bench/deployments.py [--instances 200000]

A deployment is begun in a store of its own; nothing is asserted. Aim: under 20 µs.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from penstock.executors.parts.rollout.model import DeploymentRequest
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant, Tenants
from penstock.store.artifacts import ArtifactRow
from penstock.store.sqlite import Sqlite

PACK, AT = "rates", 1_700_000_000_000
LAYERS = 5  # deployments that lie above each other


def tenant_in(store: Sqlite) -> StoredTenant:
    body = msgspec.msgpack.encode({"id": PACK})
    versions = [f"{n}.0.0" for n in range(1, LAYERS + 2)]
    store.put_artifacts([ArtifactRow("t", "rule_pack", PACK, version, "approved", body, AT) for version in versions])
    store.put_artifacts([ArtifactRow("t", "rule_pack", "plain", version, "approved", body, AT) for version in versions])
    tenant = Tenants(store, SecretPlaces(), lambda: int(time.time() * 1000)).of("t")
    for version in versions[1:]:
        asked = {
            "artifact": {"type": "rule_pack", "id": PACK, "version": version},
            "strategy": {"type": "canary", "canary": {"initial_percent": 10}},
        }
        tenant.deployments.begin(msgspec.convert(asked, DeploymentRequest), key=version, at=AT)
    return tenant


def microseconds(call: Callable[[str], object], runs: list[str]) -> float:
    """Of one call, on average, in the better of three passes."""
    best = float("inf")
    gc.disable()
    for _ in range(3):
        began = time.perf_counter()
        for run in runs:
            call(run)
        best = min(best, time.perf_counter() - began)
    gc.enable()
    return best / len(runs) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=200_000)
    runs = [f"{n:016x}" for n in range(parser.parse_args().instances)]
    with tempfile.TemporaryDirectory() as folder:
        store = Sqlite(Path(folder) / "store.db")
        tenant = tenant_in(store)
        print(f"Python {platform.python_version()}, {sys.platform}, {len(runs):,} instances")
        newest = microseconds(lambda run: tenant.find("rule_pack", "plain"), runs)
        print(f"newest approved version (as before)      {newest:6.2f} µs")
        plain = microseconds(lambda run: tenant.deployed("rule_pack", "plain", run=run), runs)
        print(f"version that applies, nothing deployed   {plain:6.2f} µs")
        split = microseconds(lambda run: tenant.deployed("rule_pack", PACK, run=run, line="L01"), runs)
        print(f"version that applies, {LAYERS} canaries         {split:6.2f} µs")
        print(f"a canary adds                            {split - plain:6.2f} µs (aim: under 20)")
        store.close()


if __name__ == "__main__":
    main()
