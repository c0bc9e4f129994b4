"""Every series by its name (W-10.1.1, W-10.3.2, C-62): what `/metrics` says, and its long form."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterable

from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.exposition import ExpositionPage
from penstock.app.metrics.readings import APPROVALS, ENDED, Readings
from penstock.app.runs.runs import Runs
from penstock.kernel.state import COMPLETED, FAILURE, STATUS
from penstock.store.run_lists import RunFilter

#: C-62: the long form is cut here
MOST_DETAIL = 10_000
#: types of nodes that are there before the first of them has run
_TYPES = ("DATA", "JUDGMENT", "ACTION", "APPROVAL", "MCP", "WAIT", "SWITCH", "PARALLEL", "COMPENSATION")


def exposed(meter: MetricsCollector, tenant: str | None, now: int, *, listening: int = 0) -> str:
    """The series of one tenant, or of all tenants together with the engine's own."""
    read, page = Readings(meter, tenant, now), ExpositionPage()
    _runs(page, read)
    _nodes(page, read)
    _people(page, read)
    page.one("circuit_breaker_open_count", "gauge", "Circuit breakers that are open.", read.breakers())
    page.one("dlq_message_count", "gauge", "Runs that ended badly and lie in the dead letter queue.", read.letters())
    about = "The largest checkpoint that a document has asked for in 24 hours."
    page.one("checkpoint_size_bytes", "gauge", about, read.checkpoint())
    _jobs(page, meter, tenant, now)
    _languages(page, read)
    if tenant is None:
        _engine(page, meter, listening)
    return page.text()


def _by(name: str, values: Iterable[tuple[str, float | None]]) -> list[tuple[dict[str, str], float | None]]:
    return [({name: key}, value) for key, value in values]


def _runs(page: ExpositionPage, read: Readings) -> None:
    of = read.of
    ended = [(word, float(of.ended[STATUS.index(word.upper())])) for word in ENDED]
    page.family("workflow_execution_total", "counter", "Runs that have ended, by how.", _by("status", ended))
    page.one("workflow_success_total", "counter", "Runs that were completed.", of.ended[COMPLETED])
    about = "Completed of completed, failed and compensated runs, 24 hours; cancelled ones do not count."
    page.one("workflow_success_rate", "gauge", about, read.success_rate())
    about = "Active time of runs: what they waited for events and people is not in it."
    for name in ("workflow_duration_seconds", "workflow_duration"):
        page.histogram(name, about, [({}, of.duration)])
    page.one("workflow_waiting_count", "gauge", "Runs that wait.", read.waiting())
    page.family("workflow_instances", "gauge", "Runs that have not ended.", _by("status", read.instances().items()))
    page.family("workflow_versions", "gauge", "Versions of workflows.", _by("status", read.versions().items()))


def _nodes(page: ExpositionPage, read: Readings) -> None:
    kinds = {**dict.fromkeys(_TYPES), **read.of.kinds}
    done = [(type, float(kind.executed() + kind.passed if kind else 0)) for type, kind in kinds.items()]
    bad = [(type, float(kind.counts[FAILURE] if kind else 0)) for type, kind in kinds.items()]
    mean = [(type, None if kind is None else kind.spread.mean_ms()) for type, kind in kinds.items()]
    page.family("node_execution_total", "counter", "Nodes that were executed, by type.", _by("node_type", done))
    page.family("node_error_total", "counter", "Nodes that finally failed, by type.", _by("node_type", bad))
    page.one("node_error_rate", "gauge", "Failed of executed nodes, 24 hours.", read.node_error_rate())
    about = "Mean time of a node from start to end, by type, 24 hours."
    means = [(type, None if ms is None else ms / 1000) for type, ms in mean]
    page.family("node_duration_seconds", "gauge", about, _by("node_type", means))
    spreads = [({"node_type": type}, kind.spread) for type, kind in read.of.kinds.items()]
    page.histogram("node_duration", "Time of a node from start to end, by type.", spreads)


def _people(page: ExpositionPage, read: Readings) -> None:
    pending = read.pending_approvals()
    asked = [("pending", float(pending)), *((word, float(read.of.approvals[word])) for word in APPROVALS)]
    page.one("approval_pending_count", "gauge", "Approvals that wait for somebody.", pending)
    page.family(
        "approval_requests", "gauge", "Approvals: those that wait, and what others came to.", _by("status", asked)
    )
    about = "Approvals that timed out, of those that were closed or timed out, 24 hours."
    page.one("approval_timeout_rate", "gauge", about, read.timeout_rate())
    page.histogram("approval_response_time", "From the request to the decision.", [({}, read.of.response)])


def _jobs(page: ExpositionPage, meter: MetricsCollector, tenant: str | None, now: int) -> None:
    """Of workers outside, by type; of all tenants together where nobody's are asked for."""
    counts: Counter[tuple[str, str]] = Counter()
    oldest: dict[str, int] = {}
    for each in meter.store.job_counts(tenant):
        counts[each.type, each.state.lower()] += each.count
        oldest[each.type] = min(each.oldest, oldest.get(each.type, each.oldest))
    rows = [({"type": type, "state": state}, float(count)) for (type, state), count in sorted(counts.items())]
    page.family("penstock_jobs", "gauge", "Open jobs of workers outside: waiting, locked, delayed, held.", rows)
    ages = _by("type", [(type, max(0, now - at) / 1000) for type, at in sorted(oldest.items())])
    page.family("penstock_job_oldest_seconds", "gauge", "How old the oldest open job of a type is.", ages)


