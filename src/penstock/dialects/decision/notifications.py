"""Notifications: a NOTIFY node is done when its notices are written; the outbox delivers them.

So nobody waits for a mail server: a run that waits for an approval goes on waiting while people are told of it, and
what was written with its facts is delivered after a crash, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.dialects.contract import LiveRun
from penstock.dialects.notice import Notice
from penstock.errors import PenstockError
from penstock.executors.contract import Tenant
from penstock.expr import compile_template
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.view import View
from penstock.store.run_store import Batch

TYPE = "NOTIFY"
#: W-4.6.6: where the document and the tenant say nothing, the seed's own channels.
CHANNELS = ("email", "slack")
_NOT_TAKEN_ALONG = frozenset({"secrets", "fn", "true", "false", "null"})


class NotificationWriter:
    def __init__(self, tenant: Callable[[str], Tenant], notify: Callable[[Notice, int, int, Batch], None]) -> None:
        self.tenant, self.notify = tenant, notify

    def write(self, live: LiveRun, run: Run, facts: list[F.Fact], batch: Batch) -> None:
        """A notice for every channel, in the commit of the turn that asks for it."""
        for f in facts:
            if f[0] != F.PASSED or run.net.nodes[f[2]].spec.type != TYPE or type(f[9]) is not dict:
                continue
            message, node = f[9], run.net.nodes[f[2]]
            tenant = self.tenant(live.tenant)
            names = _names(run, tenant, message.get("template"))
            for n, channel in enumerate(_channels(message.get("channels"), tenant), 1):
                notice = Notice(
                    key=f"{live.tenant}/{live.id}/told/{f[1]}/{n}", tenant=live.tenant, run=live.id, subject="",
                    text="", node=node.spec.origin or node.id, names=names,
                    args={"channel": channel, "config": {}, "template": message.get("template")},
                )  # fmt: skip
                self.notify(notice, live.no, run.st.n, batch)


def _channels(wanted: Any, tenant: Tenant) -> list[str]:
    if wanted is None:
        usual = (tenant.find("config", "tenant") or {}).get("notification")
        wanted = usual.get("channels") if isinstance(usual, Mapping) else None
    return [str(channel) for channel in wanted] if isinstance(wanted, list | tuple) else list(CHANNELS)


def _names(run: Run, tenant: Tenant, template: Any) -> dict[str, Any]:
    """What the template's texts read of the run (C-55), as it is now: they are rendered later, outside the run."""
    body = tenant.find("template", str(template.get("id"))) if isinstance(template, Mapping) else None
    roots: set[str] = set()
    for text in _texts(body):
        try:
            roots |= compile_template(text).roots
        except PenstockError:
            continue  # whoever delivers it says what is wrong
    view = View(run, run.st.scopes[0])
    names: dict[str, Any] = {}
    for name in sorted(roots - _NOT_TAKEN_ALONG - {"$random"}):
        try:
            names[name] = view[name]
        except KeyError:
            continue  # a parameter of the template, or a name that nobody knows
    return names


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
