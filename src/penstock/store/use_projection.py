"""Rows of uses: which versions of deployed things a firing, or a run, has used, from the facts that end it (C-58)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import CANCELLED, COMPLETED, STATUS, State
from penstock.store.run_store import Batch

#: what was used, in the meta of an answer, in the detail of a failure, and in the options of a run
USED = "used"
WHOLE_RUN = -1  # in the place of a firing


def project_uses(batch: Batch, tenant: str, run: str, facts: Iterable[Any], at: int) -> None:
    """Of the firings that settle in a turn."""
    for f in facts:
        if f[0] == F.SETTLED and (f[9] is not None or f[10] is not None):
            used = _used_by(f[9], f[10])
            if used is not None:
                _add(batch, tenant, run, f[1], used, failed=f[10] is not None, at=at)


def project_run_uses(batch: Batch, st: State, began_at: int, at: int) -> None:
    """Of a run that has ended, where its options say what it was begun with."""
    used = st.options.get(USED)
    if not isinstance(used, list):
        return
    ended: dict[str, Any] = {"ms": at - began_at, "decision": STATUS[st.status].lower()}
    failed = st.status not in (COMPLETED, CANCELLED)
    uses = [{**use, **ended} for use in used if isinstance(use, Mapping)]
    _add(batch, st.tenant, st.run, WHOLE_RUN, uses, failed=failed, at=at)


def _used_by(meta: Any, failure: Any) -> list[Any] | None:
    if failure is not None:  # from a journal it is a list
        meta = failure.detail if isinstance(failure, Failure) else failure[4] if len(failure) > 4 else None
    used = meta.get(USED) if isinstance(meta, Mapping) else None
    return used if isinstance(used, list) else None


def _add(batch: Batch, tenant: str, run: str, firing: int, used: list[Any], *, failed: bool, at: int) -> None:
    for use in used:
        if not isinstance(use, Mapping):
            continue
        confidence = use.get("confidence")
        thousandths = round(confidence * 1000) if isinstance(confidence, int | float) else None
        ms = use.get("ms")
        batch.artifact_use.append((
            run, firing, _text(use, "type"), _text(use, "id"), tenant, _text(use, "version"),
            _text(use, "environment"), _text(use, "line"), _text(use, "deployment"),
            "" if failed and firing != WHOLE_RUN else _text(use, "decision"), thousandths, int(failed),
            ms if isinstance(ms, int) else 0, at,
        ))  # fmt: skip


def _text(use: Mapping[str, Any], name: str) -> str:
    value = use.get(name)
    return value if isinstance(value, str) else ""