def _languages(page: ExpositionPage, read: Readings) -> None:
    """The metrics that the languages define (P-8, P-X.27)."""
    for figures, numbers in read.of_languages():
        for name, value in numbers.values().items():
            page.one(name, "gauge", figures.help[name], value)
        for name, total in numbers.counters().items():
            page.one(name, "counter", figures.help[name], total)
        for name, rows in numbers.families().items():
            page.family(name, "gauge", figures.help[name], [(labels, value) for labels, value in rows])


def _engine(page: ExpositionPage, meter: MetricsCollector, listening: int) -> None:
    host = meter.host
    assert host is not None, "a meter is asked when it is attached"
    turns = host.turns
    page.one("penstock_turns_total", "counter", "Turns of runs that were committed.", turns.turns)
    page.one("penstock_batches_total", "counter", "Batches of turns.", turns.batches)
    page.one("penstock_commits_total", "counter", "Commits of the store.", host.store.commits)
    page.one("penstock_step_seconds_total", "counter", "Time spent on deciding.", turns.step_ns / 1e9)
    page.one("penstock_commit_seconds_total", "counter", "Time spent on committing.", turns.commit_ns / 1e9)
    page.one("penstock_effects_total", "counter", "Effects that were let out.", turns.asks)
    page.one("penstock_runs_in_memory", "gauge", "Runs that are folded.", len(turns.runs))
    queues = [("turns", float(len(turns.ready))), ("gate", float(_waiting(meter)))]
    queues += [(f"executor:{name}", float(len(queue.queue))) for name, queue in host.dispatch.queues.items()]
    page.family("penstock_queue_length", "gauge", "What waits in this process.", _by("queue", queues))
    page.one("penstock_effects_in_flight", "gauge", "Effects on their way.", len(host.dispatch.in_flight))
    page.one("penstock_parked_runs", "gauge", "Runs that tripped over a bug of the engine.", len(turns.parked))
    page.one("penstock_store_bytes", "gauge", "What the store takes.", host.store.size())
    page.one("penstock_store_ok", "gauge", "1 while the store takes turns.", int(host.trouble is None))
    page.one("penstock_stream_listeners", "gauge", "Readers of the live stream.", listening)
    page.one("penstock_uptime_seconds", "gauge", "Since the process began.", round(meter.up_s(), 3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    page.one("process_max_resident_memory_bytes", "gauge", "The most memory it had.", peak)
    requests = [
        ({"method": method, "route": route, "status": str(status)}, float(count))
        for (method, route, status), count in sorted(meter.requests.items())
    ]
    page.family("penstock_http_requests_total", "counter", "Answers by route and status.", requests)
    spreads = [({"route": route}, spread) for route, spread in sorted(meter.latencies.items())]
    page.histogram("penstock_http_request_seconds", "How long an answer took.", spreads)


def _waiting(meter: MetricsCollector) -> int:
    assert meter.host is not None
    waiting = meter.host.dispatch.waiting
    return sum(len(queue) for queue in waiting.queues.values()) + len(waiting.timed)


def detailed(door: Runs) -> str:
    """C-62: one series per instance, version and approval, so that `count()` of W-10.3.1 is literally true."""
    page, left = ExpositionPage(), MOST_DETAIL
    wanted = RunFilter(tenant=door.tenant, below=door.store.last_run() + 1, status=tuple(range(COMPLETED)))
    runs = door.store.find_runs(wanted, left)
    names = {no: name for no, _, name, _ in door.store.nets()}
    rows = [
        ({"status": STATUS[row.status].lower(), "instance_id": row.id, "workflow_id": names.get(row.net, "")}, 1.0)
        for row in runs
    ]
    page.family("workflow_instances", "gauge", "One for each run that has not ended.", rows)
    left -= len(rows)
    versions = [
        ({"status": row.status, "workflow_id": row.name, "version": str(row.version)}, 1.0)
        for row in door.store.releases(door.tenant)[: max(left, 0)]
    ]
    page.family("workflow_versions", "gauge", "One for each version of a workflow.", versions)
    left -= len(versions)
    asked = [
        ({"status": "pending", "instance_id": item.run_id, "request": f"{item.run_id}/{item.firing}"}, 1.0)
        for item in (door.store.open_items(door.tenant, left) if left > 0 else [])
        if _approves(door, item.net, item.node)
    ]
    page.family("approval_requests", "gauge", "One for each approval that waits.", asked)
    return page.text()


def _approves(door: Runs, net: int, node: int) -> bool:
    from penstock.app.metrics.collector import approves

    nodes = door.host.nets.get(net).nodes
    return node < len(nodes) and approves(nodes[node])
