"""simulate: what a change of rules, a prompt, a model or a configuration would mean (W-4.13). It changes nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from penstock.executors.contract import Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.reports import ReportImpossible, render
from penstock.executors.parts.simulation.order import Order, OrderInvalid
from penstock.executors.parts.simulation.record import SimulationRecord
from penstock.executors.parts.simulation.simulation import simulate
from penstock.executors.parts.simulation.wording import warning
from penstock.executors.parts.threads import in_thread

_JOURNALED = 20  # changed judgments in the node's output; the others are kept with the simulation


class SimulateExecutor:
    """args: mode, comparison, analysis, candidate, input, report, output. Its only writing is its own result."""

    name = "simulate"

    async def run(self, request: Request, services: Services) -> Outcome:
        tenant = services.tenant(request.tenant) if services.tenant is not None else None
        if tenant is None:
            return failed("INPUT_INVALID", "validation", "A simulation needs a tenant with a history.")
        try:
            order = msgspec.convert(request.args, Order)
            result = await simulate(order, tenant, request, services)
        except msgspec.ValidationError as wrong:
            return failed("INPUT_INVALID", "validation", f"The simulation cannot be read: {wrong}.")
        except OrderInvalid as wrong:
            return failed(wrong.code, "validation", str(wrong), wrong.detail)
        result["simulation_id"] = id = simulation_id(request.key)
        report = await _report(order, result, id)
        _keep(tenant, order, result, id, report)
        body = {name: value for name, value in result.items() if name != "samples"}
        body["changes"] = body["changes"][:_JOURNALED]
        body["new_misses"] = body["new_misses"][:_JOURNALED]
        if "schema" in (request.args.get("output") or {}):  # the seed's own knows numbers only: what is null is absent
            body["summary"] = {name: value for name, value in body["summary"].items() if value is not None}
        return await finish_output(request, body, {"simulation": id})


def simulation_id(key: str) -> str:
    """The same effect has the same simulation, however often it is attempted."""
    return f"sim_{hashlib.blake2b(key.encode(), digest_size=9).hexdigest()}"


async def _report(order: Order, result: dict[str, Any], id: str) -> bytes | None:
    """The report that was asked for; what keeps it from being made is a warning, and HTML is made instead."""
    wish = order.report
    if not wish.generate:
        result["report"] = None
        return None
    format = wish.format
    result["report"] = {
        "format": format, "language": wish.language, "url": f"/api/v1/simulations/{id}/report.{format}",
        "visualizations": wish.include_visualizations,
    }  # fmt: skip
    try:
        return await in_thread(render, result, format, wish.language)
    except ReportImpossible as impossible:
        result["warnings"].append(warning("extra_missing", text=str(impossible)))
        result["report"] |= {"format": "html", "url": f"/api/v1/simulations/{id}/report.html"}
        return await in_thread(render, result, "html", wish.language)


def _keep(tenant: Tenant, order: Order, result: dict[str, Any], id: str, report: bytes | None) -> None:
    subject = result["subject"]
    tenant.keep_simulation(
        SimulationRecord(
            id=id, run=subject["run"], node=subject["node"], document=subject["document"],
            artifact_type=subject["artifact"]["type"], artifact_id=subject["artifact"]["id"],
            candidate=subject["candidate_version"], baseline=subject["baseline_version"], mode=order.mode.type,
            created_at=subject["created_at"], result=result,
            format=result["report"]["format"] if result["report"] is not None else None, report=report,
        )
    )  # fmt: skip
