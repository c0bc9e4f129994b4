"""bi: an analysis of metrics in the tenant's databases and files (BI)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Outcome, Request, Services, failed
from penstock.executors.parts.bi.analyses import Analyst
from penstock.executors.parts.bi.catalogue import Metric, find_metric
from penstock.executors.parts.bi.formats import formatted
from penstock.executors.parts.bi.settings import Analysis, BadAnalysis, read_analysis, read_chart
from penstock.executors.parts.bi.sources import Sources
from penstock.executors.parts.connections import tenant_of, tenant_secrets
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.files.path_policy import PathRefused
from penstock.executors.parts.files.sandboxed_files import TooLarge
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import SecretMissing
from penstock.executors.parts.sql.database import TIMEOUT_MS, SqlFailed
from penstock.executors.parts.sql.rows import TooManyRows
from penstock.lang.analysis_settings import FORMATS


class BiExecutor:
    """args: analysis, format, visualization.

    Metrics are what the tenant's catalogue says (`metric` in the registry). Rows are chosen, grouped and counted by
    the database; what comes back are groups. Nothing is written, and every value is bound.
    """

    name = "bi"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        secrets = tenant_secrets(request, services)
        try:
            tenant = tenant_of(request, services)
            sources = Sources(request, services, tenant, secrets)
            analysis = read_analysis(args.get("analysis"), sources.zone)
            metrics = {name: find_metric(name, tenant, _place(analysis, name)) for name in analysis.names}
            try:
                async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
                    body, analyst = await _result(analysis, metrics, sources, args)
            finally:
                await sources.close()
        except BadAnalysis as error:
            return error.outcome()
        except CallRefused as error:
            return failed(error.code, error.category, str(error))
        except PathRefused as error:
            return failed("PATH_REFUSED", "authorization", f"It is not read: {error}.")
        except FileNotFoundError:
            return failed("FILE_NOT_FOUND", "permanent", "There is no file that the metric's «table» names.")
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except (TooManyRows, TooLarge) as error:
            hint = "Use a coarser grain, fewer dimensions or a shorter time range."
            detail = {"at": "/analysis", "hint": hint}
            return failed("SQL_TOO_LARGE", "permanent", f"The answer is too large: {error}.", detail)
        except TimeoutError:
            return failed("NODE_TIMEOUT", "timeout", "The database did not answer in time.")
        except SqlFailed as error:
            return scrub_failure(error.outcome, secrets)
        remarks = [msgspec.structs.asdict(remark) for remark in analyst.remarks.values()]
        if remarks and args.get("format") != "summary":
            body["findings"] = remarks
        meta = {"analysis": analysis.type, "metrics": list(metrics), "findings": remarks}
        return await finish_output(request, secrets.scrub(body), meta, "object")


async def _result(
    analysis: Analysis, metrics: dict[str, Metric], sources: Sources, args: Mapping[str, Any]
) -> tuple[dict[str, Any], Analyst]:
    format = args.get("format") or "chart_data"
    if format not in FORMATS:
        message = f"«format» is «{str(format)[:40]}»; it can be {', '.join(FORMATS)}."
        raise BadAnalysis(message, "/output/format", "Choose one of them.")
    chart, analyst = read_chart(args.get("visualization")), Analyst(analysis, metrics, sources)
    return await formatted(analyst, format, chart, bool(args.get("visualization"))), analyst


def _place(analysis: Analysis, name: str) -> str:
    """Where the node names a metric."""
    if name in analysis.metrics:
        return f"/analysis/metrics/{analysis.metrics.index(name)}"
    if analysis.type == "distribution":
        return "/analysis/bucket_config/field"
    return f"/analysis/correlation_pairs/{next(i for i, pair in enumerate(analysis.pairs) if name in pair)}"
